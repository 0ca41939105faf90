"""stochtree's BART: regression and probit. Each draw of the posterior is a sum of trees; draws are averaged.

Trees come from the JSON of the forest container. A draw predicts y_bar + y_std * (sum of its leaves), and the normal
distribution function of it for a probit. The preprocessor turns a category of a data frame into a column of 0 and 1:
here a split of such a column tests the category itself.
"""

import json
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas
import stochtree
from numpy.typing import NDArray

from neuralforest.ensemble import TreeEnsemble, TreeNodes
from neuralforest.exceptions import InvalidParameterError
from neuralforest.readers._refusal import not_fitted, unsupported
from neuralforest.readers.check import decoded

ROUNDING = 1e-9
"""How far predictions may differ, relative to the largest score: a mean over draws is a mean of sums."""


def read_bart(model: Any, draws: int | Sequence[int] | None = None) -> TreeEnsemble:
    """Read some draws: a number of them, evenly spaced, or their numbers, or None for all."""
    if not model.is_sampled():
        raise not_fitted(model)
    outcome = (str(model.outcome_model.outcome), str(model.outcome_model.link))
    if outcome not in (("continuous", "identity"), ("binary", "probit")):
        raise unsupported(
            model, f"its outcome is {' with link '.join(outcome)}", "continuous and binary probit outcomes"
        )
    if model.has_rfx or model.has_basis or not model.include_mean_forest:
        raise unsupported(model, "it has random effects, a leaf basis or no mean forest", "a mean forest alone")
    content = json.loads(model.forest_container_mean.dump_json_string())
    columns, categories = _columns(model)
    chosen = _chosen(draws, content["num_samples"])
    return TreeEnsemble.from_nodes(
        [
            _nodes(model, content[f"forest_{draw}"][f"tree_{tree}"], columns, model.y_std)
            for draw in chosen
            for tree in range(content["num_trees"])
        ],
        n_features=model._covariate_preprocessor._num_original_features,
        aggregation="sum",
        base_score=np.array([model.y_bar], np.float64),
        groups=np.arange(len(chosen) + 1) * content["num_trees"],
        link="probit" if outcome[1] == "probit" else "identity",
        compare_dtype="float64",
        classes=np.array([0, 1]) if outcome[1] == "probit" else None,
        categories=categories,
    )


def output(model: Any, X: NDArray[np.float64], ensemble: TreeEnsemble) -> NDArray[np.float64]:
    """Return the mean over all draws of the model's own predictions, for rows of numbers and codes of categories."""
    is_probit = model.outcome_model.link == "probit"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scale = "probability" if is_probit else "linear"
        prediction = np.asarray(model.predict(_rows(model, X, ensemble), type="mean", terms="y_hat", scale=scale))
    return np.column_stack([1 - prediction, prediction]) if is_probit else prediction


def _rows(model: Any, X: NDArray[np.float64], ensemble: TreeEnsemble) -> Any:
    """Return rows as the model takes them; its preprocessor refuses missing and unknown categories."""
    is_boolean = np.asarray(model._covariate_preprocessor._original_feature_types) == "boolean"
    X = np.where(is_boolean, X > 0, X)  # a copy: memory must be writable
    if ensemble.categories is None:
        return X
    rows = decoded(ensemble, X)
    for feature, labels in enumerate(ensemble.categories):
        if labels is not None:
            if not rows.iloc[:, feature].isin(labels).all():
                raise ValueError(f"column {feature} must hold {list(labels)} only")
            ordered = model._covariate_preprocessor._ordinal_feature_index[feature] >= 0
            rows.isetitem(feature, pandas.Categorical(rows.iloc[:, feature], categories=labels, ordered=ordered))
        elif is_boolean[feature]:
            rows.isetitem(feature, rows.iloc[:, feature] > 0)
    return rows


def _chosen(draws: int | Sequence[int] | None, n_draws: int) -> list[int]:
    if draws is None:
        return list(range(n_draws))
    numbers = np.atleast_1d(np.asarray(draws))
    if numbers.dtype.kind not in "iu":
        raise InvalidParameterError(f"draws must be a whole number of draws, or numbers of draws, got {draws!r}")
    if np.ndim(draws) == 0:
        numbers = np.linspace(n_draws - 1, 0, max(int(numbers[0]), 0)).round().astype(np.int64)[::-1]
    if not len(numbers) or len(numbers) > n_draws or numbers.min() < 0 or numbers.max() >= n_draws:
        raise InvalidParameterError(
            f"draws must be a number from 1 to {n_draws}, or draws from 0 to {n_draws - 1}, got {draws}"
        )
    return [int(number) for number in numbers]


class _Column(NamedTuple):
    """A column of the preprocessed table: a feature, or one category of it."""

    feature: int
    category: int | None = None
    n_categories: int = 0
    is_boolean: bool = False


def _columns(model: Any) -> tuple[list[_Column], tuple[NDArray[Any] | None, ...] | None]:
    """Return the preprocessed columns, and the categories of each feature."""
    columns: list[_Column] = []
    categories: list[NDArray[Any] | None] = []
    preprocessor = model._covariate_preprocessor
    for feature, kind in enumerate(preprocessor._original_feature_types):
        labels = None
        if kind == "unsupported":
            raise unsupported(model, f"its preprocessor ignored column {feature}", "numbers and categories")
        if preprocessor._onehot_feature_index[feature] >= 0:
            labels = np.asarray(preprocessor._onehot_categories_list[preprocessor._onehot_feature_index[feature]])
            columns += [_Column(feature, number, len(labels)) for number in range(len(labels))]
        else:
            if preprocessor._ordinal_feature_index[feature] >= 0:
                labels = np.asarray(preprocessor._ordinal_categories_list[preprocessor._ordinal_feature_index[feature]])
            columns.append(_Column(feature, is_boolean=kind == "boolean"))
        categories.append(labels)
    return columns, tuple(categories) if any(each is not None for each in categories) else None


def _nodes(model: Any, tree: dict[str, Any], columns: list[_Column], scale: float) -> TreeNodes:
    if tree["has_categorical_split"] or tree["output_dimension"] != 1:
        raise unsupported(model, "a tree has splits by category or vectors in its leaves", "thresholds and one value")
    threshold = np.array(tree["threshold"], np.float64)
    used = [columns[number] for number in tree["split_index"]]  # -1 at a leaf: any
    between = (threshold >= 0) & (threshold < 1) & [column.is_boolean for column in used]
    threshold[between] = 0.0  # the preprocessor takes every other number for true
    lists = {}
    for node, column in enumerate(used):
        if tree["left"][node] >= 0 and column.category is not None:
            lists[node] = np.full(column.n_categories + 1, threshold[node] >= 0.0)
            lists[node][column.category] = threshold[node] >= 1.0
    return TreeNodes(
        left=np.array(tree["left"]),
        right=np.array(tree["right"]),
        feature=np.array([column.feature for column in used]),
        threshold=threshold,
        missing_left=np.ones(len(threshold), np.bool_),  # a row goes right where x > threshold
        value=scale * np.array(tree["leaf_value"], np.float64)[:, None],
        weight=np.ones(len(threshold)),
        category_left=lists,
    )


READERS = {stochtree.BARTModel: read_bart}
