"""Thirty-two float32 numbers as one value, so that a kernel works on 32 rows at once.

The compiler cannot see that two buffers never overlap, gives up, and computes row by row. A value of type `Lanes` lives
in vector registers and leaves no doubt. Kernels read like NumPy on rows of length 32, and with NUMBA_DISABLE_JIT=1 they
are just that: there, `load` returns an array.

>>> from neuralforest._kernels.lanes import LANES
>>> LANES
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

from neuralforest._kernels._jit import FAST_MATH

LANES = 32
"""Rows that a kernel handles together: the paper's minibatch."""

_FLOAT = ir.FloatType()
_VECTOR = ir.VectorType(_FLOAT, LANES)
_FLAGS = tuple(sorted(FAST_MATH))


class Lanes(types.Type):  # type: ignore[misc]
    """The numba type of a vector of `LANES` float32 numbers."""

    def __init__(self) -> None:
        super().__init__(name="Lanes")


lanes = Lanes()


@register_model(Lanes)
class _LanesModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, type_: Any) -> None:
        super().__init__(manager, type_, _VECTOR)


def _pointer(context: Any, builder: Any, array_type: Any, array: Any, position: Any) -> Any:
    """Point at a row of an array of shape (rows, LANES), or at an element of a flat array."""
    data = context.make_array(array_type)(context, builder, array).data
    if array_type.ndim == 2:
        position = builder.mul(position, ir.Constant(position.type, LANES))
    return builder.bitcast(builder.gep(data, [position]), _VECTOR.as_pointer())


def _splat(builder: Any, number: Any) -> Any:
    undefined = ir.Constant(_VECTOR, ir.Undefined)
    first = builder.insert_element(undefined, number, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(first, undefined, ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES))


@intrinsic  # type: ignore[untyped-decorator]
def load(context: Any, array: Any, position: Any) -> Any:
    """Return row `position` of a float32 array of shape (rows, LANES), or the elements of a flat one from there on."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load(_pointer(context, builder, signature.args[0], *arguments), align=4)

    return lanes(array, types.intp), generate


@intrinsic  # type: ignore[untyped-decorator]
def store(context: Any, array: Any, position: Any, vector: Any) -> Any:
    """Write a vector where `load` would read it."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        builder.store(arguments[2], _pointer(context, builder, signature.args[0], *arguments[:2]), align=4)
        return context.get_dummy_value()

    return types.void(array, types.intp, lanes), generate


@intrinsic  # type: ignore[untyped-decorator]
def fill(context: Any, number: Any) -> Any:
    """Return a vector with the same number in every lane."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _splat(builder, arguments[0])

    return lanes(types.float32), generate


@intrinsic  # type: ignore[untyped-decorator]
def total(context: Any, vector: Any) -> Any:
    """Return the sum over the lanes."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = ir.FunctionType(_FLOAT, [_FLOAT, _VECTOR])
        reduce = cgutils.get_or_insert_function(builder.module, kind, f"llvm.vector.reduce.fadd.v{LANES}f32")
        return builder.call(reduce, [ir.Constant(_FLOAT, -0.0), arguments[0]], fastmath=_FLAGS)

    return types.float32(lanes), generate


def _half(builder: Any, vector: Any, upper: bool) -> Any:
    n = vector.type.count // 2
    return _pick(builder, vector, vector, range(n * upper, n * upper + n))


def _pick(builder: Any, first: Any, second: Any, places: Any) -> Any:
    places = list(places)
    return builder.shuffle_vector(first, second, ir.Constant(ir.VectorType(ir.IntType(32), len(places)), places))


def _fold(builder: Any, vector: Any) -> Any:
    """Add the upper half of a vector to its lower half."""
    return builder.fadd(_half(builder, vector, False), _half(builder, vector, True), flags=_FLAGS)


def _add_neighbours(builder: Any, first: Any, second: Any) -> Any:
    """Return sums of two neighbours each, of every four of the first vector, then of the same four of the second."""
    n = first.type.count
    even = [place for four in range(0, n, 4) for place in (four, four + 2, n + four, n + four + 2)]
    odd = [place + 1 for place in even]
    sides = (_pick(builder, first, second, places) for places in (even, odd))
    return builder.fadd(*sides, flags=_FLAGS)


