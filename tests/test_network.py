"""The network of an ensemble: its layers, the soft network, its subnetworks, and refused arguments."""

import pickle
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

import neuralforest as nf
import training_twins
import twins
from neuralforest.ensemble import TreeEnsemble, TreeNodes
from neuralforest.exceptions import InvalidParameterError
from neuralforest.network import ForestNetwork, evaluation
from neuralforest.training import Settings
from training_twins import MODES, random_ensemble

every_mode = pytest.mark.parametrize("mode", MODES, ids="-".join)


def soften(ensemble, mode=MODES[0], contrast=(2.0, 1.0), **options):
    return ForestNetwork(ensemble).soften(contrast, training=mode[0], connectivity=mode[1], **options)


def error_of(function, *arguments, **options):
    with pytest.raises(InvalidParameterError) as caught:
        function(*arguments, **options)
    return str(caught.value)


# --- the paper's Figure 2 --------------------------------------------------------------------------------------------


@pytest.fixture
def figure2():
    """The tree of the paper's Figures 1 and 2, with the nodes' numbers of the figure."""
    splits = {0: (1, 6, 0, 2.5), 1: (2, 3, 1, 2.0), 3: (4, 5, 0, 1.5), 6: (7, 8, 0, 3.5), 8: (9, 10, 1, 4.0)}
    values = {2: 0.1, 4: 7.0, 5: 5.0, 7: 20.0, 9: 50.0, 10: 42.0}
    left, right, feature, threshold = np.array([splits.get(node, (-1, -1, 0, 0.0)) for node in range(11)]).T
    value = np.array([[values.get(node, 0.0)] for node in range(11)])
    nodes = TreeNodes(left, right, feature, threshold, np.zeros(11, bool), value, np.ones(11))
    return nf.convert(TreeEnsemble.from_nodes([nodes], n_features=2))


def test_figure_2_has_five_split_units_on_their_features(figure2):
    layers = figure2.layers()
    connected = {(unit, feature) for unit, feature in zip(*layers.W1.nonzero(), strict=True)}
    assert connected == {(0, 0), (1, 1), (2, 0), (3, 0), (4, 1)}  # the figure's 0, 1, 3, 6, 8
    assert set(layers.W1.data) == {1.0}
    assert layers.b1.tolist() == [-2.5, -2.0, -1.5, -3.5, -4.0]


def test_figure_2_joins_every_leaf_to_the_splits_of_its_path(figure2):
    layers = figure2.layers()
    paths = {  # leaf of the figure: +1 for each split where its path goes right
        2: {0: -1, 1: -1},
        4: {0: -1, 1: 1, 3: -1},
        5: {0: -1, 1: 1, 3: 1},
        7: {0: 1, 6: -1},
        9: {0: 1, 6: 1, 8: -1},
        10: {0: 1, 6: 1, 8: 1},
    }
    expected = [[path.get(split, 0) for split in (0, 1, 3, 6, 8)] for path in paths.values()]
    np.testing.assert_array_equal(layers.W2.toarray(), expected)
    assert layers.W2.nnz == 16
    assert layers.b2.tolist() == [0.5 - len(path) for path in paths.values()]


def test_figure_2_has_half_of_every_value_in_its_output(figure2):
    layers = figure2.layers()
    np.testing.assert_array_equal(layers.W_out, np.array([[0.1, 7, 5, 20, 50, 42]]) / 2)
    np.testing.assert_allclose(layers.b_out, [62.05])
    assert figure2.n_parameters == 2 * 5 + 16 + 2 * 6 + 1


def test_figure_2_predicts_its_data_points(figure2):
    points = {(1.5, 1): 0.1, (3, 2): 20, (2, 5): 5, (1, 3): 7, (4, 2.5): 50, (5.5, 5.5): 42}
    np.testing.assert_array_equal(figure2.predict(np.array([*points])), [*points.values()])


# --- hard and soft layers --------------------------------------------------------------------------------------------


