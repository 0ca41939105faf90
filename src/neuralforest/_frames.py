"""From tables to numbers: which columns hold categories, and the code of each category. Imports no data frame library.

A column of strings, of a categorical dtype, or named by `categorical_features`, holds categories: each is replaced by
its position among those of the training rows. A new category has the code -1, a missing one NaN. All other columns are
numbers; booleans are 0 and 1. A column of too many categories for one network unit each is replaced by means of the
target, which are cross-fitted on the training rows (scikit-learn's TargetEncoder).
"""

import datetime
import math
import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Number
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from sklearn.model_selection import KFold
from sklearn.preprocessing import TargetEncoder

from neuralforest.exceptions import InvalidParameterError, TableWarning

MOST_CATEGORIES = 64
"""A column of more categories is replaced by means of the target."""

_TIMES = ("date", "time", "duration", "period")  # in the names of dtypes, of pandas and of polars
_CATEGORIES = ("category", "categorical", "enum", "str", "string", "large_string", "utf8", "dictionary", "object")
_NESTED = ("list", "large_list", "array", "struct", "map", "binary", "large_binary")
_MANY_NUMBERS = 20  # more different ones in a column of strings are no codes of categories


@dataclass(frozen=True, eq=False)
class Column:
    """How a column becomes a number."""

    name: str
    categories: NDArray[np.str_] | None = None  # sorted; None for a column of numbers
    means: NDArray[np.float64] | None = None  # (categories + 1,): in place of codes; the last one for all others


@dataclass(frozen=True, eq=False)
class TableEncoder:
    """The columns of a table with categories."""

    columns: tuple[Column, ...]

    @classmethod
    def learn(cls, X: Any, categorical_features: Any, of_forest: Sequence[Any] = ()) -> "TableEncoder | None":
        """Return the encoder of a table, or None for one of numbers only, which scikit-learn validates.

        Columns that a given forest takes as categories are added to those that are found by their dtypes.
        """
        by_dtypes = isinstance(categorical_features, str)
        if not (hasattr(X, "columns") and hasattr(X, "dtypes")):
            if categorical_features is None or (by_dtypes and not of_forest):
                return None
            if scipy.sparse.issparse(X):
                raise InvalidParameterError("categorical_features needs a table or a dense array, got a sparse matrix")
        names = _names(X)
        chosen, added = _chosen(categorical_features, names), _chosen(of_forest if by_dtypes else [], names)
        assert added is not None
        columns = []
        for number, name in enumerate(names):
            values = _column(X, number)
            by_dtype = _is_category(values, name)
            if chosen is not None and by_dtype and not chosen[number]:
                _refuse_left_out(values, name)
            is_category = added[number] or (by_dtype if chosen is None else chosen[number])
            categories = np.unique(labels_of(values)[~_missing(values)]) if is_category else None
            if chosen is None and categories is not None and not added[number]:
                _warn_of_numbers(categories, values, name)
            columns.append(Column(name, categories))
        return cls(tuple(columns)) if any(column.categories is not None for column in columns) else None

    @property
    def n_categories(self) -> NDArray[np.int64]:
        """The number of categories of each encoded column; 0 for numbers."""
        sizes = [
            0 if each.categories is None or each.means is not None else len(each.categories) for each in self.columns
        ]
        return np.array(sizes, np.int64)

    def encode(self, X: Any) -> NDArray[np.float64]:
        """Return a table as numbers, (rows, encoded columns)."""
        names = _names(X)
        if len(names) != len(self.columns):
            raise InvalidParameterError(f"X must have the {len(self.columns)} columns of fit, got {len(names)}")
        return np.column_stack([self._encode(column, _column(X, i)) for i, column in enumerate(self.columns)])

    def _encode(self, column: Column, values: Any) -> NDArray[np.float64]:
        if column.categories is None:
            return _numbers(values, column.name)
        code = codes_of(labels_of(values), _missing(values), column.categories)
        if column.means is None:
            return code
        return column.means[np.where(code >= 0, np.nan_to_num(code), len(column.means) - 1).astype(np.int64)]

    def with_means(self, X: NDArray[np.float64], y: NDArray[np.float64]) -> tuple["TableEncoder", NDArray[np.float64]]:
        """Replace columns of too many categories by means of a target; return the training rows, cross-fitted."""
        columns, encoded = list(self.columns), X.copy()
        for feature in np.flatnonzero(self.n_categories > MOST_CATEGORIES):
            encoder, codes = TargetEncoder(target_type="continuous"), np.nan_to_num(X[:, [feature]], nan=-1.0)
            for most, rest in KFold(5, shuffle=True, random_state=0).split(codes):
                encoded[rest, feature] = encoder.fit(codes[most], y[most]).transform(codes[rest])[:, 0]
            encoder.fit(codes, y)
            every = np.append(np.arange(self.n_categories[feature], dtype=np.float64), -1.0)
            columns[feature] = replace(columns[feature], means=encoder.transform(every[:, None])[:, 0])
        return TableEncoder(tuple(columns)), encoded


