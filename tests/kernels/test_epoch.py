"""Gradients, as the package's own training step sees them, against finite differences and autograd."""

import os

import numpy as np
import pytest

import training_twins as twins
from neuralforest.network import ForestNetwork
from neuralforest.training import Settings, SubnetworkRows, TrainingData
from neuralforest.training.losses import resolve_loss
from training_twins import MODES

# loss, its parameter, kind of trees, outputs
LOSSES = {
    "squared error": ("squared_error", None, "mean", 1),
    "squared error of 2 outputs": ("squared_error", None, "mean", 2),
    "squared error of 3 outputs that are sums": ("squared_error", None, "sum", 3),
    "huber": ("huber", 0.7, "mean", 1),
    "huber of 2 outputs": ("huber", None, "mean", 2),
    "quantile": ("quantile", 0.8, "mean", 1),
    "quantile of 3 outputs": ("quantile", 0.3, "mean", 3),
    "2 averaged probabilities": ("log_loss", None, "forest", 2),
    "3 averaged probabilities": ("log_loss", None, "forest", 3),
    "log-odds": ("log_loss", None, "logit", 1),
    "3 scores of classes": ("log_loss", None, "softmax", 3),
}

every_mode = pytest.mark.parametrize("mode", MODES, ids="-".join)


def case(mode, sizes=(5, 1, 4), kind="mean", n_outputs=1, n_features=3, **options):
    if mode[0] == "independent" and kind in ("sum", "logit", "softmax"):
        sizes = (6,)  # several trees that are added up are trained jointly
    network = twins.soft_network(*mode, sizes=sizes, kind=kind, n_outputs=n_outputs, n_features=n_features, **options)
    return twins.disturbed(network)


def assert_gradients_agree(network, data, loss="auto", parameter=None, n_jobs=1, differences=False):
    resolved = resolve_loss(loss, parameter, network.ensemble)
    ours, losses = twins.one_step_gradient(network, data, loss=loss, loss_parameter=parameter, n_jobs=n_jobs)
    assert ours.any()
    for number in range(network.n_subnetworks):
        subnetwork = twins.Subnetwork(network, number)
        theta, rows = subnetwork.paper(network.soft.parameters), subnetwork.rows(data)
        value, expected = twins.autograd(subnetwork, theta, rows, resolved)
        np.testing.assert_allclose(losses[number], value * len(rows[0]) / rows[2].sum(dtype=float), rtol=1e-5)
        gradients = [expected]
        if differences:
            doubles = [part.astype(np.float64) for part in rows]
            gradients += [twins.finite_differences(lambda t: subnetwork.loss(t, *doubles, resolved), theta)]  # noqa: B023
        for gradient in gradients:
            gradient[subnetwork.groups[4]] = 0  # what is never trained
            np.testing.assert_allclose(ours[subnetwork.own], gradient, rtol=1e-4, atol=1e-5 * np.abs(expected).max())


@pytest.mark.parametrize("name", LOSSES)
@every_mode
def test_gradients_of_every_loss_agree_with_finite_differences_and_autograd(mode, name):
    loss, parameter, kind, n_outputs = LOSSES[name]
    network = case(mode, kind=kind, n_outputs=n_outputs)
    data = twins.random_data(network, 50, missing=0.1, weighted=True)
    assert_gradients_agree(network, data, loss, parameter, differences=True)


@pytest.mark.parametrize("name", ["squared error of 2 outputs", "3 averaged probabilities", "log-odds"])
@pytest.mark.parametrize("categories", [{0: 1, 1: 1}, {1: 3, 2: 40}, {0: 5, 1: 2, 2: 3}], ids=str)
@every_mode
def test_gradients_of_splits_by_category_agree_with_finite_differences_and_autograd(mode, categories, name):
    loss, parameter, kind, n_outputs = LOSSES[name]
    network = case(mode, kind=kind, n_outputs=n_outputs, categories=categories)
    assert network.ensemble.is_categorical.any()
    data = twins.random_data(network, 50, missing=0.1, weighted=True)
    assert_gradients_agree(network, data, loss, parameter, differences=True)


@pytest.mark.parametrize("n_rows", [1, 33])
@every_mode
def test_gradients_of_wide_layers_with_categories_agree(mode, n_rows):
    network = case(mode, (38, 1, 30, 3), n_features=4, categories={0: 33, 2: 2})
    assert_gradients_agree(network, twins.random_data(network, n_rows, missing=0.1, weighted=True))


@pytest.mark.parametrize("n_rows", [1, 7, 31, 32, 33, 50, 70])
@every_mode
def test_gradients_agree_for_any_number_of_rows_in_a_batch(mode, n_rows):
    network = case(mode)
    assert_gradients_agree(network, twins.random_data(network, n_rows))


