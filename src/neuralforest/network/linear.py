"""LinearModel: a linear function that does not extrapolate; can be stacked with a network."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neuralforest.exceptions import InvalidParameterError


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
        out = np.tile(self.intercept, (len(X), 1))
        for feature in np.flatnonzero(self.coef.any(axis=1)):  # not a product of matrices, whose rounding varies
            inside = np.clip(X[:, feature].astype(np.float64), self.low[feature], self.high[feature])
            scaled = (inside - self.center[feature]) / self.scale[feature]
            out += np.where(np.isnan(scaled), 0.0, scaled)[:, None] * self.coef[feature]
        return out

    def importances(self) -> NDArray[np.float64]:
        """Return the part of each feature in the variance of the predictions, were the features independent."""
        variance = (self.coef**2).sum(axis=1)
        return np.asarray(variance / variance.sum() if variance.sum() > 0 else variance)
