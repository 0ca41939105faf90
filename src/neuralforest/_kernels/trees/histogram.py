"""Histograms: gradients and hessians summed over the bins of a feature, and the split of these sums with maximal gain.

A row adds two numbers to one bin, and the next row often to the same bin, so that it has to wait for the first: both
numbers are added as one vector, and the histograms of four features are filled together. They stand side by side, bin
by bin, so that the gains of all four are computed as vectors, too.
"""

from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from neuralforest._kernels.jit import part
from neuralforest._kernels.trees.best_bins import COPIES, UNROLL, find_best_bins

_U = np.uint64  # unsigned indices in inner loops: a signed index is checked for being negative

MISSING = 255
"""The bin of missing values; all others are in bins 0 to 254."""
N_BINS = MISSING + 1
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
def _place(bin_, copy, slot):  # type: ignore[no-untyped-def]
    """Return the place of a pair among those of all histograms."""
    return np.uint64(bin_) * _U(COPIES * UNROLL) + _U(copy * UNROLL + slot)


@part
def fill_histograms(bins, n_bins, scratch, begin, n, first, last):  # type: ignore[no-untyped-def]
    """Sum gradients and hessians of rows first to last - 1 over the bins of n features, at most four, from `begin`.

    Two rows at a time, each in a copy of its own; of an odd number, the last row is in the first copy.
    """
    features, rows, gradient, histogram = scratch.features, scratch.rows, scratch.gradient, scratch.histogram
    most, final = 0, begin + n - 1  # where there are fewer than four, the last is summed again, and not read
    for place in range(begin, begin + n):
        most = max(most, n_bins[features[place]])
    for b in range(_U(most + 1)):
        own = b if b < _U(most) else _U(MISSING)
        for copy in range(COPIES):
            for slot in range(UNROLL):
                histogram[own, copy, slot, 0], histogram[own, copy, slot, 1] = 0.0, 0.0
    f1, f2 = features[begin], features[min(begin + 1, final)]
    f3, f4 = features[min(begin + 2, final)], features[final]
    end = first + (last - first) // 2 * 2
    for i in range(_U(first), _U(end), _U(COPIES)):
        row, other = rows[i], rows[i + _U(1)]
        add_pair(histogram, _place(bins[f1, row], 0, 0), gradient, row)
        add_pair(histogram, _place(bins[f1, other], 1, 0), gradient, other)
        add_pair(histogram, _place(bins[f2, row], 0, 1), gradient, row)
        add_pair(histogram, _place(bins[f2, other], 1, 1), gradient, other)
        if n > 2:
            add_pair(histogram, _place(bins[f3, row], 0, 2), gradient, row)
            add_pair(histogram, _place(bins[f3, other], 1, 2), gradient, other)
            add_pair(histogram, _place(bins[f4, row], 0, 3), gradient, row)
            add_pair(histogram, _place(bins[f4, other], 1, 3), gradient, other)
    for i in range(_U(end), _U(last)):
        row = rows[i]
        add_pair(histogram, _place(bins[f1, row], 0, 0), gradient, row)
        add_pair(histogram, _place(bins[f2, row], 0, 1), gradient, row)
        add_pair(histogram, _place(bins[f3, row], 0, 2), gradient, row)
        add_pair(histogram, _place(bins[f4, row], 0, 3), gradient, row)


@part
def find_split(scratch, n_bins, begin, n, min_hessian, l2_regularization, gradient, hessian, best):  # type: ignore[no-untyped-def]
    """Find the split that maximises the gain, the sum of G^2 / (H + lambda) over both children, if it exceeds `best`.

    Missing values go right, or left; or they go right, and all others left.

    Parameters
    ----------
    begin, n : int
        The features whose histograms have been filled, at most four.
    min_hessian, l2_regularization : float
        The minimal hessian H of a child, and lambda.
    gradient, hessian : float
        Sums over all rows.

    Returns
    -------
    best, feature, bin, missing_left, left_gradient, left_hessian
        The maximal gain, and its split; the feature is -1 where no gain exceeds `best`.
    """
    histogram, left, gain, place = scratch.histogram, scratch.left, scratch.gain, scratch.place
    features, limits, missing = scratch.features, scratch.n_places, scratch.missing
    found, found_bin, found_left, left_gradient, left_hessian, some_missing = -1, 0, 0, 0.0, 0.0, False
    for slot in range(n):
        for j in range(2):
            missing[slot, j] = histogram[MISSING, 0, slot, j] + histogram[MISSING, 1, slot, j]
        some_missing |= missing[slot, 1] > 0.0
    for missing_left in range(2 if some_missing else 1):
        most = 0
        for slot in range(UNROLL):
            goes_right = (missing[slot, 1] > 0.0) & (missing_left == 0)
            last = n_bins[features[min(begin + slot, begin + n - 1)]] - (not goes_right)
            limits[slot], gain[slot], place[slot] = last * (slot < n), best + _MIN_GAIN, 0
            most = max(most, limits[slot])
            left[0, slot, 0], left[0, slot, 1] = missing[slot, 0] * missing_left, missing[slot, 1] * missing_left
        find_best_bins(histogram, left, limits, most, gradient, hessian, min_hessian, l2_regularization, gain, place)
        for slot in range(n):
            if gain[slot] > best + _MIN_GAIN:
                best, found, found_bin, found_left = gain[slot], features[begin + slot], place[slot], missing_left
                left_gradient, left_hessian = left[found_bin, slot, 0], left[found_bin, slot, 1]
    return best, found, found_bin, found_left, left_gradient, left_hessian


if numba.config.DISABLE_JIT:  # the same operation in plain NumPy

    def add_pair(sums, place, pairs, row):  # type: ignore[no-redef,no-untyped-def]
        sums.reshape(-1, 2)[np.int64(place)] += pairs[row]
