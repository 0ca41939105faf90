"""Small trees as their evaluation by bit vectors takes them: coded thresholds, a bit for every leaf."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuralforest._kernels.trees import bitvectors
from neuralforest.ensemble import TreeEnsemble, offsets, rounded_down


class SmallTrees(NamedTuple):
    """The first arguments of `bitvectors.add_leaf_values`."""

    coding: bitvectors.Coding
    trees: bitvectors.BitTrees | None
    symmetric: bitvectors.SymmetricTrees | None
    values: bitvectors.LeafValues


def small_trees(e: TreeEnsemble) -> SmallTrees | None:
    """Return the trees as bit vectors, or by levels if they are symmetric; None if one is large or has categories."""
    if len(e.category_left) or not e.n_splits:
        return None
    most = int(np.diff(e.first_leaf).max())
    if most > bitvectors.MOST_LEAVES and not _are_complete(e):
        return None
    column, code, coding = _coded(e)
    if np.diff(coding.first).max() > bitvectors.MOST_THRESHOLDS:
        return None
    value = np.zeros((e.n_outputs, e.n_leaves + bitvectors.MOST_LEAVES))
    value[:, : e.n_leaves] = e.value.T
    values = bitvectors.LeafValues(np.array(e.first_leaf), value, _single_outputs(e))
    if (levels := _symmetric_levels(e, column)) is not None:
        first, split = levels
        return SmallTrees(coding, None, bitvectors.SymmetricTrees(first, column[split], code[split]), values)
    if most > bitvectors.MOST_LEAVES:
        return None
    dtype = np.uint16 if most <= 16 else np.uint32 if most <= 32 else np.uint64
    width = (e.middle - e.begin).astype(np.uint64)  # of the left child
    left = ((np.uint64(1) << width) - np.uint64(1)) << e.begin.astype(np.uint64)
    return SmallTrees(
        coding, bitvectors.BitTrees(np.array(e.first_split), column, code, (~left).astype(dtype)), None, values
    )


def _coded(e: TreeEnsemble) -> tuple[NDArray[np.int32], NDArray[np.uint16], bitvectors.Coding]:
    """Return the column of each split, the rank of its threshold there, and the thresholds of all columns."""
    columns, column = np.unique(2 * e.feature.astype(np.int64) + e.missing_left, return_inverse=True)
    threshold = rounded_down(e.threshold, e.compare_dtype)
    order = np.lexsort((threshold, column))
    before, after = order[:-1], order[1:]
    is_new = np.append(True, (column[after] != column[before]) | (threshold[after] != threshold[before]))
    first = offsets(np.bincount(column[order][is_new]))
    rank = np.empty(len(order), np.int64)
    rank[order] = np.cumsum(is_new) - 1
    coding = bitvectors.Coding((columns // 2).astype(np.int32), columns % 2 == 1, first, threshold[order][is_new])
    return column.astype(np.int32), (rank - first[column]).astype(np.uint16), coding


def _single_outputs(e: TreeEnsemble) -> NDArray[np.int32]:
    """Return for each tree the only output that it has values for, (trees,); -1 where there are several."""
    some: NDArray[Any] = np.logical_or.reduceat(e.value != 0, e.first_leaf[:-1], axis=0)
    return np.where(some.sum(axis=1) > 1, -1, some.argmax(axis=1)).astype(np.int32)


def _are_complete(e: TreeEnsemble) -> bool:
    """Return whether all trees have as many leaves as a tree whose leaves all have the same depth."""
    n_leaves = np.diff(e.first_leaf)
    return bool((n_leaves & (n_leaves - 1) == 0).all())


def _symmetric_levels(e: TreeEnsemble, column: NDArray[np.int32]) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
    """Return the first level of each tree and a split of each level, if all splits of every level are the same."""
    if not _are_complete(e):
        return None
    depth = np.log2(np.diff(e.first_leaf)).astype(np.int64)
    level = depth[e.tree_of_split] - np.log2(e.end - e.begin).astype(np.int64)
    if (2 ** (depth[e.tree_of_split] - level) != e.end - e.begin).any():
        return None
    first = offsets(depth)
    place = first[e.tree_of_split] + level
    split = np.zeros(first[-1], np.int64)
    split[place] = np.arange(e.n_splits)
    same = (column == column[split[place]]) & (e.threshold == e.threshold[split[place]])
    return (first, split) if same.all() else None
