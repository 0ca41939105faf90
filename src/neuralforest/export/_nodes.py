"""Hard trees as nodes with child pointers, for runtimes that walk down a tree.

These compare with thresholds only. A split that tests a category becomes x <= 0.5 on a column of its own, which is 1
where the category goes right, 0 where it goes left, and NaN where it is missing.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuralforest.ensemble import TreeEnsemble, offsets, rounded_down


class CategoryColumns(NamedTuple):
    """The columns behind those of X, one for each distinct pair of a feature and a set of categories."""

    feature: NDArray[np.int64]  # (columns,)
    first: NDArray[np.int64]  # (columns,): where the entries of each column begin in `right`
    n_known: NDArray[np.int64]  # (columns,): its number of entries, without the last one, which is for all others
    right: NDArray[np.floating]  # in the dtype that X is compared in


class Nodes(NamedTuple):
    """Nodes of some trees: all splits first, then all leaves."""

    feature: NDArray[np.int64]  # (splits,): number of a column, of X or after those of `categories`
    threshold: NDArray[np.floating]  # (splits,), in the dtype that X is compared in
    missing_left: NDArray[np.bool_]  # (splits,)
    left: NDArray[np.int64]  # (splits,): number of a node, a split or after those a leaf
    right: NDArray[np.int64]  # (splits,)
    root: NDArray[np.int64]  # (trees,)
    tree_of_split: NDArray[np.int64]  # (splits,)
    value: NDArray[np.float64]  # (leaves, outputs)
    first_leaf: NDArray[np.int64]  # (trees + 1,)
    depth: int
    categories: CategoryColumns


def nodes_of(e: TreeEnsemble, trees: NDArray[np.int64]) -> Nodes:
    """Return some trees of an ensemble as nodes."""
    size = np.diff(e.first_split)[trees]
    first_split, first_leaf = offsets(size), offsets(size + 1)
    tree = np.repeat(np.arange(len(trees)), size)
    k = np.arange(len(tree)) + (e.first_split[trees] - first_split[:-1])[tree]  # the same splits in the ensemble
    begin, middle, end = (array[k].astype(np.int64) for array in (e.begin, e.middle, e.end))
    number, leaf0 = np.arange(len(k)), len(k) + first_leaf[:-1][tree]
    leaf = np.arange(first_leaf[-1]) + np.repeat(e.first_leaf[trees] - first_leaf[:-1], size + 1)
    column, categories = _category_columns(e, k)
    return Nodes(
        feature=np.where(e.is_categorical[k], column, e.feature[k]).astype(np.int64),
        threshold=rounded_down(np.where(e.is_categorical, 0.5, e.threshold)[k], e.compare_dtype),
        missing_left=e.missing_left[k],
        left=np.where(middle - begin > 1, number + 1, leaf0 + begin),
        right=np.where(end - middle > 1, number + middle - begin, leaf0 + middle),
        root=np.where(size > 0, first_split[:-1], len(k) + first_leaf[:-1]),
        tree_of_split=tree,
        value=e.value[leaf],
        first_leaf=first_leaf,
        depth=int(e.depth[leaf].max(initial=0)),
        categories=categories,
    )


def _category_columns(e: TreeEnsemble, splits: NDArray[np.int64]) -> tuple[NDArray[np.int64], CategoryColumns]:
    """Return the column of each categorical split, and all columns."""
    found: dict[tuple[int, bytes], int] = {}
    column = np.zeros(len(splits), np.int64)
    for place in np.flatnonzero(e.is_categorical[splits]).tolist():
        first, end = e.first_category[splits[place] : splits[place] + 2]
        own = int(e.feature[splits[place]]), e.category_left[first:end].tobytes()
        column[place] = e.n_features + found.setdefault(own, len(found))
    size = np.array([len(left) for _, left in found], np.int64)
    left = np.frombuffer(b"".join(left for _, left in found), np.bool_)
    feature = np.array([feature for feature, _ in found], np.int64)
    return column, CategoryColumns(feature, offsets(size)[:-1], size - 1, (~left).astype(e.compare_dtype))
