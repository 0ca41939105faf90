"""Large trees as their evaluation for many rows takes them: nodes level by level, children adjacent."""

import numpy as np
from numpy.typing import NDArray

from neuralforest._kernels.trees.descent import CHILD_BITS, FEATURE_BITS, LargeTrees, packed_nodes
from neuralforest.ensemble import TreeEnsemble, rounded_down


def large_trees(e: TreeEnsemble) -> LargeTrees | None:
    """Return the nodes of all trees; None where a node does not fit into eight bytes, or tests a category."""
    n_nodes = np.diff(e.first_split) + np.diff(e.first_leaf)
    fit = e.n_features <= 2**FEATURE_BITS and n_nodes.max() <= 2**CHILD_BITS and e.compare_dtype == "float32"
    if len(e.category_left) or not fit:
        return None
    depth_of_split, depth_of_leaf = _depths(e)
    tree_of_leaf = np.repeat(np.arange(e.n_trees), np.diff(e.first_leaf))
    tree = np.concatenate([e.tree_of_split, tree_of_leaf])
    number = np.concatenate([e.begin, np.arange(len(tree_of_leaf)) - e.first_leaf[tree_of_leaf]])  # of its first leaf
    depth = np.concatenate([depth_of_split, depth_of_leaf])
    n_levels, most = int(depth.max()) + 1, int(np.diff(e.first_leaf).max())
    order = np.argsort((tree * n_levels + depth) * most + number, kind="stable")
    place = np.empty(len(order), np.int64)  # of each split and leaf, among all nodes
    place[order] = np.arange(len(order))
    first_node = e.first_split + e.first_leaf
    splits, leaves = place[: e.n_splits], place[e.n_splits :]
    threshold, feature = np.full(len(order), np.inf, np.float32), np.zeros(len(order), np.int32)
    missing_right, child = np.zeros(len(order), np.bool_), np.zeros(len(order), np.int64)
    threshold[splits], feature[splits] = rounded_down(e.threshold, np.float32), e.feature
    missing_right[splits] = ~e.missing_left
    child[splits] = place[_left_children(e)] - first_node[e.tree_of_split]
    child[leaves] = leaves - first_node[tree_of_leaf]  # itself: no number is above infinity
    node = packed_nodes(threshold, feature, missing_right, child)
    leaf = np.zeros(len(order), np.int32)
    leaf[leaves] = number[e.n_splits :]
    return LargeTrees(np.array(first_node), node, leaf, np.array(e.first_leaf), np.array(e.value))


def _left_children(e: TreeEnsemble) -> NDArray[np.int64]:
    """Return the left child of every split: a split, or n_splits + a leaf."""
    leaf = e.n_splits + e.first_leaf[e.tree_of_split] + e.begin
    return np.where(e.middle - e.begin > 1, np.arange(e.n_splits) + 1, leaf)


def _depths(e: TreeEnsemble) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the depth of every split and of every leaf: level by level, for all trees at once."""
    splits, leaves = np.zeros(e.n_splits, np.int64), np.zeros(len(e.value), np.int64)
    level, here = 0, e.first_split[:-1][np.diff(e.first_split) > 0]
    while len(here):
        level += 1
        first_leaf = e.first_leaf[e.tree_of_split[here]]
        begin, middle, end = e.begin[here], e.middle[here], e.end[here]
        left, right = middle - begin > 1, end - middle > 1
        leaves[(first_leaf + begin)[~left]] = level
        leaves[(first_leaf + middle)[~right]] = level
        here = np.concatenate([(here + 1)[left], (here + middle - begin)[right]])
        splits[here] = level
    return splits, leaves
