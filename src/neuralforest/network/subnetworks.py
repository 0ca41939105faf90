"""Subnetworks: which trees are trained as one network. Any partition of the trees into contiguous groups is legal.

Independent training (one tree each) and joint training (one group of an ensemble each, usually all trees) are the two
ends of it.
"""

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuralforest.ensemble import TreeEnsemble
from neuralforest.exceptions import InvalidParameterError

Training = Literal["independent", "joint"]


class Place(NamedTuple):
    """Where a tree stands in its subnetwork."""

    subnetwork: int
    splits: slice  # among the splits of the subnetwork
    leaves: slice
    tree: int  # among its trees


@dataclass(frozen=True, eq=False)
class Subnetworks:
    """A partition of the trees of an ensemble."""

    ensemble: TreeEnsemble
    first_tree: NDArray[np.int64]  # (subnetworks + 1,): the first tree of each subnetwork, and the number of trees

    def __len__(self) -> int:
        return len(self.first_tree) - 1

    def trees(self, subnetwork: int) -> range:
        return range(int(self.first_tree[subnetwork]), int(self.first_tree[subnetwork + 1]))

    def splits(self, subnetwork: int) -> slice:
        """Return the splits of a subnetwork, among those of the ensemble."""
        return self._of_trees(self.ensemble.first_split, subnetwork)

    def leaves(self, subnetwork: int) -> slice:
        """Return the leaves of a subnetwork, among those of the ensemble."""
        return self._of_trees(self.ensemble.first_leaf, subnetwork)

    @property
    def n_trees(self) -> NDArray[np.int64]:
        """The number of trees of each subnetwork."""
        return np.diff(self.first_tree)

    @property
    def of_tree(self) -> NDArray[np.int64]:
        """The subnetwork of each tree, (trees,)."""
        return np.repeat(np.arange(len(self)), self.n_trees)

    def place_of(self, tree: int) -> Place:
        subnetwork = int(np.searchsorted(self.first_tree, tree, side="right")) - 1
        first = self.first_tree[subnetwork]
        splits, leaves = (
            slice(*(int(offsets[t] - offsets[first]) for t in (tree, tree + 1)))
            for offsets in (self.ensemble.first_split, self.ensemble.first_leaf)
        )
        return Place(subnetwork, splits, leaves, int(tree - first))

    def _of_trees(self, offsets: NDArray[np.int64], subnetwork: int) -> slice:
        return slice(*(int(offsets[tree]) for tree in self.first_tree[subnetwork : subnetwork + 2]))


def one_per_tree(ensemble: TreeEnsemble) -> NDArray[np.int64]:
    """Return the partition of independent training."""
    return np.arange(ensemble.n_trees + 1)


def partition(ensemble: TreeEnsemble, training: Training, first_tree: ArrayLike | None = None) -> NDArray[np.int64]:
    """Return the first tree of each subnetwork, (subnetworks + 1,), for a training or as given."""
    if first_tree is None:
        return one_per_tree(ensemble) if training == "independent" else np.array(ensemble.groups)
    trees = np.asarray(first_tree, np.int64)
    rises = trees.ndim == 1 and len(trees) > 1 and (trees[1:] > trees[:-1]).all()
    if not (rises and trees[0] == 0 and trees[-1] == ensemble.n_trees):
        raise InvalidParameterError(
            f"first_tree must rise from 0 to the number of trees, {ensemble.n_trees}, got {trees}"
        )
    if ensemble.aggregation == "sum" and not np.array_equal(trees, ensemble.groups):
        raise InvalidParameterError(
            "first_tree must be the groups of the ensemble where trees are summed, because no part of a group predicts "
            f"the target by itself: {ensemble.groups}, got {trees}"
        )
    return trees