def codes_of(labels: NDArray[np.str_], missing: NDArray[np.bool_], categories: NDArray[np.str_]) -> NDArray[np.float64]:
    """Return the position of each label among sorted categories; -1 for others, NaN where it is missing."""
    place = np.searchsorted(categories, labels)
    if not len(categories):
        return np.where(missing, np.nan, -1.0)
    known = categories[np.minimum(place, len(categories) - 1)] == labels
    return np.where(missing, np.nan, np.where(known, place, -1.0))


def _names(X: Any) -> list[str]:
    return [str(name) for name in X.columns] if hasattr(X, "columns") else [str(i) for i in range(np.shape(X)[1])]


def _column(X: Any, number: int) -> Any:
    if hasattr(X, "iloc"):
        return X.iloc[:, number]
    return X[X.columns[number]] if hasattr(X, "columns") else np.asarray(X)[:, number]


def _chosen(categorical_features: Any, names: Sequence[str]) -> NDArray[np.bool_] | None:
    """Return which columns a user has named as categories; None to decide by dtype."""
    if isinstance(categorical_features, str) and categorical_features == "from_dtype":
        return None
    chosen = np.zeros(len(names), np.bool_)
    if categorical_features is None:
        return chosen
    features = np.asarray(categorical_features)
    if features.dtype == np.bool_ and features.shape == (len(names),):
        return features
    for feature in features.tolist() if isinstance(categorical_features, np.ndarray) else list(categorical_features):
        number = names.index(feature) if feature in names else feature
        is_number = isinstance(number, int) and not isinstance(number, bool)
        if not (is_number and -len(names) <= number < len(names)):
            raise InvalidParameterError(
                f"categorical_features must name columns of X, {list(names)[:30]}, or their numbers, or be a mask of "
                f"all of them, got {feature!r}"
            )
        chosen[number] = True
    return chosen


def _is_category(values: Any, name: str) -> bool:
    _refuse_times(values, name)
    dtype = _dtype_of(values)
    kind = re.split(r"\W", dtype, maxsplit=1)[0]
    if kind in _NESTED:
        raise _not_of_one_value(name, dtype)
    if kind not in _CATEGORIES:
        return False
    if dtype != "object":
        return True
    known = [value for value, missing in zip(values, _missing(values), strict=True) if not missing]
    for value in known[:1]:
        _refuse_time(value, name)
    if any(isinstance(value, str) for value in known) or not known:
        return True
    for value in known:
        if not isinstance(value, (Number, np.bool_)):
            raise _not_of_one_value(name, f"{value!r:.60} of type {type(value).__name__}")
    return False


def _not_of_one_value(name: str, found: str) -> InvalidParameterError:
    return InvalidParameterError(
        f"column {name!r} must hold numbers or categories, got {found}: convert it to numbers or strings, or drop it"
    )


def _refuse_left_out(values: Any, name: str) -> None:
    """Refuse strings that are no numbers in a column that is not among those that a user has named."""
    try:
        _numbers(values, name)
    except ValueError as error:
        raise InvalidParameterError(
            f"categorical_features must name all columns of categories, and {name!r} of dtype {values.dtype} is not "
            "among them: add it, drop it, or use 'from_dtype'"
        ) from error


def _warn_of_numbers(categories: NDArray[np.str_], values: Any, name: str) -> None:
    """Warn of a column of many numbers that some strings make a column of categories."""
    if not _dtype_of(values).startswith(("str", "large_string", "utf8", "object")):
        return  # somebody has chosen the dtype
    others = [label for label in categories.tolist() if not _is_finite(label)]
    n_numbers = len(categories) - len(others)
    if others and n_numbers > max(_MANY_NUMBERS, len(others)):
        warnings.warn(
            f"column {name!r} is taken for categories, because there are strings such as {others[0]!r:.60} among its "
            f"{n_numbers} different numbers: replace them by missing values, or give the column a categorical dtype",
            TableWarning,
            stacklevel=7,
        )


