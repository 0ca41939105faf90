"""Blocks of rows: what the evaluations of small and of large trees share, as LLVM vectors with a row in every lane."""

from typing import Any

from llvmlite import ir
from numba.core import cgutils

BLOCK = 64
"""Rows that are evaluated together: their state stays in vector registers."""

MOST_IN_REGISTERS = 64
"""Numbers that `lookup` may hold in registers."""
_WIDE = 8  # float64 numbers of a register

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


def lookup(context: Any, builder: Any, base: Any, index: Any, size: int) -> Any:
    """Return the float64 numbers at 32-bit indices, all below `size`, behind a pointer.

    At most 64 numbers fit into the registers of a processor with AVX-512, which permutes them several times as fast as
    it gathers them from memory. As many as `size` numbers must then be readable, a power of two from 16.
    """
    if size > MOST_IN_REGISTERS or "+avx512f" not in context.codegen().magic_tuple()[-1]:
        return gather(builder, base, index, NUMBER)
    wide, number = ir.VectorType(WORD, _WIDE), ir.VectorType(NUMBER, _WIDE)
    permute = cgutils.get_or_insert_function(
        builder.module, ir.FunctionType(number, [number, wide, number]), "llvm.x86.avx512.vpermi2var.pd.512"
    )
    places = [builder.gep(base, [ir.Constant(WORD, first)]) for first in range(0, size, _WIDE)]
    tables = [builder.load(builder.bitcast(place, number.as_pointer()), align=8) for place in places]
    found = []
    for first in range(0, index.type.count, _WIDE):
        lanes = builder.zext(shuffle(builder, index, index, range(first, first + _WIDE)), wide)
        of_pairs = [builder.call(permute, [tables[i], lanes, tables[i + 1]]) for i in range(0, len(tables), 2)]
        bit = 2 * _WIDE
        while len(of_pairs) > 1:
            is_set = builder.icmp_unsigned("!=", builder.and_(lanes, _constant(wide, bit)), _constant(wide, 0))
            of_pairs = [builder.select(is_set, *of_pairs[i : i + 2][::-1]) for i in range(0, len(of_pairs), 2)]
            bit *= 2
        found += of_pairs
    while len(found) > 1:
        count = 2 * found[0].type.count
        found = [shuffle(builder, a, b, range(count)) for a, b in zip(found[::2], found[1::2], strict=True)]
    return found[0]


def shuffle(builder: Any, first: Any, second: Any, lanes: Any) -> Any:
    """Return the given lanes of two vectors, those of the second counted behind those of the first."""
    return builder.shuffle_vector(first, second, ir.Constant(ir.VectorType(PLACE, len(lanes)), list(lanes)))


def _constant(kind: Any, number: int) -> Any:
    return ir.Constant(kind, [number] * kind.count)


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
