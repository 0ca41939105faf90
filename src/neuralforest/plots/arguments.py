"""Arguments of Displays, checked: models, names of features, rows, trees and targets."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from sklearn.utils.validation import validate_data

from neuralforest.convert import convert
from neuralforest.estimators import NeuralForestClassifier, NeuralForestRegressor
from neuralforest.exceptions import InvalidParameterError, NotFittedError
from neuralforest.network import ForestNetwork

Estimator = NeuralForestRegressor | NeuralForestClassifier
Names = Sequence[str] | None


def network_of(model: Any) -> ForestNetwork:
    """Return the network of a fitted estimator, of a tree model that `convert` takes, or the network itself."""
    if isinstance(model, ForestNetwork):
        return model
    if isinstance(model, Estimator):
        if not hasattr(model, "network_"):
            raise NotFittedError(f"a {type(model).__name__} must be fitted before it is drawn: call fit(X, y) first")
        return model.network_
    return convert(model)


def trained_estimator(model: Any, what: str) -> Estimator:
    """Return the model if it is a fitted estimator of this package, else raise an error."""
    if not isinstance(model, Estimator):
        raise InvalidParameterError(
            f"{what} needs a fitted NeuralForestRegressor or NeuralForestClassifier, got {type(model).__name__}; for a "
            "pipeline, pass its last step"
        )
    network_of(model)
    return model


def forest_of(network: ForestNetwork) -> ForestNetwork:
    """Return the forest that a network was made from, as a hard network."""
    return ForestNetwork(network.ensemble)


def feature_names(model: Any, names: Names = None, X: Any = None) -> tuple[str, ...]:
    """Return a name for every feature: those given, those of the model, the columns of X, or numbers."""
    n = network_of(model).n_features
    if names is not None:
        if isinstance(names, str) or len(names) != n:
            raise InvalidParameterError(f"feature_names must be {n} names, one per feature, got {names!r}")
        return tuple(map(str, names))
    columns = getattr(X, "columns", ())
    known = (getattr(model, "feature_names_in_", None), network_of(model).ensemble.feature_names, columns)
    unnamed = [f"feature {i}" for i in range(n)]
    return tuple(map(str, next((each for each in known if each is not None and len(each) == n), unnamed)))


def feature_number(feature: int | str, names: Sequence[str]) -> int:
    """Return the number of a feature that is given by number or by name."""
    if isinstance(feature, str):
        if feature not in names:
            raise InvalidParameterError(f"features must be among {', '.join(map(repr, names))}, got {feature!r}")
        return list(names).index(feature)
    if not 0 <= feature < len(names):
        raise InvalidParameterError(f"features must be numbers from 0 to {len(names) - 1}, or names, got {feature}")
    return int(feature)


def rows_of(model: Any, X: Any) -> NDArray[np.floating]:
    """Return X as the trees compare it; where both have column names, they must agree."""
    if hasattr(X, "columns") and hasattr(model, "feature_names_in_"):
        validate_data(model, X, reset=False, skip_check_array=True)  # names and their order
    encoder = getattr(model, "_encoder", None)
    if encoder is not None:
        X = encoder.encode(X)
    has_names = hasattr(X, "columns") and network_of(model).ensemble.categories is not None  # of categories
    return network_of(model).check_X(X if scipy.sparse.issparse(X) or has_names else np.asarray(X))


def row_of(model: Any, row: Any) -> NDArray[np.floating]:
    """Return one row, (features,), as the trees compare it: a sequence of values, or a table with one row."""
    if not hasattr(row, "columns"):
        has_categories = getattr(model, "_encoder", None) is not None
        row = np.asarray(row, object if has_categories else np.float64).reshape(1, -1)
    return np.asarray(rows_of(model, row)[0])


def medians_and_deviations(rows: NDArray[np.floating]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return median and standard deviation of each column, without missing values.

    A column without values has the median NaN; a constant one has the standard deviation 1.
    """
    medians, deviations = np.full(rows.shape[1], np.nan), np.ones(rows.shape[1])
    known = ~np.isnan(rows).all(axis=0)
    columns = np.asarray(rows[:, known], np.float64)
    medians[known], found = np.nanmedian(columns, axis=0), np.nanstd(columns, axis=0)
    deviations[known] = np.where(found > 0, found, 1.0)
    return medians, deviations


class Target(NamedTuple):
    """The output of a model that is drawn."""

    column: int  # among the classes, or among the outputs
    label: str  # with its unit


def target_of(network: ForestNetwork, target: Any = None) -> Target:
    """Return the class (by label, default the last) or the output (by number, default the first)."""
    if network.classes is None:
        n = network.n_outputs
        index = 0 if target is None else target
        if not isinstance(index, int | np.integer) or not 0 <= index < n:
            raise InvalidParameterError(f"target must be the number of an output, 0 to {n - 1}, got {target!r}")
        return Target(int(index), "prediction (units of the target)" if n == 1 else f"prediction of target {index}")
    index = len(network.classes) - 1 if target is None else position_of_class(network.classes, target)
    return Target(index, f"probability of class {network.classes[index]}")


def position_of_class(classes: NDArray[Any], target: Any) -> int:
    """Return the position of a class among all, by its label."""
    labels = classes.tolist()
    if target not in labels:
        raise InvalidParameterError(f"target must be one of the classes {labels}, got {target!r}")
    return labels.index(target)


def leaf_target(network: ForestNetwork, target: Any = None) -> Target:
    """Return the same for the values of leaves: scores for some classifiers, and one score for two classes."""
    chosen, e = target_of(network, target), network.ensemble
    if network.classes is None or e.link == "identity":
        return chosen
    column = min(chosen.column, e.n_outputs - 1)
    return Target(column, f"score of class {network.classes[-1 if e.n_outputs == 1 else column]}")


def tree_number(network: ForestNetwork, tree: int) -> int:
    """Return the number of a tree, checked."""
    if not isinstance(tree, int | np.integer) or not 0 <= tree < network.ensemble.n_trees:
        raise InvalidParameterError(f"tree must be a number from 0 to {network.ensemble.n_trees - 1}, got {tree!r}")
    return int(tree)
