"""Large trees cut back: the splits that lower the error most are kept, and a leaf predicts the mean of its rows."""

import heapq
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from neuralforest.ensemble import TreeEnsemble, concatenated, offsets
from neuralforest.network.importance import split_gains


def cut_back(e: TreeEnsemble, max_leaves: int) -> TreeEnsemble:
    """Return the trees with at most max_leaves leaves each, as if they had been grown best-first.

    The root comes first, then always the split that lowers the squared error most among those whose parent is kept. The
    value of a leaf is the mean over the leaves that it replaces, weighted by their training rows.
    """
    sizes = np.diff(e.first_leaf)
    if (sizes <= max_leaves).all():
        return e
    kept = np.ones(e.n_splits, np.bool_)
    for tree in np.flatnonzero(sizes > max_leaves):
        splits, leaves = slice(*e.first_split[tree : tree + 2]), slice(*e.first_leaf[tree : tree + 2])
        gain = split_gains(e, int(tree), e.value[leaves])
        kept[splits] = _best_first(gain, e.begin[splits], e.middle[splits], e.end[splits], max_leaves - 1)
    of_tree = e.tree_of_split[kept]
    # The leaves of a cut tree are runs of old ones, which begin at its first leaf and at the middles of its splits.
    middle = e.first_leaf[of_tree] + e.middle[kept]
    starts = np.sort(np.concatenate([e.first_leaf[:-1], middle]))
    first_split = offsets(np.bincount(of_tree, minlength=e.n_trees))
    first_leaf = first_split + np.arange(e.n_trees + 1)
    n_categories = np.diff(e.first_category)
    return replace(
        e,
        feature=e.feature[kept],
        threshold=e.threshold[kept],
        missing_left=e.missing_left[kept],
        middle=np.searchsorted(starts, middle) - first_leaf[of_tree],
        value=_means(e, starts),
        weight=np.add.reduceat(e.weight, starts),
        first_split=first_split,
        first_leaf=first_leaf,
        first_category=offsets(n_categories[kept]),
        category_left=e.category_left[np.repeat(kept, n_categories)],
    )


def first_trees(e: TreeEnsemble, n_trees: int) -> TreeEnsemble:
    """Return the first trees of every group, at most n_trees of each."""
    sizes = np.minimum(np.diff(e.groups), n_trees)
    parts = [e[first : first + size] for first, size in zip(e.groups[:-1].tolist(), sizes.tolist(), strict=True)]
    return replace(concatenated(parts), groups=offsets(sizes))


def _means(e: TreeEnsemble, starts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the mean value of each run of leaves, (runs, outputs); those of one leaf are kept to the last bit."""
    ends = np.append(starts[1:], e.n_leaves)
    weight = e.weight + np.repeat(np.add.reduceat(e.weight, starts) == 0, ends - starts)  # no rows: all leaves equally
    mean = np.add.reduceat(weight[:, None] * e.value, starts) / np.add.reduceat(weight, starts)[:, None]
    return np.where((ends - starts == 1)[:, None], e.value[starts], mean)


def _best_first(
    gain: NDArray[np.float64],
    begin: NDArray[np.int32],
    middle: NDArray[np.int32],
    end: NDArray[np.int32],
    n_splits: int,
) -> NDArray[np.bool_]:
    """Return which splits of a tree are kept, (splits,). Splits are found by the leaves that they divide."""
    of_leaves = {leaves: split for split, leaves in enumerate(zip(begin.tolist(), end.tolist(), strict=True))}
    kept, root = np.zeros(len(gain), np.bool_), of_leaves[(0, int(end.max()))]
    candidates = [(-gain[root], root)]
    for _ in range(n_splits):
        split = heapq.heappop(candidates)[1]
        kept[split] = True
        for leaves in ((int(begin[split]), int(middle[split])), (int(middle[split]), int(end[split]))):
            if leaves in of_leaves:
                child = of_leaves[leaves]
                heapq.heappush(candidates, (-gain[child], child))
    return kept
