"""CatBoost: models and scikit-learn estimators, symmetric and other trees, from the library's own JSON.

treelite does not read CatBoost. X is cast to float32; a condition holds where x > border, or where a category equals a
value, and then the row goes right. Models hold hashes of their categories, not the categories: a table that contains
them turns hashes into labels. Sums are float64, in an order that differs from ours.
"""

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import catboost
import numpy as np
from numpy.typing import NDArray

from neuralforest.ensemble import Link, TreeEnsemble, TreeNodes
from neuralforest.readers._refusal import not_fitted, unsupported
from neuralforest.readers.check import decoded

ROUNDING = 1e-12
"""How far predictions may differ, relative to the largest score."""

_IDENTITY = ("RMSE", "MAE", "Quantile", "Huber", "LogCosh", "Lq", "Expectile", "MAPE", "MultiRMSE")
_LINKS: dict[str, Link] = {
    **dict.fromkeys(_IDENTITY, "identity"),
    **dict.fromkeys(("Poisson", "Tweedie"), "log"),
    **dict.fromkeys(("Logloss", "CrossEntropy"), "logit"),
    "MultiClass": "softmax",
}
_NAN_GOES_LEFT = {"AsIs": True, "AsFalse": True, "AsTrue": False}


def read_catboost(model: Any, X: Any = None) -> TreeEnsemble:
    """Read a fitted model; X is a table that holds its categories, needed where splits test one."""
    if not model.is_fitted():
        raise not_fitted(model)
    for kind in ("text", "embedding"):
        if getattr(model, f"get_{kind}_feature_indices")():
            raise unsupported(model, f"it has {kind} features", "numbers and categories")
    loss = _loss_of(model)
    if loss not in _LINKS:
        raise unsupported(model, f"its loss_function is {loss}", f"the loss functions {', '.join(_LINKS)}")
    content = _content(model, X)
    features = _Features(model, content["features_info"])
    scale, bias = content["scale_and_bias"]
    n_outputs = len(bias)
    classes = np.asarray(model.classes_) if _LINKS[loss] in ("logit", "softmax") else None
    if "oblivious_trees" in content:
        trees = [_symmetric(tree, features, scale, n_outputs) for tree in content["oblivious_trees"]]
    else:
        trees = [_nested(tree, features, scale, n_outputs) for tree in content["trees"]]
    return TreeEnsemble.from_nodes(
        trees,
        n_features=features.n_features,
        aggregation="sum",
        base_score=np.asarray(bias, np.float64),
        link=_LINKS[loss],
        compare_dtype="float32",
        classes=classes,
        feature_names=tuple(model.feature_names_),
        categories=features.categories,
    )


def read_file(path: str) -> TreeEnsemble:
    """Read a model file."""
    return read_catboost(catboost.CatBoost().load_model(path))


def output(model: Any, X: NDArray[np.float64], ensemble: TreeEnsemble) -> NDArray[np.float64]:
    """Return the model's own predictions, probabilities of classes, for rows of numbers and codes of categories."""
    rows = decoded(ensemble, X)
    for name, labels in zip(model.feature_names_, ensemble.categories or (), strict=False):
        if labels is not None:
            rows[name] = rows[name].fillna("a missing category")
    link = _LINKS[model.get_all_params()["loss_function"].partition(":")[0]]
    kind = {"logit": "Probability", "softmax": "Probability", "log": "Exponent"}.get(link, "RawFormulaVal")
    return np.asarray(catboost.CatBoost.predict(model, rows, prediction_type=kind, thread_count=1))


def _loss_of(model: Any) -> str:
    try:
        return str(model.get_all_params()["loss_function"].partition(":")[0])
    except catboost.CatBoostError as error:
        supported = "models that were fitted, and not made of others as by sum_models"
        raise unsupported(model, "it holds no loss_function", supported) from error


def _content(model: Any, X: Any) -> dict[str, Any]:
    categorical = model.get_cat_feature_indices()
    pool = None if X is None or not categorical else catboost.Pool(X, cat_features=categorical)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.json")
        model.save_model(str(path), format="json", pool=pool)
        content: dict[str, Any] = json.loads(path.read_text())
    return content