@every_mode
@pytest.mark.parametrize("kind", ["mean", "forest"])
def test_a_soft_network_starts_with_the_weights_of_its_trees(mode, kind):
    ensemble = random_ensemble((5, 1, 4), kind, n_outputs=2)
    soft, hard = soften(ensemble, mode), ForestNetwork(ensemble)
    trees = [hard.layers(tree) for tree in range(3)]
    subnetworks = [[tree] for tree in trees] if mode[0] == "independent" else [trees]
    assert soft.n_subnetworks == len(subnetworks)
    for number, members in enumerate(subnetworks):
        layers = soft.layers(number)
        np.testing.assert_array_equal(layers.W1.toarray(), np.vstack([tree.W1.toarray() for tree in members]))
        np.testing.assert_array_equal(
            layers.W2.toarray(), scipy.sparse.block_diag([tree.W2.toarray() for tree in members]).toarray()
        )
        np.testing.assert_allclose(layers.b1, np.concatenate([tree.b1 for tree in members]), rtol=1e-6)
        np.testing.assert_array_equal(layers.b2, np.concatenate([tree.b2 for tree in members]))
        if kind == "mean":
            W_out = np.hstack([tree.W_out for tree in members]) / len(members)
            np.testing.assert_allclose(layers.W_out, W_out, rtol=1e-6)
            np.testing.assert_allclose(layers.b_out, W_out.sum(axis=1), rtol=1e-5, atol=1e-6)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    st.lists(st.integers(1, 9), min_size=1, max_size=4).map(tuple),
    st.sampled_from([("mean", 1), ("mean", 3), ("sum", 2), ("forest", 3), ("logit", 1), ("softmax", 3)]),
    st.sampled_from(MODES),
    st.integers(0, 10**6),
)
def test_soft_outputs_are_those_of_dense_matrices_in_float64(sizes, kind, mode, seed):
    if mode[0] == "independent" and kind[0] in ("sum", "logit", "softmax"):
        sizes = sizes[:1]
    ensemble = random_ensemble(sizes, *kind, seed=seed)
    units = {"center": 0.1, "scale": [2.0, 0.5, 1.0], "low": -0.5, "high": [0.3, 1.0, 0.5]}
    if kind[0] in ("mean", "sum"):
        units |= {"output_center": 0.3, "output_scale": 1.7}
    network = training_twins.disturbed(soften(ensemble, mode, **units))
    X, _ = training_twins.random_rows(ensemble, 40, seed, missing=0.2)
    x = np.clip((X.astype(np.float64) - 0.1) / [2.0, 0.5, 1.0], -0.5, [0.3, 1.0, 0.5]).astype(np.float32)
    subnetworks = [training_twins.Subnetwork(network, number) for number in range(network.n_subnetworks)]
    parameters = network.soft.parameters
    expected = np.mean([each.predict(each.paper(parameters), x) for each in subnetworks], axis=0)
    if kind[0] in ("mean", "sum"):
        expected = 0.3 + 1.7 * expected
    np.testing.assert_allclose(network.output(X), expected, rtol=1e-4, atol=3e-5)
    for number, subnetwork in enumerate(subnetworks):
        own = network.subnetwork_output(number, X)
        assert own.shape == (40, ensemble.n_outputs)
        if kind[0] == "forest":
            alone = subnetwork.predict(subnetwork.paper(parameters), x)
            np.testing.assert_allclose(own, alone, rtol=1e-4, atol=3e-5)


@pytest.mark.parametrize("n_outputs", [1, 2])
@every_mode
def test_a_hard_subnetwork_predicts_as_its_trees(mode, n_outputs):
    ensemble = random_ensemble((5, 1, 4), n_outputs=n_outputs)
    X, _ = training_twins.random_rows(ensemble, 50, missing=0.2)
    soft = soften(ensemble, mode, output_center=0.5, output_scale=2.0)
    for kept in np.eye(soft.n_subnetworks, dtype=bool):
        blended = soft.with_parameters(soft.soft.parameters, kept)
        number = int(kept.argmax())
        trees = slice(number, number + 1) if mode[0] == "independent" else slice(None)
        expected = twins.scores(ensemble[trees], X)
        np.testing.assert_allclose(blended.subnetwork_output(number, X), expected, rtol=1e-12)
        subnetworks = [blended.subnetwork_output(subnetwork, X) for subnetwork in range(soft.n_subnetworks)]
        np.testing.assert_allclose(blended.output(X), np.mean(subnetworks, axis=0), rtol=1e-9)
    all_hard = soft.with_parameters(soft.soft.parameters, np.ones(soft.n_subnetworks, bool))
    np.testing.assert_array_equal(all_hard.predict(X), ForestNetwork(ensemble).predict(X))


