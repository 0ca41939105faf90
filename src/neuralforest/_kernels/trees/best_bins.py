"""The bins that a node is best split at: gains of four features at once, as vectors with a feature in every lane."""

from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from neuralforest._kernels.trees.blocks import NUMBER, PLACE, WORD, shuffle

UNROLL = 4
"""Unroll factor: features whose histograms are filled together."""
COPIES = 2
"""Of every histogram: where adjacent rows have the same bin, one does not have to wait for the other."""

_SUMS, _NUMBERS, _BINS = (
    ir.VectorType(NUMBER, 2 * UNROLL),
    ir.VectorType(NUMBER, UNROLL),
    ir.VectorType(WORD, UNROLL),
)


def _load(builder: Any, data: Any, place: Any, kind: Any) -> Any:
    """Load a vector of numbers from `place` on."""
    return builder.load(builder.bitcast(builder.gep(data, [place]), kind.as_pointer()), align=8)


def _store(builder: Any, vector: Any, data: Any, place: Any) -> None:
    builder.store(vector, builder.bitcast(builder.gep(data, [place]), vector.type.as_pointer()), align=8)


def _spread(builder: Any, number: Any, kind: Any) -> Any:
    one = builder.insert_element(ir.Constant(kind, ir.Undefined), number, ir.Constant(PLACE, 0))
    return shuffle(builder, one, one, [0] * kind.count)


@intrinsic  # type: ignore[untyped-decorator]
def find_best_bins(
    context: Any, histogram: Any, left: Any, n_places: Any, n: Any, gradient: Any, hessian: Any, min_hessian: Any,
    l2: Any, gain: Any, place: Any,
) -> Any:  # fmt: skip
    """Fill the maximal gain of every feature, and the first bin that it is attained at.

    Where no split is better than `gain`, both stay as they were.

    Parameters
    ----------
    histogram : float64 array (bins, COPIES, UNROLL, 2)
        Sums of gradients and hessians.
    left : float64 array (bins, UNROLL, 2)
        Receives the running sums. Before, its first row holds what goes left of every split.
    n_places : int64 array (UNROLL,)
        How many bins a feature may be split at.
    n : int
        The largest of these numbers.
    gradient, hessian : float
        Sums over all rows.
    min_hessian, l2 : float
        The minimal hessian of a child, and lambda.
    gain : float64 array (UNROLL,)
    place : int64 array (UNROLL,)
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        histograms, running, limits, n, *numbers, gains, places = (
            context.make_array(type_)(context, builder, array).data if isinstance(type_, types.Array) else array
            for type_, array in zip(signature.args, arguments, strict=True)
        )
        *totals, least, penalty = (_spread(builder, number, _NUMBERS) for number in numbers)
        zero = ir.Constant(WORD, 0)
        limit = _load(builder, limits, zero, _BINS)
        sums, best, found = (cgutils.alloca_once(builder, kind) for kind in (_SUMS, _NUMBERS, _BINS))
        for target, source, kind in ((sums, running, _SUMS), (best, gains, _NUMBERS), (found, places, _BINS)):
            builder.store(_load(builder, source, zero, kind), target)
        with cgutils.for_range(builder, n) as loop:
            row = builder.mul(loop.index, ir.Constant(WORD, 2 * UNROLL))
            now = builder.load(sums)
            for copy in range(COPIES):
                own = builder.add(builder.mul(row, ir.Constant(WORD, COPIES)), ir.Constant(WORD, 2 * UNROLL * copy))
                now = builder.fadd(now, _load(builder, histograms, own, _SUMS))
            builder.store(now, sums)
            _store(builder, now, running, row)
            value, is_allowed = _gain(builder, now, totals, least, penalty)
            number = _spread(builder, loop.index, _BINS)
            better = builder.and_(is_allowed, builder.icmp_signed("<", number, limit))
            better = builder.and_(better, builder.fcmp_ordered(">", value, builder.load(best)))
            for target, candidate in ((best, value), (found, number)):
                builder.store(builder.select(better, candidate, builder.load(target)), target)
        _store(builder, builder.load(best), gains, zero)
        _store(builder, builder.load(found), places, zero)
        return context.get_dummy_value()

    number = types.float64
    return types.void(histogram, left, n_places, types.intp, number, number, number, number, gain, place), generate


def _gain(builder: Any, sums: Any, totals: Any, least: Any, penalty: Any) -> tuple[Any, Any]:
    """Return the gain of a split, the sum of G^2 / (H + lambda) over both children, and whether it is allowed.

    `sums` are gradients and hessians of the left child, by turns; `totals` those of both children.
    """
    left, left_hessian = (shuffle(builder, sums, sums, range(first, 2 * UNROLL, 2)) for first in (0, 1))
    right, right_hessian = builder.fsub(totals[0], left), builder.fsub(totals[1], left_hessian)
    a, c = builder.fadd(left_hessian, penalty), builder.fadd(right_hessian, penalty)
    parts = (builder.fmul(builder.fmul(side, side), other) for side, other in ((left, c), (right, a)))
    gain = builder.fdiv(builder.fadd(*parts, flags=("contract",)), builder.fmul(a, c))
    are_large = (builder.fcmp_ordered(">=", side, least) for side in (left_hessian, right_hessian))
    return gain, builder.and_(*are_large)


if numba.config.DISABLE_JIT:  # the same operation in plain NumPy

    def find_best_bins(histogram, left, n_places, n, gradient, hessian, min_hessian, l2, gain, place):  # type: ignore[no-redef,no-untyped-def]
        left[:n] = left[0] + histogram[:n].sum(axis=1).cumsum(axis=0)
        sums, right = left[:n], np.array([gradient, hessian]) - left[:n]
        value = sums[..., 0] ** 2 / (sums[..., 1] + l2) + right[..., 0] ** 2 / (right[..., 1] + l2)
        value[(np.minimum(sums[..., 1], right[..., 1]) < min_hessian) | (np.arange(n)[:, None] >= n_places)] = -np.inf
        for slot in range(UNROLL if n else 0):
            best = value[:, slot].argmax()
            if value[best, slot] > gain[slot]:
                gain[slot], place[slot] = value[best, slot], best
