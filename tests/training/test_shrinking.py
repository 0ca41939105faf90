"""Predictions that say more than is known are pulled to the steady mean of the target, and no others."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.ensemble import RandomForestRegressor

import neuralforest as nf
from neuralforest.training import SubnetworkRows, Settings, TrainingData, guard, shrinking, train
from neuralforest.training.losses import resolve_loss
from neuralforest.selection.winsorized_mean import winsorized_mean

N = 400


def fitted(y, n_trees=10, training="independent"):
    """Return a softened forest and data on which each tree is judged by rows that it has not seen."""
    X = np.random.default_rng(0).normal(size=(N, 3))
    y = y(X, np.random.default_rng(1).normal(size=N))
    half = N // 2
    forest = RandomForestRegressor(n_trees, max_leaf_nodes=12, random_state=0).fit(X[:half], y[:half])
    columns = y.reshape(N, -1)
    network = nf.convert(forest).soften(
        (20, 5),
        output_center=columns[:half].mean(axis=0),
        output_scale=columns[:half].std(axis=0),
        training=training,
    )
    rows = [
        SubnetworkRows.shared(part, np.ones(len(part)), network.n_subnetworks) for part in (np.arange(half), np.arange(half, N))
    ]
    return network, TrainingData(network.check_X(X), columns, *rows)


def signal(X, noise):
    return 3 * X[:, 0] + 0.1 * noise


def noise_only(X, noise):
    return noise + 7


def slopes_of(network, data):
    return shrinking._slopes(network, guard.validation_predictions(network, data), data)


def factors_of(network, data):
    return shrinking.calibration_factors(network, guard.validation_predictions(network, data), data)


def shrink(network, data, loss, forest_loss):
    said = guard.validation_predictions(network, data)
    return shrinking.shrink(network, ((network, data.validation),), said, data, loss, forest_loss)


@pytest.mark.parametrize("training", ["independent", "joint"])
def test_what_can_be_taken_at_its_word_stays_as_it_is(training):
    network, data = fitted(signal, training=training)
    assert factors_of(network, data) == 1.0
    assert shrink(network, data, resolve_loss("auto", None, network.ensemble), np.inf) is None


@pytest.mark.parametrize("training", ["independent", "joint"])
def test_where_nothing_is_known_almost_nothing_is_said(training):
    network, data = fitted(noise_only, training=training)
    loss = resolve_loss("auto", None, network.ensemble)
    shrunk, judged = shrink(network, data, loss, np.inf)
    center = winsorized_mean(data.y[np.unique(data.fit.row)])
    np.testing.assert_allclose(
        shrunk.output(data.X) - center, 0.01 * (network.output(data.X) - center), rtol=1e-4, atol=1e-6
    )
    np.testing.assert_allclose(judged.output, shrunk.output(data.X[judged.row]), rtol=1e-12)
    assert guard.validation_loss(shrunk, judged, data, loss) == pytest.approx(1.0, abs=0.15)  # the variance of the target


def test_rare_large_values_do_not_decide_what_is_said_where_nothing_is_known():
    network, data = fitted(lambda X, noise: np.exp(3 * noise))
    shrunk, _ = shrink(network, data, resolve_loss("auto", None, network.ensemble), np.inf)
    learnt = data.y[: N // 2]
    assert shrunk.output(data.X).mean() == pytest.approx(
        winsorized_mean(learnt)[0], abs=0.02 * np.ptp(network.output(data.X))
    )
    assert winsorized_mean(learnt)[0] < 0.8 * learnt.mean()


def test_heavy_rows_decide_what_is_said_where_nothing_is_known():
    network, data = fitted(noise_only)
    weight = np.where(data.y[data.fit.row, 0] > 7, 9.0, 1.0).astype(np.float32)
    weighted = replace(data, fit=replace(data.fit, weight=weight))
    loss = resolve_loss("auto", None, network.ensemble)
    plain, heavy = (shrink(network, each, loss, np.inf)[0].output(data.X).mean() for each in (data, weighted))
    expected = np.average(data.y[data.fit.row, 0], weights=weight)
    assert heavy == pytest.approx(expected, abs=0.02)
    assert heavy > plain + 0.5


def test_each_target_has_its_own_factor():
    network, data = fitted(lambda X, noise: np.column_stack([signal(X, noise), noise_only(X, noise)]))
    factors = factors_of(network, data)
    assert factors[0] == 1.0
    assert factors[1] == 0.01


def test_predictions_that_are_twice_too_large_are_halved():
    network, data = fitted(signal, n_trees=30)
    twice = shrinking._pulled(network, np.array([2.0]), np.zeros(1))
    assert factors_of(twice, data)[0] == pytest.approx(slopes_of(network, data)[0][0] / 2, rel=0.02)


def test_the_noise_of_few_trees_is_no_reason_to_shrink():
    """Out-of-bag, each row is predicted by two or three trees, whose mean is far noisier than that of all."""
    network, data = fitted(signal, n_trees=30)
    rng = np.random.default_rng(0)
    rows = [np.arange(N // 2, N)[rng.random(N // 2) < 0.08] for _ in range(network.n_subnetworks)]
    own = SubnetworkRows.own(rows, [np.ones(len(part)) for part in rows])
    few = TrainingData(data.X, data.y, data.fit, own)
    slope, error = slopes_of(network, few)
    all_trees, _ = slopes_of(network, data)
    assert abs(slope[0] - all_trees[0]) < 3 * error[0]


def test_a_network_is_never_shrunk_below_its_forest():
    network, data = fitted(noise_only)
    assert shrink(network, data, resolve_loss("auto", None, network.ensemble), 0.0) is None


def test_training_shrinks_on_request_and_never_hands_out_less_than_the_forest():
    network, data = fitted(noise_only)
    plain = train(network, data, Settings(max_epochs=2))
    shrunk = train(network, data, Settings(max_epochs=2), shrink=True)
    assert shrunk.validation_loss <= plain.forest_loss == shrunk.forest_loss
    assert np.ptp(shrunk.network.predict(data.X)) < 0.1 * np.ptp(plain.network.predict(data.X))


@pytest.mark.parametrize("seed", range(8))
def test_an_estimator_predicts_little_where_nothing_is_known(seed):
    X = np.random.default_rng(seed).normal(size=(300, 4))
    y = np.random.default_rng(seed + 1).normal(size=300)
    for companion, most in ((None, 0.1), ("auto", 0.25)):
        model = nf.NeuralForestRegressor(max_epochs=3, random_state=0, companion=companion).fit(X, y)
        assert model.predict(X).std() < most * model.forest_.predict(X).std()
        assert model.validation_loss_ <= model.forest_loss_
