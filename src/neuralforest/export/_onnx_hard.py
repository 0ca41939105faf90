"""Hard trees as ONNX operators: the operator for trees returns leaf numbers, so that values have any precision."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import numpy_helper

from neuralforest.exceptions import UnsupportedModelError
from neuralforest.export._graph import Graph
from neuralforest.export._nodes import CategoryColumns, Nodes, nodes_of
from neuralforest.export._view import View


def add_hard_trees(graph: Graph, view: View, x: str) -> str:
    """Add the sum over all hard trees, (rows, outputs), without a constant per tree; x is (rows, features)."""
    e = view.ensemble
    if e.compare_dtype == "float64" and graph.dtype == "float32":
        raise UnsupportedModelError(
            "the trees of this model compare in float64, and a graph in float32 rounds X first, which can send rows "
            "near a threshold to the wrong side: export it with dtype='float64'"
        )
    trees = nodes_of(e, view.hard_trees)
    value = graph.number(trees.value - view.weighted_sum.hard_center)
    if len(trees.feature):
        columns = _with_categories(graph, graph.cast(x, e.compare_dtype), trees.categories)
        leaf = graph.add("TreeEnsembleRegressor", columns, **_attributes(trees))  # (rows, trees)
    else:  # zeros
        rows = graph.add("Gather", graph.add("Shape", x), graph.constant(np.array([0])), axis=0)
        column = graph.add("ConstantOfShape", graph.add("Concat", rows, graph.constant(np.array([1])), axis=0))
        leaf = graph.add("Mul", column, graph.constant(np.zeros((1, len(trees.root)), np.float32)))
    leaf = graph.add("Add", graph.cast(leaf, "int64"), graph.constant(trees.first_leaf[:-1]))
    values = graph.add("Gather", value, leaf, axis=0)  # (rows, trees, outputs)
    return graph.add("ReduceSum", values, graph.constant(np.array([1])), keepdims=0)


def _with_categories(graph: Graph, x: str, columns: CategoryColumns) -> str:
    """Add the columns that splits on categories compare, behind those of x; NaN stays NaN."""
    if not len(columns.feature):
        return x
    own = graph.add("Gather", x, graph.constant(columns.feature), axis=1)
    zero, n_known = (graph.constant(bound.astype(columns.right.dtype)) for bound in (np.zeros(1), columns.n_known))
    is_known = graph.add("And", graph.add("GreaterOrEqual", own, zero), graph.add("Less", own, n_known))
    entry = graph.cast(graph.add("Where", is_known, own, n_known), "int64")
    right = graph.add("Gather", graph.constant(columns.right), graph.add("Add", entry, graph.constant(columns.first)))
    return graph.add("Concat", x, graph.add("Where", graph.add("IsNaN", own), own, right), axis=1)


def _attributes(trees: Nodes) -> dict[str, Any]:
    """Return a TreeEnsembleRegressor with one target per tree: the number of the leaf inside its tree."""
    n_splits, n_leaves = len(trees.feature), len(trees.value)
    size = np.diff(trees.first_leaf)
    tree = np.concatenate([trees.tree_of_split, np.repeat(np.arange(len(size)), size)])  # of every node
    order = np.argsort(tree, kind="stable")  # tree by tree, roots first
    number = np.empty_like(order)  # of a node, counted inside its tree
    number[order] = np.arange(len(order)) - np.repeat(2 * trees.first_leaf[:-1] - np.arange(len(size)), 2 * size - 1)
    order = order[size[tree[order]] > 1]  # a tree that is one leaf has no node: its target stays 0
    leaf = order[order >= n_splits]

    def of_nodes(of_splits: NDArray[Any]) -> NDArray[Any]:
        return np.concatenate([of_splits, np.zeros(n_leaves, of_splits.dtype)])[order]

    return {
        "n_targets": len(size),
        "nodes_treeids": tree[order].tolist(),
        "nodes_nodeids": number[order].tolist(),
        "nodes_featureids": of_nodes(trees.feature).tolist(),
        "nodes_truenodeids": of_nodes(number[trees.left]).tolist(),
        "nodes_falsenodeids": of_nodes(number[trees.right]).tolist(),
        "nodes_missing_value_tracks_true": of_nodes(trees.missing_left.astype(np.int64)).tolist(),
        "nodes_modes": np.where(order < n_splits, "BRANCH_LEQ", "LEAF").tolist(),  # x <= threshold goes left
        "target_treeids": tree[leaf].tolist(),
        "target_nodeids": number[leaf].tolist(),
        "target_ids": tree[leaf].tolist(),
        **_numbers("nodes_values", of_nodes(trees.threshold)),
        **_numbers("target_weights", (leaf - n_splits - trees.first_leaf[tree[leaf]]).astype(trees.threshold.dtype)),
    }


def _numbers(name: str, array: NDArray[np.floating]) -> dict[str, Any]:
    if array.dtype == np.float32:
        return {name: array.tolist()}
    return {f"{name}_as_tensor": numpy_helper.from_array(array, name)}
