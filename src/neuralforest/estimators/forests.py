"""The forest under an estimator: ours when none is given, how it is grown, and which rows are out-of-bag."""

from dataclasses import replace
from typing import Any

import numpy as np
from joblib import parallel_config
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.ensemble import BaggingClassifier, BaggingRegressor, RandomForestClassifier, RandomForestRegressor
from sklearn.exceptions import NotFittedError as SklearnNotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils import Tags, get_tags
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from neuralforest._frames import TableEncoder
from neuralforest.base_models.extra_trees import max_samples
from neuralforest.estimators.categorical_forest import CategoricalForest
from neuralforest.estimators.categories import decoded
from neuralforest.estimators.rows import FitRows
from neuralforest.exceptions import InvalidParameterError
from neuralforest.readers import library_of


def default_forest(
    classifier: bool,
    n_rows: int,
    n_features: int,
    bootstrap: bool = False,
    n_categories: NDArray[np.int64] | None = None,
) -> BaseEstimator:
    """Return the forest that is grown when the user gives none.

    Each tree's network is trained on the rows of the tree and validated on the others. The number of leaves grows with
    the square root of the number of rows, as the theory allows, up to what can be trained in seconds. Few trees are
    enough for networks that are trained for long, unless there are few validation rows. Many features need more leaves
    and more trees. Where there are many, a third of the features is tried at every split: the trees get less
    correlated, and the networks gain more than the trees lose. With `bootstrap` it is a random forest, whose rows are
    drawn with replacement: for weights and for several targets, which bagged trees do not take.
    """
    wanted = (50_000 if classifier else 10_000) / n_rows
    fewest = np.clip(n_features, 20, 30) if classifier else np.clip(2 * n_features / 3, 8, 30)
    n_trees = int(np.clip(wanted, fewest, 60))
    fraction, n_leaves = max_samples(n_rows), min(3 * np.sqrt(n_rows), max(64, n_rows / 100, n_features))
    shape: dict[str, Any] = {
        "max_leaf_nodes": int(np.clip(n_leaves, 16, 96)),
        "max_features": 1 / 3 if n_features >= 6 else 1.0,
    }
    if n_categories is not None and n_categories.any():
        return CategoricalForest(classifier, n_categories, n_trees, fraction, **shape)
    if bootstrap:
        return (RandomForestClassifier if classifier else RandomForestRegressor)(n_trees, **shape)
    if classifier:
        return BaggingClassifier(DecisionTreeClassifier(**shape), n_trees, max_samples=fraction, bootstrap=False)
    return BaggingRegressor(DecisionTreeRegressor(**shape), n_trees, max_samples=fraction, bootstrap=False)


def can_be_bagged(table: FitRows) -> bool:
    """Return whether bagged trees can be grown on rows: they take no weights, and one target."""
    return table.forest_weight is None and table.target.ndim == 1


def source_of(forest: Any, classifier: bool) -> Any:
    """Return the forest that a user gave, unwrapped from FrozenEstimator, or refuse it."""
    forest = forest.estimator if isinstance(forest, FrozenEstimator) else forest
    kind = "classifier" if classifier else "regressor"
    if isinstance(forest, type):
        raise InvalidParameterError(
            f"forest must be an instance, got the class {forest.__name__}: write {forest.__name__}()"
        )
    if _is_estimator(forest) and is_classifier(forest) != classifier:
        raise InvalidParameterError(
            f"forest must be a {kind}, like the estimator around it, got {forest!r}: use the other of "
            "NeuralForestRegressor and NeuralForestClassifier"
        )
    return forest


def tags_of(forest: Any, classifier: bool) -> Tags:
    """Return what a forest takes; for a model without tags, what a random forest takes."""
    return get_tags(forest if _is_estimator(forest) else default_forest(classifier, 1, 1, bootstrap=True))


