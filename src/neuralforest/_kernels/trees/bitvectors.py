"""Evaluation of small trees for many rows: a bit for every leaf, cleared where a split sends a row elsewhere.

All splits of a tree are compared, for a block of rows at a time, without a branch and without a load that depends on
another: SIMD instructions process several rows at once. A split that sends a row right clears the bits of its left
leaves; the lowest bit that is left is the leaf of the row, because leaves are numbered from left to right (QuickScorer,
Lucchese et al., 2015). Values are added tree by tree, in the order of `traverse.add_leaf_values`, so that sums are the
same to the last bit.

Where all splits of a level are the same, as in CatBoost's symmetric trees, one comparison a level gives a bit of the
number of the leaf.
"""

from typing import Any, NamedTuple

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from neuralforest._kernels.jit import kernel, part

MOST_LEAVES = 64
"""Leaves of a tree that fit into the bits of a number."""
BLOCK = 128
"""Rows that are evaluated together: their values and bits stay in the cache."""


class BitTrees(NamedTuple):
    """Splits in the order of the trees."""

    column: Any  # int32 (splits,): row of the tile; features whose missing values go left are there twice
    threshold: Any  # (splits,), in the dtype of X
    clear: Any  # uint32 or uint64 (splits,): a bit for every leaf that is kept where a row goes right
    feature: Any  # int32 (columns,): the feature of each row of the tile
    missing_left: Any  # bool (columns,): whether a missing value goes left there


@intrinsic  # type: ignore[untyped-decorator]
def _lowest_bit(context: Any, bits: Any) -> Any:
    """Return the position of the lowest bit that is set."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        count = builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))
        return builder.zext(count, ir.IntType(64)) if bits.bitwidth < 64 else count

    return types.int64(bits), generate


class SymmetricTrees(NamedTuple):
    """The split of each level, tree by tree."""

    first_level: Any  # int64 (trees + 1,)
    column: Any  # int32 (levels,)
    threshold: Any  # (levels,), in the dtype of X
    feature: Any  # as in `BitTrees`
    missing_left: Any


@part
def _fill_tile(trees, X, start, n, tile):  # type: ignore[no-untyped-def]
    """Copy n rows into the columns of a tile; missing values that go left are the smallest number there is."""
    for c in range(len(trees.feature)):
        feature, left = trees.feature[c], trees.missing_left[c]
        for r in range(n):
            x = X[start + r, feature]
            tile[c, r] = -np.inf if left and x != x else x


@kernel
def add_symmetric_values(trees, first_leaf, value, chosen, X, out):  # type: ignore[no-untyped-def]
    """Do what `add_leaf_values` does, for symmetric trees."""
    tile = np.empty((len(trees.feature), BLOCK), X.dtype)
    leaf = np.empty(BLOCK, np.int32)
    for start in range(0, len(X), BLOCK):
        n = min(BLOCK, len(X) - start)
        _fill_tile(trees, X, start, n, tile)
        for tree in chosen:
            for r in range(BLOCK):
                leaf[r] = 0
            for level in range(trees.first_level[tree], trees.first_level[tree + 1]):
                x, threshold = tile[trees.column[level]], trees.threshold[level]
                for r in range(BLOCK):
                    leaf[r] = 2 * leaf[r] + (0 if x[r] <= threshold else 1)
            first = first_leaf[tree]
            for r in range(n):
                for o in range(value.shape[1]):
                    out[start + r, o] += value[first + leaf[r], o]


@kernel
def add_leaf_values(trees, first_split, first_leaf, value, chosen, X, out):  # type: ignore[no-untyped-def]
    """Add the values of the chosen trees to `out` (rows, outputs), tree by tree in the given order."""
    tile = np.empty((len(trees.feature), BLOCK), X.dtype)
    bits = np.empty(BLOCK, trees.clear.dtype)
    every = ~(trees.clear.dtype.type(0))
    for start in range(0, len(X), BLOCK):
        n = min(BLOCK, len(X) - start)
        _fill_tile(trees, X, start, n, tile)
        for tree in chosen:
            for r in range(BLOCK):
                bits[r] = every
            for split in range(first_split[tree], first_split[tree + 1]):
                x, threshold, kept = tile[trees.column[split]], trees.threshold[split], trees.clear[split]
                for r in range(BLOCK):
                    bits[r] &= every if x[r] <= threshold else kept
            first = first_leaf[tree]
            for r in range(n):
                leaf = first + _lowest_bit(bits[r])
                for o in range(value.shape[1]):
                    out[start + r, o] += value[leaf, o]


if numba.config.DISABLE_JIT:

    def _lowest_bit(bits):  # type: ignore[no-redef,no-untyped-def]
        return (int(bits) & -int(bits)).bit_length() - 1
