"""SIMD vectors: 32 float32 numbers as one value, so that a kernel processes 32 rows at once.

The compiler cannot prove that two buffers do not overlap, and then does not vectorise a loop over rows. A `SimdVector`
is held in vector registers, independent of any buffer. Kernels read like NumPy on rows of length 32, and with
NUMBA_DISABLE_JIT=1 they are exactly that: `load` then returns an array.

>>> from neuralforest._kernels.simd import SIMD_WIDTH
>>> SIMD_WIDTH
32
"""

import operator
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.typing.templates import ConcreteTemplate, infer_global, signature
from numba.extending import intrinsic, lower_builtin, models, register_model

from neuralforest._kernels.jit import FAST_MATH

SIMD_WIDTH = 32
"""Rows that a kernel processes together, one per lane: the paper's minibatch."""

_FLOAT = ir.FloatType()
_VECTOR = ir.VectorType(_FLOAT, SIMD_WIDTH)
_FLAGS = tuple(sorted(FAST_MATH))
_ROUND = f"llvm.nearbyint.v{SIMD_WIDTH}f32"


class SimdVector(types.Type):  # type: ignore[misc]
    """The numba type of a vector of `SIMD_WIDTH` float32 numbers."""

    def __init__(self) -> None:
        super().__init__(name="SimdVector")


simd_vector = SimdVector()


@register_model(SimdVector)
class _SimdVectorModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, type_: Any) -> None:
        super().__init__(manager, type_, _VECTOR)


def _pointer(context: Any, builder: Any, array_type: Any, array: Any, position: Any) -> Any:
    """Point at a row of an array of shape (rows, SIMD_WIDTH), or at an element of a flat array."""
    data = context.make_array(array_type)(context, builder, array).data
    if array_type.ndim == 2:
        position = builder.mul(position, ir.Constant(position.type, SIMD_WIDTH))
    return builder.bitcast(builder.gep(data, [position]), _VECTOR.as_pointer())


def _shuffle(builder: Any, first: Any, second: Any, lanes: Any) -> Any:
    """Return the given lanes of two vectors, those of the second counted behind those of the first."""
    lanes = list(lanes)
    return builder.shuffle_vector(first, second, ir.Constant(ir.VectorType(ir.IntType(32), len(lanes)), lanes))


def _splat(builder: Any, number: Any) -> Any:
    undefined = ir.Constant(_VECTOR, ir.Undefined)
    first = builder.insert_element(undefined, number, ir.Constant(ir.IntType(32), 0))
    return _shuffle(builder, first, undefined, [0] * SIMD_WIDTH)


@intrinsic  # type: ignore[untyped-decorator]
def load(context: Any, array: Any, position: Any) -> Any:
    """Return row `position` of a float32 array (rows, SIMD_WIDTH), or 32 elements of a flat one from there on."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load(_pointer(context, builder, signature.args[0], *arguments), align=4)

    return simd_vector(array, types.intp), generate


@intrinsic  # type: ignore[untyped-decorator]
def store(context: Any, array: Any, position: Any, vector: Any) -> Any:
    """Write a vector to the position that `load` reads."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        builder.store(arguments[2], _pointer(context, builder, signature.args[0], *arguments[:2]), align=4)
        return context.get_dummy_value()

    return types.void(array, types.intp, simd_vector), generate


@intrinsic  # type: ignore[untyped-decorator]
def broadcast(context: Any, number: Any) -> Any:
    """Return a vector with the same number in every lane."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _splat(builder, arguments[0])

    return simd_vector(types.float32), generate


@intrinsic  # type: ignore[untyped-decorator]
def lane_sum(context: Any, vector: Any) -> Any:
    """Return the sum over the lanes."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = ir.FunctionType(_FLOAT, [_FLOAT, _VECTOR])
        reduce = cgutils.get_or_insert_function(builder.module, kind, f"llvm.vector.reduce.fadd.v{SIMD_WIDTH}f32")
        return builder.call(reduce, [ir.Constant(_FLOAT, -0.0), arguments[0]], fastmath=_FLAGS)

    return types.float32(simd_vector), generate


