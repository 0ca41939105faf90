"""scikit-learn's boosted trees: GradientBoosting and HistGradientBoosting. Both sum scores, class by class.

They differ in where things are kept, in the dtype of X (float32 against float64), and in what a first guess may be.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.dummy import DummyClassifier, DummyRegressor

from neuralforest.ensemble import Link, TreeEnsemble, TreeNodes
from neuralforest.readers._refusal import unsupported
from neuralforest.readers._sklearn_trees import nodes_of, shared_attributes

_LINKS: dict[str, tuple[Link, float]] = {
    "IdentityLink": ("identity", 1.0),
    "LogLink": ("log", 1.0),
    "LogitLink": ("logit", 1.0),
    "HalfLogitLink": ("logit", 2.0),  # the exponential loss: the probability is expit(2 score)
    "MultinomialLogit": ("softmax", 1.0),
}
"""The link of a loss, and the factor that turns its score into ours. Powers of two, so that no bit is lost."""


def read_gradient_boosting(model: Any) -> TreeEnsemble:
    """Read a GradientBoosting model: first guess + learning rate * values."""
    shared = shared_attributes(model)
    link, factor = _link_of(model)
    _check_first_guess(model)
    first_guess = model._raw_predict_init(np.zeros((1, model.n_features_in_), np.float32))  # (1, scores)

    def trees() -> Iterator[TreeNodes]:
        for stage in model.estimators_:
            for score, tree in enumerate(stage):
                nodes = nodes_of(model, tree)
                value = factor * (model.learning_rate * nodes.value[:, 0])
                yield nodes._replace(value=_in_column(value, score, len(stage)))

    return TreeEnsemble.from_nodes(
        trees(),
        **shared,
        aggregation="sum",
        base_score=factor * first_guess[0],
        link=link,
        compare_dtype="float32",
        second_at_zero=True,
    )


def read_hist_gradient_boosting(model: Any) -> TreeEnsemble:
    """Read a HistGradientBoosting model: baseline + values, which hold the learning rate already."""
    shared = shared_attributes(model)
    link, factor = _link_of(model)
    if is_classifier(model) and len(model.classes_) < 2:
        raise unsupported(model, "it was fitted on one class", "classifiers of two or more classes")

    features, categories = _preprocessed(model)
    sizes = np.array([0 if each is None else len(each) for each in categories or [None] * len(features)])

    def trees() -> Iterator[TreeNodes]:
        for stage in model._predictors:
            for score, predictor in enumerate(stage):
                nodes = _nodes_of_predictor(predictor.nodes, factor, score, len(stage))
                nodes = nodes._replace(feature=features[nodes.feature])
                yield nodes._replace(category_left=_category_lists(predictor, sizes[nodes.feature]))

    base_score = factor * np.ravel(model._baseline_prediction)
    return TreeEnsemble.from_nodes(
        trees(),
        **shared,
        aggregation="sum",
        base_score=base_score,
        link=link,
        compare_dtype="float64",
        categories=categories,
    )


def _preprocessed(model: Any) -> tuple[NDArray[np.int64], tuple[NDArray[Any] | None, ...] | None]:
    """Return the feature of each preprocessed column, categories first, and the categories of each feature."""
    if model.is_categorical_ is None:
        return np.arange(model.n_features_in_), None
    categorical = np.flatnonzero(model.is_categorical_)
    categories: list[NDArray[Any] | None] = [None] * model.n_features_in_
    encoder = model._preprocessor.named_transformers_["encoder"]
    for feature, labels in zip(categorical, encoder.categories_, strict=True):
        categories[feature] = labels[[label == label for label in labels]]  # without NaN, a missing value
    return np.concatenate([categorical, np.flatnonzero(~model.is_categorical_)]), tuple(categories)


def _category_lists(predictor: Any, n_categories: NDArray[np.int64]) -> dict[int, NDArray[np.bool_]]:
    """Return the categories of each categorical node; others are treated as missing."""
    lists = {}
    for node in np.flatnonzero(
        predictor.nodes["is_categorical"].astype(np.bool_) & ~predictor.nodes["is_leaf"].astype(np.bool_)
    ):
        words = predictor.raw_left_cat_bitsets[predictor.nodes["bitset_idx"][node]].astype("<u4")
        left = np.unpackbits(words.view(np.uint8), bitorder="little")[: n_categories[node]].astype(np.bool_)
        lists[int(node)] = np.append(left, bool(predictor.nodes["missing_go_to_left"][node]))
    return lists


def _nodes_of_predictor(nodes: NDArray[np.void], factor: float, score: int, n_scores: int) -> TreeNodes:
    is_leaf = nodes["is_leaf"].astype(bool)
    return TreeNodes(
        left=np.where(is_leaf, -1, nodes["left"].astype(np.int64)),
        right=np.where(is_leaf, -1, nodes["right"].astype(np.int64)),
        feature=nodes["feature_idx"],
        threshold=nodes["num_threshold"],
        missing_left=nodes["missing_go_to_left"],
        value=_in_column(factor * nodes["value"], score, n_scores),
        weight=nodes["count"],
    )


def _in_column(value: NDArray[np.float64], column: int, n_columns: int) -> NDArray[np.float64]:
    """Return values (nodes,) as one column of an array (nodes, n_columns) of zeros."""
    full = np.zeros((len(value), n_columns))
    full[:, column] = value
    return full


def _link_of(model: Any) -> tuple[Link, float]:
    name = type(model._loss.link).__name__
    if name not in _LINKS:
        raise unsupported(model, f"its loss has the link {name}", f"losses with one of {', '.join(_LINKS)}")
    return _LINKS[name]


def _check_first_guess(model: Any) -> None:
    """Refuse a first guess that depends on the row: it would have to be evaluated next to the trees."""
    guess = model.init_
    constant = (
        isinstance(guess, str)
        or type(guess) is DummyRegressor
        or (type(guess) is DummyClassifier and guess.strategy != "stratified")  # which draws at random
    )
    if not constant:
        raise unsupported(
            model,
            f"its first guess is the custom estimator init={guess!r}, which is not made of these trees",
            "init=None, init='zero' and dummies that guess a constant",
        )
