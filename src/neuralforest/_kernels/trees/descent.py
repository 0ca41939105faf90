"""Evaluation of large trees for many rows: a block of rows descends a tree together, one level at a time.

A row waits for the node that it has come to, and for its own number there. Vector instructions load the nodes and the
numbers of many rows at once, so that the waiting times overlap. The children of a node are adjacent: the next node is
the left child, or the one after it. A leaf is its own child, where a row stays until some more rows of the block have
come to a leaf; the next rows then take their places, because the leaves of one tree have very different depths. Values
are added in the order of `traverse.add_leaf_values`.
"""

from typing import Any, NamedTuple

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from neuralforest._kernels.jit import kernel, part
from neuralforest._kernels.trees.blocks import BIT, BLOCK, PLACE, PLACES, WORD, data_of, filled, gather

_FLOATS = ir.VectorType(ir.FloatType(), BLOCK)
_BATCH = 65_536  # rows that pass through a tree before the next tree, which takes its place in the cache
_MOST_WAITING = 8  # rows of a block in a leaf, for which the next rows are not yet worth loading
_NONE, _ONE = np.uint64(0), np.uint64(1)


class LargeTrees(NamedTuple):
    """The nodes of trees, level by level; children and leaves are counted inside their tree.

    A node is a float32 threshold and, in the bits of a number, its left child, whether missing values go right, and its
    feature: eight bytes, which are loaded at once.
    """

    first_node: Any  # int64 (trees + 1,)
    node: Any  # int64 (nodes,)
    leaf: Any  # int32 (nodes,): the number of a leaf
    first_leaf: Any  # int64 (trees + 1,)
    value: Any  # float64 (leaves, outputs)


FEATURE_BITS, CHILD_BITS = 11, 20
"""Of a node; the bit between them is set where missing values go right, the threshold is in the lower 32 bits."""
_MISSING_RIGHT, _CHILD = 32 + FEATURE_BITS, 32 + FEATURE_BITS + 1  # the first bit of each


def packed_nodes(threshold: Any, feature: Any, missing_right: Any, child: Any) -> Any:
    """Return nodes as int64 (nodes,)."""
    bits = threshold.astype(np.float32).view(np.uint32).astype(np.uint64)
    for number, first in ((feature, 32), (missing_right, _MISSING_RIGHT), (child, _CHILD)):
        bits |= number.astype(np.uint64) << np.uint64(first)
    return bits.view(np.int64)


@intrinsic  # type: ignore[untyped-decorator]
def _step(context: Any, node: Any, first: Any, places: Any, row: Any, X: Any, start: Any) -> Any:
    """Move every row of a block from its node to a child; return which have moved, as the bits of a number.

    `row` (BLOCK,) is where the numbers of a row begin, counted from those of row `start`.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        nodes, at, rows = (data_of(context, builder, signature, arguments, i) for i in (0, 2, 3))
        at, rows = (builder.bitcast(each, PLACES.as_pointer()) for each in (at, rows))
        place = builder.load(at, align=4)
        packed = gather(builder, builder.gep(nodes, [arguments[1]]), place, WORD)
        threshold = builder.bitcast(builder.trunc(packed, PLACES), _FLOATS)
        upper = builder.trunc(builder.lshr(packed, filled(WORD, 32)), PLACES)
        feature = builder.and_(upper, filled(PLACE, 2**FEATURE_BITS - 1))
        table = context.make_array(signature.args[4])(context, builder, arguments[4])
        own = builder.gep(table.data, [builder.mul(arguments[5], builder.extract_value(table.shape, 1))])
        x = gather(builder, own, builder.add(builder.load(rows, align=4), feature), ir.FloatType())
        flag = builder.and_(upper, filled(PLACE, 2**FEATURE_BITS))
        above = [compare(">", x, threshold) for compare in (builder.fcmp_unordered, builder.fcmp_ordered)]
        right = builder.select(builder.icmp_signed("!=", flag, filled(PLACE, 0)), *above)
        after = builder.add(builder.lshr(upper, filled(PLACE, FEATURE_BITS + 1)), builder.zext(right, PLACES))
        builder.store(after, at, align=4)
        return builder.bitcast(builder.icmp_signed("!=", after, place), WORD)

    return types.uint64(node, types.intp, places, row, X, types.intp), generate


@intrinsic  # type: ignore[untyped-decorator]
def _count(context: Any, bits: Any) -> Any:
    """Return how many bits of a number are set."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.intp(types.uint64), generate


@intrinsic  # type: ignore[untyped-decorator]
def _lowest(context: Any, bits: Any) -> Any:
    """Return the place of the lowest bit that is set."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(BIT, 1))

    return types.intp(types.uint64), generate


@part
def _replace(trees, tree, waiting, places, row, number, following, start, end, X, out):  # type: ignore[no-untyped-def]
    """Add the values of the rows that wait in a leaf, and begin with the following rows; return the first left over."""
    while waiting:
        lane = _lowest(waiting)
        waiting &= waiting - _ONE
        if number[lane] >= 0:
            leaf = trees.first_leaf[tree] + trees.leaf[trees.first_node[tree] + places[lane]]
            for o in range(out.shape[1]):
                out[number[lane], o] += trees.value[leaf, o]
        places[lane], row[lane], number[lane] = 0, 0, -1  # a lane without a row reads the first one of the batch
        if following < end:
            number[lane], row[lane] = following, (following - start) * X.shape[1]
            following += 1
    return following


@kernel
def add_leaf_values(trees, chosen, X, out):  # type: ignore[no-untyped-def]
    """Add the values of the chosen trees to `out` (rows, outputs), tree by tree in the given order."""
    places, row, number = np.zeros(BLOCK, np.int32), np.zeros(BLOCK, np.int32), np.full(BLOCK, -1)
    for start in range(0, len(X), _BATCH):
        end = min(start + _BATCH, len(X))
        for tree in chosen:
            following, moved = start, _NONE
            while True:
                if moved == _NONE or (following < end and _count(~moved) >= _MOST_WAITING):
                    is_over = moved == _NONE and following >= end
                    following = _replace(trees, tree, ~moved, places, row, number, following, start, end, X, out)
                    if is_over:
                        break
                moved = _step(trees.node, trees.first_node[tree], places, row, X, start)


if numba.config.DISABLE_JIT:  # the same operations in plain NumPy

    def _step(node, first, places, row, X, start):  # type: ignore[no-redef,no-untyped-def]
        at, before = node[first + places].view(np.uint64), places.copy()
        threshold, upper = at.astype(np.uint32).view(np.float32), (at >> np.uint64(32)).astype(np.int64)
        x = X.ravel()[start * X.shape[1] + row + upper % 2**FEATURE_BITS]
        missing_right = (upper >> FEATURE_BITS) % 2 == 1
        places[:] = (upper >> (FEATURE_BITS + 1)) + ((x > threshold) | (missing_right & np.isnan(x)))
        return np.packbits(places != before, bitorder="little").view(np.uint64)[0]

    def _count(bits):  # type: ignore[no-redef,no-untyped-def]
        return int(bits).bit_count()

    def _lowest(bits):  # type: ignore[no-redef,no-untyped-def]
        return (int(bits) & -int(bits)).bit_length() - 1
