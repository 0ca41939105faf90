"""The losses that the guard compares, and its guarantee."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestRegressor

import neuralforest as nf
import training_twins as twins
from neuralforest.exceptions import ConvergenceWarning
from neuralforest.network import ForestNetwork
from neuralforest.selection import out_of_sample_predictions, predictions, validation_predictions
from neuralforest.training import Settings, SubnetworkRows, TrainingData, resolve_loss
from neuralforest.training.evaluation import subnetwork_losses
from training_twins import MODES, train


def own_rows_data(network, n=60, seed=1):
    """Every subnetwork has validation rows of its own, as out-of-bag; some rows are in no validation set."""
    X, y = twins.random_rows(network.ensemble, n, seed)
    rng = np.random.default_rng(seed)
    own = [np.sort(rng.choice(n, size=n // 3, replace=False)) for _ in range(network.n_subnetworks)]
    rest = [np.setdiff1d(np.arange(n), rows) for rows in own]
    weight = rng.uniform(0.5, 2.0, size=n)
    fit, validation = (SubnetworkRows.own(rows, [weight[part] for part in rows]) for rows in (rest, own))
    return TrainingData(X, y, fit, validation), weight


@pytest.mark.parametrize("kind", [("mean", 1), ("mean", 2), ("forest", 3)], ids=str)
def test_whole_losses_average_the_subnetworks_that_a_row_belongs_to(kind):
    network = twins.soft_network(sizes=(5, 1, 4), kind=kind[0], n_outputs=kind[1])
    data, weight = own_rows_data(network)
    loss = resolve_loss("auto", None, network.ensemble)
    sums, weights, counts, variances = [], [], [], []
    for row in range(len(data.X)):
        members = [b for b in range(3) if row in data.validation.of(b)[0]]
        if members:
            outputs = np.array([network.subnetwork_output(b, data.X[[row]])[0] for b in members])
            sums.append(weight[row] * twins.row_losses(outputs.mean(axis=0)[None], data.y[[row]], loss)[0])
            weights.append(weight[row])
            counts.append(len(members))
            variances.append(outputs.var(axis=0, ddof=1).mean() if len(members) > 1 else np.nan)
    measured = sum(sums) / sum(weights)
    corrected = measured
    if loss.name == "squared_error":  # the excess variance of few subnetworks is subtracted
        variance = np.where(np.isnan(variances), np.nanmean(variances), variances)
        corrected -= np.average(variance * (1 / np.array(counts) - 1 / 3), weights=weights)
    actual = whole_loss(network, data, loss)
    assert actual.measured == pytest.approx(measured, rel=1e-6)
    if loss.name == "squared_error":
        assert actual.corrected == pytest.approx(corrected, rel=1e-6)


def whole_loss(network, data, loss):
    return predictions.whole_loss(network, validation_predictions(network, data), data, loss)


@pytest.mark.parametrize("shared", [False, True])
def test_subnetwork_losses_are_those_of_each_subnetwork_by_itself(shared):
    network = twins.soft_network(sizes=(5, 1, 4), n_outputs=2)
    data = twins.random_data(network, weighted=True) if shared else own_rows_data(network)[0]
    loss = resolve_loss("huber", None, network.ensemble)
    for subnetwork, value in enumerate(subnetwork_losses(network, data, loss)):
        row, weight = data.validation.of(subnetwork)
        rows = twins.row_losses(network.subnetwork_output(subnetwork, data.X[row]), data.y[row], loss)
        assert value == pytest.approx(np.average(rows, weights=weight), rel=1e-6)


def test_losses_are_in_the_units_of_training():
    ensemble = twins.random_ensemble()
    loss = resolve_loss("auto", None, ensemble)
    plain, scaled = (ForestNetwork(ensemble).soften((1e4, 20), output_scale=scale) for scale in (1.0, 5.0))
    data = twins.random_data(plain)
    in_units = whole_loss(scaled, data, loss).measured
    assert in_units * 25 == pytest.approx(whole_loss(plain, data, loss).measured, rel=1e-3)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    st.sampled_from(MODES),
    st.sampled_from([("mean", 1), ("mean", 2), ("forest", 3)]),
    st.floats(-4, 2),
    st.integers(1, 40),
    st.booleans(),
    st.booleans(),
    st.integers(0, 10**6),
)
def test_the_result_is_never_worse_than_the_forest(mode, kind, exponent, n_rows, shared, calibrate, seed):
    ensemble = twins.random_ensemble((4, 1, 6), *kind, seed=seed)
    network = ForestNetwork(ensemble).soften((5.0, 1.0), training=mode[0], connectivity=mode[1])
    if shared or mode[0] == "joint":
        data = twins.random_data(network, n_rows, n_validation=15, seed=seed, missing=0.1, weighted=True)
    else:
        data, _ = own_rows_data(network, n_rows + 6, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        plan = Settings(max_epochs=3, batch_size=8, learning_rate=10.0**exponent, seed=seed)
        result = train(network, data, plan, calibrate=calibrate)
    assert result.validation_loss <= result.forest_loss
    loss = resolve_loss("auto", None, ensemble)
    assert result.forest_loss == pytest.approx(whole_loss(ForestNetwork(ensemble), data, loss).corrected, rel=1e-12)
    cross_fitted = predictions.whole_loss(result.network, result.predictions, data, loss)
    assert result.validation_loss == cross_fitted.corrected
    if shared or mode[0] == "joint":  # all subnetworks have the same rows, for early stopping and for the guard
        assert result.validation_loss == whole_loss(result.network, data, loss).measured
    plain, forest = (whole_loss(each, data, loss) for each in (result.network, ForestNetwork(ensemble)))
    assert plain.corrected <= forest.corrected * (1 + 1e-12)
    if not (calibrate or result.network.hard.all()):
        assert plain.measured < forest.measured
    assert np.isfinite(result.network.output(data.X)).all()
    if not calibrate:
        losses = subnetwork_losses(result.network, data, loss)
        assert (losses <= result.history.forest_loss * (1 + 1e-5)).all()
    np.testing.assert_array_equal(result.network.hard, result.history.best_epoch == -1)


@pytest.mark.parametrize("connectivity", ["sparse", "full"])
def test_out_of_bag_losses_are_cross_fitted(connectivity):
    """Epochs selected on one half of the validation rows are evaluated on the other half."""
    ensemble = twins.random_ensemble((6, 1, 5, 4, 6))
    network = ForestNetwork(ensemble).soften((2.0, 1.0), connectivity=connectivity)
    data, _ = own_rows_data(network, 200)
    data = replace(data, y=network.output(data.X) + 2 * data.X[:, :1] + np.sin(3 * data.X[:, 1:2]))
    plan = Settings(max_epochs=12, batch_size=8, learning_rate=0.03)
    first, second = data.validation.halves
    by_first, by_second = (train(network, replace(data, validation=half), plan).network for half in (first, second))
    result = train(network, data, plan)
    assert not any(each.hard.all() for each in (result.network, by_first, by_second))
    assert (by_first.soft.parameters != by_second.soft.parameters).any()
    expected = out_of_sample_predictions(((by_second, first), (by_first, second)), data)
    for actual, desired in zip(result.predictions, expected, strict=True):
        np.testing.assert_array_equal(actual, desired)


def test_out_of_bag_losses_of_noise_are_not_optimistic():
    """The best of many epochs looks better than the variance of the noise, and cannot be."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 3)), rng.normal(size=300)
    forest = RandomForestRegressor(20, max_leaf_nodes=8, random_state=0).fit(X, y)
    model = nf.NeuralForestRegressor(forest, random_state=0, max_epochs=60, standardize=False).fit(X, y)
    assert not model.network_.hard.all()
    assert 0.98 * y.var() < model.validation_loss_ < model.forest_loss_
