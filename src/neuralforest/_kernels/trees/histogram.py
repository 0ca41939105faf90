"""Slopes and curvatures of rows summed by their bins of a feature, and which split of these sums is best.

A row adds two numbers to one place of a histogram, and the next row often to the same place, so that it has to wait for
the first: both numbers are added as one vector, and up to four features are summed abreast.
"""

from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from neuralforest._kernels.jit import part

MISSING = 255
"""The bin of missing values; numbers have bins 0 to 254 at most."""
N_BINS = MISSING + 1
UNROLL = 4
"""Features whose histograms are filled together."""

_LEAST_GAIN = 1e-12  # less is rounding
_SINGLE, _DOUBLE = (ir.VectorType(number, 2) for number in (ir.FloatType(), ir.DoubleType()))


def _pair(context: Any, builder: Any, array_type: Any, array: Any, place: Any, kind: Any) -> Any:
    """Point at a pair of neighbours in an array whose last axis has two."""
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
def fill_histograms(bins, n_bins, scratch, begin, n, first, last):  # type: ignore[no-untyped-def]
    """Sum slopes and curvatures of rows first to last - 1 by bins of n features, at most four, from `begin` on."""
    features, rows, gradient, histogram = scratch.features, scratch.rows, scratch.gradient, scratch.histogram
    for slot in range(n):
        for b in range(n_bins[features[begin + slot]]):
            histogram[slot, b, 0], histogram[slot, b, 1] = 0.0, 0.0
        histogram[slot, MISSING, 0], histogram[slot, MISSING, 1] = 0.0, 0.0
    final = begin + n - 1  # where there are too few, it is summed once more, to a place where nobody looks
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
def compare_splits(scratch, slot, n_bins, least, l2_regularization, slope, curvature, best):  # type: ignore[no-untyped-def]
    """Search the split that keeps most of the rows' slopes in the squares of two means, if any keeps more than `best`.

    Missing values go right, or left; or they go right, and all numbers left.

    Parameters
    ----------
    slot : int
        The place of the feature among the histograms.
    least, l2_regularization : float
        The curvature that either side must have, and what is added to it.
    slope, curvature : float
        Sums over all rows.

    Returns
    -------
    best, bin, missing_left, left_slope, left_curvature
        What the best split keeps, and where it is; the bin is -1 where none is better.
    """
    histogram, left, kept = scratch.histogram, scratch.left, scratch.kept
    found, found_left, left_slope, left_curvature = -1, 0, 0.0, 0.0
    some_missing = histogram[slot, MISSING, 1] > 0.0
    for missing_left in range(2 if some_missing else 1):
        n_places = n_bins if some_missing and not missing_left else n_bins - 1
        slope_sum = histogram[slot, MISSING, 0] * missing_left
        curvature_sum = histogram[slot, MISSING, 1] * missing_left
        for b in range(n_places):
            slope_sum += histogram[slot, b, 0]
            curvature_sum += histogram[slot, b, 1]
            left[0, b] = slope_sum
            left[1, b] = curvature_sum
        for b in range(n_places):  # in one loop by itself, many of these are computed at once
            right, right_curvature = slope - left[0, b], curvature - left[1, b]
            a, c = left[1, b] + l2_regularization, right_curvature + l2_regularization
            kept_here = (left[0, b] * left[0, b] * c + right * right * a) / (a * c)
            kept[b] = kept_here if min(left[1, b], right_curvature) >= least else 0.0
        for b in range(n_places):
            if kept[b] > best + _LEAST_GAIN:
                best, found, found_left, left_slope, left_curvature = kept[b], b, missing_left, left[0, b], left[1, b]
    return best, found, found_left, left_slope, left_curvature


if numba.config.DISABLE_JIT:  # the same in plain NumPy

    def add_pair(sums, place, pairs, row):  # type: ignore[no-redef,no-untyped-def]
        sums.reshape(-1, 2)[np.int64(place)] += pairs[row]