# --- partitions into subnetworks -------------------------------------------------------------------------------------


@pytest.mark.parametrize("connectivity", ["sparse", "full"])
def test_any_contiguous_partition_of_the_trees_is_a_network(connectivity):
    ensemble = random_ensemble((5, 1, 4, 7, 3))
    network = ForestNetwork(ensemble).soften((3.0, 1.0), first_tree=[0, 2, 5], connectivity=connectivity)
    X, _ = training_twins.random_rows(ensemble, 50, missing=0.1)
    assert network.n_subnetworks == 2
    outputs = [network.subnetwork_output(subnetwork, X) for subnetwork in range(2)]
    np.testing.assert_allclose(network.output(X), np.average(outputs, axis=0, weights=[2, 3]), rtol=1e-6, atol=1e-9)
    one_per_tree = soften(ensemble, ("independent", connectivity), (3.0, 1.0))
    np.testing.assert_allclose(network.output(X), one_per_tree.output(X), rtol=1e-5, atol=1e-6)
    twin = [training_twins.Subnetwork(network, subnetwork) for subnetwork in range(2)]
    expected = [each.predict(each.paper(network.soft.parameters), X) for each in twin]
    np.testing.assert_allclose(outputs, expected, rtol=1e-4, atol=3e-5)


@pytest.mark.parametrize("connectivity", ["sparse", "full"])
@pytest.mark.parametrize("kind", [("mean", 1), ("forest", 3)], ids=str)
def test_any_contiguous_partition_can_be_trained(connectivity, kind):
    ensemble = random_ensemble((5, 1, 4, 7, 3), *kind)
    network = ForestNetwork(ensemble).soften((3.0, 1.0), first_tree=[0, 2, 5], connectivity=connectivity)
    data = training_twins.random_data(network)
    results = [
        training_twins.train(network, data, Settings(max_epochs=10, learning_rate=0.02), n_jobs=n_jobs)
        for n_jobs in (1, 2)
    ]
    assert results[0].validation_loss < results[0].forest_loss
    assert results[0].history.validation_loss.shape == (11, 2)
    np.testing.assert_array_equal(results[0].network.soft.parameters, results[1].network.soft.parameters)


def test_summed_trees_are_partitioned_by_their_groups_only():
    ensemble = replace(random_ensemble((5, 3, 4)), aggregation="sum")
    message = error_of(ForestNetwork(ensemble).soften, training="joint", first_tree=[0, 2, 3])
    assert message.startswith("first_tree must be the groups of the ensemble where trees are summed")


@pytest.mark.parametrize("first_tree", [[0], [0, 2], [1, 5], [0, 3, 3, 5], [0, 4, 2, 5], [[0, 5]]], ids=str)
def test_partitions_rise_from_zero_to_the_number_of_trees(first_tree):
    message = error_of(ForestNetwork(random_ensemble((5, 1, 4, 7, 3))).soften, first_tree=first_tree)
    assert message.startswith("first_tree must rise from 0 to the number of trees, 5, got ")


