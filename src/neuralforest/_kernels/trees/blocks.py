"""Blocks of rows: what the evaluations of small and of large trees share, as LLVM vectors with a row in every lane."""

from typing import Any

import numba
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

BLOCK = 64
"""Rows that are evaluated together: their state stays in vector registers."""

PLACE, WORD, NUMBER, BIT = ir.IntType(32), ir.IntType(64), ir.DoubleType(), ir.IntType(1)
POINTER = ir.PointerType()  # one for all: some versions of llvmlite compare them by identity
PLACES, NUMBERS = (ir.VectorType(kind, BLOCK) for kind in (PLACE, NUMBER))


def data_of(context: Any, builder: Any, signature: Any, arguments: Any, number: int) -> Any:
    """Return the pointer to the first element of an argument that is an array."""
    return context.make_array(signature.args[number])(context, builder, arguments[number]).data


def block_of(builder: Any, data: Any, row: Any, kind: Any) -> Any:
    """Return a pointer to a row of an array (rows, BLOCK), as a vector."""
    place = builder.mul(row, ir.Constant(WORD, BLOCK))
    return builder.bitcast(builder.gep(data, [place]), kind.as_pointer())


def filled(kind: Any, number: int) -> Any:
    return ir.Constant(ir.VectorType(kind, BLOCK), [number] * BLOCK)


def splat(builder: Any, number: Any) -> Any:
    undefined = ir.Constant(ir.VectorType(number.type, BLOCK), ir.Undefined)
    first = builder.insert_element(undefined, number, ir.Constant(PLACE, 0))
    return builder.shuffle_vector(first, undefined, filled(PLACE, 0))


@intrinsic  # type: ignore[untyped-decorator]
def add_values(context: Any, value: Any, first: Any, leaves: Any, sums: Any, output: Any) -> Any:
    """Add value[first + leaf, output] of every row of a block to row `output` of `sums` (outputs, BLOCK)."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        n_outputs = builder.extract_value(array.shape, 1)
        place = builder.add(builder.mul(arguments[1], n_outputs), arguments[4])
        base = builder.gep(array.data, [place])
        leaf = builder.bitcast(data_of(context, builder, signature, arguments, 2), PLACES.as_pointer())
        index = builder.mul(builder.load(leaf, align=4), splat(builder, builder.trunc(n_outputs, PLACE)))
        found = gather(builder, base, index, NUMBER)
        sums = block_of(builder, data_of(context, builder, signature, arguments, 3), arguments[4], NUMBERS)
        builder.store(builder.fadd(builder.load(sums, align=8), found), sums, align=8)
        return context.get_dummy_value()

    return types.void(value, types.intp, leaves, sums, types.intp), generate


def gather(builder: Any, base: Any, index: Any, kind: Any) -> Any:
    """Return the numbers at 32-bit indices, counted in units of a number behind a pointer."""
    numbers, pointers = ir.VectorType(kind, index.type.count), ir.VectorType(POINTER, index.type.count)
    address = builder.gep(base, [index], source_etype=kind)
    address.type = pointers  # llvmlite does not know that one of these has an index a lane
    mask, n = ir.VectorType(BIT, index.type.count), index.type.count
    function = cgutils.get_or_insert_function(
        builder.module,
        ir.FunctionType(numbers, [pointers, PLACE, mask, numbers]),
        f"llvm.masked.gather.v{n}{kind.intrinsic_name}.v{n}p0",
    )
    align = ir.Constant(PLACE, 8 if kind in (NUMBER, WORD) else 4)
    undefined = ir.Constant(numbers, ir.Undefined)
    return builder.call(function, [address, align, ir.Constant(mask, [1] * n), undefined])


if numba.config.DISABLE_JIT:  # the same operation in plain NumPy

    def add_values(value, first, leaves, sums, output):  # type: ignore[no-redef,no-untyped-def]
        sums[output] += value[first + leaves, output]
