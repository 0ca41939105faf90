"""The comparison of a split, in NumPy: the one place for it outside of kernels and exports.

A split is of one of two kinds. A row goes left where x <= threshold, or where x is a category whose entry in the
split's list says so; categories beyond the list, and negative ones, take its last entry. Missing values go where
the split sends them. The same comparisons are in `_kernels/trees/traverse.py` and in the exports of hard trees.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

if TYPE_CHECKING:
    from neuralforest.ensemble._ensemble import TreeEnsemble


def goes_left(e: "TreeEnsemble", splits: Any, x: NDArray[np.floating]) -> NDArray[np.bool_]:
    """Return whether values of the splits' own features go left; x broadcasts against the selected splits."""
    missing, missing_left = np.isnan(x), e.missing_left[splits]
    left = x <= e.threshold[splits]
    if len(e.category_left):
        first, last = e.first_category[:-1][splits], e.first_category[1:][splits] - 1
        with np.errstate(invalid="ignore"):
            entry = np.where((x >= 0) & (x < last - first), first + np.nan_to_num(x).astype(np.int64), last)
        left = np.where(last >= first, e.category_left[np.maximum(entry, 0)], left)
    return np.asarray(np.where(missing, missing_left, left))


def rounded_down(threshold: NDArray[np.float64], dtype: DTypeLike) -> NDArray[np.floating]:
    """Return thresholds in a dtype such that x <= threshold is what it was for every x of that dtype.

    Examples
    --------
    >>> import numpy as np
    >>> from neuralforest.ensemble import rounded_down
    >>> threshold = np.array([0.1])
    >>> (threshold.astype("float32") <= threshold), (threshold.astype("float32") <= rounded_down(threshold, "float32"))
    (array([False]), array([False]))
    """
    with np.errstate(over="ignore"):
        rounded = threshold.astype(dtype)
        below = np.nextafter(rounded, -np.inf, dtype=rounded.dtype)
    return np.where(rounded > threshold, below, rounded)
