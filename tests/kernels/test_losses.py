"""Losses of rows against closed forms, and their gradients against finite differences."""

import numpy as np
import pytest
from scipy.special import expit, softmax

from neuralforest._kernels.jit import kernel
from neuralforest._kernels.network import losses
from neuralforest._kernels.network.losses import batch_loss, mean_loss
from neuralforest._kernels.simd import SIMD_WIDTH

batch = kernel(lambda *arguments: batch_loss(*arguments))

# number, parameter, outputs
KINDS = {
    "squared error": (losses.SQUARED_ERROR, 0.0, 1),
    "squared error of 3": (losses.SQUARED_ERROR, 0.0, 3),
    "huber": (losses.HUBER, 0.8, 2),
    "quantile": (losses.QUANTILE, 0.7, 2),
    "probabilities": (losses.LOG_PROBABILITY, 0.0, 3),
    "log-odds": (losses.LOG_LOGISTIC, 0.0, 1),
    "scores": (losses.LOG_SOFTMAX, 0.0, 3),
}


def closed_form(kind, parameter, z, t):
    """Loss of every row from predictions and targets (outputs, rows), by the textbook."""
    if kind == losses.SQUARED_ERROR:
        return ((z - t) ** 2).mean(axis=0)
    if kind == losses.HUBER:
        r = np.abs(z - t)
        return np.where(r < parameter, r**2, parameter * (2 * r - parameter)).mean(axis=0)
    if kind == losses.QUANTILE:
        return np.maximum(parameter * (t - z), (1 - parameter) * (z - t)).mean(axis=0)
    if kind == losses.LOG_PROBABILITY:
        return -np.log((t * z).sum(axis=0))
    if kind == losses.LOG_LOGISTIC:
        return -np.log(expit(np.where(t[0] == 1, z[0], -z[0])))
    return -np.log((softmax(z, axis=0) * t).sum(axis=0))


def case(name, n=SIMD_WIDTH, seed=0):
    kind, parameter, outputs = KINDS[name]
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(outputs, n)) * 2
    if kind == losses.LOG_PROBABILITY:
        z = softmax(z, axis=0)
    if kind <= losses.QUANTILE:
        t = rng.normal(size=(outputs, n))
    elif kind == losses.LOG_LOGISTIC:
        t = rng.integers(2, size=(1, n)).astype(float)
    else:
        t = np.eye(outputs)[rng.integers(outputs, size=n)].T.copy()
    return kind, parameter, z, t, rng.uniform(0, 2, size=n)


@pytest.mark.parametrize("name", KINDS)
def test_mean_losses_are_their_closed_forms(name):
    kind, parameter, z, t, weight = case(name, n=45)
    expected = np.average(closed_form(kind, parameter, z, t), weights=weight)
    assert mean_loss(kind, parameter, z, t, weight) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("name", KINDS)
def test_gradients_are_those_of_finite_differences(name):
    kind, parameter, z, t, weight = case(name)
    single = [array.astype(np.float32) for array in (z, t, weight)]
    gradient = np.full(z.shape, np.nan, np.float32)
    sum_ = batch(kind, parameter, *single, 50, gradient)
    assert sum_ == pytest.approx((weight * closed_form(kind, parameter, z, t)).sum(), rel=1e-5)
    for o in range(len(z)):
        ends = []
        for step in (1e-6, -1e-6):
            moved = z.copy()
            moved[o] += step
            ends.append(closed_form(kind, parameter, moved, t))
        expected = weight * (ends[0] - ends[1]) / 2e-6 / 50
        if kind == losses.LOG_PROBABILITY:
            expected *= t[o]  # the closed form above adds probabilities up, the kernel adds logarithms
        np.testing.assert_allclose(gradient[o], expected, rtol=1e-4, atol=1e-7)


def test_a_probability_of_zero_has_a_finite_loss_and_gradient():
    z, t = np.array([[0.0], [1.0]]), np.array([[1.0], [0.0]])
    assert mean_loss(losses.LOG_PROBABILITY, 0.0, z, t, np.ones(1)) == pytest.approx(-np.log(1e-7), rel=1e-6)
    z, t = (np.repeat(array, SIMD_WIDTH, axis=1).astype(np.float32) for array in (z, t))
    gradient = np.empty_like(z)
    assert np.isfinite(batch(losses.LOG_PROBABILITY, 0.0, z, t, np.ones(SIMD_WIDTH, np.float32), 32, gradient))
    assert np.isfinite(gradient).all()


@pytest.mark.parametrize("name", ["log-odds", "scores"])
def test_large_scores_do_not_overflow(name):
    kind, parameter, z, t, weight = case(name)
    single = [array.astype(np.float32) for array in (1e4 * z, t, weight)]
    gradient = np.empty(z.shape, np.float32)
    assert np.isfinite(batch(kind, parameter, *single, 32, gradient))
    assert np.isfinite(gradient).all()


def test_rows_of_weight_zero_do_not_count_even_where_they_are_infinite():
    z, t = np.array([[1.0, np.inf, 3.0]]), np.array([[0.0, 0.0, 1.0]])
    assert mean_loss(losses.SQUARED_ERROR, 0.0, z, t, np.array([1.0, 0.0, 3.0])) == pytest.approx(13 / 4)


@pytest.mark.parametrize("name", KINDS)
def test_what_is_not_a_number_stays_so(name):
    kind, parameter, z, t, weight = case(name)
    z[0, 3] = np.nan
    t[0, 3] = 1
    assert not np.isfinite(mean_loss(kind, parameter, z, t, weight + 1))