class _Features:
    """Where the features of conditions stand in X, and which codes their categories have."""

    def __init__(self, model: Any, info: dict[str, Any]) -> None:
        self.model = model
        self.numbers = info.get("float_features", [])
        self.tested = info.get("categorical_features", [])
        self.n_features = len(self.numbers) + len(self.tested)
        self.missing_left = [_NAN_GOES_LEFT[each["nan_value_treatment"]] for each in self.numbers]
        self.labels = {each["hash"] % 2**32: each["value"] for each in info.get("cat_features_hash", [])}

    @property
    def categories(self) -> tuple[NDArray[Any] | None, ...] | None:
        """The categories that conditions test, for each feature; all others are alike to the model."""
        categories: list[NDArray[Any] | None] = [None] * self.n_features
        for each in self.tested:
            hashes = [value % 2**32 for value in each.get("values", [])]  # some are signed
            unknown = [value for value in hashes if value not in self.labels]
            if unknown:
                raise unsupported(
                    self.model,
                    f"it holds hashes of the categories of {each['feature_id']!r}, not the categories",
                    "CatBoost models with categories together with a table that contains them: nf.convert(model, X)",
                )
            categories[each["flat_feature_index"]] = np.array([self.labels[value] for value in hashes], np.str_)
        return tuple(categories) if self.tested else None

    def condition(self, split: dict[str, Any]) -> tuple[int, float, bool, NDArray[np.bool_] | None]:
        """Return feature, threshold, whether missing values go left, and the categories that do."""
        if split["split_type"] == "FloatFeature":
            number = split["float_feature_index"]
            return self.numbers[number]["flat_feature_index"], split["border"], self.missing_left[number], None
        if split["split_type"] != "OneHotFeature":
            raise unsupported(
                self.model,
                "it replaces categories by statistics of the target (CTR), which are no splits",
                "categories that are tested one by one: fit with one_hot_max_size of at least their number",
            )
        feature = self.tested[split["cat_feature_index"]]
        left = np.ones(len(feature["values"]) + 1, np.bool_)
        left[feature["values"].index(split["value"])] = False
        return feature["flat_feature_index"], 0.0, True, left


def _symmetric(tree: dict[str, Any], features: _Features, scale: float, n_outputs: int) -> TreeNodes:
    """Return a tree whose levels have one condition each, as a complete tree; the last condition is the root's."""
    conditions = [features.condition(split) for split in reversed(tree["splits"] or [])]
    n_splits = 2 ** len(conditions) - 1
    level = np.repeat(np.arange(len(conditions)), 2 ** np.arange(len(conditions)))
    nodes = np.arange(2 * n_splits + 1)
    is_leaf = nodes >= n_splits
    value = np.zeros((len(nodes), n_outputs))
    value[n_splits:] = scale * np.asarray(tree["leaf_values"]).reshape(-1, n_outputs)
    columns = [np.array([each[i] for each in conditions])[level] for i in range(3)] if conditions else [level] * 3
    pad = np.zeros(n_splits + 1)
    return TreeNodes(
        left=np.where(is_leaf, -1, 2 * nodes + 1),
        right=np.where(is_leaf, -1, 2 * nodes + 2),
        feature=np.concatenate([columns[0], pad]),
        threshold=np.concatenate([columns[1], pad]),
        missing_left=np.concatenate([columns[2], pad]),
        value=value,
        weight=np.concatenate([pad[1:], tree.get("leaf_weights") or pad + 1]),
        category_left={node: left for node, k in enumerate(level) if (left := conditions[k][3]) is not None},
    )


def _nested(tree: dict[str, Any], features: _Features, scale: float, n_outputs: int) -> TreeNodes:
    """Return a tree of nested nodes; the left child is where the condition does not hold."""
    rows, categories = list(_walk(tree)), {}
    n = len(rows)
    feature, threshold = np.zeros(n, np.int64), np.zeros(n)
    missing_left, value = np.zeros(n, np.bool_), np.zeros((n, n_outputs))
    for number, (node, _) in enumerate(rows):
        if "split" in node:
            feature[number], threshold[number], missing_left[number], left = features.condition(node["split"])
            if left is not None:
                categories[number] = left
        else:
            value[number] = scale * np.asarray(node["value"])
    is_leaf = np.array(["split" not in node for node, _ in rows])
    right = np.array([right for _, right in rows])
    left_child = np.where(is_leaf, -1, np.arange(n) + 1)
    weight = np.array([node.get("weight", 1.0) for node, _ in rows])
    return TreeNodes(left_child, right, feature, threshold, missing_left, value, weight, categories)


def _walk(tree: dict[str, Any], first: int = 0) -> Iterator[tuple[dict[str, Any], int]]:
    """Yield the nodes depth-first, each with the number of its right child, or -1."""
    if "split" not in tree:
        yield tree, -1
        return
    left = list(_walk(tree["left"], first + 1))
    yield tree, first + 1 + len(left)
    yield from left
    yield from _walk(tree["right"], first + 1 + len(left))


READERS = {catboost.CatBoost: read_catboost}
