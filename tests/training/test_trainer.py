"""Whole epochs: against a plain torch loop with the same shuffles, and against themselves with other threads."""

import os

import numpy as np
import pytest

import training_twins as twins
from neuralforest.network import ForestNetwork
from neuralforest.network.structure import count_parameters
from neuralforest.selection import guard
from neuralforest.training import Settings, resolve_loss, trainer
from training_twins import MODES, train

every_mode = pytest.mark.parametrize("mode", MODES, ids="-".join)
two_modes = pytest.mark.parametrize("mode", [MODES[0], MODES[3]], ids="-".join)


def case(mode, n_rows=70, contrast=(10.0, 1.0), **ensemble):
    network = twins.soft_network(*mode, contrast=contrast, **ensemble)
    return network, twins.random_data(network, n_rows, missing=0.1, weighted=True)


def assert_torch_agrees(network, data, settings, loss="auto"):
    """Compare parameters, and predictions of the training rows, with those of the torch loop in float32."""
    parameter = 0.3 if loss == "quantile" else None
    state = twins.run_epochs(network, data, settings, loss=loss, loss_parameter=parameter)
    resolved = resolve_loss(loss, parameter, network.ensemble)
    for number in range(network.n_subnetworks):
        subnetwork = twins.Subnetwork(network, number)
        x = subnetwork.rows(data)[0].astype(np.float64)
        start, ours = subnetwork.paper(network.soft.parameters), subnetwork.paper(state.parameters)
        theirs = twins.torch_epochs(subnetwork, data, settings, resolved)
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=5e-6)
        before, after = subnetwork.predict(start, x), subnetwork.predict(ours, x)
        np.testing.assert_allclose(after, subnetwork.predict(theirs, x), rtol=1e-5, atol=5e-6)
        assert np.abs(after - before).max() > 1e-3  # the weights moved
    return state


# --- against torch ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("loss", "kind", "n_outputs"),
    [
        ("squared_error", "mean", 1),
        ("huber", "mean", 2),
        ("quantile", "mean", 1),
        ("log_loss", "forest", 3),
        ("squared_error", "sum", 3),
        ("log_loss", "logit", 1),
        ("log_loss", "softmax", 3),
    ],
)
@every_mode
def test_ten_epochs_agree_with_a_plain_torch_loop(mode, loss, kind, n_outputs):
    alone = mode[0] == "independent" and kind in ("sum", "logit", "softmax")
    network, data = case(mode, kind=kind, n_outputs=n_outputs, sizes=(6,) if alone else (5, 1, 4))
    assert_torch_agrees(network, data, Settings(max_epochs=10, batch_size=32), loss)


@pytest.mark.parametrize(("kind", "n_outputs"), [("mean", 1), ("forest", 3)])
@pytest.mark.parametrize("categories", [{0: 3}, {0: 2, 1: 6}, {0: 3, 1: 2, 2: 4}], ids=str)
@every_mode
def test_ten_epochs_of_splits_by_category_agree_with_a_plain_torch_loop(mode, categories, kind, n_outputs):
    network, data = case(mode, contrast=(2.0, 1.0), kind=kind, n_outputs=n_outputs, categories=categories)
    assert network.ensemble.is_categorical.any()
    assert_torch_agrees(network, data, Settings(max_epochs=10, batch_size=32))


@every_mode
def test_one_step_agrees_with_adam_of_torch(mode):
    network, data = case(mode)
    state = assert_torch_agrees(network, data, Settings(max_epochs=1, batch_size=70, learning_rate=0.01))
    assert (state.steps == 1).all()


@pytest.mark.parametrize("batch_size", [1, 7, 33, 64])
@two_modes
def test_rows_that_pad_a_simd_vector_are_never_trained_on(mode, batch_size):
    network, data = case(
        mode, n_rows=40, contrast=(2.0, 1.0)
    )  # of one saturated row, the gradient would be rounding alone
    assert_torch_agrees(network, data, Settings(max_epochs=3, batch_size=batch_size))


