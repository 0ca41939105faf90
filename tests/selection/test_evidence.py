"""Evidence that a model is better than its forest, and the standard error of a validation loss."""

import numpy as np
import pytest

import training_twins as twins
from neuralforest.network import ForestNetwork
from neuralforest.selection import OutOfSamplePredictions
from neuralforest.selection.evidence import is_better, uncertainty
from neuralforest.training import SubnetworkRows, TrainingData, resolve_loss

NETWORK = ForestNetwork(twins.random_ensemble())
LOSS = resolve_loss("squared_error", None, NETWORK.ensemble)


def compared(n, error, other_error, weight=None, seed=0):
    """Return whether predictions with one error are better than those with another, on n rows."""
    rng = np.random.default_rng(seed)
    rows = SubnetworkRows.shared(np.arange(n), np.ones(n), NETWORK.n_subnetworks)
    data = TrainingData(np.zeros((n, 3)), rng.normal(size=(n, 1)), rows, rows)
    noise = rng.normal(size=(n, 2))
    weight = np.ones(n) if weight is None else weight
    ours, trees = (
        OutOfSamplePredictions.of_all(np.arange(n), data.y + size * noise[:, [i]], weight)
        for i, size in ((0, error), (1, other_error))
    )
    return is_better(NETWORK, ours, trees, data, LOSS)


def test_a_few_rows_need_a_clear_difference():
    accepted = [np.mean([compared(n, 0.9, 1.0, seed=seed) for seed in range(100)]) for n in (5, 20, 2_000)]
    assert accepted[0] < 0.05
    assert accepted[1] < 0.4
    assert accepted[2] > 0.97
    assert all(compared(20, 0.1, 1.0, seed=seed) for seed in range(20))


def test_equal_models_are_seldom_told_apart_on_few_rows():
    assert np.mean([compared(10, 1.0, 1.0, seed=seed) for seed in range(200)]) < 0.15
    assert np.mean([compared(4, 1.0, 1.0, seed=seed) for seed in range(200)]) < 0.05


def test_many_rows_of_which_few_count_are_few():
    weight = np.full(500, 1e-6)
    weight[:3] = 1.0
    assert np.mean([compared(500, 0.7, 1.0, weight, seed) for seed in range(50)]) < 0.2
    assert np.mean([compared(500, 0.7, 1.0, seed=seed) for seed in range(50)]) == 1.0


def test_one_row_is_no_evidence():
    assert not any(compared(1, 0.0, 1.0, seed=seed) for seed in range(5))


def test_standard_errors_are_those_of_weighted_means():
    rng = np.random.default_rng(0)
    n, repetitions = 60, 300
    weight = rng.uniform(0.1, 2.0, size=n)
    rows = SubnetworkRows.shared(np.arange(n), weight, NETWORK.n_subnetworks)
    means, errors = [], []
    for _ in range(repetitions):
        residual = rng.normal(size=(n, 1))
        data = TrainingData(np.zeros((n, 3)), residual, rows, rows)
        predictions = OutOfSamplePredictions.of_all(np.arange(n), np.zeros((n, 1)), weight)
        means.append(np.average(residual[:, 0] ** 2, weights=weight))
        errors.append(uncertainty(NETWORK, predictions, data, LOSS).standard_error)
    assert np.mean(errors) == pytest.approx(np.std(means), rel=0.12)
