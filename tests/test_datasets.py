"""Synthetic data sets follow their documented formulas."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from neuralforest.datasets import make_additive, make_sines
from neuralforest.exceptions import InvalidParameterError


@pytest.mark.parametrize("make", [make_sines, make_additive])
def test_the_seed_decides_everything(make):
    first, again, other = make(50, random_state=3), make(50, random_state=3), make(50, random_state=4)
    assert_array_equal(first[0], again[0])
    assert_array_equal(first[1], again[1])
    assert not np.array_equal(first[0], other[0])


@pytest.mark.parametrize("make", [make_sines, make_additive])
def test_inputs_fill_the_unit_cube(make):
    X, y = make(4000, d=3, random_state=0)
    assert X.shape == (4000, 3)
    assert y.shape == (4000,)
    assert X.min() >= 0
    assert X.max() <= 1
    assert_allclose(X.mean(axis=0), 0.5, atol=0.03)
    assert_allclose(X.var(axis=0), 1 / 12, atol=0.01)


def test_sines_are_the_papers_function_with_gaussian_noise():
    X, y = make_sines(20_000, random_state=0)
    rest = y - sum(np.sin(20 * x - 10) for x in X.T)
    assert_allclose(rest.std(), 0.01, rtol=0.03)
    assert abs(rest.mean()) < 3e-4
    assert np.abs(rest).max() > 0.03  # not bounded, unlike uniform noise


def test_additive_noise_is_bounded_and_can_be_left_out():
    X, y = make_additive(20_000, d=3, noise=0.2, random_state=0)
    function = sum(np.sin(2 * np.pi * x) / j for j, x in enumerate(X.T, 1))
    assert np.abs(y - function).max() <= 0.2
    assert_allclose((y - function).std(), 0.2 / np.sqrt(3), rtol=0.03)
    X, y = make_additive(100, d=3, noise=0, random_state=1)
    assert_allclose(y, sum(np.sin(2 * np.pi * x) / j for j, x in enumerate(X.T, 1)), atol=1e-14)


@pytest.mark.parametrize("make", [make_sines, make_additive])
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_samples": 0}, "n_samples must be a whole number of at least 1, got 0"),
        ({"n_samples": 2.5}, "n_samples must be a whole number of at least 1, got 2.5"),
        ({"n_samples": 5, "d": True}, "d must be a whole number of at least 1, got True"),
        ({"n_samples": 5, "noise": -1}, "noise must be finite and not negative, got -1"),
    ],
)
def test_bad_arguments_are_refused_with_a_sentence(make, arguments, message):
    with pytest.raises(InvalidParameterError, match=message):
        make(**arguments)
