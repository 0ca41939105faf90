"""The rows of a fit, validated and concatenated: those of fit(X, y), then those of X_val, y_val."""

import hashlib
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array, check_X_y, get_tags
from sklearn.utils.validation import _check_feature_names, _check_sample_weight, validate_data

from neuralforest._compat import named_rows
from neuralforest._frames import TableEncoder, refuse_lazy, refuse_times
from neuralforest.estimators.categories import own_categories
from neuralforest.exceptions import InvalidParameterError, TableWarning

if TYPE_CHECKING:
    from neuralforest.estimators._base import NeuralForest

_FEWEST_STEPS = 200  # of float32 in the range of a feature


@dataclass(frozen=True, eq=False)
class FitRows:
    """The rows of a fit, those for validation behind the others."""

    X: Any  # dense or sparse (rows, features)
    target: NDArray[Any]  # numbers or labels, as the forest takes them
    weight: NDArray[np.float64]  # (rows,), 1 in the mean over the rows of fit(X, y), and over those of X_val
    forest_weight: NDArray[np.float64] | None  # (rows,) in the user's units; None where all are equal
    n_rows: int  # rows without those of X_val

    @cached_property
    def digest(self) -> str:
        """A digest of the rows of fit(X, y)."""
        X, rows = self.X[: self.n_rows], slice(self.n_rows)
        parts = [X.data, X.indices, X.indptr] if scipy.sparse.issparse(X) else [X]
        labels = self.target[rows]
        parts += [labels if labels.dtype.kind in "biuf" else labels.astype(np.str_), self.weight[rows]]
        digest = hashlib.sha256()
        for part in parts:
            digest.update(np.ascontiguousarray(part).tobytes())
        return digest.hexdigest()

    @property
    def n_weighted_rows(self) -> int:
        """The number of rows of positive weight, without those of X_val."""
        return int(np.count_nonzero(self.weight[: self.n_rows]))


def read_rows(
    estimator: "NeuralForest",
    X: Any,
    y: Any,
    sample_weight: Any,
    X_val: Any = None,
    y_val: Any = None,
    sample_weight_val: Any = None,
    *,
    reset: bool,
) -> FitRows:
    """Check the rows of a fit, and those that it was given for validation, if any."""
    given = any(each is not None for each in (X_val, y_val, sample_weight_val))
    if given and (X_val is None or y_val is None):
        lacking = "X_val" if X_val is None else "y_val"
        raise InvalidParameterError(f"validation rows need X_val and y_val, got no {lacking}: pass both or neither")
    X, target, weight = _read_part(estimator, X, y, sample_weight, reset)
    if reset and estimator._encoder is not None:
        estimator._encoder, X = estimator._encoder.with_means(X, _ordering_target(target, estimator._classifier))
    n_rows, parts = X.shape[0], [slice(X.shape[0])]
    if given:
        X_val, target_val, weight_val = _read_part(estimator, X_val, y_val, sample_weight_val, reset=False)
        X, target, weight = _stacked(X, X_val), np.concatenate([target, target_val]), np.append(weight, weight_val)
        parts.append(slice(n_rows, None))
    class_weights = estimator._class_weights(target, n_rows)
    if class_weights is not None:
        weight = weight * class_weights
    units = np.concatenate([_in_units_of_the_mean(weight[part]) for part in parts])
    are_equal = bool((weight[:n_rows] == weight[0]).all())  # weights that are all equal are none
    return FitRows(X, target, units, None if are_equal else weight, n_rows)


def read_X(estimator: "NeuralForest", X: ArrayLike, **options: Any) -> Any:
    """Check the features, and y if it is among the options, as far as scikit-learn does; encode categories."""
    if options == {"reset": False} and _is_checked(estimator, X):
        return X
    tags = get_tags(estimator).input_tags
    refuse_lazy(X)
    refuse_times(X)
    if options["reset"]:
        of_forest = own_categories(estimator.forest)
        estimator._encoder = TableEncoder.learn(X, estimator.categorical_features, of_forest)
    if estimator._encoder is not None:
        return _encoded(estimator, X, **options)
    try:
        return validate_data(
            estimator,
            named_rows(X),
            accept_sparse="csr" if tags.sparse else False,
            dtype=[np.float64, np.float32],
            ensure_all_finite="allow-nan" if tags.allow_nan else True,
            **options,
        )
    except ValueError as error:
        if "could not convert string to float" in str(error):
            _refuse_strings(X, options.get("y"), error)
        raise


def _refuse_strings(X: Any, y: Any, error: ValueError) -> None:
    """Say which strings are no numbers, and what to do about them."""
    rows = np.asarray(X, object)
    for number, column in enumerate(rows.T if rows.ndim == 2 else ()):
        if (wrong := _first_string(column)) is not None:
            raise InvalidParameterError(
                f"X must hold numbers, got {wrong!r:.60} in column {number}: pass a data frame, whose columns of "
                f"strings are categories, or add categorical_features=[{number}]"
            ) from error
    if (wrong := _first_string(np.ravel(np.asarray(y, object)))) is not None:
        raise InvalidParameterError(
            f"y must hold numbers for regression, got {wrong!r:.60}: use NeuralForestClassifier for classes"
        ) from error


