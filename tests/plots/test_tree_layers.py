import numpy as np
import pytest
from sklearn.ensemble import RandomForestRegressor

import small_models
from neuralforest.convert import convert
from neuralforest.exceptions import InvalidParameterError
from neuralforest.plots._tree_layers import activations, leaf_values, tree_change, tree_layers
from plots import models


def untrained(network):
    """Return the softened network before training."""
    soft = network.soft
    return convert(network.ensemble).soften(
        soft.contrast,
        center=soft.center,
        scale=soft.scale,
        output_center=soft.output_center,
        output_scale=soft.output_scale,
        training=soft.training,
        connectivity=soft.connectivity,
    )


ALL = [(t, c, k) for t in models.TRAINING for c in models.CONNECTIVITY for k in (False, True)]


@pytest.mark.parametrize(("training", "connectivity", "classifier"), ALL)
def test_layers_of_a_tree_are_its_part_of_the_networks_layers(training, connectivity, classifier):
    network = models.fitted(training, connectivity, classifier).network_
    network = network.with_parameters(network.soft.parameters, np.zeros(network.n_subnetworks, bool))
    for tree in range(network.ensemble.n_trees):
        part, place = tree_layers(network, tree), network.subnetworks.place_of(tree)
        whole = network.layers(place.subnetwork)
        assert np.array_equal(part.W1, whole.W1.toarray()[place.splits])
        assert np.array_equal(part.W2, whole.W2.toarray()[place.leaves, place.splits])
        assert np.array_equal(part.W_out, whole.W_out[:, place.leaves])
        assert np.array_equal(part.b1, whole.b1[place.splits])
        assert np.array_equal(part.b2, whole.b2[place.leaves])


@pytest.mark.parametrize(("training", "connectivity", "classifier"), ALL)
def test_a_network_before_training_has_changed_nothing(training, connectivity, classifier):
    network = untrained(models.fitted(training, connectivity, classifier).network_)
    for tree in range(network.ensemble.n_trees):
        change = tree_change(network, tree)
        assert np.abs(change.shift_in_spreads).max() < 1e-6
        assert change.own_weight.min() == 1
        assert not change.is_reversed.any()
        np.testing.assert_allclose(change.value_after, change.value_before, atol=1e-5)


@pytest.mark.parametrize(("training", "connectivity", "classifier"), ALL)
def test_activations_give_the_networks_own_prediction(training, connectivity, classifier):
    model = models.fitted(training, connectivity, classifier)
    network, e = model.network_, model.network_.ensemble
    X = network.check_X(models.rows(classifier)[0])
    for row in X[:5]:
        predictions = []
        for tree in range(e.n_trees):
            layers, active = tree_layers(network, tree), activations(network, tree, row)
            out = layers.rest + layers.W_out @ (active.leaves + 1)
            if network.hard[network.subnetworks.of_tree[tree]]:
                out = e.value[e.first_leaf[tree] :][active.leaves.argmax()]
            elif classifier:
                out = np.exp(out) / np.exp(out).sum()
            else:
                n_trees = 1 if training == "independent" else e.n_trees
                out = out * n_trees * network.soft.output_scale + network.soft.output_center
            predictions.append(out)
        np.testing.assert_allclose(np.mean(predictions, axis=0), network.output(row[None])[0], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("connectivity", models.CONNECTIVITY)
def test_trees_of_any_partition_are_found_in_their_subnetworks(connectivity):
    X, y = models.rows()
    network = convert(RandomForestRegressor(5, max_leaf_nodes=6, random_state=0).fit(X, y))
    grouped = network.soften((3.0, 1.0), connectivity=connectivity, first_tree=[0, 2, 5])
    alone = network.soften((3.0, 1.0), connectivity=connectivity)
    row = network.check_X(X)[0]
    for tree in range(5):
        for one, other in zip(activations(grouped, tree, row), activations(alone, tree, row), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12)
        for one, other in zip(leaf_values(grouped, tree), leaf_values(alone, tree), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-6)


@pytest.mark.parametrize("classifier", [False, True])
def test_leaves_of_summed_trees_have_their_own_scores(classifier):
    network = models.boosted(classifier).network_
    soft = untrained(network)
    for tree in (0, 1):
        before, after = leaf_values(soft, tree)
        own = network.ensemble.value[network.ensemble.first_leaf[tree] : network.ensemble.first_leaf[tree + 1]]
        np.testing.assert_allclose(before, own, atol=1e-6)
        np.testing.assert_allclose(after, own, atol=1e-5)


def test_a_shift_of_the_offset_is_a_shift_of_the_threshold():
    network = untrained(models.fitted().network_)
    parameters = network.soft.parameters.copy()
    network.layout.views(parameters, 0).b1[0] -= 0.5  # half a standard deviation
    change = tree_change(network.with_parameters(parameters, network.hard), 0)
    assert change.shift_in_spreads[0] == pytest.approx(0.5, abs=1e-5)
    assert change.shift[0] == pytest.approx(0.5 * network.soft.scale[change.feature[0]], abs=1e-5)
    assert np.abs(change.shift[1:]).max() < 1e-6


def test_a_hard_tree_shows_no_change():
    network = models.fitted().network_
    change = tree_change(network.with_parameters(network.soft.parameters, np.ones(network.n_subnetworks, bool)), 0)
    assert change.is_hard
    assert not change.shift.any()
    assert np.array_equal(change.value_before, change.value_after)


def test_missing_values_go_where_the_tree_sends_them():
    X, y = small_models.regression()
    X[::5, 0] = np.nan
    network = small_models.small().fit(X, y).network_
    row = np.full(4, np.nan, np.float32)
    e = network.ensemble
    expected = np.where(e.missing_left[: e.first_split[1]], -1, 1)
    assert np.array_equal(activations(network, 0, row).splits, expected)
    assert np.array_equal(activations(convert(e), 0, row).splits, expected)


def test_raw_units_and_full_connectivity_need_rows():
    model = models.fitted(connectivity="full", standardize=False)
    network = model.network_.with_parameters(model.network_.soft.parameters, np.zeros(4, bool))
    with pytest.raises(InvalidParameterError, match=r"needs X, .* pass X"):
        tree_change(network, 0)
    X, _ = models.rows()
    change = tree_change(network, 0, X)
    np.testing.assert_allclose(change.spread, X.astype(np.float32).std(axis=0), rtol=1e-5)