@pytest.mark.parametrize(
    "options",
    [
        {"schedule": "cosine"},
        {"schedule": "one_cycle"},
        {"schedule": "cyclic"},
        {"weight_decay": 20.0},
        {"learning_rate": (0.01, 0.0005, 0.003)},
        {"betas": (0.5, 0.9), "epsilon": 1e-3},
        {"learning_rate": (0.003, 0.01, 0.001), "schedule": "one_cycle", "weight_decay": 5.0, "seed": 9},
    ],
    ids=str,
)
@two_modes
def test_every_setting_of_the_optimiser_agrees_with_torch(mode, options):
    network, data = case(mode)
    assert_torch_agrees(network, data, Settings(**{"max_epochs": 6, "batch_size": 16} | options))


@every_mode
def test_networks_with_folded_contrasts_are_the_same_function_and_train_as_torch_does(mode):
    ensemble = twins.random_ensemble()
    options = {"training": mode[0], "connectivity": mode[1]}
    plain, folded = (ForestNetwork(ensemble).soften((20, 2), fold_contrast=fold, **options) for fold in (False, True))
    data = twins.random_data(plain)
    np.testing.assert_allclose(folded.predict(data.X), plain.predict(data.X), atol=1e-5)
    settings = Settings(max_epochs=4)
    moved = [assert_torch_agrees(network, data, settings) for network in (plain, folded)]
    after = [
        network.with_parameters(state.parameters, network.hard).predict(data.X)
        for network, state in zip((plain, folded), moved, strict=True)
    ]
    assert np.abs(after[0] - after[1]).max() > 1e-3


# --- optimiser settings and their effect on the weights ---


@every_mode
@pytest.mark.parametrize("still", [0, 1, 2])
def test_a_layer_with_a_rate_of_zero_stays(mode, still):
    network, data = case(mode)
    rates = [0.01, 0.01, 0.01]
    rates[still] = 0.0
    state = twins.run_epochs(network, data, Settings(max_epochs=2, learning_rate=tuple(rates)))
    for number in range(network.n_subnetworks):
        subnetwork = twins.Subnetwork(network, number)
        moved = subnetwork.paper(state.parameters) - subnetwork.paper(network.soft.parameters)
        groups = [subnetwork.groups[0], subnetwork.groups[1], np.concatenate(subnetwork.groups[2:])]
        assert not moved[groups[still]].any()
        assert all(moved[group].any() for i, group in enumerate(groups) if i != still and len(group) > 1)


@two_modes
def test_weight_decay_pulls_towards_the_start_and_leaves_the_offset_of_the_output(mode):
    network, data = case(mode)
    far = [
        twins.run_epochs(network, data, Settings(max_epochs=10, weight_decay=decay)).parameters
        for decay in (0.0, 10.0, 300.0)
    ]
    subnetwork = twins.Subnetwork(network)
    start = subnetwork.paper(network.soft.parameters)
    hidden = np.concatenate(subnetwork.groups[:3])
    distances = [np.abs(subnetwork.paper(parameters) - start)[hidden].sum() for parameters in far]
    assert distances[2] < 0.6 * distances[1] < 0.6 * distances[0]
    offset = [np.abs(subnetwork.paper(parameters) - start)[subnetwork.groups[3]] for parameters in far]
    assert (offset[2] > 0.5 * offset[0]).all()


# --- connections -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_absent_connections_have_no_parameter(n_outputs):
    ensemble = twins.random_ensemble(sizes=(9, 1, 2, 16), n_outputs=n_outputs)
    K = np.diff(ensemble.first_leaf)
    hidden = (2 * (K - 1)).sum() + ensemble.depth.sum() + K.sum()
    for training, offsets in (("independent", 4), ("joint", 1)):
        network = ForestNetwork(ensemble).soften((2, 1), training=training)
        assert network.n_parameters == hidden + (K.sum() + offsets) * n_outputs
        # joint training splits its one offset up, a summand for each tree
        assert len(network.soft.parameters) == hidden + (K.sum() + 4) * n_outputs
        state = twins.State(network, Settings(max_epochs=1))
        per_parameter = [
            a for a in vars(state).values() if isinstance(a, np.ndarray) and a.size >= len(state.parameters)
        ]
        assert sum(array.nbytes for array in per_parameter) == 4 * 4 * len(state.parameters)