def _first_string(values: NDArray[Any]) -> str | None:
    """Return the first string that is no number, if there is one."""
    for value in values:
        try:
            float(value) if isinstance(value, str) else None
        except ValueError:
            return str(value)
    return None


def _is_checked(estimator: "NeuralForest", X: Any) -> bool:
    """Return whether X is an array of finite numbers that every further check would pass: they take longest for a row.

    The sum of finite numbers may be infinite; then the checks decide.
    """
    if type(X) is not np.ndarray or X.ndim != 2 or X.dtype not in (np.float64, np.float32) or not len(X):
        return False
    if estimator._encoder is not None or hasattr(estimator, "feature_names_in_"):
        return False
    with np.errstate(over="ignore", invalid="ignore"):
        return X.shape[1] == estimator.n_features_in_ and bool(np.isfinite(X.sum()))


def _encoded(estimator: "NeuralForest", X: Any, reset: bool, **options: Any) -> Any:
    """Return a table with categories as numbers, and y if it is given."""
    _check_feature_names(estimator, named_rows(X), reset=reset)
    encoded = estimator._encoder.encode(X)  # type: ignore[union-attr]
    if reset:
        estimator.n_features_in_ = len(estimator._encoder.columns)  # type: ignore[union-attr]
    if not options:
        return check_array(encoded, ensure_all_finite="allow-nan", estimator=estimator)
    return check_X_y(encoded, options.pop("y"), ensure_all_finite="allow-nan", estimator=estimator, **options)


def _ordering_target(target: NDArray[Any], classifier: bool) -> NDArray[np.float64]:
    """Return one number a row for means of categories: the target, the mean of several, or the most frequent class."""
    if classifier:
        classes, counts = np.unique(target, return_counts=True)
        return np.asarray(target == classes[counts.argmax()], np.float64)
    return np.asarray(target.reshape(len(target), -1).mean(axis=1), np.float64)


def _read_part(
    estimator: "NeuralForest", X: Any, y: Any, weight: Any, reset: bool
) -> tuple[Any, NDArray[Any], NDArray[np.float64]]:
    numeric = not estimator._classifier
    refuse_target(y, numeric)
    X, y = read_X(estimator, X, y=y, reset=reset, multi_output=numeric, y_numeric=numeric)
    target = estimator._check_target(y, reset)
    return X, target, _check_sample_weight(weight, X, dtype=np.float64, ensure_non_negative=True)


def refuse_target(y: Any, numeric: bool) -> None:
    """Refuse times, and missing values that are no floats, such as None and pandas.NA, which cannot be compared."""
    y = np.asarray(y)
    if numeric:
        refuse_times(y, "y")
    if y.dtype.kind != "O":
        return
    for row, values in enumerate(y.reshape(len(y), -1) if y.ndim else ()):
        missing = [value for value in values if value is None or type(value).__name__ in ("NAType", "NaTType")]
        if missing:
            raise InvalidParameterError(
                f"y must have a value for every row, got {missing[0]!r} in row {row}: leave such rows out"
            )


def _in_units_of_the_mean(weight: NDArray[np.float64]) -> NDArray[np.float64]:
    with np.errstate(over="ignore"):
        total = weight.sum()
    if not 0 < total < np.inf:
        raise InvalidParameterError(
            "sample_weight times class_weight must have a positive and finite sum, among training rows and "
            f"among validation rows, got {weight.min():g} to {weight.max():g}"
        )
    return np.ones(len(weight)) if (weight == weight[0]).all() else weight / (total / len(weight))


def warn_of_lost_digits(X: Any, names: Sequence[Any]) -> None:
    """Warn of columns that vary little, far from 0, for trees that compare in float32."""
    if scipy.sparse.issparse(X):
        return
    low, high = (ufunc.reduce(X, axis=0).astype(np.float64) for ufunc in (np.fmin, np.fmax))
    step = np.spacing(np.fmax(np.abs(low), np.abs(high)).astype(np.float32)).astype(np.float64)
    for feature in np.flatnonzero((high > low) & (step > (high - low) / _FEWEST_STEPS))[:1]:
        warnings.warn(
            f"column {str(names[feature] if len(names) else feature)!r} varies by {high[feature] - low[feature]:.3g} "
            f"around {low[feature]:.3g}, where the trees distinguish steps of {step[feature]:.3g} only, because they "
            "compare in float32: subtract a constant from it",
            TableWarning,
            stacklevel=6,
        )


def _stacked(X: Any, X_val: Any) -> Any:
    if scipy.sparse.issparse(X) or scipy.sparse.issparse(X_val):
        return scipy.sparse.vstack([scipy.sparse.csr_array(X), scipy.sparse.csr_array(X_val)], format="csr")
    return np.vstack([X, X_val])
