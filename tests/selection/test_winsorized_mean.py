"""The winsorized mean has the least expected error among means of values that are cut at a limit."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from threadpoolctl import threadpool_limits

from neuralforest.selection.winsorized_mean import _limit, winsorized_mean

values = arrays(np.float64, st.integers(1, 40), elements=st.floats(-1e3, 1e3))


parts = st.sampled_from([0.1, 1.0, 1.0, 3.0])


@st.composite
def values_and_parts(draw):
    y = draw(values)
    weight = draw(arrays(np.float64, len(y), elements=parts))
    return y, weight / weight.sum()


def expected_error(y, part, limit):
    """Return bias squared plus variance / n of the mean of min(y, limit), for a population of the values y."""
    cut = np.minimum(y, limit)
    mean = part @ cut
    return (part @ y - mean) ** 2 + part @ (cut - mean) ** 2 * (part @ part)


@given(values_and_parts())
def test_no_other_limit_is_better(case):
    y, part = case
    best = expected_error(y, part, _limit(y, part))
    others = [expected_error(y, part, limit) for limit in np.linspace(part @ y, y.max() + 1, 200)]
    assert best <= min(others) * (1 + 1e-9) + 1e-9


@given(values)
def test_the_limit_is_as_far_from_the_mean_as_all_that_is_cut_off(y):
    limit = _limit(y, np.full(len(y), 1 / len(y)))
    assert limit - np.minimum(y, limit).mean() == pytest.approx(np.maximum(y - limit, 0).sum(), abs=1e-8)


@given(values, st.floats(-100, 100), st.floats(-10, 10))
def test_it_moves_with_the_values_and_stays_inside_them(y, shift, factor):
    mean = winsorized_mean(y[:, None])
    np.testing.assert_allclose(winsorized_mean(factor * y[:, None] + shift), factor * mean + shift, atol=1e-8)
    assert y.min() - 1e-9 <= mean[0] <= y.max() + 1e-9


@pytest.mark.parametrize(
    ("draw", "mean", "most"),
    [
        (lambda random: random.lognormal(0, 2, 400), np.exp(2), 0.7),
        (lambda random: random.standard_t(2, 400), 0.0, 0.7),
        (lambda random: random.lognormal(0, 1, 400), np.exp(0.5), 1.0),
        (lambda random: random.exponential(size=400), 1.0, 1.02),
        (lambda random: random.normal(size=400), 0.0, 1.01),
        (lambda random: random.uniform(size=400), 0.5, 1.01),
    ],
    ids=["lognormal 2", "t 2", "lognormal 1", "exponential", "normal", "uniform"],
)
def test_it_is_far_better_than_the_mean_for_heavy_tails_and_as_good_for_others(draw, mean, most):
    random = np.random.default_rng(0)
    draws = np.stack([draw(random) for _ in range(500)], axis=1)
    winsorized, plain = (np.mean((estimate - mean) ** 2) for estimate in (winsorized_mean(draws), draws.mean(axis=0)))
    assert winsorized < most * plain


def test_each_target_has_its_own_mean():
    y = np.random.default_rng(0).lognormal(0, 2, (50, 3))
    np.testing.assert_array_equal(winsorized_mean(y), [winsorized_mean(y[:, [column]])[0] for column in range(3)])


@given(values, st.data(), st.sampled_from([1.0, 1e-300, 1e300]))
def test_rows_count_by_their_weight(y, data, unit):
    """Rows of weight 0 do not count, and the unit of the weights does not matter."""
    weight = data.draw(arrays(np.float64, len(y), elements=st.sampled_from([0.0, 0.5, 3.0])))
    if not weight.any():
        weight[0] = 1.0
    counted, mean = weight > 0, winsorized_mean(y[:, None], unit * weight)
    np.testing.assert_allclose(mean, winsorized_mean(y[counted, None], weight[counted]), atol=1e-8)
    equal = winsorized_mean(y[counted, None], unit * np.ones(counted.sum()))
    np.testing.assert_allclose(equal, winsorized_mean(y[counted, None]))


def test_it_is_near_the_weighted_mean_where_tails_are_not_heavy():
    random = np.random.default_rng(0)
    y, weight = random.normal(size=5000), random.exponential(size=5000)
    assert winsorized_mean(y[:, None], weight)[0] == pytest.approx(np.average(y, weights=weight), abs=1e-3)


def test_its_digits_do_not_depend_on_threads():
    y = np.random.default_rng(0).lognormal(0, 2, (20_000, 1))
    means = []
    for threads in (1, 2, 4):
        with threadpool_limits(threads):
            means.append(winsorized_mean(y)[0])
    assert len(set(means)) == 1
