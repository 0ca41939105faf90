"""Hard trees as ONNX operators: the operator for trees finds the leaves, so that values stay in any precision."""

from typing import Any

import numpy as np
from onnx import numpy_helper

from neuralforest.exceptions import UnsupportedModelError
from neuralforest.export._graph import Graph
from neuralforest.export._view import HardTrees, View, hard_trees


def add_hard_trees(graph: Graph, view: View, x: str) -> str:
    """Add the sum over all hard trees, (rows, outputs), less a constant a tree; x is (rows, features)."""
    e = view.ensemble
    if e.compare_dtype == "float64" and graph.dtype == "float32":
        raise UnsupportedModelError(
            "the trees of this model compare in float64, and a graph in float32 would round X before it compares, which "
            "sends rows near a threshold to the wrong side: export it with dtype='float64'"
        )
    trees = hard_trees(e, view.hard_trees)
    value = graph.number(trees.value - view.mixture.hard_center)
    if len(trees.feature):
        leaf = graph.add("TreeEnsembleRegressor", graph.cast(x, e.compare_dtype), **_attributes(trees))  # (rows, trees)
    else:
        leaf = graph.add("Mul", _zeros(graph, x), graph.constant(np.zeros((1, len(trees.root)), np.float32)))
    leaf = graph.add("Add", graph.cast(leaf, "int64"), graph.constant(trees.first_leaf[:-1]))
    said = graph.add("Gather", value, leaf, axis=0)  # (rows, trees, outputs)
    return graph.add("ReduceSum", said, graph.constant(np.array([1])), keepdims=0)


def _zeros(graph: Graph, x: str) -> str:
    """Add a column of zeros, (rows, 1), for trees that have no split."""
    rows = graph.add("Gather", graph.add("Shape", x), graph.constant(np.array([0])), axis=0)
    shape = graph.add("Concat", rows, graph.constant(np.array([1])), axis=0)
    return graph.add("ConstantOfShape", shape)


def _attributes(trees: HardTrees) -> dict[str, Any]:
    """Return the trees as a TreeEnsembleRegressor with one target a tree, which is the number of the leaf in its tree."""
    n_splits, n_leaves = len(trees.feature), len(trees.value)
    size = np.diff(trees.first_leaf)
    tree = np.concatenate([trees.tree_of_split, np.repeat(np.arange(len(size)), size)])
    number = np.arange(n_splits + n_leaves)  # of a node
    leaf = number[n_splits:] - n_splits - trees.first_leaf[:-1][tree[n_splits:]]
    used = (size > 1)[tree]  # a tree that is one leaf has no node: its target stays 0
    is_leaf = number >= n_splits
    pad = np.zeros(n_leaves, np.int64)
    columns = {
        "nodes_treeids": tree,
        "nodes_nodeids": number,
        "nodes_featureids": np.concatenate([trees.feature, pad]),
        "nodes_truenodeids": np.concatenate([trees.left, pad]),
        "nodes_falsenodeids": np.concatenate([trees.right, pad]),
        "nodes_missing_value_tracks_true": np.concatenate([trees.missing_left, pad]),
    }
    order = np.flatnonzero(used)[np.argsort(tree[used], kind="stable")]  # the trees one after the other, roots first
    ends = order[is_leaf[order]]
    own = np.flatnonzero(used[n_splits:])
    thresholds = np.concatenate([trees.threshold, np.zeros(n_leaves, trees.threshold.dtype)])[order]
    weights = leaf[ends - n_splits].astype(trees.threshold.dtype)
    assert len(own) == len(ends)
    return {
        **{name: column[order].tolist() for name, column in columns.items()},
        "nodes_modes": np.where(is_leaf[order], "LEAF", "BRANCH_LEQ").tolist(),
        "target_treeids": tree[ends].tolist(),
        "target_nodeids": ends.tolist(),
        "target_ids": tree[ends].tolist(),
        "n_targets": len(size),
        **_numbers("nodes_values", thresholds),
        **_numbers("target_weights", weights),
    }


def _numbers(name: str, array: np.ndarray[Any, Any]) -> dict[str, Any]:
    if array.dtype == np.float32:
        return {name: array.tolist()}
    return {f"{name}_as_tensor": numpy_helper.from_array(array, name)}
