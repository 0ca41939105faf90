"""Evaluation of small trees for many rows: a bit for every leaf, cleared where a split sends a row elsewhere.

Numbers are coded first: the code of a number is how many of the thresholds of its feature are below it, so that
splits compare integers of two bytes. All splits of a tree are compared, for a block of rows at a time, without a branch
and without a load that depends on another. A split that sends a row right clears the bits of its left leaves; the
lowest bit that is left is the leaf of the row, because leaves are numbered from left to right (QuickScorer, Lucchese et
al., 2015). Values are added tree by tree, in the order of `traverse.add_leaf_values`, so that sums are the same to the
last bit.

Where all splits of a level are the same, as in CatBoost's symmetric trees, one comparison a level gives a bit of the
number of the leaf.
"""

from typing import Any, NamedTuple

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from neuralforest._kernels.jit import kernel, part
from neuralforest._kernels.trees.blocks import (
    BIT,
    BLOCK,
    MOST_IN_REGISTERS,
    NUMBERS,
    PLACE,
    PLACES,
    WORD,
    block_of,
    data_of,
    filled,
    gather,
    lookup,
    splat,
)

MOST_LEAVES = 64
"""Leaves of a tree that fit into the bits of a number."""
MOST_THRESHOLDS = 65_535
"""Distinct thresholds of a column that fit into a code."""

_CODE = ir.IntType(16)
_CODES = ir.VectorType(_CODE, BLOCK)


class Coding(NamedTuple):
    """The columns of a block of coded rows: a feature, once or twice, because missing values may go both ways."""

    feature: Any  # int32 (columns,)
    missing_left: Any  # bool (columns,): whether a missing value goes left there
    first: Any  # int64 (columns + 1,): of the thresholds
    threshold: Any  # in the dtype of X, in ascending order for every column


class BitTrees(NamedTuple):
    """Splits in the order of the trees."""

    first_split: Any  # int64 (trees + 1,)
    column: Any  # int32 (splits,)
    code: Any  # uint16 (splits,): the largest code that goes left
    kept: Any  # uint16, uint32 or uint64 (splits,): a bit for every leaf that is kept where a row goes right


class SymmetricTrees(NamedTuple):
    """The split of each level, tree by tree."""

    first_level: Any  # int64 (trees + 1,)
    column: Any  # int32 (levels,)
    code: Any  # uint16 (levels,)


class LeafValues(NamedTuple):
    """The values of the leaves."""

    first_leaf: Any  # int64 (trees + 1,)
    value: Any  # float64 (outputs, leaves + MOST_LEAVES): the last ones are read, and not used
    output: Any  # int32 (trees,): the only output that a tree has values for, or -1


def _goes_right(builder: Any, column: Any, code: Any, tile: Any, split: Any) -> Any:
    """Return for which rows of a block the code is above that of a split."""
    place = builder.sext(builder.load(builder.gep(column, [split])), WORD)
    x = builder.load(block_of(builder, tile, place, _CODES), align=2)
    return builder.icmp_unsigned(">", x, splat(builder, builder.load(builder.gep(code, [split]))))


