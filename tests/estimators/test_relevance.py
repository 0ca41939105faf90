"""Relevance: weights of irrelevant features are trained slowly, and the initial network does not change."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestRegressor
from sklearn.tree import DecisionTreeRegressor

import neuralforest as nf
from neuralforest.estimators import scaling
from neuralforest.estimators.relevance import _explained, relevance
from neuralforest.network.importance import feature_importances
from neuralforest.training import SubnetworkRows, TrainingData
from small_models import small


def friedman(n, n_noise, seed=0):
    random = np.random.default_rng(seed)
    X = random.uniform(size=(n, 5 + n_noise))
    y = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + 5 * X[:, 4]
    return X, y + random.normal(size=n)


def data_of(network, X, y, fit, held_out, n_subnetworks=None):
    n_subnetworks = network.ensemble.n_trees if n_subnetworks is None else n_subnetworks
    parts = (SubnetworkRows.shared(rows, np.ones(len(rows)), n_subnetworks) for rows in (fit, held_out))
    return TrainingData(network.check_X(X), y, *parts)


def units_of(y):
    return y.mean(axis=0), y.std(axis=0)


def twin(tree, X, y, mean):
    """Return what each feature explains, passing one row after the other down the tree; and what the tree leaves."""
    nodes, explained, left = tree.tree_, np.zeros(X.shape[1]), 0.0
    value = nodes.value.reshape(nodes.node_count, -1)
    for row, target in zip(X.astype(np.float32), y, strict=True):
        node = 0
        while nodes.children_left[node] >= 0:
            feature = nodes.feature[node]
            goes_left = row[feature] <= nodes.threshold[node]
            child = (nodes.children_left if goes_left else nodes.children_right)[node]
            explained[feature] += ((value[child] - value[node]) * (target - mean)).sum()
            node = child
        left += ((target - value[node]) ** 2).sum()
    return explained, left


@given(st.integers(0, 10_000), st.sampled_from([1, 3]))
@settings(max_examples=30, deadline=None)
def test_relevance_is_what_splits_explain_of_held_out_rows(seed, n_outputs):
    random = np.random.default_rng(seed)
    X = random.normal(size=(90, 4))
    y = X[:, [0]] + random.normal(size=(90, n_outputs))
    forest = RandomForestRegressor(3, bootstrap=False, max_features=2, max_leaf_nodes=8, random_state=seed)
    network = nf.convert(forest.fit(X[:60], y[:60] if n_outputs > 1 else y[:60, 0]))
    one = np.ones(n_outputs)
    found, left = _explained(network, data_of(network, X, y, np.arange(60), np.arange(60, 90)), 0.5 * one, one)
    twins = [twin(tree, X[60:], y[60:], 0.5) for tree in forest.estimators_]
    np.testing.assert_allclose(found, np.maximum(np.sum([each[0] for each in twins], axis=0), 0), atol=1e-9)
    assert left == pytest.approx(sum(each[1] for each in twins))


def test_of_its_training_rows_a_tree_explains_the_decrease_in_impurity():
    X, y = friedman(200, 3)
    tree = DecisionTreeRegressor(max_leaf_nodes=20, random_state=0).fit(X, y)
    network = nf.convert(tree)
    data = data_of(network, X, y[:, None], np.arange(200), np.arange(200))
    found, left = _explained(network, data, y.mean(keepdims=True), np.ones(1))
    np.testing.assert_allclose(found, 200 * tree.tree_.compute_feature_importances(normalize=False), rtol=1e-9)
    assert found.sum() + left == pytest.approx(200 * y.var())


def test_irrelevant_features_have_a_small_relevance():
    X, y = friedman(600, 45)
    forest = RandomForestRegressor(10, max_leaf_nodes=40, max_features=1 / 3, random_state=0).fit(X[:400], y[:400])
    network = nf.convert(forest)
    y = y[:, None]
    found = relevance(network, data_of(network, X, y, np.arange(400), np.arange(400, 600)), *units_of(y))
    assert found[[0, 1, 3]].min() > 0.65
    assert np.median(found[5:]) < 0.1
    assert found.min() >= 0.5 / np.sqrt(50)
    assert found.max() <= 1.0


def test_without_a_signal_all_features_are_alike():
    X = np.random.default_rng(0).normal(size=(40, 3))
    network = nf.convert(RandomForestRegressor(3, random_state=0).fit(X, np.ones(40)))
    data = data_of(network, X, np.ones((40, 1)), np.arange(30), np.arange(30, 40))
    np.testing.assert_array_equal(relevance(network, data, np.ones(1), np.ones(1)), 1.0)


def test_a_joint_network_has_the_relevance_of_its_trees():
    X, y = friedman(150, 2)
    network = nf.convert(RandomForestRegressor(4, max_leaf_nodes=10, random_state=0).fit(X[:100], y[:100]))
    cases = [
        data_of(network, X, y[:, None], np.arange(100), np.arange(100, 150), subnetworks) for subnetworks in (1, 4)
    ]
    np.testing.assert_array_equal(*(relevance(network, data, *units_of(data.y)) for data in cases))


def spreads(X, y, weight=None):
    forest = RandomForestRegressor(8, max_leaf_nodes=20, random_state=0)
    model = nf.NeuralForestRegressor(forest, max_epochs=0, random_state=0).fit(X, y, weight)
    return model.network_.soft.spread


def test_rows_of_weight_0_have_no_effect():
    X, y = friedman(300, 5)
    weight = np.where(np.arange(300) < 299, 1.0, 0.0)
    found = spreads(X, y, weight)
    y[299] = 1e6
    np.testing.assert_allclose(spreads(X, y, weight), found, rtol=1e-6)


def test_all_targets_count_alike_whatever_their_units():
    X, first = friedman(300, 5)
    y = np.stack([first, 10 * X[:, 5]], axis=1)
    forest = RandomForestRegressor(8, max_leaf_nodes=20, random_state=0).fit(X[:200], y[:200])
    network = nf.convert(forest)
    plain = data_of(network, X, y, np.arange(200), np.arange(200, 300))
    unit = np.array([1.0, 1e6])
    larger = nf.convert(forest)
    larger = replace(larger, ensemble=replace(larger.ensemble, value=larger.ensemble.value * unit))
    found = [
        relevance(*case, *units_of(case[1].y)) for case in ((network, plain), (larger, replace(plain, y=y * unit)))
    ]
    np.testing.assert_allclose(*found)
    assert found[0][[0, 3, 5]].min() > 0.65


@pytest.mark.parametrize("by_node", [True, False])
def test_relevance_does_not_change_the_initial_network_and_its_importances(by_node):
    X, y = friedman(200, 10)
    forest = RandomForestRegressor(3, max_leaf_nodes=12, max_features=1 / 3, random_state=0).fit(X[:150], y[:150])
    network = nf.convert(forest)
    data, rows = data_of(network, X, y[:, None], np.arange(150), np.arange(150, 200)), np.arange(150)
    plain, by_relevance = (
        network.soften((2, 0.5), connectivity="full", **units)
        for units in (
            scaling.measured_units(network, data, np.ones(200), rows, standardize=True, by_node=by_node, full=full)
            for full in (False, True)
        )
    )
    assert by_relevance.soft.spread.min() < 0.3
    np.testing.assert_allclose(by_relevance.soft.scale * by_relevance.soft.spread, plain.soft.scale)
    np.testing.assert_allclose(by_relevance.output(2 * X), plain.output(2 * X), rtol=1e-4)
    np.testing.assert_allclose(feature_importances(by_relevance), feature_importances(plain), rtol=1e-4)


def test_relevance_is_for_regression_only():
    X, y = friedman(150, 5)
    np.testing.assert_allclose(small(True, connectivity="full", max_epochs=1).fit(X, y > 14).network_.soft.spread, 1)


@pytest.mark.parametrize(
    ("options", "is_used"),
    [({}, True), ({"connectivity": "sparse"}, False), ({"standardize": False}, False), ({"training": "joint"}, True)],
    ids=str,
)
def test_only_standardised_networks_with_full_connectivity_use_relevance(options, is_used):
    X, y = friedman(150, 5)
    soft = small(max_epochs=1, **{"connectivity": "full"} | options).fit(X, y).network_.soft
    units = soft.spread if options.get("standardize", True) else soft.spread / X.std(axis=0)
    assert (np.ptp(units) > 0.1) == is_used


def test_relevance_lowers_the_error_among_irrelevant_features(monkeypatch):
    X, y = friedman(300, 45)
    X_test, y_test = friedman(1000, 45, seed=1)

    def error():
        model = nf.NeuralForestRegressor(stacking=None, random_state=0).fit(X, y)
        return np.mean((model.predict(X_test) - y_test) ** 2)

    with_it = error()
    monkeypatch.setattr(scaling, "relevance", lambda network, data, *_: np.ones(data.X.shape[1]))
    assert with_it < 0.85 * error()
