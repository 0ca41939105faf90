"""The forest under an estimator: ours when none is given, how it is grown, and which rows are out-of-bag."""

import json
import re
from copy import deepcopy
from dataclasses import replace
from typing import Any

import numpy as np
from joblib import parallel_config
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.ensemble import BaggingClassifier, BaggingRegressor, RandomForestClassifier, RandomForestRegressor
from sklearn.ensemble._gb import BaseGradientBoosting
from sklearn.ensemble._hist_gradient_boosting.gradient_boosting import BaseHistGradientBoosting
from sklearn.exceptions import NotFittedError as SklearnNotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils import Tags, get_tags
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from neuralforest._frames import TableEncoder
from neuralforest.base_models.extra_trees import max_samples
from neuralforest.ensemble import TreeEnsemble
from neuralforest.estimators.categorical_forest import CategoricalForest
from neuralforest.estimators.categories import decoded, own_categories
from neuralforest.estimators.rows import FitRows
from neuralforest.estimators.target_units import growing_units, restore_units, scaled
from neuralforest.exceptions import InvalidParameterError
from neuralforest.readers import library_of

_MONOTONIC = ("monotonic_cst", "monotone_constraints", "monotone_constraint", "monotonic_constraints", "mc")
_MOST_ROWS = 400_000  # that a tree of the default forest is grown on; more of them train its network


def default_forest(
    classifier: bool,
    n_rows: int,
    n_features: int,
    n_categories: NDArray[np.int64] | None = None,
    any_rows: bool = False,
    features: NDArray[np.int64] | None = None,
    n_classes: int | None = None,
) -> BaseEstimator:
    """Return the forest that is grown when the user gives none.

    Each tree's network is trained on the rows of the tree and validated on the others. The number of leaves grows with
    the square root of the number of rows, as the theory allows, up to what can be trained in seconds. Few trees are
    enough for networks that are trained for long, unless there are few validation rows. Many features need more leaves
    and more trees, and so do more than two classes. Where there are many, a third of the features is tried at every
    split: the trees get less correlated, and the networks gain more than the trees lose. With `any_rows`, it takes
    weights and several targets, which scikit-learn's bagging does not. Given some features, trees split by those only.
    """
    all_features, n_features = n_features, n_features if features is None else len(features)
    wanted = (50_000 if classifier else 10_000) / n_rows
    fewest = np.clip(n_features, 20, 30) if classifier else np.clip(2 * n_features / 3, 8, 20)
    if not classifier or n_classes == 2:  # few networks are enough where many rows train each
        fewest = np.clip(80_000 / n_rows, 12 if classifier else 8, fewest)
    n_trees = int(np.clip(wanted, fewest, 60))
    fraction = max(min(max_samples(n_rows), _MOST_ROWS / n_rows), 1 / n_rows)
    n_leaves = min(3 * np.sqrt(n_rows), max(64, n_rows / 100, n_features))
    shape: dict[str, Any] = {
        "max_leaf_nodes": int(np.clip(n_leaves, 16, 96)),
        "max_features": 1 / 3 if n_features >= 6 else 1.0,
    }
    if any_rows or features is not None or (n_categories is not None and n_categories.any()):
        own = np.zeros(all_features, np.int64) if n_categories is None else n_categories
        return CategoricalForest(classifier, own, n_trees, fraction, **shape, features=features)
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
    if is_estimator(forest) and is_classifier(forest) != classifier:
        raise InvalidParameterError(
            f"forest must be a {kind}, like the estimator around it, got {forest!r}: use the other of "
            "NeuralForestRegressor and NeuralForestClassifier"
        )
    _refuse_monotonic(forest)
    return forest


def _refuse_monotonic(forest: Any) -> None:
    """Refuse monotonic constraints: a trained network would violate them."""
    for name, value in _parameters(forest).items():
        if name.rpartition("__")[2] in _MONOTONIC and _is_constraint(value):
            raise InvalidParameterError(
                f"forest must have no monotonic constraints, because a trained network does not keep them, got "
                f"{name}={value!r}: leave {name} out, or keep the trees as they are by neuralforest.convert(forest)"
            )


def _parameters(forest: Any) -> dict[str, Any]:
    """Return the parameters of a model, also of a Booster."""
    if is_estimator(forest):
        return dict(forest.get_params())
    if _library(forest) == "lightgbm":
        settings = re.findall(r"^\[(\w+): (.*)\]$", forest.model_to_string(num_iteration=1), re.MULTILINE)
        return dict(settings)
    if _library(forest) == "xgboost":
        booster = json.loads(forest.save_config())["learner"]["gradient_booster"]
        booster = booster.get("gbtree", booster)  # dart holds one
        return dict(booster.get("tree_train_param", {}))
    return {}


def _is_constraint(value: Any) -> bool:
    """Return whether any feature is constrained: by numbers, strings, or a dictionary of them, in any of them not 0."""
    if isinstance(value, str):
        value = [each.rpartition(":")[2] for each in value.split(",")]
    each_of = value.values() if isinstance(value, dict) else [] if value is None else np.ravel(value).tolist()
    return any(str(each).strip("()[] ") not in ("", "0") for each in each_of)


def tags_of(forest: Any, classifier: bool) -> Tags:
    """Return what a forest takes; for a model without tags, what a random forest takes."""
    if is_estimator(forest):
        return get_tags(forest)
    return get_tags(RandomForestClassifier() if classifier else RandomForestRegressor())