@pytest.mark.parametrize("groups", [[0, 3, 6], [0, 1, 3, 6]], ids=str)
def test_groups_of_summed_trees_are_averaged(groups):
    ensemble = random_ensemble((5, 1, 4, 7, 3, 2), "sum", groups=groups)
    X, _ = training_twins.random_rows(ensemble, 50, missing=0.1)
    values = ensemble.value[ForestNetwork(ensemble).apply(X) + ensemble.first_leaf[:-1]]  # (rows, trees, outputs)
    sums = [values[:, first:last].sum(axis=1) for first, last in pairwise(groups)]
    expected = ensemble.base_score + np.mean(sums, axis=0)
    np.testing.assert_allclose(ForestNetwork(ensemble).output(X), expected, rtol=1e-12)
    np.testing.assert_allclose(twins.scores(ensemble, X), expected, rtol=1e-12)
    joint = ForestNetwork(ensemble).soften((3.0, 1.0), training="joint")
    assert joint.n_subnetworks == len(groups) - 1
    outputs = [joint.subnetwork_output(subnetwork, X) for subnetwork in range(joint.n_subnetworks)]
    np.testing.assert_allclose(joint.output(X), np.mean(outputs, axis=0), rtol=1e-6, atol=1e-6)
    for kept in np.eye(joint.n_subnetworks, dtype=bool):
        partly_hard = joint.with_parameters(joint.soft.parameters, kept)
        number = int(kept.argmax())
        own = partly_hard.subnetwork_output(number, X)
        np.testing.assert_allclose(own, ensemble.base_score + sums[number], rtol=1e-12)
        mean = np.mean([own if n == number else outputs[n] for n in range(len(outputs))], axis=0)
        np.testing.assert_allclose(partly_hard.output(X), mean, rtol=1e-6, atol=1e-6)


# --- Proposition 4.2 -------------------------------------------------------------------------------------------------

CONTRASTS = [(10.0, 1.0), (30.0, 2.0), (100.0, 4.0), (300.0, 8.0), (1000.0, 16.0)]


def rows_away_from_thresholds(ensemble, n=400, gap=0.05):
    X = np.random.default_rng(5).normal(size=(n, ensemble.n_features)).astype(np.float32)
    distance = np.abs(X[:, ensemble.feature] - ensemble.threshold)
    return X[(distance > gap).all(axis=1)]


@pytest.mark.parametrize("kind", [("mean", 1), ("mean", 2), ("sum", 1), ("softmax", 3)], ids=str)
@every_mode
def test_softening_tends_to_the_hard_network_as_contrasts_grow(mode, kind):
    alone = mode[0] == "independent" and kind[0] in ("sum", "softmax")
    ensemble = random_ensemble((9,) if alone else (6, 1, 9), *kind)
    X = rows_away_from_thresholds(ensemble)
    assert len(X) > 50
    hard = ForestNetwork(ensemble).output(X)
    gaps = [np.abs(soften(ensemble, mode, contrast).output(X) - hard).max() for contrast in CONTRASTS]
    assert (np.diff(gaps) < 0).all(), gaps
    assert gaps[0] > 0.05
    assert gaps[-1] < 1e-5


@every_mode
def test_softened_probabilities_tend_to_those_of_leaves_with_one_more_row(mode):
    """The logarithm of a probability of 0 is not a number: one row is spread evenly over the classes first."""
    ensemble = random_ensemble((6, 1, 9), "forest", 3)
    X = rows_away_from_thresholds(ensemble)
    leaves = ForestNetwork(ensemble).apply(X) + ensemble.first_leaf[:-1]
    rows = ensemble.weight[:, None]
    smoothed = (rows * ensemble.value + 1 / 3) / (rows + 1)
    expected = smoothed[leaves].mean(axis=1)
    gaps = [np.abs(soften(ensemble, mode, contrast).output(X) - expected).max() for contrast in CONTRASTS]
    assert (np.diff(gaps) < 0).all(), gaps
    assert gaps[-1] < 1e-5


def test_a_threshold_of_infinity_stays_to_the_right_of_everything():
    ensemble = TreeEnsemble([0], [np.inf], [False], [1], [[1.0], [3.0]], [4, 4], [0, 1], [0, 2], n_features=1)
    X = np.array([[-3e38], [0.0], [3e38], [np.nan]])
    for mode in MODES:
        for fold_contrast in (False, True):
            soft = soften(ensemble, mode, (100.0, 20.0), fold_contrast=fold_contrast)
            np.testing.assert_allclose(soft.predict(X), [1, 1, 1, 3], atol=1e-5)