def test_full_networks_have_the_parameters_of_the_formula():
    ensemble = twins.random_ensemble(sizes=(9, 1, 16), n_features=4)
    K = np.diff(ensemble.first_leaf)
    alone = (5 * (K - 1) + K * (K - 1) + 2 * K + 1).sum()
    together = 5 * (K - 1).sum() + K.sum() * (K - 1).sum() + 2 * K.sum() + 1
    assert count_parameters(ensemble, "full") == alone
    assert count_parameters(ensemble, "full", "joint") == together
    for training, n in (("independent", alone), ("joint", together + 2)):
        assert len(ForestNetwork(ensemble).soften((2, 1), training=training, connectivity="full").soft.parameters) == n


@pytest.mark.parametrize("training", ["independent", "joint"])
def test_training_moves_zeros_of_the_full_network_and_adds_no_connection_to_the_sparse_one(training):
    trained = {}
    for connectivity in ("sparse", "full"):
        network, data = case((training, connectivity), contrast=(3.0, 1.0))
        state = twins.run_epochs(network, data, Settings(max_epochs=5))
        trained[connectivity] = network.with_parameters(state.parameters, network.hard)
        hard = ForestNetwork(network.ensemble)
        trees = range(3)
        if training == "joint":
            splits, leaves = network.ensemble.n_splits, network.ensemble.n_leaves
            expected = np.zeros((leaves, splits), bool)
            for tree in trees:
                rows = slice(*network.ensemble.first_leaf[tree : tree + 2])
                columns = slice(*network.ensemble.first_split[tree : tree + 2])
                expected[rows, columns] = hard.layers(tree).W2.toarray() != 0
            patterns = [expected]
        else:
            patterns = [hard.layers(tree).W2.toarray() != 0 for tree in trees]
        for subnetwork, pattern in enumerate(patterns):
            W2 = trained[connectivity].layers(subnetwork).W2
            if connectivity == "sparse":
                assert W2.nnz == pattern.sum()
                np.testing.assert_array_equal(W2.toarray() != 0, pattern)
            else:
                assert (W2.toarray()[~pattern] != 0).all()
    difference = trained["sparse"].predict(data.X) - trained["full"].predict(data.X)
    assert np.abs(difference).max() > 1e-3


# --- threads ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "shape",
    [
        {"sizes": (5, 1, 4, 7, 3, 8, 2, 6, 4)},
        {"sizes": (38, 1, 30, 3, 9, 2, 5, 1, 13), "n_features": 45, "n_outputs": 2},  # wider than a vector
        {"sizes": (5, 1, 4, 7, 3, 8), "categories": {0: 4, 2: 2}},
    ],
    ids=["small", "wide", "categories"],
)
@every_mode
def test_results_are_bit_identical_for_any_number_of_threads_and_from_run_to_run(mode, shape, monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 8)  # so that joint training really has this many threads
    monkeypatch.setattr(guard, "is_better", lambda *_: True)  # keep what three epochs on few rows gain
    network, data = case(mode, n_rows=90, **shape)
    settings = Settings(max_epochs=3, batch_size=50)
    first, *others = (train(network, data, settings, n_jobs=n_jobs) for n_jobs in (1, 1, 2, 3, 8))
    assert first.history.best_epoch.max() > 0
    for other in others:
        for name in ("training_loss", "validation_loss", "forest_loss", "best_epoch"):
            np.testing.assert_array_equal(getattr(other.history, name), getattr(first.history, name))
        np.testing.assert_array_equal(other.network.soft.parameters, first.network.soft.parameters)
        np.testing.assert_array_equal(other.network.hard, first.network.hard)
        assert other.validation_loss == first.validation_loss


def test_another_seed_gives_another_result():
    network, data = case(MODES[0])
    one, two = (twins.run_epochs(network, data, Settings(max_epochs=2, seed=seed)) for seed in (0, 1))
    assert (one.parameters != two.parameters).any()


def test_a_thread_that_fails_does_not_leave_the_others_waiting(monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    network, data = case(("joint", "sparse"))
    settings = Settings(max_epochs=1)
    kernel = trainer.train_epoch

    def fail(*arguments):
        if arguments[-3] == 0:  # the first worker
            raise MemoryError("no room")
        return kernel(*arguments)

    monkeypatch.setattr(trainer, "train_epoch", fail)
    with pytest.raises(MemoryError, match="no room"):
        twins.run_epochs(network, data, settings, n_jobs=2)