def _add_halves(builder: Any, vector: Any) -> Any:
    """Add the upper half of a vector to its lower half."""
    n = vector.type.count // 2
    halves = (_shuffle(builder, vector, vector, range(begin, begin + n)) for begin in (0, n))
    return builder.fadd(*halves, flags=_FLAGS)


def _add_pairs(builder: Any, first: Any, second: Any) -> Any:
    """Return sums of adjacent lanes: for every four lanes, two sums of the first vector, then two of the second."""
    n = first.type.count
    even = [lane for four in range(0, n, 4) for lane in (four, four + 2, n + four, n + four + 2)]
    sides = (_shuffle(builder, first, second, lanes) for lanes in (even, [lane + 1 for lane in even]))
    return builder.fadd(*sides, flags=_FLAGS)


@intrinsic  # type: ignore[untyped-decorator]
def add_lane_sums(context: Any, array: Any, position: Any, first: Any, second: Any, third: Any, fourth: Any) -> Any:
    """Add the sums over the lanes of four vectors to four adjacent elements of a flat array.

    This takes half the shuffles of four calls of `lane_sum`.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        a, b, c, d = (_add_halves(builder, vector) for vector in arguments[2:])
        sums = _add_pairs(builder, _add_pairs(builder, a, b), _add_pairs(builder, c, d))
        while sums.type.count > 4:
            sums = _add_halves(builder, sums)
        pointer = _pointer(context, builder, signature.args[0], *arguments[:2])
        pointer = builder.bitcast(pointer, sums.type.as_pointer())
        builder.store(builder.fadd(builder.load(pointer, align=4), sums, flags=_FLAGS), pointer, align=4)
        return context.get_dummy_value()

    return types.void(array, types.intp, simd_vector, simd_vector, simd_vector, simd_vector), generate


@intrinsic  # type: ignore[untyped-decorator]
def lane_sums(context: Any, first: Any, second: Any) -> Any:
    """Return the sums over the lanes of two vectors; cheaper than two calls of `lane_sum`."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        sums = _add_pairs(builder, *(_add_halves(builder, vector) for vector in arguments))
        while sums.type.count > 4:
            sums = _add_halves(builder, sums)
        sums = builder.fadd(sums, _shuffle(builder, sums, sums, (1, 1, 3, 3)), flags=_FLAGS)
        both = [builder.extract_element(sums, ir.Constant(ir.IntType(32), lane)) for lane in (0, 2)]
        return context.make_tuple(builder, signature.return_type, both)

    return types.UniTuple(types.float32, 2)(simd_vector, simd_vector), generate


@intrinsic  # type: ignore[untyped-decorator]
def multiply_add(context: Any, vector: Any, number: Any, sum_: Any) -> Any:
    """Return vector * number + sum_, always rounded in the same way.

    The rounding of a separate product and sum depends on the surrounding code. For a unit that is computed together
    with others or alone, the last bit would then depend on the number of threads.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        vector, number, sum_ = arguments
        kind = ir.FunctionType(_VECTOR, [_VECTOR] * 3)
        function = cgutils.get_or_insert_function(builder.module, kind, f"llvm.fmuladd.v{SIMD_WIDTH}f32")
        return builder.call(function, [vector, _splat(builder, number), sum_])

    return simd_vector(simd_vector, types.float32, simd_vector), generate


@intrinsic  # type: ignore[untyped-decorator]
def clip(context: Any, vector: Any, bound: Any) -> Any:
    """Return the vector clipped to [-bound, bound]; NaN stays NaN."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        vector, high = arguments[0], _splat(builder, arguments[1])
        low = _splat(builder, builder.fneg(arguments[1]))
        vector = builder.select(builder.fcmp_ordered("<", vector, low), low, vector)
        return builder.select(builder.fcmp_ordered(">", vector, high), high, vector)

    return simd_vector(simd_vector, types.float32), generate


