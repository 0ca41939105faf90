"""Hard trees as nodes with child pointers, for runtimes that walk down a tree."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuralforest.ensemble import TreeEnsemble, offsets, rounded_down


class Nodes(NamedTuple):
    """Nodes of some trees: all splits first, then all leaves."""

    feature: NDArray[np.int64]  # (splits,)
    threshold: NDArray[np.floating]  # (splits,), in the dtype that X is compared in
    missing_left: NDArray[np.bool_]  # (splits,)
    left: NDArray[np.int64]  # (splits,): number of a node, a split or after those a leaf
    right: NDArray[np.int64]  # (splits,)
    root: NDArray[np.int64]  # (trees,)
    tree_of_split: NDArray[np.int64]  # (splits,)
    value: NDArray[np.float64]  # (leaves, outputs)
    first_leaf: NDArray[np.int64]  # (trees + 1,)
    depth: int


def nodes_of(e: TreeEnsemble, trees: NDArray[np.int64]) -> Nodes:
    """Return some trees of an ensemble as nodes."""
    size = np.diff(e.first_split)[trees]
    first_split, first_leaf = offsets(size), offsets(size + 1)
    tree = np.repeat(np.arange(len(trees)), size)
    k = np.arange(len(tree)) + (e.first_split[trees] - first_split[:-1])[tree]  # the same splits in the ensemble
    begin, middle, end = (array[k].astype(np.int64) for array in (e.begin, e.middle, e.end))
    number, leaf0 = np.arange(len(k)), len(k) + first_leaf[:-1][tree]
    leaf = np.arange(first_leaf[-1]) + np.repeat(e.first_leaf[trees] - first_leaf[:-1], size + 1)
    return Nodes(
        feature=e.feature[k].astype(np.int64),
        threshold=rounded_down(e.threshold[k], e.compare_dtype),
        missing_left=e.missing_left[k],
        left=np.where(middle - begin > 1, number + 1, leaf0 + begin),
        right=np.where(end - middle > 1, number + middle - begin, leaf0 + middle),
        root=np.where(size > 0, first_split[:-1], len(k) + first_leaf[:-1]),
        tree_of_split=tree,
        value=e.value[leaf],
        first_leaf=first_leaf,
        depth=int(e.depth[leaf].max(initial=0)),
    )
