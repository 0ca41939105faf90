"""The rational tanh, and exp."""

import numpy as np
import pytest

from neuralforest._kernels.jit import kernel
from neuralforest._kernels.network.activations import exp, tanh_of_rows
from neuralforest._kernels.simd import SIMD_WIDTH, load, store


@kernel
def _tanh(rows, contrast):
    tanh_of_rows(rows, 0, len(rows), contrast)


def evaluate(x, slope=1.0):
    """Return tanh(slope * x), in pairs of rows and once more in rows that are alone: both must be as good."""
    x = np.asarray(x, np.float32)
    rows = np.resize(x, (-(-len(x) // SIMD_WIDTH), SIMD_WIDTH))
    pairs = np.repeat(rows, 2, axis=0)
    pairs[1::2] = rows[::-1]  # partners that are not twins
    _tanh(pairs, np.float32(slope))
    for row in rows:
        _tanh(row[None], np.float32(slope))
    np.testing.assert_allclose(pairs[::2], rows, rtol=5e-7)
    return pairs[::2].ravel()[: len(x)]


GRID = np.concatenate([np.linspace(-12, 12, 60_001), np.geomspace(1e-30, 1, 5_000), -np.geomspace(1e-30, 1, 5_000)])


def test_tanh_is_wrong_by_less_than_4e_7():
    x = GRID.astype(np.float32)
    assert np.abs(evaluate(x) - np.tanh(x.astype(np.float64))).max() < 4e-7


def test_tanh_of_a_small_number_is_right_in_every_digit_that_counts():
    x = np.geomspace(1e-30, 1e-2, 3_000).astype(np.float32)
    np.testing.assert_allclose(evaluate(x), np.tanh(x.astype(np.float64)), rtol=1e-6)


@pytest.mark.parametrize("slope", [1.0, 100.0, 1e4, 1e30])
def test_beyond_8_tanh_is_exactly_one(slope):
    x = np.array([8, 8.5, 20, 1e6, 3e38]) / (slope if slope < 1e30 else 1)
    np.testing.assert_array_equal(
        evaluate(np.concatenate([1.001 * x[:-1], -1.001 * x[:-1]]), slope), [1] * 4 + [-1] * 4
    )


def test_tanh_never_leaves_the_interval_and_never_falls_by_more_than_rounding():
    y = evaluate(np.sort(GRID))
    assert np.abs(y).max() == 1
    assert np.diff(y).min() > -5e-7


def test_tanh_is_odd_and_zero_at_zero():
    np.testing.assert_array_equal(evaluate(-GRID), -evaluate(GRID))
    assert evaluate([0.0])[0] == 0


def test_tanh_keeps_nan_and_takes_infinity():
    np.testing.assert_array_equal(evaluate([np.nan, np.inf, -np.inf, 0.0]), [np.nan, 1, -1, 0])


def test_a_lane_does_not_depend_on_the_others():
    x = np.random.default_rng(0).normal(size=(5, SIMD_WIDTH)).astype(np.float32)
    other, turned = x.copy(), np.roll(x, 7, axis=1)
    other[:, 1:] = 0
    for rows in (x, other, turned):
        _tanh(rows, np.float32(3))
    np.testing.assert_array_equal(other[:, 0], x[:, 0])
    np.testing.assert_array_equal(turned, np.roll(x, 7, axis=1))


@kernel
def _exp(rows):
    for row in range(len(rows)):
        store(rows, row, exp(load(rows, row)))


def exp_of(x):
    rows = np.resize(np.asarray(x, np.float32), (-(-len(x) // SIMD_WIDTH), SIMD_WIDTH))
    _exp(rows)
    return rows.ravel()[: len(x)]


def test_exp_is_wrong_by_less_than_3e_7_of_its_value():
    x = np.concatenate([np.linspace(-87, 87, 50_001), np.linspace(-1, 1, 5_001), [0.0]]).astype(np.float32)
    np.testing.assert_allclose(exp_of(x), np.exp(x.astype(np.float64)), rtol=3e-7)
    assert exp_of([0.0])[0] == 1


def test_exp_beyond_its_range_is_that_of_the_bound_and_keeps_nan():
    np.testing.assert_allclose(exp_of([-1e9, -np.inf, 100.0]), np.exp([-87.0, -87.0, 87.0]), rtol=3e-7)
    assert np.isnan(exp_of([np.nan])[0])