@intrinsic  # type: ignore[untyped-decorator]
def where_nan(context: Any, test: Any, number: Any, vector: Any) -> Any:
    """Return `number` in the lanes where `test` is NaN, and `vector` elsewhere."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        test, number, vector = arguments
        return builder.select(builder.fcmp_unordered("uno", test, test), _splat(builder, number), vector)

    return simd_vector(simd_vector, types.float32, simd_vector), generate


@intrinsic  # type: ignore[untyped-decorator]
def maximum(context: Any, first: Any, second: Any) -> Any:
    """Return the larger of two vectors, lane by lane."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.select(builder.fcmp_ordered(">", *arguments), *arguments)

    return simd_vector(simd_vector, simd_vector), generate


@intrinsic  # type: ignore[untyped-decorator]
def nearest(context: Any, vector: Any) -> Any:
    """Return the nearest whole numbers."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = ir.FunctionType(_VECTOR, [_VECTOR])
        return builder.call(cgutils.get_or_insert_function(builder.module, kind, _ROUND), arguments)

    return simd_vector(simd_vector), generate


@intrinsic  # type: ignore[untyped-decorator]
def power_of_two(context: Any, vector: Any) -> Any:
    """Return 2 to the power of whole numbers from -126 to 127: they become the exponents of float32 numbers."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        whole = ir.VectorType(ir.IntType(32), SIMD_WIDTH)
        bias, places = (ir.Constant(whole, [number] * SIMD_WIDTH) for number in (127, 23))
        exponent = builder.add(builder.fptosi(arguments[0], whole), bias)
        return builder.bitcast(builder.shl(exponent, places), _VECTOR)

    return simd_vector(simd_vector), generate


def _register(operation: Any, instruction: str) -> None:
    cases = [(simd_vector, simd_vector), (simd_vector, types.float32), (types.float32, simd_vector)]

    class Template(ConcreteTemplate):  # type: ignore[misc]
        pass

    Template.cases = [signature(simd_vector, *case) for case in cases]
    infer_global(operation)(Template)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        left, right = (
            value if type_ == simd_vector else _splat(builder, value)
            for type_, value in zip(signature.args, arguments, strict=True)
        )
        return getattr(builder, instruction)(left, right, flags=_FLAGS)

    for case in cases:
        lower_builtin(operation, *case)(generate)


for _operation, _instruction in (
    (operator.add, "fadd"),
    (operator.sub, "fsub"),
    (operator.mul, "fmul"),
    (operator.truediv, "fdiv"),
):
    _register(_operation, _instruction)


if numba.config.DISABLE_JIT:  # the same operations in plain NumPy

    def load(array, position):  # type: ignore[no-redef,no-untyped-def]
        return (array[position] if array.ndim == 2 else array[position : position + SIMD_WIDTH]).copy()

    def store(array, position, vector):  # type: ignore[no-redef,no-untyped-def]
        if array.ndim == 2:
            array[position] = vector
        else:
            array[position : position + SIMD_WIDTH] = vector

    def broadcast(number):  # type: ignore[no-redef,no-untyped-def]
        return np.full(SIMD_WIDTH, number, np.float32)

    def lane_sum(vector):  # type: ignore[no-redef,no-untyped-def]
        return np.float32(vector.sum())

    def add_lane_sums(array, position, *vectors):  # type: ignore[no-redef,no-untyped-def]
        array[position : position + 4] += [vector.sum() for vector in vectors]

    def lane_sums(first, second):  # type: ignore[no-redef,no-untyped-def]
        return lane_sum(first), lane_sum(second)

    def multiply_add(vector, number, sum_):  # type: ignore[no-redef,no-untyped-def]
        return vector * number + sum_

    def clip(vector, bound):  # type: ignore[no-redef,no-untyped-def]
        return np.clip(vector, -bound, bound)

    def where_nan(test, number, vector):  # type: ignore[no-redef,no-untyped-def]
        return np.where(np.isnan(test), np.float32(number), vector)

    def maximum(first, second):  # type: ignore[no-redef,no-untyped-def]
        return np.where(first > second, first, second)

    def nearest(vector):  # type: ignore[no-redef,no-untyped-def]
        return np.rint(vector)

    def power_of_two(vector):  # type: ignore[no-redef,no-untyped-def]
        return np.ldexp(np.float32(1.0), np.nan_to_num(vector).astype(np.int32))