# --- predictions -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("soft", [False, True])
@every_mode
def test_predictions_are_bit_identical_for_any_batching_and_any_number_of_threads(mode, soft, monkeypatch):
    monkeypatch.setattr(evaluation, "_WORTH_A_THREAD", 10)
    for kind in (("mean", 2), ("forest", 3)):
        ensemble = random_ensemble((5, 1, 4), *kind)
        network = soften(ensemble, mode) if soft else ForestNetwork(ensemble)
        X, _ = training_twins.random_rows(ensemble, 133, missing=0.1)
        whole = network.output(X, n_jobs=1)
        for n_jobs in (None, 2, 3, 8):
            np.testing.assert_array_equal(network.output(X, n_jobs=n_jobs), whole)
        for size in (1, 7, 32, 50):
            parts = [network.output(X[start : start + size]) for start in range(0, len(X), size)]
            np.testing.assert_array_equal(np.concatenate(parts), whole)
        np.testing.assert_array_equal(network.output(X[::-1])[::-1], whole)


def test_the_order_and_the_kind_of_X_do_not_matter():
    ensemble = random_ensemble(n_outputs=2)
    X, _ = training_twins.random_rows(ensemble, 30)
    network = ForestNetwork(ensemble)
    whole = network.predict(X)
    assert whole.shape == (30, 2)
    for other in (np.asfortranarray(X), X.astype(np.float64), X.tolist(), scipy.sparse.csr_array(X)):
        np.testing.assert_array_equal(network.predict(other), whole)
    read_only = X.copy()
    read_only.flags.writeable = False
    np.testing.assert_array_equal(network.predict(read_only), whole)


@pytest.mark.parametrize("kind", [("forest", 3), ("softmax", 3), ("logit", 1)], ids=str)
def test_classifiers_predict_probabilities_that_sum_to_one_and_the_label_of_the_largest(kind):
    ensemble = random_ensemble((5, 1, 4), *kind)
    X, _ = training_twins.random_rows(ensemble, 60)
    for network in (ForestNetwork(ensemble), soften(ensemble, MODES[2])):
        probabilities = network.predict_proba(X)
        assert probabilities.shape == (60, len(ensemble.classes))
        assert (probabilities >= 0).all()
        np.testing.assert_allclose(probabilities.sum(axis=1), 1, rtol=1e-12)
        np.testing.assert_array_equal(network.predict(X), ensemble.classes[probabilities.argmax(axis=1)])
    np.testing.assert_allclose(ForestNetwork(ensemble).predict_proba(X), twins.predict(ensemble, X), rtol=1e-12)


def test_numbers_far_outside_stay_finite_in_a_soft_network():
    for mode in MODES:
        ensemble = random_ensemble(compare_dtype="float64")
        X = np.array([[1e300, -1e300, 1e39], [-1e308, 1e308, 0.0]])
        assert np.isfinite(soften(ensemble, mode, (100.0, 1.0)).predict(X)).all()


@every_mode
def test_rows_outside_of_the_range_are_predicted_as_those_at_its_border(mode):
    network = training_twins.disturbed(soften(random_ensemble(), mode, center=1.0, scale=2.0, low=-0.5, high=1.5))
    X = np.random.default_rng(0).normal(scale=20, size=(50, 3))
    X[0, 0] = np.nan
    at_the_border = np.clip(X, 0.0, 4.0)  # NaN stays
    assert ((X < 0) | (X > 4)).any(axis=0).all()
    np.testing.assert_array_equal(network.output(X), network.output(at_the_border))


def test_a_pickle_holds_the_network_and_no_cache():
    ensemble = random_ensemble()
    X, _ = training_twins.random_rows(ensemble, 20)
    for network in (ForestNetwork(ensemble), soften(ensemble, MODES[3])):
        before = network.predict(X)
        copy = pickle.loads(pickle.dumps(network))
        assert set(vars(copy)) == {"ensemble", "soft", "base_models", "temperature"}
        np.testing.assert_array_equal(copy.predict(X), before)


