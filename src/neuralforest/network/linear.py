"""LinearModel: a linear function that does not extrapolate; can be stacked with a network."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neuralforest.exceptions import InvalidParameterError

_BLOCK = 1_024  # rows, whose terms fit into the cache


@dataclass(frozen=True, eq=False)
class LinearModel:
    """A linear function of features that are clipped to the range of its training rows.

    The inputs are (x - center) / scale with x clipped to [low, high], and 0 for a missing value.

    Examples
    --------
    >>> import numpy as np
    >>> from neuralforest.network import LinearModel
    >>> one = np.ones(1)
    >>> double = LinearModel(low=0 * one, high=5 * one, center=one, scale=one, coef=2 * np.eye(1), intercept=2 * one)
    >>> double.prediction(np.array([[3.0], [9.0], [np.nan]])).ravel()
    array([ 6., 10.,  2.])
    """

    low: NDArray[np.float64]  # (features,)
    high: NDArray[np.float64]  # (features,)
    center: NDArray[np.float64]  # (features,)
    scale: NDArray[np.float64]  # (features,)
    coef: NDArray[np.float64]  # (features, outputs)
    intercept: NDArray[np.float64]  # (outputs,)
    classes = None
    link = "identity"
    compare_dtype = None  # any

    def __post_init__(self) -> None:
        if np.ndim(self.coef) != 2:
            raise InvalidParameterError(f"coef must have shape (features, outputs), got {np.shape(self.coef)}")
        n_features, n_outputs = np.shape(self.coef)
        columns = {name: np.shape(getattr(self, name)) for name in ("low", "high", "center", "scale")}
        rest = np.shape(self.intercept)
        if set(columns.values()) != {(n_features,)} or rest != (n_outputs,):
            raise InvalidParameterError(
                f"a linear function of {n_features} features must have as many {', '.join(columns)}, and an intercept "
                f"for each of {n_outputs} outputs, got the shapes {list(columns.values())} and {rest}"
            )
        if not ((self.low <= self.high).all() and (self.scale > 0).all()):
            raise InvalidParameterError("low must not be above high, and scale must be positive, for every feature")

    def __str__(self) -> str:
        return "a linear function" if self.coef.any() else "a constant"

    @property
    def n_features(self) -> int:
        return len(self.coef)

    @property
    def n_outputs(self) -> int:
        return len(self.intercept)

    def prediction(self, X: NDArray[np.floating], n_jobs: int | None = None) -> NDArray[np.float64]:
        """Return the predictions, (rows, outputs). The prediction of a row does not depend on the other rows."""
        used, out = np.flatnonzero(self.coef.any(axis=1)), np.empty((len(X), self.n_outputs))
        low, high, center, scale = (each[used, None] for each in (self.low, self.high, self.center, self.scale))
        for start in range(0, len(X), _BLOCK):
            rows = X[start : start + _BLOCK].T[used].astype(np.float64)
            scaled = (np.minimum(np.maximum(rows, low), high) - center) / scale
            scaled[np.isnan(scaled)] = 0.0
            for output, intercept in enumerate(self.intercept):
                total = np.full(rows.shape[1], intercept)
                for term in scaled * self.coef[used, output, None]:  # not a product, whose rounding varies with shapes
                    total += term
                out[start : start + _BLOCK, output] = total
        return out

    def importances(self) -> NDArray[np.float64]:
        """Return the part of each feature in the variance of the predictions, were the features independent."""
        variance = (self.coef**2).sum(axis=1)
        return np.asarray(variance / variance.sum() if variance.sum() > 0 else variance)
