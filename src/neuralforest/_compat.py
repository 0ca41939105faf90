"""Shims for the oldest supported version of each library. Delete one when the version it is for is no longer supported.

scikit-learn before 1.9 finds the column names of pandas and of frames with the interchange protocol only, which polars
no longer has.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils import validation

_FINDS_NAMES = hasattr(validation, "nw")  # by narwhals, of all data frames


class _NamedRows(np.ndarray[Any, Any]):
    """An array with the names of its columns, as the interchange protocol has them."""

    names: Sequence[str] = ()

    def __dataframe__(self, *_: Any, **__: Any) -> "_NamedRows":
        return self

    def column_names(self) -> Sequence[str]:
        return self.names


def named_rows(X: Any) -> Any:
    """Return a table whose column names scikit-learn finds."""
    is_known = hasattr(X, "iloc") or hasattr(X, "__dataframe__") or not hasattr(X, "columns")
    if _FINDS_NAMES or is_known:
        return X
    rows = np.asarray(X).view(_NamedRows)
    rows.names = list(X.columns)
    return rows
