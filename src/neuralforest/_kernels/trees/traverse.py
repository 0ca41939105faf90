"""Traversal of trees from the root to a leaf: the hard network, evaluated efficiently."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuralforest._kernels.jit import kernel, part

NODE = np.dtype([("threshold", np.float64), ("feature", np.int32), ("middle", np.int32)])
"""A split in sixteen bytes, so that a step down the tree touches one cache line. A feature whose missing values go
right is stored as its bitwise complement. A categorical split has NaN as its threshold."""


class CategoryLists(NamedTuple):
    """The categories of the splits; see `TreeEnsemble`. None in their place where no split tests a category."""

    first: NDArray[np.int64]  # (splits + 1,)
    left: NDArray[np.bool_]


_BATCH = 16384  # rows that pass through a tree before the next tree: tree and rows stay in the cache
_UNROLL = 8  # rows that descend together, which hides the latency of memory


@part
def goes_left(x, threshold, missing_left):  # type: ignore[no-untyped-def]
    """Return whether a number goes left: in traversal, and in growing."""
    return (x <= threshold) | (missing_left & (x != x))


@part
def category_goes_left(x, lists, split, missing_left):  # type: ignore[no-untyped-def]
    """Return whether a category goes left at a split."""
    first, last = lists.first[split], lists.first[split + 1] - 1
    if x != x:
        return missing_left
    return lists.left[first + np.int64(x) if (x >= 0) & (x < last - first) else last]


@part
def _step(x, node, lists, split, missing_left):  # type: ignore[no-untyped-def]
    """Return whether a value goes left at a split of any kind; without categories, no branch: half is mispredicted."""
    left = goes_left(x, node["threshold"], missing_left)
    if lists is not None:  # noqa: SIM102 (numba prunes a branch by this condition alone)
        if node["threshold"] != node["threshold"]:
            left = category_goes_left(x, lists, split, missing_left)
    return left


@part
def _descend(nodes, lists, X, n, row, at, begin, end):  # type: ignore[no-untyped-def]
    """Move n pairs of a row and a tree, at most _UNROLL, from the roots `at` to leaves, which `begin` then holds.

    `begin` and `end` are the range of leaves of a node, counted inside the tree.
    """
    moving = True
    while moving:
        moving = False
        for j in range(n):
            b, e = begin[j], end[j]
            if e - b > 1:
                k = at[j]
                node = nodes[k]
                middle, feature = np.int64(node["middle"]), node["feature"]
                missing_left = feature >= 0
                x = X[row[j], feature if missing_left else ~feature]
                left = _step(x, node, lists, k, missing_left)
                at[j] = k + 1 if left else k + middle - b
                begin[j] = b if left else middle
                end[j] = middle if left else e
                moving = True


@kernel
def leaves_of_rows(nodes, lists, first_split, first_leaf, X, leaves):  # type: ignore[no-untyped-def]
    """Fill `leaves` (rows, trees) with the leaf of each row, counted inside its tree."""
    row, at = np.empty(_UNROLL, np.int64), np.empty(_UNROLL, np.int64)
    begin, end = np.empty(_UNROLL, np.int64), np.empty(_UNROLL, np.int64)
    for tree in range(len(first_split) - 1):
        n_leaves = first_leaf[tree + 1] - first_leaf[tree]
        for start in range(0, len(X), _UNROLL):
            n = min(_UNROLL, len(X) - start)
            for j in range(n):
                row[j], at[j], begin[j], end[j] = start + j, first_split[tree], 0, n_leaves
            _descend(nodes, lists, X, n, row, at, begin, end)
            for j in range(n):
                leaves[start + j, tree] = begin[j]


@kernel
def add_leaf_values(nodes, lists, first_split, first_leaf, value, trees, X, out):  # type: ignore[no-untyped-def]
    """Add the values of the given trees to `out` (rows, outputs), tree by tree in the given order.

    Several rows descend a tree together, or a row of few descends several trees.
    """
    row, at = np.empty(_UNROLL, np.int64), np.empty(_UNROLL, np.int64)
    begin, end = np.empty(_UNROLL, np.int64), np.empty(_UNROLL, np.int64)
    few = len(X) < _UNROLL
    width, height = (_UNROLL, 1) if few else (1, _UNROLL)  # trees and rows of the pairs that descend together
    for batch in range(0, len(X), _BATCH):
        batch_end = min(batch + _BATCH, len(X))
        for place in range(0, len(trees), width):
            for start in range(batch, batch_end, height):
                n = min(width, len(trees) - place) * min(height, batch_end - start)
                for j in range(n):
                    tree = trees[place + (j if few else 0)]
                    row[j], at[j] = start + (0 if few else j), first_split[tree]
                    begin[j], end[j] = 0, first_leaf[tree + 1] - first_leaf[tree]
                _descend(nodes, lists, X, n, row, at, begin, end)
                for j in range(n):
                    leaf = first_leaf[trees[place + (j if few else 0)]] + begin[j]
                    for o in range(value.shape[1]):
                        out[row[j], o] += value[leaf, o]
