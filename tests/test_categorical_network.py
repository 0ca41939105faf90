"""Networks of trees with splits by category: one unit on all columns of a feature, one column for each category."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr

import training_twins
import twins
from neuralforest.ensemble import TreeEnsemble
from neuralforest.exceptions import InvalidEnsembleError, InvalidParameterError
from neuralforest.network import ForestNetwork, feature_importances
from neuralforest.network.structure import count_parameters
from reader_checks import assert_one_leaf_is_active
from training_twins import MODES, random_ensemble, random_rows

every_mode = pytest.mark.parametrize("mode", MODES, ids="-".join)
every_connectivity = pytest.mark.parametrize("connectivity", ["sparse", "full"])
SIZES = st.lists(st.integers(1, 9), min_size=1, max_size=4).map(tuple)
CATEGORIES = st.sampled_from([{0: 1}, {1: 6}, {0: 3, 2: 2}, {0: 4, 1: 2, 2: 9}])


def soften(ensemble, mode=MODES[0], contrast=(2.0, 1.0), **options):
    return ForestNetwork(ensemble).soften(contrast, training=mode[0], connectivity=mode[1], **options)


def colours():
    """A split by colour (red goes left; blue, green and all others right), then two splits by a number."""
    return TreeEnsemble(
        feature=[1, 0, 0],
        threshold=[0.0, -1.0, 1.0],
        missing_left=[False, True, True],
        middle=[2, 1, 3],
        value=[[1.0], [2.0], [3.0], [4.0]],
        weight=[1, 2, 3, 4],
        first_split=[0, 3],
        first_leaf=[0, 4],
        n_features=2,
        first_category=[0, 4, 4, 4],
        category_left=[True, False, False, False],
        categories=(None, np.array(["red", "blue", "green"])),
    )


# --- the hard network ------------------------------------------------------------------------------------------------


def test_a_category_has_a_column_and_goes_left_by_a_weight_of_minus_one():
    layers = ForestNetwork(colours()).layers()
    np.testing.assert_array_equal(layers.W1.toarray(), [[0, -1, 1, 1, 1], [1, 0, 0, 0, 0], [1, 0, 0, 0, 0]])
    assert layers.b1.tolist() == [0, 1, -1]
    assert layers.b2.tolist() == [-1.5] * 4


@settings(max_examples=60, deadline=None, derandomize=True)
@given(SIZES, CATEGORIES, st.integers(0, 10**6))
def test_layer_two_has_exactly_one_active_leaf_for_every_tree_and_row(sizes, categories, seed):
    ensemble = random_ensemble(sizes, seed=seed, categories=categories)
    X, _ = random_rows(ensemble, 40, seed, missing=0.2)
    assert_one_leaf_is_active(ensemble, X)
    network = ForestNetwork(ensemble)
    np.testing.assert_array_equal(network.apply(X), twins.leaves(ensemble, X))
    np.testing.assert_allclose(network.predict(X), twins.predict(ensemble, X), rtol=1e-12)
    twin = training_twins.Subnetwork(network.soften())
    np.testing.assert_array_equal(network.columns.expand(X), twin.expand(X))


def test_the_labels_of_a_feature_determine_its_columns():
    ensemble = colours()
    assert ForestNetwork(ensemble).columns.n_columns == 5
    more = replace(ensemble, categories=(None, np.array(["red", "blue", "green", "grey", "black"])))
    network = ForestNetwork(more)
    assert network.columns.n_columns == 7
    np.testing.assert_array_equal(network.layers().W1.toarray()[0], [0, -1, 1, 1, 1, 1, 1])
    X = np.array([[0.0, code] for code in (0, 1, 2, 3, 4, 9, -1, np.nan)])
    np.testing.assert_allclose(network.soften((1e4, 1e4)).predict(X), [2, 3, 3, 3, 3, 3, 3, 3], rtol=1e-6)
    without_splits = replace(ensemble, categories=(np.array(["a", "b"]), ensemble.categories[1]))
    assert ForestNetwork(without_splits).columns.n_columns == 5  # codes of ordered categories stay numbers


def test_a_feature_is_a_number_or_a_category():
    mixed = replace(colours(), feature=[1, 1, 0])
    with pytest.raises(InvalidEnsembleError, match=r"features \[1\] are compared with thresholds and as categories"):
        ForestNetwork(mixed).soften()
    X = np.array([[0.0, 0.0], [0.0, 2.0]])
    np.testing.assert_array_equal(ForestNetwork(mixed).apply(X), twins.leaves(mixed, X))  # as trees, it is evaluated


# --- soft networks ---------------------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    SIZES,
    st.sampled_from([("mean", 1), ("mean", 2), ("sum", 1), ("forest", 3), ("logit", 1), ("softmax", 3)]),
    st.sampled_from(MODES),
    CATEGORIES,
    st.integers(0, 10**6),
)
def test_soft_outputs_are_those_of_dense_matrices_in_float64(sizes, kind, mode, categories, seed):
    if mode[0] == "independent" and kind[0] in ("sum", "logit", "softmax"):
        sizes = sizes[:1]
    ensemble = random_ensemble(sizes, *kind, seed=seed, categories=categories)
    network = soften(ensemble, mode, center=[0.1, 0.0, -0.2], scale=[2.0, 0.5, 1.0], low=-0.5, high=[0.9, 0.3, 1.5])
    network = training_twins.disturbed(network)
    X, _ = random_rows(ensemble, 40, seed, missing=0.2)
    subnetworks = [training_twins.Subnetwork(network, number) for number in range(network.n_subnetworks)]
    x, is_category = subnetworks[0].expand(X.astype(np.float64)), network.columns.is_category
    feature = network.columns.feature
    number = (x - np.array([0.1, 0.0, -0.2])[feature]) / np.array([2.0, 0.5, 1.0])[feature]
    number = np.clip(number, -0.5, np.array([0.9, 0.3, 1.5])[feature])
    x = np.where(is_category, x, number).astype(np.float32)
    np.testing.assert_allclose(network.scaled(X), x, rtol=1e-5, atol=1e-6)
    expected = np.mean([each.predict(each.paper(network.soft.parameters), x) for each in subnetworks], axis=0)
    np.testing.assert_allclose(network.output(X), expected, rtol=1e-4, atol=3e-5)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(SIZES, st.sampled_from(MODES), CATEGORIES, st.booleans(), st.integers(0, 10**6))
def test_a_very_large_contrast_reproduces_the_trees(sizes, mode, categories, fold_contrast, seed):
    ensemble = random_ensemble(sizes, n_outputs=2, seed=seed, categories=categories)
    X, _ = random_rows(ensemble, 60, seed, missing=0.1)
    numbers = ~ensemble.is_categorical
    distance = np.abs(X[:, ensemble.feature[numbers]] - ensemble.threshold[numbers])
    X = X[~(distance < 0.01).any(axis=1)]
    soft = soften(ensemble, mode, (3000.0, 20.0), fold_contrast=fold_contrast)
    np.testing.assert_allclose(soft.output(X), ForestNetwork(ensemble).output(X), rtol=1e-5, atol=1e-5)


@every_mode
def test_a_soft_network_starts_with_the_weights_of_its_trees(mode):
    ensemble = random_ensemble((5, 1, 4), n_outputs=2, categories={0: 3, 2: 5})
    soft, hard = soften(ensemble, mode), ForestNetwork(ensemble)
    trees = [hard.layers(tree) for tree in range(3)]
    groups = [[tree] for tree in trees] if mode[0] == "independent" else [trees]
    for number, members in enumerate(groups):
        layers = soft.layers(number)
        np.testing.assert_array_equal(layers.W1.toarray(), np.vstack([tree.W1.toarray() for tree in members]))
        np.testing.assert_allclose(layers.b1, np.concatenate([tree.b1 for tree in members]), rtol=1e-6)


@pytest.mark.parametrize("training", ["independent", "joint"])
def test_a_split_by_category_has_a_parameter_for_each_column_of_its_feature(training):
    ensemble = random_ensemble((9, 1, 6), categories={0: 3, 2: 5})
    sizes = [max(size, 1) for size in training_twins.category_sizes(ensemble)]
    K = np.diff(ensemble.first_leaf)
    offsets = 3 if training == "independent" else 1
    weights = sum(sizes[feature] for feature in ensemble.feature)
    sparse = weights + (K - 1).sum() + ensemble.depth.sum() + 2 * K.sum() + offsets
    assert count_parameters(ensemble, "sparse", training) == sparse
    assert soften(ensemble, (training, "sparse")).n_parameters == sparse
    columns = sum(sizes)
    alone = ((columns + 1) * (K - 1) + K * (K - 1) + 2 * K + 1).sum()
    together = (columns + 1) * (K - 1).sum() + K.sum() * (K - 1).sum() + 2 * K.sum() + 1
    full = alone if training == "independent" else together
    assert count_parameters(ensemble, "full", training) == full
    assert soften(ensemble, (training, "full")).n_parameters == full


def test_units_are_given_for_features_or_for_all_columns():
    ensemble = colours()
    by_feature = ForestNetwork(ensemble).soften(scale=[2.0, 5.0], center=[1.0, 7.0]).soft
    assert by_feature.scale.tolist() == [2, 1, 1, 1, 1]
    assert by_feature.center.tolist() == [1, 0, 0, 0, 0]
    assert (by_feature.low.tolist()[1:], by_feature.high.tolist()[1:]) == ([0] * 4, [1] * 4)
    by_column = ForestNetwork(ensemble).soften(scale=[2.0, 3.0, 4.0, 5.0, 6.0]).soft
    assert by_column.scale.tolist() == [2, 3, 4, 5, 6]
    with pytest.raises(InvalidParameterError, match="scale must be one finite number, or one for each of 5 columns"):
        ForestNetwork(ensemble).soften(scale=[1.0, 2.0, 3.0])


# --- importances and groups ------------------------------------------------------------------------------------------


@every_mode
def test_importances_of_categories_are_those_of_their_feature(mode):
    ensemble = random_ensemble((9, 7, 6), categories={0: 3, 2: 5})
    hard, soft = feature_importances(ForestNetwork(ensemble)), feature_importances(soften(ensemble, mode))
    assert hard.shape == (3,)
    np.testing.assert_allclose(hard.sum(), 1)
    np.testing.assert_allclose(soft, hard, rtol=1e-5)  # a network that is not trained yet


def test_columns_of_a_feature_are_added_up_with_full_connectivity():
    network = training_twins.disturbed(soften(colours(), ("independent", "full"), spread=[0.3, 1.0]))
    weight = np.abs(network.layers().W1.toarray()) * [0.3, 0.5, 0.5, 0.5, 0.5]
    share = np.column_stack([weight[:, 0], weight[:, 1:].sum(axis=1)])
    share /= share.sum(axis=1, keepdims=True)
    value = 2 * network.layers().W_out[0]

    def gain(left, right):
        rows = np.array([1.0, 2.0, 3.0, 4.0])
        a, b = rows[left].sum(), rows[right].sum()
        step = np.average(value[left], weights=rows[left]) - np.average(value[right], weights=rows[right])
        return a * b / (a + b) * step**2

    gains = np.array([gain([0, 1], [2, 3]), gain([0], [1]), gain([2], [3])])
    np.testing.assert_allclose(feature_importances(network), gains @ share / gains.sum(), rtol=1e-6)


@pytest.mark.parametrize("groups", [[0, 2, 4], [0, 1, 3, 4]], ids=str)
@pytest.mark.parametrize("categories", [None, {0: 3}], ids=["numbers", "categories"])
def test_a_probit_of_several_groups_averages_their_probabilities(groups, categories):
    ensemble = random_ensemble((5, 2, 4, 3), "sum", categories=categories, groups=groups)
    X, _ = random_rows(ensemble, 50, missing=0.1)
    ensemble = replace(ensemble, link="probit", classes=np.array(["no", "yes"]), value=2 * ensemble.value)
    network = ForestNetwork(ensemble)
    parts = [ensemble[first:last] for first, last in pairwise(groups)]
    second = np.mean([ndtr(twins.scores(part, X)[:, 0]) for part in parts], axis=0)
    np.testing.assert_allclose(network.predict_proba(X)[:, 1], second, rtol=1e-9)
    np.testing.assert_allclose(network.predict_proba(X), twins.predict(ensemble, X), rtol=1e-9)
    np.testing.assert_array_equal(network.predict(X) == "yes", second > 0.5)
    soft = network.soften((300.0, 20.0), training="joint")
    assert soft.n_subnetworks == len(groups) - 1
    own = np.mean([ndtr(soft.subnetwork_output(i, X)[:, 0]) for i in range(soft.n_subnetworks)], axis=0)
    np.testing.assert_allclose(soft.predict_proba(X)[:, 1], own, rtol=1e-6)
    extreme = ForestNetwork(replace(ensemble, value=1e3 * np.sign(ensemble.value)))
    assert np.isfinite(extreme.output(X)).all()