@intrinsic  # type: ignore[untyped-decorator]
def add_totals(context: Any, array: Any, position: Any, first: Any, second: Any, third: Any, fourth: Any) -> Any:
    """Add the sums over the lanes of four vectors to four neighbours in a flat array.

    Together they take half the shuffles that four times `total` does.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        a, b, c, d = (_fold(builder, vector) for vector in arguments[2:])
        sums = _add_neighbours(builder, _add_neighbours(builder, a, b), _add_neighbours(builder, c, d))
        while sums.type.count > 4:
            sums = _fold(builder, sums)
        pointer = _pointer(context, builder, signature.args[0], *arguments[:2])
        pointer = builder.bitcast(pointer, sums.type.as_pointer())
        builder.store(builder.fadd(builder.load(pointer, align=4), sums, flags=_FLAGS), pointer, align=4)
        return context.get_dummy_value()

    return types.void(array, types.intp, lanes, lanes, lanes, lanes), generate


@intrinsic  # type: ignore[untyped-decorator]
def totals(context: Any, first: Any, second: Any) -> Any:
    """Return the sums over the lanes of two vectors; cheaper than `total` of each."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        sums = _add_neighbours(builder, *(_fold(builder, vector) for vector in arguments))
        while sums.type.count > 4:
            sums = _fold(builder, sums)
        sums = builder.fadd(sums, _pick(builder, sums, sums, (1, 1, 3, 3)), flags=_FLAGS)
        picked = [builder.extract_element(sums, ir.Constant(ir.IntType(32), place)) for place in (0, 2)]
        return context.make_tuple(builder, signature.return_type, picked)

    return types.UniTuple(types.float32, 2)(lanes, lanes), generate


@intrinsic  # type: ignore[untyped-decorator]
def multiply_add(context: Any, vector: Any, number: Any, sum_: Any) -> Any:
    """Return vector * number + sum_, always rounded in the same way.

    How the compiler rounds a product and a sum that are written apart depends on what stands around them. Where a unit
    may be computed together with others or alone, its last bit would then depend on the number of threads.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        vector, number, sum_ = arguments
        kind = ir.FunctionType(_VECTOR, [_VECTOR] * 3)
        function = cgutils.get_or_insert_function(builder.module, kind, f"llvm.fmuladd.v{LANES}f32")
        return builder.call(function, [vector, _splat(builder, number), sum_])

    return lanes(lanes, types.float32, lanes), generate


@intrinsic  # type: ignore[untyped-decorator]
def clip(context: Any, vector: Any, bound: Any) -> Any:
    """Return the vector with every lane moved into [-bound, bound]; NaN stays NaN."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        vector, high = arguments[0], _splat(builder, arguments[1])
        low = _splat(builder, builder.fneg(arguments[1]))
        vector = builder.select(builder.fcmp_ordered("<", vector, low), low, vector)
        return builder.select(builder.fcmp_ordered(">", vector, high), high, vector)

    return lanes(lanes, types.float32), generate


@intrinsic  # type: ignore[untyped-decorator]
def where_missing(context: Any, test: Any, number: Any, vector: Any) -> Any:
    """Return `number` in the lanes where `test` is NaN, and `vector` elsewhere."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        test, number, vector = arguments
        return builder.select(builder.fcmp_unordered("uno", test, test), _splat(builder, number), vector)

    return lanes(lanes, types.float32, lanes), generate


def _register(operation: Any, instruction: str) -> None:
    cases = [(lanes, lanes), (lanes, types.float32), (types.float32, lanes)]

    class Template(ConcreteTemplate):  # type: ignore[misc]
        pass

    Template.cases = [signature(lanes, *case) for case in cases]
    infer_global(operation)(Template)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        left, right = (
            value if type_ == lanes else _splat(builder, value)
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


if numba.config.DISABLE_JIT:  # the same words in plain NumPy

    def load(array, position):  # type: ignore[no-redef,no-untyped-def]
        return (array[position] if array.ndim == 2 else array[position : position + LANES]).copy()

    def store(array, position, vector):  # type: ignore[no-redef,no-untyped-def]
        if array.ndim == 2:
            array[position] = vector
        else:
            array[position : position + LANES] = vector

    def fill(number):  # type: ignore[no-redef,no-untyped-def]
        return np.full(LANES, number, np.float32)

    def total(vector):  # type: ignore[no-redef,no-untyped-def]
        return np.float32(vector.sum())

    def add_totals(array, position, *vectors):  # type: ignore[no-redef,no-untyped-def]
        array[position : position + 4] += [vector.sum() for vector in vectors]

    def totals(first, second):  # type: ignore[no-redef,no-untyped-def]
        return total(first), total(second)

    def multiply_add(vector, number, sum_):  # type: ignore[no-redef,no-untyped-def]
        return vector * number + sum_

    def clip(vector, bound):  # type: ignore[no-redef,no-untyped-def]
        return np.clip(vector, -bound, bound)

    def where_missing(test, number, vector):  # type: ignore[no-redef,no-untyped-def]
        return np.where(np.isnan(test), np.float32(number), vector)