def is_estimator(forest: Any) -> bool:
    """Return whether a model, fitted or not, can be cloned and fitted anew."""
    return hasattr(forest, "fit") and hasattr(forest, "get_params") and not isinstance(forest, type)


def is_fitted(forest: Any) -> bool:
    """Return whether a forest has been fitted; a model that is no scikit-learn estimator can only be fitted."""
    if forest is None or not is_estimator(forest):
        return forest is not None
    try:
        check_is_fitted(forest)
    except SklearnNotFittedError:
        return False
    return True


def can_be_fitted(forest: Any) -> bool:
    """Return whether a model can be fitted to other rows: it is an estimator, not frozen, not that of a model file."""
    frozen = isinstance(forest, FrozenEstimator) or hasattr(forest, "_bags")
    return forest is None or (is_estimator(forest) and not frozen)


def is_averaged(forest: Any) -> bool:
    """Return whether the prediction of a forest is a mean of trees, whose number is a parameter."""
    return hasattr(type(forest), "estimators_samples_") and "n_estimators" in forest.get_params(deep=False)


def is_sum(forest: Any) -> bool:
    """Return whether a model, fitted or not, predicts a sum of trees: boosting, BART, or a `TreeEnsemble` of them."""
    ensemble = getattr(forest, "ensemble", forest if isinstance(forest, TreeEnsemble) else None)
    if isinstance(ensemble, TreeEnsemble):
        return ensemble.aggregation == "sum"
    libraries = ("xgboost", "lightgbm", "catboost", "stochtree")
    boosting = (BaseGradientBoosting, BaseHistGradientBoosting)
    return _library(forest) in libraries or isinstance(forest, boosting) or getattr(forest, "_is_sum", False)


def copy_of(forest: Any) -> Any:
    """Return an unfitted copy of a forest; `clone` refuses lists in CatBoost's parameters, whose copies stay fitted."""
    if _library(forest) != "catboost":
        return clone(forest)
    kind, parameters = type(forest), deepcopy(forest.get_params())
    return kind(parameters) if kind.__name__ == "CatBoost" else kind(**parameters)


def prepare_forest(forest: Any, seed: int, n_jobs: int | None) -> Any:
    """Return an unfitted copy of a forest, with a seed and threads where it has such parameters that are not set."""
    forest = copy_of(forest)
    parameters = forest.get_params(deep=False)
    for name, value in (("random_state", seed), ("n_jobs", n_jobs)):
        if name in parameters and parameters[name] is None:
            forest.set_params(**{name: value})
    return forest


def tree_of(forest: Any, tree: int) -> Any:
    """Return an unfitted forest of one tree: the tree with this number of a larger forest, if it gets the same rows.

    scikit-learn draws a seed for each tree, one after the other; so the seeds of the trees before are skipped, as
    `warm_start` does.
    """
    one = clone(forest)
    if isinstance(forest, CategoricalForest):
        one._only = tree
        return one
    random = np.random.RandomState(forest.random_state)
    random.randint(np.iinfo(np.int32).max, size=tree)
    return one.set_params(n_estimators=1, random_state=random, oob_score=False)  # which needs all trees


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
    if encoder is not None:
        _name_categories(forest, encoder)
    target = table.target[rows]
    units = None if target.dtype != np.float64 or is_classifier(forest) else growing_units(forest, target)
    with parallel_config(backend="threading"):  # growing a tree releases the GIL, and processes take seconds to start
        X = table.X if len(rows) == table.X.shape[0] else table.X[rows]
        forest.fit(_rows_for(forest, X, encoder), target if units is None else scaled(target, units), **weights)
    if units is not None:
        restore_units(forest, units)
    if names is not None and not hasattr(type(forest), "feature_names_in_"):
        forest.feature_names_in_ = names
        if isinstance(forest, CategoricalForest):
            forest.ensemble_ = replace(forest.ensemble_, feature_names=tuple(names))


def _name_categories(forest: Any, encoder: TableEncoder) -> None:
    """Tell a forest whose parameters name its columns of categories which ones are categories in the rows that it gets.

    CatBoost takes strings only there. Columns of many categories are numbers by now.
    """
    names = {"catboost": "cat_features", "sklearn": "categorical_features"}
    if _library(forest) in names and (_library(forest) == "catboost" or own_categories(forest)):
        forest.set_params(**{names[_library(forest)]: np.flatnonzero(encoder.n_categories).tolist()})


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


def bag_counts(forest: Any, n_rows: int, n_trees: int | None = None) -> list[NDArray[np.integer]]:
    """Return, for every tree, or the first ones, how often it has drawn each row, (rows,); 0 for out-of-bag rows.

    In the smallest integers that hold them.
    """
    counts = (np.bincount(rows, minlength=n_rows) for rows in forest.estimators_samples_[:n_trees])
    return [count.astype(np.min_scalar_type(count.max())) for count in counts]


def sample_seeds(forest: Any) -> list[Any]:
    """Return the seeds that drew the rows of each tree, where the forest has them."""
    own = getattr(forest, "_seeds", None)  # of scikit-learn's bagging
    return (
        [getattr(tree, "random_state", None) for tree in getattr(forest, "estimators_", [])]
        if own is None
        else list(own)
    )


def draws_by_weight(forest: Any) -> bool:
    """Return whether a fitted forest has drawn its rows by their weights, so that weights must not be applied again."""
    return getattr(forest, "_sample_weight", None) is not None


def n_rows_seen(forest: Any) -> int | None:
    """Return how many rows a fitted forest was given, where that is known."""
    return getattr(forest, "_n_samples", None)