def test_the_repr_describes_the_network():
    ensemble = random_ensemble((5, 1), n_outputs=2)
    n = ForestNetwork(ensemble).n_parameters
    assert repr(ForestNetwork(ensemble)) == f"ForestNetwork(2 trees, 3 features, 2 outputs, hard, {n} parameters)"
    assert "soft (joint, full)" in repr(soften(ensemble, MODES[3]))


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_the_number_of_parameters_is_the_papers(n_outputs):
    ensemble = random_ensemble((9, 1, 4), n_outputs=n_outputs, n_features=5)
    K = np.diff(ensemble.first_leaf)
    sparse = (2 * (K - 1) + K + (K + 1) * n_outputs).sum() + ensemble.depth.sum()
    full = (6 * (K - 1) + K * (K - 1) + K + (K + 1) * n_outputs).sum()
    assert ForestNetwork(ensemble).n_parameters == sparse
    assert soften(ensemble, MODES[0]).n_parameters == sparse
    assert soften(ensemble, MODES[1]).n_parameters == full
    assert soften(ensemble, MODES[2]).n_parameters == sparse - 2 * n_outputs  # one offset of the output, not three


# --- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("contrast", [(0, 1), (1, -1), (1,), 3.0, (1, np.inf), (np.nan, 1), (1, 2, 3)], ids=str)
def test_contrasts_are_two_positive_numbers(contrast):
    message = error_of(ForestNetwork(random_ensemble()).soften, contrast)
    assert message == f"contrast must be two positive numbers, for splits and leaves, got {contrast}"


@pytest.mark.parametrize("options", [{"training": "both"}, {"connectivity": "dense"}], ids=str)
def test_modes_are_words_of_the_paper(options):
    message = error_of(ForestNetwork(random_ensemble()).soften, **options)
    assert message.startswith("training must be 'independent' or 'joint' and connectivity 'sparse' or 'full', got ")
    assert repr(next(iter(options.values()))) in message


def test_trees_that_are_summed_are_trained_jointly():
    message = error_of(ForestNetwork(random_ensemble(kind="sum")).soften)
    assert message.startswith("training must be 'joint' for trees that are summed (boosting)")
    assert ForestNetwork(random_ensemble((4,), kind="sum")).soften().n_subnetworks == 1


@pytest.mark.parametrize("name", ["center", "scale", "low", "high", "spread", "output_center", "output_scale"])
@pytest.mark.parametrize("value", [[1.0] * 4, [[1.0, 1.0, 1.0]], np.nan, [1.0, np.inf, 1.0]], ids=str)
def test_units_are_one_finite_number_or_one_a_column(name, value):
    message = error_of(ForestNetwork(random_ensemble(n_outputs=3)).soften, **{name: value})
    assert message == f"{name} must be one finite number, or one for each of 3 columns, got {value}"


@pytest.mark.parametrize(
    ("name", "value"), [("scale", 0.0), ("scale", [1, -1, 1]), ("spread", 0.0), ("output_scale", -2.0)], ids=str
)
def test_scales_are_positive(name, value):
    message = error_of(ForestNetwork(random_ensemble()).soften, **{name: value})
    assert message.startswith(f"{name} must be positive, got ")


def test_ranges_do_not_end_before_they_begin():
    message = error_of(ForestNetwork(random_ensemble()).soften, low=[0, 2, 0], high=1.0)
    assert message == "low must not be above high, got 2.0 and 1.0 for feature 1"


def test_methods_of_soft_networks_refuse_hard_ones():
    network = ForestNetwork(random_ensemble())
    for use in (
        lambda: network.structure,
        lambda: network.scaled(np.zeros((1, 3))),
        lambda: network.with_parameters(np.zeros(1, np.float32), np.zeros(1, bool)),
    ):
        assert error_of(use) == "this needs a soft network, and this one is hard: call soften(contrast) first"


def test_regressors_have_no_probabilities():
    message = error_of(ForestNetwork(random_ensemble()).predict_proba, np.zeros((1, 3)))
    assert message == "predict_proba needs a classifier, and this network is a regressor: use predict"


def test_X_has_the_features_of_the_source():
    for use in ("predict", "apply", "output"):
        message = error_of(getattr(ForestNetwork(random_ensemble()), use), np.zeros((2, 4)))
        assert message == "X must have the 3 features that the network was made for, got 4"


@pytest.mark.parametrize("bad", [np.inf, -np.inf, 1e39])
def test_infinity_is_refused(bad):
    with pytest.raises(ValueError, match="infinity"):
        ForestNetwork(random_ensemble()).predict([[0.0, bad, 0.0]])
