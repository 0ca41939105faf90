"""The comparison of a split, in NumPy: the one place for it outside of kernels and exports.

A split has a kind. The only kind so far compares with a threshold: a row goes left where x <= threshold, or where x is
missing and the split sends missing values left. Another kind is a branch here, in `_kernels/trees/traverse.py`, and in
the exports of hard trees.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

if TYPE_CHECKING:
    from neuralforest.ensemble._ensemble import TreeEnsemble


def goes_left(e: "TreeEnsemble", splits: Any, x: NDArray[np.floating]) -> NDArray[np.bool_]:
    """Return whether values of the splits' own features go left; x broadcasts against the selected splits."""
    return np.asarray((x <= e.threshold[splits]) | (np.isnan(x) & e.missing_left[splits]))


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
