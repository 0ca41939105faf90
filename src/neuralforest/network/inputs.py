"""Rows as trees compare them: validated where a user calls a network, cast where an estimator validated them."""

from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_array

from neuralforest._frames import codes_in
from neuralforest.ensemble import TreeEnsemble
from neuralforest.exceptions import InvalidParameterError


def validated_rows(e: TreeEnsemble, X: ArrayLike) -> NDArray[np.floating]:
    """Return X as a dense array in the dtype that the trees compare in; NaN is allowed, infinity is not.

    A data frame may hold the categories of the source of the trees; an array holds their codes.
    """
    if e.categories is not None and hasattr(X, "columns"):
        X = codes_in(X, e.categories, e.feature_names)
    rows: Any = X.toarray() if scipy.sparse.issparse(X) else X  # type: ignore[union-attr]
    with np.errstate(over="ignore", invalid="ignore"):  # numbers too large for the dtype are refused as infinite
        rows = check_array(rows, dtype=e.compare_dtype, order="C", ensure_all_finite="allow-nan")
    if rows.shape[1] != e.n_features:
        raise InvalidParameterError(
            f"X must have the {e.n_features} features that the network was made for, got {rows.shape[1]}"
        )
    rows = np.asarray(rows) if rows.flags.writeable else np.array(rows)  # read-only types compile kernels anew
    return _with_missing(e, rows)


def _with_missing(e: TreeEnsemble, rows: NDArray[np.floating]) -> NDArray[np.floating]:
    """Return rows with NaN for numbers that mean a missing value to the source of the trees."""
    low, high = e.missing_range.T
    for feature in np.flatnonzero(low <= high):
        missing = (rows[:, feature] >= low[feature]) & (rows[:, feature] <= high[feature])
        if missing.any():
            rows = rows.copy()
            rows[missing, feature] = np.nan
    return rows


def cast_rows(e: TreeEnsemble, X: Any) -> NDArray[np.floating]:
    """Return rows that are valid already, dense or sparse, as `validated_rows` does."""
    rows = X.toarray() if scipy.sparse.issparse(X) else X
    with np.errstate(over="ignore"):
        cast = np.ascontiguousarray(rows, e.compare_dtype)
    if cast.dtype != rows.dtype and np.isinf(cast).any():
        raise ValueError(f"Input X contains infinity or a value too large for {cast.dtype!r}.")
    return _with_missing(e, cast if cast.flags.writeable else cast.copy())
