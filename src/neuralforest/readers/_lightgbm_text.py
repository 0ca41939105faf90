"""LightGBM's text format: trees with all digits, and what a missing value is. Needs no library.

treelite reads `zero_as_missing` wrongly, and the JSON of `dump_model` takes longer to parse. It is what
`Booster.save_model` writes, so that models and files take the same way.
"""

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuralforest.ensemble import Link, TreeEnsemble, TreeNodes
from neuralforest.exceptions import UnsupportedModelError
from neuralforest.readers._refusal import not_fitted, unsupported

_IDENTITY = ("regression", "regression_l1", "huber", "fair", "quantile", "mape", "lambdarank", "rank_xendcg", "custom")
_LINKS: dict[str, Link] = {
    **dict.fromkeys(_IDENTITY, "identity"),
    **dict.fromkeys(("poisson", "gamma", "tweedie"), "log"),
    "binary": "logit",
    "multiclass": "softmax",
}
_ZERO = float(np.float32(1e-35))  # up to here, a number is 0 to LightGBM
_WHOLE_NUMBERS = (
    *("split_feature", "decision_type", "left_child", "right_child"),
    *("cat_boundaries", "cat_threshold", "leaf_count"),
)
_CATEGORICAL, _DEFAULT_LEFT, _ZERO_IS_MISSING, _NAN_IS_MISSING = 1, 2, 4, 8  # bits of a split's decision_type


def read_file(path: str) -> TreeEnsemble:
    """Read a model file."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    if not text.startswith("tree\n"):
        raise UnsupportedModelError(f"{path} cannot be read: it is not a model file of LightGBM")
    return ensemble_of("the file", text, None)


def ensemble_of(model: Any, text: str, classes: NDArray[Any] | None) -> TreeEnsemble:
    header, *trees = text.partition("\nend of trees")[0].split("\nTree=")
    lines = dict(line.partition("=")[::2] for line in header.splitlines())
    objective, *settings = lines.get("objective", "custom").split()
    if objective not in _LINKS or "sqrt" in settings:
        name = " ".join([objective, *settings])
        raise unsupported(model, f"its objective is {name}", f"the objectives {', '.join(_LINKS)}")
    if any("is_linear=1" in tree for tree in trees):
        raise unsupported(model, "its leaves are linear functions", "leaves with a value, linear_tree=False")
    link, n_outputs = _LINKS[objective], int(lines["num_tree_per_iteration"])
    if link in ("logit", "softmax") and classes is None:
        classes = np.arange(max(n_outputs, 2))
    if classes is not None and link == "identity":
        raise unsupported(model, f"its objective is {objective}, whose scores have no known link", "binary, multiclass")
    if classes is not None and len(classes) < 2:
        raise unsupported(model, "it was fitted on one class", "classifiers of two or more classes")
    if not trees:
        raise not_fitted(model)
    factor = next((float(each[8:]) for each in settings if each.startswith("sigmoid:")), 1.0)
    parsed = [_fields(tree) for tree in trees]
    names = tuple(lines["feature_names"].split(" "))
    is_mean = "average_output" in header.splitlines()
    return TreeEnsemble.from_nodes(
        [_nodes(tree, number % n_outputs, n_outputs, factor) for number, tree in enumerate(parsed)],
        n_features=len(names),
        aggregation="sum",
        groups=np.arange(0, len(parsed) + 1, n_outputs) if is_mean else None,
        link=link,
        compare_dtype="float64",
        classes=classes,
        feature_names=names,
        missing_range=_missing_range(parsed, len(names)),
        categories=_categories(text, lines["feature_infos"].split(" ")),
    )


def _fields(tree: str) -> dict[str, NDArray[Any]]:
    """Return the arrays of one tree."""
    lines = dict(line.partition("=")[::2] for line in tree.splitlines())
    floats = {name: np.array(lines.get(name, "").split(), np.float64) for name in ("threshold", "leaf_value")}
    return floats | {name: np.array(lines.get(name, "").split(), np.int64) for name in _WHOLE_NUMBERS}


def _nodes(tree: dict[str, NDArray[Any]], column: int, n_outputs: int, factor: float) -> TreeNodes:
    """Return a tree with its leaves behind its splits."""
    n_splits, n_leaves = len(tree["split_feature"]), len(tree["leaf_value"])
    left, right = (
        np.concatenate([_below(tree[name], n_splits), np.full(n_leaves, -1)]) for name in ("left_child", "right_child")
    )
    value = np.zeros((n_splits + n_leaves, n_outputs))
    value[n_splits:, column] = factor * tree["leaf_value"]
    kind, threshold = tree["decision_type"], _beside_zero(tree["threshold"])
    default_left = (kind & _DEFAULT_LEFT) > 0
    missing_left = np.where(kind & (_ZERO_IS_MISSING | _NAN_IS_MISSING), default_left, threshold >= 0)  # NaN is 0
    missing_left &= (kind & _CATEGORICAL) == 0  # no set holds NaN
    weight = tree["leaf_count"] if len(tree["leaf_count"]) == n_leaves else np.ones(n_leaves)

    def padded(array: NDArray[Any]) -> NDArray[Any]:
        return np.concatenate([array, np.zeros(n_leaves, array.dtype)])

    return TreeNodes(
        left=left,
        right=right,
        feature=padded(tree["split_feature"]),
        threshold=padded(threshold),
        missing_left=padded(missing_left),
        value=value,
        weight=np.concatenate([np.zeros(n_splits), weight]),
        category_left=_category_lists(tree),
    )


def _beside_zero(threshold: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return thresholds with which numbers that LightGBM takes for 0 go where 0 goes."""
    near = np.abs(threshold) <= _ZERO
    return np.where(near, np.where(threshold >= 0, _ZERO, np.nextafter(-_ZERO, -np.inf)), threshold)