@every_mode
def test_a_batch_larger_than_the_data_is_a_batch_of_all_rows(mode):
    network = case(mode)
    data = twins.random_data(network, 20)
    states = [twins.run_epochs(network, data, Settings(max_epochs=2, batch_size=size)) for size in (20, 64, 10**6)]
    for state in states[1:]:
        np.testing.assert_array_equal(state.parameters, states[0].parameters)
        np.testing.assert_array_equal(state.steps, 2)


@pytest.mark.parametrize("sizes", [(1,), (1, 1), (1, 4), (2, 1), (2,), (9, 1, 1, 3)], ids=str)
@every_mode
def test_gradients_agree_where_trees_are_one_leaf(mode, sizes):
    for kind, n_outputs in (("mean", 1), ("forest", 2)):
        network = case(mode, sizes, kind, n_outputs)
        assert_gradients_agree(network, twins.random_data(network, 40, missing=0.2, weighted=True))


@pytest.mark.parametrize("n_features", [1, 31, 32, 33, 70])
@every_mode
def test_gradients_agree_where_layers_are_wider_than_a_vector(mode, n_features):
    network = case(mode, (38, 1, 30, 3), n_features=n_features)
    assert_gradients_agree(network, twins.random_data(network, 40, missing=0.05, weighted=True))


@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize("connectivity", ["sparse", "full"])
def test_gradients_of_joint_training_are_the_same_for_any_number_of_workers(connectivity, workers, monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: workers)  # a joint step never has more threads than processors
    for kind, n_outputs, categories in (
        ("mean", 2, None),
        ("forest", 3, None),
        ("logit", 1, None),
        ("mean", 1, {0: 4}),
    ):
        network = case(("joint", connectivity), (5, 1, 4, 7), kind, n_outputs, categories=categories)
        data = twins.random_data(network, 50, missing=0.1, weighted=True)
        assert_gradients_agree(network, data, n_jobs=workers)
        alone, together = (twins.one_step_gradient(network, data, n_jobs=n_jobs)[0] for n_jobs in (1, workers))
        np.testing.assert_array_equal(together, alone)


@every_mode
def test_gradients_agree_in_the_units_that_the_network_is_trained_in(mode):
    ensemble = twins.random_ensemble(n_outputs=2)
    units = {"center": [0.2, -0.1, 0.0], "scale": [2.0, 0.5, 1.0], "output_center": 0.3, "output_scale": [1.5, 0.7]}
    network = ForestNetwork(ensemble).soften((2, 1), training=mode[0], connectivity=mode[1], **units)
    network = twins.disturbed(network)
    assert_gradients_agree(network, twins.random_data(network, 40))


@pytest.mark.parametrize("connectivity", ["sparse", "full"])
def test_every_subnetwork_may_have_rows_of_its_own(connectivity):
    network = case(("independent", connectivity))
    X, y = twins.random_rows(network.ensemble, 90)
    rng = np.random.default_rng(0)
    own = [rng.choice(90, size=33, replace=False) for _ in range(3)]
    rows = SubnetworkRows.own(own, [rng.uniform(1, 2, size=33) for _ in range(3)])
    assert not rows.are_shared
    settings = Settings(max_epochs=1, batch_size=33, betas=(0.5, 0.9))
    loss = resolve_loss("auto", None, network.ensemble)
    data = TrainingData(X, y, rows, rows)
    gradient = twins.run_epochs(network, data, settings).first_moment / 0.5
    for number in range(3):
        subnetwork = twins.Subnetwork(network, number)
        _, expected = twins.autograd(subnetwork, subnetwork.paper(network.soft.parameters), subnetwork.rows(data), loss)
        np.testing.assert_allclose(gradient[subnetwork.own], expected, rtol=1e-4, atol=1e-5 * np.abs(expected).max())


def test_a_saturated_unit_has_a_gradient_of_exactly_zero():
    """Adam would turn any other number, however small, into a full step."""
    network = twins.soft_network(contrast=(1e4, 1.0))
    data = twins.random_data(network, 40)
    gradient, _ = twins.one_step_gradient(network, data)
    for number in range(3):
        subnetwork = twins.Subnetwork(network, number)
        x, _, _ = subnetwork.rows(data)
        theta = subnetwork.paper(network.soft.parameters)
        distance = np.abs(x[:, subnetwork.feature] + theta[subnetwork.b1]).min(axis=0)
        far = distance * 1e4 > 8
        assert (gradient[subnetwork.own][subnetwork.b1][far] == 0).all()
        assert far.sum() >= len(far) / 2 or not len(far)
