"""Companions: trees or a linear function beside a network, never trained, each with a share of the prediction."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neuralforest.ensemble import TreeEnsemble
from neuralforest.exceptions import InvalidParameterError


@dataclass(frozen=True, eq=False)
class Linear:
    """A linear function of features that stay inside the range where it was fitted: it does not extrapolate.

    Parameters
    ----------
    low, high : float64 arrays (features,)
        Values outside are moved to the nearer end.
    center, scale : float64 arrays (features,)
        The function sees (x - center) / scale, and 0 for a missing value.
    slope : float64 array (features, outputs)
    intercept : float64 array (outputs,)

    Examples
    --------
    >>> import numpy as np
    >>> from neuralforest.companion import Linear
    >>> one = np.ones(1)
    >>> double = Linear(low=0 * one, high=5 * one, center=one, scale=one, slope=2 * np.eye(1), intercept=2 * one)
    >>> double.output(np.array([[3.0], [9.0], [np.nan]])).ravel()
    array([ 6., 10.,  2.])
    """

    low: NDArray[np.float64]
    high: NDArray[np.float64]
    center: NDArray[np.float64]
    scale: NDArray[np.float64]
    slope: NDArray[np.float64]
    intercept: NDArray[np.float64]

    def __post_init__(self) -> None:
        if np.ndim(self.slope) != 2:
            raise InvalidParameterError(f"slope must have shape (features, outputs), got {np.shape(self.slope)}")
        n_features, n_outputs = np.shape(self.slope)
        columns = {name: np.shape(getattr(self, name)) for name in ("low", "high", "center", "scale")}
        rest = np.shape(self.intercept)
        if set(columns.values()) != {(n_features,)} or rest != (n_outputs,):
            raise InvalidParameterError(
                f"a linear function of {n_features} features must have as many {', '.join(columns)}, and an intercept "
                f"for each of {n_outputs} outputs, got the shapes {list(columns.values())} and {rest}"
            )
        if not ((self.low <= self.high).all() and (self.scale > 0).all()):
            raise InvalidParameterError("low must not be above high, and scale must be positive, for every feature")

    @property
    def n_features(self) -> int:
        return len(self.slope)

    @property
    def n_outputs(self) -> int:
        return len(self.intercept)

    def output(self, X: NDArray[np.floating]) -> NDArray[np.float64]:
        """Return the function of the rows of X, (rows, outputs). A row's value does not depend on the other rows."""
        out = np.tile(self.intercept, (len(X), 1))
        for feature in np.flatnonzero(self.slope.any(axis=1)):  # not a product of matrices, whose rounding varies
            inside = np.clip(X[:, feature].astype(np.float64), self.low[feature], self.high[feature])
            seen = (inside - self.center[feature]) / self.scale[feature]
            out += np.where(np.isnan(seen), 0.0, seen)[:, None] * self.slope[feature]
        return out


@dataclass(frozen=True, eq=False)
class Companion:
    """What stands beside a network and is never trained, and its share of the prediction.

    Parameters
    ----------
    source : TreeEnsemble or Linear
        For the same features and targets as the network's. Trees say numbers or, by any link, probabilities.
    share : float
        Between 0 and 1. What all companions leave is the network's.
    stopgap : bool
        Whether it is a line that only stands in for a network or trees which say more than they know. It leaves when
        the network goes on to learn from other rows, or after loading from rows that may be others.
    """

    source: TreeEnsemble | Linear
    share: float
    stopgap: bool = False

    def __post_init__(self) -> None:
        if self.stopgap and not isinstance(self.source, Linear):
            raise InvalidParameterError(f"a stopgap must be a linear function, got {type(self.source).__name__}")

    def __str__(self) -> str:
        if isinstance(self.source, Linear):
            return "a linear function" if self.source.slope.any() else "the mean"
        return f"{self.source.n_trees} {'deep' if self.source.aggregation == 'mean' else 'boosted'} trees"


def check_companions(e: TreeEnsemble, companions: tuple[Companion, ...]) -> None:
    """Refuse companions that do not belong beside a network of these trees."""
    total = sum(companion.share for companion in companions)
    if not (all(companion.share >= 0 for companion in companions) and total <= 1 + 1e-9):
        raise InvalidParameterError(
            f"companions must have shares of at least 0 and of at most 1 together, "
            f"got {[companion.share for companion in companions]}"
        )
    for companion in companions:
        _check_source(e, companion.source)


def _check_source(e: TreeEnsemble, source: TreeEnsemble | Linear) -> None:
    classes = None if isinstance(source, Linear) else source.classes
    labels = [None if each is None else each.tolist() for each in (e.classes, classes)]
    shapes = [(part.n_features, None if e.classes is not None else part.n_outputs) for part in (e, source)]
    if e.link != "identity":
        raise InvalidParameterError(
            f"only a network that predicts numbers or probabilities itself can have companions, got the link {e.link!r}"
        )
    if labels[0] != labels[1] or shapes[0] != shapes[1]:
        raise InvalidParameterError(
            "a companion must have the features, the classes and, of numbers, the outputs of the network, "
            f"{shapes[0]} and {labels[0]}, got {shapes[1]} and {labels[1]}"
        )
    if isinstance(source, Linear):
        return
    if source.classes is None and source.link != "identity":
        raise InvalidParameterError(f"a companion must predict the target itself, got the link {source.link!r}")
    if e.compare_dtype != source.compare_dtype:
        raise InvalidParameterError(
            f"a companion must compare in the dtype of the network, {e.compare_dtype}, got {source.compare_dtype}"
        )