def _is_finite(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _dtype_of(values: Any) -> str:
    return str(getattr(values, "dtype", "object")).lower()


def _refuse_times(values: Any, name: str) -> None:
    dtype = _dtype_of(values).partition("(")[0]  # an enum names its categories in parentheses
    if any(word in dtype for word in _TIMES):
        raise ValueError(
            f"column {name!r} must hold numbers or categories, got {dtype}: convert it to a number, such as days, to "
            "parts of a date, or drop it"
        )


def refuse_lazy(X: Any) -> None:
    """Refuse a table whose rows are not computed yet."""
    for method in ("collect", "compute"):  # of polars, of Dask
        if hasattr(type(X), method) and hasattr(type(X), "columns"):  # of an instance, polars warns
            raise InvalidParameterError(f"X must be a table in memory, got a lazy {type(X).__name__}: call {method}()")


def refuse_times(X: Any, name: str = "X") -> None:
    """Refuse an array of dates or durations, which NumPy would convert to numbers of an arbitrary unit."""
    dtype = getattr(X, "dtype", None)  # a data frame has dtypes
    if dtype is not None and getattr(dtype, "kind", "") in "mM":
        fix = "convert it to a number, such as days" + (", or parts of a date" if name == "X" else "")
        raise ValueError(f"{name} must hold numbers, got {dtype}: {fix}")
    if isinstance(X, np.ndarray) and X.dtype.kind == "O" and X.ndim == 2 and len(X):
        for number, value in enumerate(X[0]):
            _refuse_time(value, str(number))


def _refuse_time(value: Any, name: str) -> None:
    if isinstance(value, (datetime.date, datetime.time, datetime.timedelta)):
        raise ValueError(
            f"column {name!r} must hold numbers or categories, got {value!r}: convert it to a number, such as days, to "
            "parts of a date, or drop it"
        )


def _missing(values: Any) -> NDArray[np.bool_]:
    for name in ("isna", "is_null"):  # pandas, polars
        if hasattr(values, name):
            missing = np.asarray(getattr(values, name)())
            is_float = name == "is_null" and str(values.dtype).startswith("Float")
            return missing | np.asarray(values.is_nan().fill_null(False)) if is_float else missing
    return np.array([value is None or value != value for value in values], np.bool_)


def labels_of(values: Any) -> NDArray[np.str_]:
    """Return values as strings, whole numbers without a fraction; any string where they are missing."""
    listed = values.tolist() if isinstance(values, np.ndarray) else values.to_list()
    return np.array([str(v) if isinstance(v, str) or not _is_whole(v) else str(int(v)) for v in listed], np.str_)


def _is_whole(value: Any) -> bool:
    try:
        return bool(float(value).is_integer())
    except (TypeError, ValueError):
        return False


def _numbers(values: Any, name: str) -> NDArray[np.float64]:
    _refuse_times(values, name)
    try:
        if hasattr(values, "to_numpy") and hasattr(values, "isna"):
            return np.asarray(values.to_numpy(dtype=np.float64, na_value=np.nan))
        return np.asarray(values.cast(float) if hasattr(values, "cast") else values, np.float64)
    except Exception as error:  # polars has exceptions of its own
        raise ValueError(
            f"column {name!r} must hold numbers, as in fit, got values of dtype {values.dtype}: {error}"
        ) from error


def codes_in(
    X: Any, categories: Sequence[NDArray[Any] | None], names: Sequence[str] | None = None
) -> NDArray[np.float64]:
    """Return a table as numbers, with the positions of categories in given orders; -1 for others, NaN for missing ones.

    Columns are found by their names, where there are any.
    """
    own = _names(X)
    number_of = {name.replace(" ", "_"): number for number, name in enumerate(own)}  # as LightGBM has them
    number_of |= {name: number for number, name in enumerate(own)}
    order = list(range(len(own))) if names is None else [number_of[name] for name in names if name in number_of]
    if len(order) != len(categories):
        raise InvalidParameterError(f"X must have the columns {list(names or range(len(categories)))}, got {own}")
    encoded = []
    for number, labels in zip(order, categories, strict=True):
        values = _column(X, number)
        if labels is None:
            encoded.append(_numbers(values, own[number]))
        else:
            sorted_, place = np.unique(labels_of(np.asarray(labels)), return_index=True)
            code = codes_of(labels_of(values), _missing(values), sorted_)
            encoded.append(np.where(code >= 0, place[np.nan_to_num(np.maximum(code, 0)).astype(np.int64)], code))
    return np.column_stack(encoded)