@intrinsic  # type: ignore[untyped-decorator]
def _search(context: Any, threshold: Any, first: Any, count: Any, missing: Any, x: Any, tile: Any, column: Any) -> Any:
    """Fill a row of the tile with the codes of the numbers in `x` (BLOCK,): thresholds that are below; or `missing`."""
    kind, word = ir.FloatType() if x.dtype.bitwidth == 32 else ir.DoubleType(), WORD

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        _, begin, n, code_of_missing, _, _, row = arguments
        thresholds, numbers, codes = (data_of(context, builder, signature, arguments, i) for i in (0, 4, 5))
        base = builder.gep(thresholds, [begin])
        numbers = builder.bitcast(numbers, ir.VectorType(kind, BLOCK).as_pointer())
        wanted = builder.load(numbers, align=x.dtype.bitwidth // 8)
        place, left = cgutils.alloca_once(builder, PLACES), cgutils.alloca_once(builder, word)

        def step(size_of_half: Any, last: Any) -> None:
            """Move on by half of what is left where the last threshold of that half is below."""
            now = builder.load(place)
            found = gather(builder, base, builder.add(now, splat(builder, last)), kind)
            below = builder.fcmp_ordered("<", found, wanted)
            moved = builder.add(now, splat(builder, size_of_half))
            builder.store(builder.select(below, moved, now), place)

        builder.store(filled(PLACE, 0), place)
        builder.store(n, left)
        # the smallest number of steps with 2**steps >= n leaves one threshold, and no half is empty
        leading = builder.ctlz(builder.sub(n, ir.Constant(word, 1)), ir.Constant(BIT, 0))
        steps = builder.sub(ir.Constant(word, 64), leading)
        with cgutils.loop_nest(builder, [steps], word):
            half = builder.lshr(builder.load(left), ir.Constant(word, 1))
            short = builder.trunc(half, PLACE)
            step(short, builder.sub(short, ir.Constant(PLACE, 1)))
            builder.store(builder.sub(builder.load(left), half), left)
        step(ir.Constant(PLACE, 1), ir.Constant(PLACE, 0))
        unknown = builder.fcmp_unordered("uno", wanted, wanted)
        default = splat(builder, builder.trunc(code_of_missing, _CODE))
        code = builder.select(unknown, default, builder.trunc(builder.load(place), _CODES))
        builder.store(code, block_of(builder, codes, row, _CODES), align=2)
        return context.get_dummy_value()

    return types.void(threshold, types.intp, types.intp, types.intp, x, tile, types.intp), generate


@intrinsic  # type: ignore[untyped-decorator]
def _bit_leaves(context: Any, column: Any, code: Any, kept: Any, begin: Any, end: Any, tile: Any, leaves: Any) -> Any:
    """Fill `leaves` with the leaf of every row of a block in the tree of splits begin to end - 1."""
    width = kept.dtype.bitwidth
    kind = ir.VectorType(ir.IntType(width), BLOCK)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        columns, codes, masks, rows, out = (data_of(context, builder, signature, arguments, i) for i in (0, 1, 2, 5, 6))
        bits = cgutils.alloca_once(builder, kind)
        builder.store(filled(ir.IntType(width), -1), bits)
        with cgutils.for_range(builder, builder.sub(arguments[4], arguments[3])) as loop:
            split = builder.add(arguments[3], loop.index)
            right = _goes_right(builder, columns, codes, rows, split)
            now = builder.load(bits)
            mask = splat(builder, builder.load(builder.gep(masks, [split])))
            builder.store(builder.select(right, builder.and_(now, mask), now), bits)
        count = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(kind, [kind, BIT]), f"llvm.cttz.v{BLOCK}i{width}"
        )
        place = builder.call(count, [builder.load(bits), ir.Constant(BIT, 1)])
        if width != 32:
            place = builder.zext(place, PLACES) if width < 32 else builder.trunc(place, PLACES)
        builder.store(place, builder.bitcast(out, PLACES.as_pointer()), align=4)
        return context.get_dummy_value()

    return types.void(column, code, kept, types.intp, types.intp, tile, leaves), generate


