"""Trees that are evaluated hard: the arrays of three kernels, which give the same bits, and the choice among them."""

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from neuralforest._kernels.trees import bitvectors, descent, traverse
from neuralforest.ensemble import TreeEnsemble
from neuralforest.network.large_trees import large_trees
from neuralforest.network.small_trees import SmallTrees, small_trees

_WORTH_A_BLOCK = 16  # rows, fewer of which are faster one by one
_WORTH_A_SMALL_BLOCK, _FEW_LEAVES = 4, 32  # the same where no tree has more leaves than this
_WORTH_NODES = 4  # pairs of row and tree for every split, in all calls: fewer take less time than arranging the nodes


class HardTrees:
    """The trees of an ensemble, as the kernels take them: each kind of arrays is made when it is used first."""

    def __init__(self, ensemble: TreeEnsemble) -> None:
        self._ensemble = ensemble
        self._n_pairs = 0  # of row and tree that were evaluated so far

    @cached_property
    def nodes(self) -> tuple[NDArray[np.void], traverse.CategoryLists | None]:
        """The splits as the traversal takes them, and their categories, if any."""
        e = self._ensemble
        nodes = np.empty(e.n_splits, traverse.NODE)
        nodes["threshold"], nodes["middle"] = np.where(e.is_categorical, np.nan, e.threshold), e.middle
        nodes["feature"] = np.where(e.missing_left, e.feature, ~e.feature)
        if not len(e.category_left):
            return nodes, None
        return nodes, traverse.CategoryLists(e.first_category.copy(), e.category_left.copy())

    @cached_property
    def most_leaves(self) -> int:
        return int(np.diff(self._ensemble.first_leaf).max())

    @cached_property
    def small(self) -> SmallTrees | None:
        """Trees of at most 64 leaves, or symmetric ones, for many rows."""
        return small_trees(self._ensemble)

    @cached_property
    def large(self) -> descent.LargeTrees | None:
        """Trees of any size, for many rows."""
        return large_trees(self._ensemble)

    def add_values(self, trees: NDArray[np.int64], X: NDArray[np.floating], out: NDArray[np.float64]) -> None:
        """Add the values of some trees to `out` (rows, outputs), tree by tree in the given order."""
        if not len(trees):
            return
        e, many = self._ensemble, len(X) >= _WORTH_A_BLOCK
        self._n_pairs += len(X) * len(trees)
        several = many or (len(X) >= _WORTH_A_SMALL_BLOCK and self.most_leaves <= _FEW_LEAVES)
        if several and (small := self.small) is not None:
            bitvectors.add_leaf_values(*small, trees, X, out)
        elif many and self._n_pairs >= _WORTH_NODES * e.n_splits and (large := self.large) is not None:
            descent.add_leaf_values(large, trees, X, out)
        else:
            traverse.add_leaf_values(*self.nodes, e.first_split, e.first_leaf, e.value, trees, X, out)

    def leaves(self, X: NDArray[np.floating]) -> NDArray[np.int32]:
        """Return the leaf of each row in each tree, (rows, trees), counted from left to right."""
        e = self._ensemble
        leaves = np.empty((len(X), e.n_trees), np.int32)
        traverse.leaves_of_rows(*self.nodes, e.first_split, e.first_leaf, X, leaves)
        return leaves
