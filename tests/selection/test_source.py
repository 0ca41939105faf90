"""The given model, stacked with its network by a weight that few rows do not decide."""

import numpy as np
import pytest

import training_twins as twins
from neuralforest.network import ForestNetwork
from neuralforest.selection import OutOfSamplePredictions, Selected, stacked_with_source
from neuralforest.training import SubnetworkRows, TrainingData, resolve_loss

NETWORK = ForestNetwork(twins.random_ensemble())
LOSS = resolve_loss("squared_error", None, NETWORK.ensemble)


def stacked(n, error, of_source, seed=0, either=False):
    """Return a model and its network, which have such errors on n rows, stacked."""
    rng = np.random.default_rng(seed)
    rows = SubnetworkRows.shared(np.arange(n), np.ones(n), NETWORK.n_subnetworks)
    data = TrainingData(np.zeros((n, 3)), rng.normal(size=(n, 1)), rows, rows)
    own, source = (
        OutOfSamplePredictions.of_all(np.arange(n), data.y + size * rng.normal(size=(n, 1)), np.ones(n))
        for size in (error, of_source)
    )
    trained = Selected(NETWORK, None, np.inf, 0.0, own)
    return stacked_with_source(trained, NETWORK, source, data, LOSS, either)


def weight(*arguments, **options):
    return stacked(*arguments, **options).network.stacking_weights["source"]


def test_many_rows_find_the_best_weight():
    assert weight(20_000, 1.0, 1.0) == pytest.approx(0.5, abs=0.05)
    assert weight(20_000, 1.0, 2.0) == pytest.approx(0.2, abs=0.05)
    assert weight(20_000, 2.0, 1.0) == pytest.approx(0.8, abs=0.05)


def test_few_rows_take_a_weight_near_a_half_if_it_is_about_as_good():
    few, many = (np.mean([weight(n, 1.0, 2.0, seed=seed) for seed in range(40)]) for n in (30, 2_000))
    assert many == pytest.approx(0.2, abs=0.01)
    assert many + 0.03 < few < 0.3


def test_the_loss_is_that_of_the_chosen_weight_and_not_above_the_source():
    for seed in range(20):
        result = stacked(50, 1.5, 1.0, seed=seed)
        assert result.validation_loss <= result.forest_loss
        if result.network.stacking_weights["source"] == 1:
            assert result.validation_loss == result.forest_loss


def test_without_stacking_one_of_both_is_taken():
    assert weight(2_000, 1.0, 2.0, either=True) == 0
    assert weight(2_000, 2.0, 1.0, either=True) == 1
