"""Histograms: gradients and hessians summed over the bins of a feature, and the split of these sums with maximal gain.

A row adds two numbers to one bin, and the next row often to the same bin, so that it has to wait for the first: both
numbers are added as one vector, and up to four histograms are filled together.
"""

from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from neuralforest._kernels.jit import part

MISSING = 255
"""The bin of missing values; all others are in bins 0 to 254."""
N_BINS = MISSING + 1
UNROLL = 4
"""Unroll factor: features whose histograms are filled together."""

_MIN_GAIN = 1e-12  # smaller gains are rounding errors
_SINGLE, _DOUBLE = (ir.VectorType(number, 2) for number in (ir.FloatType(), ir.DoubleType()))


def _pair(context: Any, builder: Any, array_type: Any, array: Any, place: Any, kind: Any) -> Any:
    """Return a pointer to a pair of adjacent numbers in an array whose last axis has two."""
    data = context.make_array(array_type)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [builder.shl(place, ir.Constant(place.type, 1))]), kind.as_pointer())


@intrinsic  # type: ignore[untyped-decorator]
def add_pair(context: Any, sums: Any, place: Any, pairs: Any, row: Any) -> Any:
    """Add pair `row` of a float32 array to pair `place` of a float64 array; the last axis of both has two numbers."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        sums, place, pairs, row = arguments
        added = builder.load(_pair(context, builder, signature.args[2], pairs, row, _SINGLE), align=4)
        pointer = _pair(context, builder, signature.args[0], sums, place, _DOUBLE)
        builder.store(builder.fadd(builder.load(pointer, align=8), builder.fpext(added, _DOUBLE)), pointer, align=8)
        return context.get_dummy_value()

    return types.void(sums, types.uint64, pairs, types.uint64), generate


@part
def goes_left(bin_, last, missing_left):  # type: ignore[no-untyped-def]
    """Return whether a bin goes left, up to bin `last`. Another kind of split would branch here and in `find_split`."""
    return (bin_ <= last) | ((bin_ == MISSING) & missing_left)


@part
def fill_histograms(bins, n_bins, scratch, begin, n, first, last):  # type: ignore[no-untyped-def]
    """Sum gradients and hessians of rows first to last - 1 over the bins of n features, at most four, from `begin`."""
    features, rows, gradient, histogram = scratch.features, scratch.rows, scratch.gradient, scratch.histogram
    for slot in range(n):
        for b in range(n_bins[features[begin + slot]]):
            histogram[slot, b, 0], histogram[slot, b, 1] = 0.0, 0.0
        histogram[slot, MISSING, 0], histogram[slot, MISSING, 1] = 0.0, 0.0
    final = begin + n - 1  # where there are fewer, it is summed once more, into histograms that are not read
    f1, f2 = features[begin], features[min(begin + 1, final)]
    f3, f4 = features[min(begin + 2, final)], features[final]
    if n > 2:
        for i in range(first, last):
            row = rows[i]
            add_pair(histogram, np.uint64(bins[f1, row]), gradient, row)
            add_pair(histogram, np.uint64(bins[f2, row]) + np.uint64(N_BINS), gradient, row)
            add_pair(histogram, np.uint64(bins[f3, row]) + np.uint64(2 * N_BINS), gradient, row)
            add_pair(histogram, np.uint64(bins[f4, row]) + np.uint64(3 * N_BINS), gradient, row)
    else:
        for i in range(first, last):
            row = rows[i]
            add_pair(histogram, np.uint64(bins[f1, row]), gradient, row)
            add_pair(histogram, np.uint64(bins[f2, row]) + np.uint64(N_BINS), gradient, row)


@part
def find_split(scratch, slot, n_bins, min_hessian, l2_regularization, gradient, hessian, best):  # type: ignore[no-untyped-def]
    """Find the split that maximises the gain, the sum of G^2 / (H + lambda) over both children, if it exceeds `best`.

    Missing values go right, or left; or they go right, and all others left.

    Parameters
    ----------
    slot : int
        The position of the feature among the histograms.
    min_hessian, l2_regularization : float
        The minimal hessian H of a child, and lambda.
    gradient, hessian : float
        Sums over all rows.

    Returns
    -------
    best, bin, missing_left, left_gradient, left_hessian
        The maximal gain, and its split; the bin is -1 where no gain exceeds `best`.
    """
    histogram, left, gain = scratch.histogram, scratch.left, scratch.gain
    found, found_left, left_gradient, left_hessian = -1, 0, 0.0, 0.0
    some_missing = histogram[slot, MISSING, 1] > 0.0
    for missing_left in range(2 if some_missing else 1):
        n_places = n_bins if some_missing and not missing_left else n_bins - 1
        g, h = histogram[slot, MISSING, 0] * missing_left, histogram[slot, MISSING, 1] * missing_left
        for b in range(n_places):
            g += histogram[slot, b, 0]
            h += histogram[slot, b, 1]
            left[0, b], left[1, b] = g, h
        for b in range(n_places):  # a loop of its own, so that it is vectorised
            right, right_hessian = gradient - left[0, b], hessian - left[1, b]
            a, c = left[1, b] + l2_regularization, right_hessian + l2_regularization
            value = (left[0, b] * left[0, b] * c + right * right * a) / (a * c)
            gain[b] = value if min(left[1, b], right_hessian) >= min_hessian else 0.0
        for b in range(n_places):
            if gain[b] > best + _MIN_GAIN:
                best, found, found_left, left_gradient, left_hessian = gain[b], b, missing_left, left[0, b], left[1, b]
    return best, found, found_left, left_gradient, left_hessian


if numba.config.DISABLE_JIT:  # the same operation in plain NumPy

    def add_pair(sums, place, pairs, row):  # type: ignore[no-redef,no-untyped-def]
        sums.reshape(-1, 2)[np.int64(place)] += pairs[row]
