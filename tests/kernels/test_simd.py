"""SIMD vectors of 32 numbers compute what NumPy computes on rows of 32."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from neuralforest._kernels.jit import kernel
from neuralforest._kernels.simd import (
    SIMD_WIDTH,
    add_lane_sums,
    broadcast,
    clip,
    lane_sum,
    lane_sums,
    load,
    multiply_add,
    store,
    where_nan,
)

_TWO = np.float32(2.0)


@kernel
def _operate(a, b, number, flat, out, sums):
    for i in range(len(a)):
        x, y = load(a, i), load(b, i)
        store(out, 0, x + y)
        store(out, 1, x - y)
        store(out, 2, x * y)
        store(out, 3, x / y)
        store(out, 4, x + number)
        store(out, 5, number - x)
        store(out, 6, x * number)
        store(out, 7, _TWO / y)
        store(out, 8, broadcast(number))
        store(out, 9, clip(x, _TWO))
        store(out, 10, where_nan(x, number, y))
        store(out, 11, load(flat, i + 3))
        store(out, 12, multiply_add(x, number, y))
        store(flat, i + 3, x)
        sums[i] = lane_sum(x)


@kernel
def _reduce(rows, start, sums):
    a, b, c, d = load(rows, 0), load(rows, 1), load(rows, 2), load(rows, 3)
    add_lane_sums(sums, start, a, b, c, d)
    sums[7], sums[8] = lane_sums(c, b)


def operate(a, b, number=0.5):
    """Return the results, the flat array after x was stored from its element 3 on, and the sum."""
    a, b = (np.asarray(part, np.float32).reshape(1, SIMD_WIDTH) for part in (a, b))
    flat = np.arange(SIMD_WIDTH + 8, dtype=np.float32)
    out, sums = np.full((13, SIMD_WIDTH), np.nan, np.float32), np.empty(1, np.float32)
    _operate(a, b, np.float32(number), flat, out, sums)
    return out, flat, sums[0]


vectors = arrays(np.float32, SIMD_WIDTH, elements=st.floats(-1e6, 1e6, width=32))


@settings(max_examples=60, deadline=None, derandomize=True)
@given(vectors, vectors, st.floats(-1e3, 1e3, width=32))
def test_arithmetic_is_that_of_numpy(a, b, number):
    number = np.float32(number)
    b = np.where(np.abs(b) < 1e-3, np.float32(1), b)
    out, _, sum_ = operate(a, b, number)
    expected = [a + b, a - b, a * b, a / b, a + number, number - a, a * number, _TWO / b]
    np.testing.assert_allclose(out[:8], expected, rtol=1e-6)  # a quotient may be a product with the reciprocal
    np.testing.assert_allclose(out[12], a.astype(float) * number + b, rtol=1e-6, atol=1e-6 * np.abs(a * number).max())
    np.testing.assert_allclose(sum_, a.sum(dtype=float), rtol=1e-5, atol=1e-5 * np.abs(a).sum() + 1e-30)


def test_loads_and_stores_touch_32_numbers_and_no_more():
    a = np.arange(SIMD_WIDTH) + 100
    out, flat, _ = operate(a, a)
    np.testing.assert_array_equal(out[11], np.arange(3, SIMD_WIDTH + 3))
    np.testing.assert_array_equal(flat[:3], [0, 1, 2])
    np.testing.assert_array_equal(flat[3 : SIMD_WIDTH + 3], a)
    np.testing.assert_array_equal(flat[SIMD_WIDTH + 3 :], np.arange(SIMD_WIDTH + 3, SIMD_WIDTH + 8))


def test_a_number_is_broadcast_to_every_lane():
    np.testing.assert_array_equal(operate(np.ones(SIMD_WIDTH), np.ones(SIMD_WIDTH), 7.5)[0][8], 7.5)


def test_clipping_keeps_nan():
    a = np.resize(np.array([np.nan, -np.inf, -2.5, -2, 0, 1.5, 2, 3, np.inf], np.float32), SIMD_WIDTH)
    np.testing.assert_array_equal(operate(a, a)[0][9], np.clip(a, -2, 2))


def test_lanes_of_nan_are_replaced_and_no_others():
    a = np.resize(np.array([np.nan, 1, np.inf, -np.inf, 0], np.float32), SIMD_WIDTH)
    b = np.arange(SIMD_WIDTH, dtype=np.float32)
    np.testing.assert_array_equal(operate(a, b, -3)[0][10], np.where(np.isnan(a), -3, b))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_sums_keep_nan_and_infinity(bad):
    a = np.ones(SIMD_WIDTH, np.float32)
    a[17] = bad
    np.testing.assert_equal(operate(a, a)[2], np.float32(bad))


@settings(max_examples=60, deadline=None, derandomize=True)
@given(arrays(np.float32, (4, SIMD_WIDTH), elements=st.floats(-1e6, 1e6, width=32)), st.integers(0, 3))
def test_several_sums_at_once_are_the_lane_sums_and_are_added_to_the_array(rows, start):
    sums, before = np.full(9, 0.5, np.float32), np.full(9, 0.5)
    _reduce(rows, start, sums)
    exact = rows.sum(axis=1, dtype=float)
    before[start : start + 4] += exact
    before[7:] = exact[[2, 1]]
    np.testing.assert_allclose(sums, before, rtol=1e-5, atol=1e-5 * np.abs(rows).sum(axis=1).max() + 1e-30)
