"""A soft network as trees again: exact where nothing was trained, and where only thresholds and values were."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier, RandomForestRegressor

import neuralforest as nf
from neuralforest.exceptions import InvalidParameterError
from neuralforest.network import ForestNetwork, StackedModel

X, y = load_diabetes(return_X_y=True)
UNITS = {"center": X.mean(axis=0), "scale": X.std(axis=0)}


def forest():
    return nf.convert(RandomForestRegressor(6, max_leaf_nodes=8, random_state=0).fit(X, y))


@pytest.mark.parametrize("training", ["independent", "joint"])
def test_an_untrained_network_becomes_its_own_trees(training):
    network = forest()
    soft = network.soften((3, 1), training=training, output_center=y.mean(), output_scale=y.std(), **UNITS)
    trees = soft.harden()
    assert np.array_equal(trees.threshold, network.ensemble.threshold)
    np.testing.assert_allclose(trees.value, network.ensemble.value, rtol=1e-5)


@pytest.mark.parametrize("kind", [RandomForestClassifier, GradientBoostingClassifier])
def test_probabilities_and_scores_come_back(kind):
    X, y = load_iris(return_X_y=True)
    network = nf.convert(kind(n_estimators=4, max_depth=3, random_state=0).fit(X, y))
    training = "independent" if kind is RandomForestClassifier else "joint"
    trees = network.soften((3, 1), training=training, scale=X.std(axis=0)).harden()
    if kind is RandomForestClassifier:  # as the soft network starts: a row more in each leaf
        smooth = (network.ensemble.weight[:, None] * network.ensemble.value + 1 / 3) / (
            network.ensemble.weight[:, None] + 1
        )
        np.testing.assert_allclose(trees.value, smooth, rtol=1e-5)
    else:
        np.testing.assert_allclose(ForestNetwork(trees).output(X), network.output(X), rtol=1e-4, atol=1e-6)


def test_moved_thresholds_and_values_are_those_of_the_weights():
    network = forest().soften((1e6, 1e3), output_center=y.mean(), output_scale=y.std(), **UNITS)
    parameters = network.soft.parameters.copy()
    rng = np.random.default_rng(0)
    for tree in range(network.n_subnetworks):
        layer = network.layout.views(parameters, tree)
        layer.w1[:] *= rng.uniform(0.5, 2, len(layer.w1)).astype(np.float32)
        layer.b1[:] += rng.normal(0, 0.1, len(layer.b1)).astype(np.float32)
        layer.w_out[:] += rng.normal(0, 0.1, layer.w_out.shape).astype(np.float32)
        layer.b_out[:] += np.float32(0.2)
    moved = network.with_parameters(parameters, np.zeros(network.n_subnetworks, bool))
    hardened = ForestNetwork(moved.harden())
    difference = np.abs(hardened.predict(X) - moved.predict(X))
    # with these contrasts every unit is -1 or 1, but for rows within rounding of a threshold
    assert np.mean(difference < 1e-3) > 0.97
    assert not np.array_equal(hardened.ensemble.threshold, network.ensemble.threshold)


def test_subnetworks_that_fell_back_stay():
    network = forest().soften((3, 1), **UNITS)
    hard = np.array([True, False] * 3)
    parameters = network.soft.parameters * np.float32(1.1)
    trees, e = network.with_parameters(parameters, hard).harden(), network.ensemble
    for tree in range(6):
        leaves = slice(e.first_leaf[tree], e.first_leaf[tree + 1])
        assert np.array_equal(trees.value[leaves], e.value[leaves]) == hard[tree]


def test_full_connectivity_is_refused():
    with pytest.raises(InvalidParameterError, match="connectivity='sparse'"):
        forest().soften((3, 1), connectivity="full").harden()


def test_a_stack_is_refused():
    network = forest()
    with pytest.raises(InvalidParameterError, match="stacked with other: call with_base_models"):
        network.with_base_models((StackedModel("other", network, 0.5),)).harden()
