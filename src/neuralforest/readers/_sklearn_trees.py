"""scikit-learn's trees and the forests that average them: decision trees, extra trees, random forests, bagging.

All of them cast X to float32 and compare with thresholds in float64. Classifiers average fractions of classes.
"""

from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.exceptions import NotFittedError as SklearnNotFittedError
from sklearn.tree import BaseDecisionTree
from sklearn.tree._tree import Tree
from sklearn.utils.validation import check_is_fitted

from neuralforest.ensemble import TreeEnsemble, TreeNodes
from neuralforest.readers._refusal import not_fitted, unsupported

NODE_FIELDS = {
    "left_child",
    "right_child",
    "feature",
    "threshold",
    "missing_go_to_left",
    "impurity",
    "n_node_samples",
    "weighted_n_node_samples",
}
"""What a node's record holds where every split compares with a threshold."""


def read_tree(model: Any) -> TreeEnsemble:
    """Read a DecisionTree or an ExtraTree."""
    shared = shared_attributes(model)
    return TreeEnsemble.from_nodes([nodes_of(model, model)], **shared)


def read_forest(model: Any) -> TreeEnsemble:
    """Read a RandomForest or ExtraTrees."""
    shared = shared_attributes(model)
    return TreeEnsemble.from_nodes([nodes_of(model, tree) for tree in model.estimators_], **shared)


def read_bagging(model: Any) -> TreeEnsemble:
    """Read a Bagging of trees, each of which may know only some of the features and of the classes."""
    shared = shared_attributes(model)
    trees = []
    for tree, features in zip(model.estimators_, model.estimators_features_, strict=True):
        if not isinstance(tree, BaseDecisionTree) or is_classifier(tree) != is_classifier(model):
            kind = "classifiers" if is_classifier(model) else "regressors"
            raise unsupported(
                model, f"it bags {type(tree).__name__}", f"bagged {kind} of the families DecisionTree and ExtraTree"
            )
        nodes = nodes_of(model, tree)
        value = nodes.value
        if is_classifier(model) and len(tree.classes_) != len(model.classes_):
            value = np.zeros((len(value), len(model.classes_)))
            value[:, tree.classes_] = nodes.value  # a tree's labels are columns of the ensemble
        # clip keeps the -2 of a leaf inside of the array
        trees.append(nodes._replace(feature=features.take(nodes.feature, mode="clip"), value=value))
    return TreeEnsemble.from_nodes(trees, **shared)


def shared_attributes(model: Any) -> dict[str, Any]:
    """Return the attributes that all ensembles of this library share; an error if the model is not fitted."""
    try:
        check_is_fitted(model)
    except SklearnNotFittedError as error:
        raise not_fitted(model) from error
    if is_classifier(model) and getattr(model, "n_outputs_", 1) > 1:
        raise unsupported(model, f"it classifies {model.n_outputs_} outputs at once", "classifiers of one output")
    names = getattr(model, "feature_names_in_", None)
    return {
        "n_features": model.n_features_in_,
        "feature_names": None if names is None else tuple(names),
        "classes": model.classes_ if is_classifier(model) else None,
    }


def nodes_of(model: Any, tree: BaseDecisionTree) -> TreeNodes:
    """Return views of the nodes of one tree; `model` is whom an error names."""
    table = tree.tree_
    _check_nodes(model, table)
    return TreeNodes(
        left=table.children_left,
        right=table.children_right,
        feature=table.feature,
        threshold=table.threshold,
        missing_left=table.missing_go_to_left,
        # (nodes, outputs, 1) of a regressor or (nodes, 1, classes) of a classifier
        value=table.value.reshape(table.node_count, -1),
        weight=table.weighted_n_node_samples,
    )


def _check_nodes(model: Any, table: Any) -> None:
    """Refuse splits that are not thresholds: trees of other packages, or of a later scikit-learn."""
    if type(table) is not Tree:
        raise unsupported(model, f"its trees are of the kind {type(table).__name__}", "scikit-learn's own Tree")
    nodes = table.__getstate__()["nodes"]
    unknown = sorted(name for name in set(nodes.dtype.names) - NODE_FIELDS if _in_use(nodes[name]))
    if unknown:
        raise unsupported(
            model,
            f"its nodes use fields that this reader does not know ({', '.join(unknown)})",
            "splits at a threshold",
        )


def _in_use(field: np.ndarray[Any, Any]) -> bool:
    """Return whether any byte of a field, which may itself be a record, is not zero."""
    return bool(np.frombuffer(field.tobytes(), np.uint8).any())