@intrinsic  # type: ignore[untyped-decorator]
def _symmetric_leaves(context: Any, column: Any, code: Any, begin: Any, end: Any, tile: Any, leaves: Any) -> Any:
    """Fill `leaves` with the leaf of every row of a block in the symmetric tree of levels begin to end - 1."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        columns, codes, rows, out = (data_of(context, builder, signature, arguments, i) for i in (0, 1, 4, 5))
        place = cgutils.alloca_once(builder, PLACES)
        builder.store(filled(PLACE, 0), place)
        with cgutils.for_range(builder, builder.sub(arguments[3], arguments[2])) as loop:
            right = _goes_right(builder, columns, codes, rows, builder.add(arguments[2], loop.index))
            doubled = builder.shl(builder.load(place), filled(PLACE, 1))
            builder.store(builder.or_(doubled, builder.zext(right, PLACES)), place)
        builder.store(builder.load(place), builder.bitcast(out, PLACES.as_pointer()), align=4)
        return context.get_dummy_value()

    return types.void(column, code, types.intp, types.intp, tile, leaves), generate


@intrinsic  # type: ignore[untyped-decorator]
def _add_values(context: Any, value: Any, first: Any, kept: Any, leaves: Any, sums: Any, output: Any) -> Any:
    """Add value[output, first + leaf] of every row of a block to row `output` of `sums` (outputs, BLOCK).

    A tree has at most as many leaves as `kept` has bits; any number where that is None.
    """
    size = MOST_IN_REGISTERS + 1 if isinstance(kept, types.NoneType) else kept.dtype.bitwidth

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        row = builder.mul(arguments[5], builder.extract_value(array.shape, 1))
        base = builder.gep(array.data, [builder.add(row, arguments[1])])
        leaf = builder.bitcast(data_of(context, builder, signature, arguments, 3), PLACES.as_pointer())
        found = lookup(context, builder, base, builder.load(leaf, align=4), size)
        total = block_of(builder, data_of(context, builder, signature, arguments, 4), arguments[5], NUMBERS)
        builder.store(builder.fadd(builder.load(total, align=8), found), total, align=8)
        return context.get_dummy_value()

    return types.void(value, types.intp, kept, leaves, sums, types.intp), generate


@part
def _encode(coding, X, start, n, x, tile):  # type: ignore[no-untyped-def]
    """Fill a tile (columns, BLOCK) with the codes of n rows, by binary search for all of them together."""
    for c in range(len(coding.feature)):
        feature, first, count = coding.feature[c], coding.first[c], coding.first[c + 1] - coding.first[c]
        for r in range(n):
            x[r] = X[start + r, feature]
        _search(coding.threshold, first, count, 0 if coding.missing_left[c] else count, x, tile, c)


@part
def _add_leaves(values, tree, kept, leaves, sums):  # type: ignore[no-untyped-def]
    """Add the values of the leaves of a tree to the sums of a block."""
    first, output = values.first_leaf[tree], values.output[tree]
    begin, end = (output, output + 1) if output >= 0 else (0, len(values.value))
    for o in range(begin, end):
        _add_values(values.value, first, kept, leaves, sums, o)


@kernel
def add_leaf_values(coding, trees, symmetric, values, chosen, X, out):  # type: ignore[no-untyped-def]
    """Add the values of the chosen trees to `out` (rows, outputs), tree by tree in the given order.

    `trees` are `BitTrees`, or None for `SymmetricTrees` in the next argument.
    """
    tile = np.zeros((len(coding.feature), BLOCK), np.uint16)
    leaves, sums, x = np.empty(BLOCK, np.int32), np.zeros((out.shape[1], BLOCK)), np.zeros(BLOCK, X.dtype)
    for start in range(0, len(X), BLOCK):
        n = min(BLOCK, len(X) - start)
        _encode(coding, X, start, n, x, tile)
        for o in range(out.shape[1]):
            for r in range(n):
                sums[o, r] = out[start + r, o]
        for tree in chosen:
            if trees is not None:
                begin, end = trees.first_split[tree], trees.first_split[tree + 1]
                _bit_leaves(trees.column, trees.code, trees.kept, begin, end, tile, leaves)
                _add_leaves(values, tree, trees.kept, leaves, sums)
            if symmetric is not None:
                begin, end = symmetric.first_level[tree], symmetric.first_level[tree + 1]
                _symmetric_leaves(symmetric.column, symmetric.code, begin, end, tile, leaves)
                _add_leaves(values, tree, None, leaves, sums)
        for o in range(out.shape[1]):
            for r in range(n):
                out[start + r, o] = sums[o, r]


if numba.config.DISABLE_JIT:  # the same operations in plain NumPy

    def _search(threshold, first, count, missing, x, tile, column):  # type: ignore[no-redef,no-untyped-def]
        codes = np.searchsorted(threshold[first : first + count], x)
        tile[column] = np.where(np.isnan(x), missing, codes)

    def _bit_leaves(column, code, kept, begin, end, tile, leaves):  # type: ignore[no-redef,no-untyped-def]
        for r in range(BLOCK):
            bits = (1 << MOST_LEAVES) - 1
            for split in range(begin, end):
                bits &= int(kept[split]) if tile[column[split], r] > code[split] else bits
            leaves[r] = (bits & -bits).bit_length() - 1

    def _symmetric_leaves(column, code, begin, end, tile, leaves):  # type: ignore[no-redef,no-untyped-def]
        leaves[:] = 0
        for level in range(begin, end):
            leaves[:] = 2 * leaves + (tile[column[level]] > code[level])

    def _add_values(value, first, kept, leaves, sums, output):  # type: ignore[no-redef,no-untyped-def]
        sums[output] += value[output, first + leaves]
