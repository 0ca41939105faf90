"""The rows of a fit, validated and concatenated: those of fit(X, y), then those of X_val, y_val."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import get_tags
from sklearn.utils.validation import _check_sample_weight, validate_data

from neuralforest.exceptions import InvalidParameterError

if TYPE_CHECKING:
    from neuralforest.estimators._base import NeuralForest


@dataclass(frozen=True, eq=False)
class GivenRows:
    """What a user passes: X, y and their weights."""

    X: Any
    y: Any
    weight: Any = None


@dataclass(frozen=True, eq=False)
class FitRows:
    """The rows of a fit, those for validation behind the others."""

    X: Any  # dense or sparse (rows, features)
    target: NDArray[Any]  # numbers or labels, as the forest takes them
    weight: NDArray[np.float64]  # (rows,), 1 in the mean over the rows of fit(X, y), and over those of X_val
    forest_weight: NDArray[np.float64] | None  # (rows,) in the user's units; None where there are no weights
    n_rows: int  # rows without those of X_val


def read_rows(
    estimator: "NeuralForest", rows: GivenRows, given: GivenRows | None = None, reset: bool = True
) -> FitRows:
    """Check the rows of a fit, and those that it was given for validation."""
    X, target = _read_part(estimator, rows, reset)
    n_rows = X.shape[0]
    weight = _read_weight(rows.weight, X)
    if given is not None:
        X_val, target_val = _read_part(estimator, given, reset=False)
        weight = np.concatenate([weight, _read_weight(given.weight, X_val)])
        X, target = _stacked(X, X_val), np.concatenate([target, target_val])
    class_weights = estimator._class_weights(target, n_rows)
    weighted = rows.weight is not None or class_weights is not None
    if class_weights is not None:
        weight = weight * class_weights
    parts = [slice(n_rows)] if given is None else [slice(n_rows), slice(n_rows, None)]
    units = np.concatenate([_in_units_of_the_mean(weight[part]) for part in parts])
    return FitRows(X, target, units, weight if weighted else None, n_rows)


def given_rows(X_val: Any, y_val: Any, sample_weight_val: Any) -> GivenRows | None:
    """Return the validation rows that fit was given, if any."""
    if X_val is None and y_val is None and sample_weight_val is None:
        return None
    if X_val is None or y_val is None:
        lacking = "X_val" if X_val is None else "y_val"
        raise InvalidParameterError(f"validation rows need X_val and y_val, got no {lacking}: pass both or neither")
    return GivenRows(X_val, y_val, sample_weight_val)


def read_X(estimator: "NeuralForest", X: ArrayLike, **options: Any) -> Any:
    """Check the features, and y if it is among the options, as far as scikit-learn does."""
    tags = get_tags(estimator).input_tags
    return validate_data(
        estimator,
        X,
        accept_sparse="csr" if tags.sparse else False,
        dtype=[np.float64, np.float32],
        ensure_all_finite="allow-nan" if tags.allow_nan else True,
        **options,
    )


def _read_part(estimator: "NeuralForest", rows: GivenRows, reset: bool) -> tuple[Any, NDArray[Any]]:
    numeric = not estimator._classifier
    X, y = read_X(estimator, rows.X, y=rows.y, reset=reset, multi_output=numeric, y_numeric=numeric)
    return X, estimator._check_target(y, reset)


def _read_weight(weight: Any, X: Any) -> NDArray[np.float64]:
    return np.asarray(_check_sample_weight(weight, X, dtype=np.float64, ensure_non_negative=True))


def _in_units_of_the_mean(weight: NDArray[np.float64]) -> NDArray[np.float64]:
    with np.errstate(over="ignore"):
        total = weight.sum()
    if not 0 < total < np.inf:
        raise InvalidParameterError(
            "sample_weight times class_weight must have a positive and finite sum, among training rows and "
            f"among validation rows, got {weight.min():g} to {weight.max():g}"
        )
    return weight / (total / len(weight))


def _stacked(X: Any, X_val: Any) -> Any:
    if scipy.sparse.issparse(X) or scipy.sparse.issparse(X_val):
        return scipy.sparse.vstack([scipy.sparse.csr_array(X), scipy.sparse.csr_array(X_val)], format="csr")
    return np.vstack([X, X_val])