def _below(child: NDArray[np.int64], n_splits: int) -> NDArray[np.int64]:
    """Return child pointers, where leaves are numbers below 0, with leaves behind the splits."""
    return np.where(child < 0, n_splits + ~child, child)


def _category_lists(tree: dict[str, NDArray[Any]]) -> dict[int, NDArray[np.bool_]]:
    """Return the categories of each categorical split: bits of 32-bit words; those in the set go left."""
    lists = {}
    for split in np.flatnonzero(tree["decision_type"] & _CATEGORICAL):
        number = int(tree["threshold"][split])
        words = tree["cat_threshold"][slice(*tree["cat_boundaries"][number : number + 2])].astype("<u4")
        bits = np.unpackbits(words.view(np.uint8), bitorder="little").astype(np.bool_)
        lists[int(split)] = np.append(bits[: np.flatnonzero(bits).max(initial=0) + 1], False)
    return lists


def _missing_range(trees: list[dict[str, NDArray[Any]]], n_features: int) -> NDArray[np.float64]:
    """Return the range around 0 that is missing to the features that take 0 for a missing value."""
    ranges = np.full((n_features, 2), np.nan)
    for tree in trees:
        zero_is_missing = (tree["decision_type"] & (_ZERO_IS_MISSING | _CATEGORICAL)) == _ZERO_IS_MISSING
        ranges[tree["split_feature"][zero_is_missing]] = -_ZERO, _ZERO
    return ranges


def _categories(text: str, infos: list[str]) -> tuple[NDArray[Any] | None, ...] | None:
    """Return the categories of a data frame that the model was fitted on, in the order of its categorical columns."""
    stored = json.loads(text.rpartition("\npandas_categorical:")[2].partition("\n")[0] or "null")
    if not stored:
        return None
    labels = iter(stored)
    return tuple(np.array(next(labels)) if not info.startswith("[") and info != "none" else None for info in infos)
