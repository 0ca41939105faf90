"""XGBoost: boosters and scikit-learn estimators, gbtree and dart, from the library's own JSON.

The JSON holds every tree exactly, dart's weights and vector leaves included, which treelite does not; and it is what
`Booster.save_model` writes, so that model files take the same way. X is cast to float32, and a row goes left where
x < threshold: the largest float32 below becomes ours. Sums are float32 in XGBoost and float64 here.
"""

import json
from itertools import pairwise
from typing import Any

import numpy as np
import xgboost
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError as SklearnNotFittedError

from neuralforest.ensemble import Link, TreeEnsemble, TreeNodes
from neuralforest.readers._refusal import not_fitted, unsupported

ROUNDING = 2e-6
"""How far predictions may differ, relative to the largest score."""

_IDENTITY = ("squarederror", "squaredlogerror", "absoluteerror", "pseudohubererror", "quantileerror")
_LINKS: dict[str, Link] = {
    **{f"reg:{loss}": "identity" for loss in _IDENTITY},
    **{f"rank:{loss}": "identity" for loss in ("pairwise", "ndcg", "map")},
    **dict.fromkeys(("count:poisson", "reg:gamma", "reg:tweedie"), "log"),
    "binary:logistic": "logit",
    **dict.fromkeys(("multi:softprob", "multi:softmax"), "softmax"),
}


def read_xgboost(model: Any) -> TreeEnsemble:
    """Read a Booster, or an estimator, which predicts with its best iteration after early stopping."""
    booster, n_rounds = model, None
    if isinstance(model, xgboost.XGBModel):
        try:
            booster = model.get_booster()
        except SklearnNotFittedError as error:
            raise not_fitted(model) from error
        n_rounds = getattr(model, "best_iteration", -1) + 1 or None
        if not np.isnan(model.missing):
            raise unsupported(model, f"it was fitted with missing={model.missing}", "missing=nan; replace the values")
    try:
        learner = json.loads(bytes(booster.save_raw("json")))["learner"]
    except xgboost.core.XGBoostError as error:
        raise not_fitted(model) from error
    classes = np.asarray(model.classes_) if isinstance(model, xgboost.XGBClassifier) else None
    return _ensemble(model, learner, n_rounds, classes)


def read_file(path: str) -> TreeEnsemble:
    """Read a model file, JSON or UBJSON: one that an estimator has saved predicts with its best iteration."""
    booster = xgboost.Booster(model_file=path)
    attributes = booster.attributes()
    if "scikit_learn" in attributes and "best_iteration" in attributes:
        booster = booster[: int(attributes["best_iteration"]) + 1]
    return read_xgboost(booster)


def output(model: Any, X: NDArray[np.float64], ensemble: TreeEnsemble) -> NDArray[np.float64]:
    """Return the model's own predictions, probabilities of classes, for rows of numbers and codes of categories."""
    booster = model.get_booster() if isinstance(model, xgboost.XGBModel) else model
    types = booster.feature_types
    rows = xgboost.DMatrix(X, feature_names=booster.feature_names, feature_types=types, enable_categorical=True)
    last = getattr(model, "best_iteration", -1) + 1 if isinstance(model, xgboost.XGBModel) else 0
    learner = json.loads(booster.save_config())["learner"]
    if learner["objective"]["name"] == "multi:softmax":  # whose prediction is a label
        scores = booster.predict(rows, iteration_range=(0, last), output_margin=True).astype(np.float64)
        power = np.exp(scores - scores.max(axis=1, keepdims=True))
        return np.asarray(power / power.sum(axis=1, keepdims=True))
    prediction = booster.predict(rows, iteration_range=(0, last)).astype(np.float64)
    is_binary = learner["objective"]["name"] == "binary:logistic"
    return np.column_stack([1 - prediction, prediction]) if is_binary else prediction