def _is_estimator(forest: Any) -> bool:
    return hasattr(forest, "fit") and hasattr(forest, "get_params") and not isinstance(forest, type)


def is_fitted(forest: Any) -> bool:
    """Return whether a forest has been fitted; a model that is no scikit-learn estimator can only be fitted."""
    if forest is None or not _is_estimator(forest):
        return forest is not None
    try:
        check_is_fitted(forest)
    except SklearnNotFittedError:
        return False
    return True


def prepare_forest(forest: Any, seed: int, n_jobs: int | None) -> Any:
    """Return an unfitted copy of a forest, with a seed and threads where it has such parameters that are not set."""
    forest = forest.copy() if _library(forest) == "catboost" else clone(forest)  # which refuses lists in CatBoost
    parameters = forest.get_params(deep=False)
    for name, value in (("random_state", seed), ("n_jobs", n_jobs)):
        if name in parameters and parameters[name] is None:
            forest.set_params(**{name: value})
    return forest


def grow(
    forest: Any,
    table: FitRows,
    rows: NDArray[np.int64],
    names: NDArray[Any] | None,
    encoder: TableEncoder | None = None,
) -> None:
    """Fit the forest on some rows; weights are passed on where there are any, and the names of the features too."""
    weights = {}
    if table.forest_weight is not None:
        if not has_fit_parameter(forest, "sample_weight"):
            raise InvalidParameterError(
                f"sample_weight and class_weight need a forest that takes weights, and {type(forest).__name__} does not"
            )
        weights["sample_weight"] = table.forest_weight[rows]
    with parallel_config(backend="threading"):  # growing a tree releases the GIL, and processes take seconds to start
        forest.fit(_rows_for(forest, table.X[rows], encoder), table.target[rows], **weights)
    if names is not None and not hasattr(type(forest), "feature_names_in_"):
        forest.feature_names_in_ = names
        if isinstance(forest, CategoricalForest):
            forest.ensemble_ = replace(forest.ensemble_, feature_names=tuple(names))


def _rows_for(forest: Any, X: Any, encoder: TableEncoder | None) -> Any:
    """Return rows as a forest takes them: codes, or a data frame where its library splits by category."""
    takes_frames = _library(forest) in ("xgboost", "lightgbm", "catboost") or hasattr(forest, "categorical_features")
    if encoder is None or not takes_frames or isinstance(forest, CategoricalForest):
        return X
    return decoded(encoder, X, as_strings=_library(forest) == "catboost")


def conversion_options(forest: Any, table: FitRows, encoder: TableEncoder | None) -> dict[str, Any]:
    """Return what `convert` needs of the rows: CatBoost does not store its categories."""
    if encoder is None or _library(forest) != "catboost":
        return {}
    return {"X": _rows_for(forest, table.X, encoder)}


def _library(forest: Any) -> str:
    module = library_of(forest)
    return "" if module is None else module.__name__.rpartition(".")[2]


def has_out_of_bag_rows(forest: Any) -> bool:
    """Return whether each tree of a forest, fitted or not, has out-of-bag rows."""
    if not hasattr(type(forest), "estimators_samples_"):
        return False
    parameters = forest.get_params(deep=False)
    whole = parameters.get("max_samples") in (None, 1.0)
    return bool(parameters.get("bootstrap")) or not whole


def bag_counts(forest: Any, n_rows: int) -> list[NDArray[np.int64]]:
    """Return, for every tree, how often it has drawn each row, (rows,); 0 for out-of-bag rows."""
    return [np.bincount(rows, minlength=n_rows) for rows in forest.estimators_samples_]


def draws_by_weight(forest: Any) -> bool:
    """Return whether a fitted forest has drawn its rows by their weights, so that weights must not be applied again."""
    return getattr(forest, "_sample_weight", None) is not None


def n_rows_seen(forest: Any) -> int | None:
    """Return how many rows a fitted forest was given, where that is known."""
    return getattr(forest, "_n_samples", None)
