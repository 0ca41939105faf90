"""Trees as a fitted model of scikit-learn, with its speed, its size and the tools that take such models."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.ensemble._gb import HalfBinomialLoss, HalfMultinomialLoss, HalfSquaredError
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.tree._tree import NODE_DTYPE, Tree

from neuralforest.ensemble import TreeEnsemble
from neuralforest.exceptions import UnsupportedModelError
from neuralforest.export._nodes import Nodes, nodes_of
from neuralforest.export._trees import trees_of
from neuralforest.training.leaf_values import output_of_tree, without_base_score

__all__ = ["to_sklearn"]

_LEAF = -2  # in place of the feature and the threshold of a leaf
_SMALLEST_WEIGHT = 1e-6  # of a leaf without rows, so that explainers do not divide 0 by 0


def to_sklearn(model: Any) -> Any:
    """Return trees as a fitted model of scikit-learn.

    Trees that are averaged become a RandomForestRegressor or RandomForestClassifier; trees that are added up, and the
    scores of tuned classifiers, become a GradientBoostingRegressor or GradientBoostingClassifier. Predictions are the
    same bits; probabilities of more than two classes differ by rounding.

    Parameters
    ----------
    model : fitted estimator or ForestNetwork
        A model that is trees: fitted with ``tune="leaves"`` or ``tune="splits"``, or made by `convert`.

    Returns
    -------
    fitted scikit-learn estimator

    Raises
    ------
    UnsupportedModelError
        When the model is more than trees, or when scikit-learn's trees cannot express it: splits by category, X
        compared in float64 (HistGradientBoosting, LightGBM), a log or probit link.

    Examples
    --------
    >>> import neuralforest as nf
    >>> from neuralforest.export.sklearn import to_sklearn
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.ensemble import RandomForestRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> forest = RandomForestRegressor(20, max_leaf_nodes=16, max_features=3, random_state=0)
    >>> model = nf.NeuralForestRegressor(forest, tune="leaves", random_state=0).fit(X, y)
    >>> exported = to_sklearn(model)
    >>> type(exported).__name__, bool((exported.predict(X) == model.predict(X)).all())
    ('RandomForestRegressor', True)
    """
    e = trees_of(model)
    _check(e)
    return _boosting(e) if e.aggregation == "sum" else _forest(e)


def _check(e: TreeEnsemble) -> None:
    reason = None
    if len(e.category_left):
        reason = "split by category"
    elif e.compare_dtype != "float32":
        reason = "compare X in float64"
    elif e.link not in ("identity", "logit", "softmax"):
        reason = f"have a {e.link} link"
    elif e.aggregation == "sum" and e.link == "identity" and (e.n_outputs > 1 or e.classes is not None):
        reason = f"are added up to {e.n_outputs} outputs"
    elif e.aggregation == "mean" and e.link != "identity":
        reason = f"average scores of a {e.link} link"
    if reason is not None:
        raise UnsupportedModelError(
            f"scikit-learn's forests have no trees that {reason}: use neuralforest.export.treelite or "
            "neuralforest.export.onnx"
        )


def _forest(e: TreeEnsemble) -> Any:
    classifier = e.classes is not None
    kind, tree = (
        (RandomForestClassifier, DecisionTreeClassifier)
        if classifier
        else (RandomForestRegressor, DecisionTreeRegressor)
    )
    forest = _named(kind(e.n_trees), e)
    forest.estimator_, forest.n_outputs_ = tree(), 1 if classifier else e.n_outputs
    if classifier:
        forest.classes_, forest.n_classes_ = np.array(e.classes), e.n_outputs
    forest.estimators_ = [_fitted_tree(tree(), e, number, e.value, classifier) for number in range(e.n_trees)]
    return forest


def _boosting(e: TreeEnsemble) -> Any:
    """Return boosted trees that start from 0; a base score is part of the first tree of each output."""
    e, classifier = without_base_score(e), e.classes is not None
    kind = GradientBoostingClassifier if classifier else GradientBoostingRegressor
    stages = _stages(e)
    boosting = _named(kind(n_estimators=max(len(stages), 1), learning_rate=1.0, init="zero"), e)
    boosting.init_, boosting.n_estimators_, boosting.max_features_ = "zero", len(stages), e.n_features
    boosting.n_trees_per_iteration_, boosting.train_score_ = e.n_outputs, np.zeros(len(stages))
    if not classifier:
        boosting._loss = HalfSquaredError()
    else:
        boosting.classes_, boosting.n_classes_ = np.array(e.classes), len(e.classes)  # type: ignore[arg-type]
        several = e.n_outputs > 1
        boosting._loss = HalfMultinomialLoss(n_classes=e.n_outputs) if several else HalfBinomialLoss()
    boosting.estimators_ = np.empty((len(stages), e.n_outputs), object)
    for stage, trees in enumerate(stages):
        for output, tree in enumerate(trees):
            boosting.estimators_[stage, output] = _fitted_tree(
                DecisionTreeRegressor(), e, tree, e.value[:, output : output + 1], False
            )
    return boosting


def _stages(e: TreeEnsemble) -> list[list[int]]:
    """Return the tree of each output in each stage: every tree for all outputs, or one tree for each."""
    outputs, column = np.arange(e.n_outputs), output_of_tree(e)
    if e.n_trees % e.n_outputs == 0 and np.array_equal(column, np.tile(outputs, e.n_trees // e.n_outputs)):
        return [(first + outputs).tolist() for first in range(0, e.n_trees, e.n_outputs)]
    return [[tree] * e.n_outputs for tree in range(e.n_trees)]


def _named(model: Any, e: TreeEnsemble) -> Any:
    model.n_features_in_ = e.n_features
    if e.feature_names is not None:
        model.feature_names_in_ = np.array(e.feature_names, object)
    return model


def _fitted_tree(tree: Any, e: TreeEnsemble, number: int, value: NDArray[np.float64], classifier: bool) -> Any:
    """Give an unfitted decision tree the nodes of one tree, with these values of the leaves of all trees."""
    own = value[e.first_leaf[number] : e.first_leaf[number + 1]]
    weight = np.maximum(e.weight[e.first_leaf[number] : e.first_leaf[number + 1]], _SMALLEST_WEIGHT)
    nodes = nodes_of(e, np.array([number]))
    tree.n_features_in_, tree.n_outputs_ = e.n_features, 1 if classifier else own.shape[1]
    tree.max_features_ = e.n_features
    n_classes = np.array([own.shape[1]] if classifier else [1] * own.shape[1], np.intp)
    if classifier:
        tree.classes_, tree.n_classes_ = np.arange(own.shape[1], dtype=np.float64), own.shape[1]
    table, values = _node_table(e, number, nodes, own, weight)
    shape = (len(table), 1, -1) if classifier else (len(table), -1, 1)
    tree.tree_ = Tree(e.n_features, n_classes, tree.n_outputs_)
    state = {"max_depth": nodes.depth, "node_count": len(table), "nodes": table, "values": values.reshape(shape)}
    tree.tree_.__setstate__(state)
    return tree


def _node_table(
    e: TreeEnsemble, number: int, nodes: Nodes, value: NDArray[np.float64], weight: NDArray[np.float64]
) -> tuple[NDArray[np.void], NDArray[np.float64]]:
    """Return the nodes of one tree, splits first, and their values: those of splits are means over their leaves."""
    n_splits, splits = len(nodes.feature), slice(e.first_split[number], e.first_split[number + 1])
    table = np.zeros(n_splits + len(value), NODE_DTYPE)
    table["left_child"], table["right_child"], table["feature"], table["threshold"] = -1, -1, _LEAF, _LEAF
    table["left_child"][:n_splits], table["right_child"][:n_splits] = nodes.left, nodes.right
    table["feature"][:n_splits], table["threshold"][:n_splits] = nodes.feature, nodes.threshold
    table["missing_go_to_left"][:n_splits] = nodes.missing_left
    total = np.concatenate([[0.0], np.cumsum(weight)])
    sums = np.concatenate([np.zeros((1, value.shape[1])), np.cumsum(weight[:, None] * value, axis=0)])
    begin, end = e.begin[splits], e.end[splits]
    of_splits = total[end] - total[begin]
    table["weighted_n_node_samples"] = np.concatenate([of_splits, weight])
    table["n_node_samples"] = np.maximum(np.rint(table["weighted_n_node_samples"]), 1)
    means = (sums[end] - sums[begin]) / of_splits[:, None]
    return table, np.ascontiguousarray(np.concatenate([means, value]))