def _ensemble(model: Any, learner: dict[str, Any], n_rounds: int | None, classes: NDArray[Any] | None) -> TreeEnsemble:
    objective, booster = learner["objective"]["name"], learner["gradient_booster"]
    is_dart = booster["name"] == "dart"
    trees = (booster["gbtree"] if is_dart else booster)["model"]
    if booster["name"] not in ("gbtree", "dart"):
        raise unsupported(model, f"its booster is {booster['name']}", "the boosters gbtree and dart")
    is_regressor = isinstance(model, xgboost.XGBModel) and classes is None
    if objective not in _LINKS or (is_regressor and _LINKS[objective] in ("logit", "softmax")):
        raise unsupported(model, f"its objective is {objective}", f"the objectives {', '.join(_LINKS)}")
    link, parameters = _LINKS[objective], learner["learner_model_param"]
    n_outputs = max(int(parameters["num_class"]), int(parameters["num_target"]), 1)
    if link == "logit" and n_outputs > 1:
        raise unsupported(model, f"it predicts {n_outputs} labels of a row at once", "classifiers of one label a row")
    if link in ("logit", "softmax") and classes is not None and len(classes) < 2:
        raise unsupported(model, "it was fitted on one class", "classifiers of two or more classes")
    if link in ("logit", "softmax") and classes is None:
        classes = np.arange(max(n_outputs, 2))
    n_trees = trees["iteration_indptr"][n_rounds] if n_rounds else len(trees["trees"])
    weights = booster["weight_drop"] if is_dart else np.ones(n_trees)
    names = learner["feature_names"]
    return TreeEnsemble.from_nodes(
        [_nodes(trees["trees"][i], trees["tree_info"][i], np.float32(weights[i]), n_outputs) for i in range(n_trees)],
        n_features=int(parameters["num_feature"]),
        aggregation="sum",
        base_score=_base_score(parameters["base_score"], link, n_outputs),
        link=link,
        compare_dtype="float32",
        classes=classes,
        feature_names=tuple(names) or None,
        categories=_categories(trees.get("cats")),
    )


def _base_score(text: str, link: Link, n_outputs: int) -> NDArray[np.float64]:
    """Return what is added to the scores; files hold it as a prediction."""
    value = np.atleast_1d(np.asarray(json.loads(text), np.float64))
    if link == "logit":
        value = np.log(value) - np.log1p(-value)
    elif link == "log":
        value = np.log(value)
    return np.broadcast_to(value, n_outputs).copy()


def _nodes(tree: dict[str, Any], column: int, weight: np.float32, n_outputs: int) -> TreeNodes:
    left, right = np.array(tree["left_children"]), np.array(tree["right_children"])
    is_leaf = left < 0
    condition = np.array(tree["split_conditions"], np.float32)
    value = np.zeros((len(left), n_outputs))
    if "leaf_weights" in tree:  # vectors, in the order of the numbers that leaves have as their right child
        value[is_leaf] = np.array(tree["leaf_weights"], np.float32).reshape(-1, n_outputs)[right[is_leaf]] * weight
    else:
        value[:, column] = condition * weight
    return TreeNodes(
        left=left,
        right=np.where(is_leaf, -1, right),
        feature=np.array(tree["split_indices"]),
        threshold=np.nextafter(condition, np.float32(-np.inf)),
        missing_left=np.array(tree["default_left"], bool),
        value=value,
        weight=np.array(tree["sum_hessian"], np.float64),
        category_left=_category_lists(tree),
    )


def _category_lists(tree: dict[str, Any]) -> dict[int, NDArray[np.bool_]]:
    """Return the categories of each categorical node: those in its set go right, all others left."""
    lists = {}
    for node, start, size in zip(
        tree["categories_nodes"], tree["categories_segments"], tree["categories_sizes"], strict=True
    ):
        right = np.array(tree["categories"][start : start + size], np.int64)
        lists[node] = np.ones(right.max(initial=0) + 2, np.bool_)
        lists[node][right] = False
    return lists


def _categories(stored: Any) -> tuple[NDArray[Any] | None, ...] | None:
    """Return the categories of a data frame that the model was fitted on; None where it holds codes only."""
    try:
        categories = tuple(_labels(each) for each in stored["enc"]) if stored else ()
    except UnicodeDecodeError:  # XGBoost cuts labels that are not ASCII
        return None
    return categories if any(each is not None for each in categories) else None


def _labels(stored: dict[str, Any]) -> NDArray[Any] | None:
    if "offsets" not in stored:
        return np.array(stored["values"]) if stored["values"] else None
    text = bytes(value % 256 for value in stored["values"])
    labels = [text[begin:end].decode() for begin, end in pairwise(stored["offsets"])]
    return np.array(labels) if labels else None


READERS = {xgboost.Booster: read_xgboost, xgboost.XGBModel: read_xgboost}
