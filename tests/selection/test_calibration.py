"""Over-dispersed predictions, and no others, are shrunk towards the winsorized mean of the target."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.ensemble import RandomForestRegressor

import neuralforest as nf
from neuralforest.selection import calibration, validation_predictions
from neuralforest.selection.predictions import validation_loss
from neuralforest.selection.winsorized_mean import winsorized_mean
from neuralforest.training import Settings, SubnetworkRows, TrainingData, resolve_loss
from training_twins import train

N = 400


def fitted(y, n_trees=10, training="independent"):
    """Return a softened forest, and data with held-out validation rows."""
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
    parts = np.arange(half), np.arange(half, N)
    rows = [SubnetworkRows.shared(part, np.ones(len(part)), network.n_subnetworks) for part in parts]
    return network, TrainingData(network.check_X(X), columns, *rows)


def signal(X, noise):
    return 3 * X[:, 0] + 0.1 * noise


def noise_only(X, noise):
    return noise + 7


def slopes_of(network, data):
    return calibration._slopes(network, validation_predictions(network, data), data)


def factors_of(network, data):
    return calibration.calibration_factors(network, validation_predictions(network, data), data)


def calibrated(network, data, error_of_trees=100.0):
    loss = resolve_loss("auto", None, network.ensemble)
    predictions = validation_predictions(network, data)
    of_trees = predictions.with_prediction(data.y[predictions.row] + error_of_trees * data.y.std(axis=0))
    return calibration.calibrated(network, ((network, data.validation),), predictions, of_trees, data, loss)


@pytest.mark.parametrize("training", ["independent", "joint"])
def test_calibrated_predictions_stay_as_they_are(training):
    network, data = fitted(signal, training=training)
    assert factors_of(network, data) == 1.0
    assert calibrated(network, data) is None


@pytest.mark.parametrize("training", ["independent", "joint"])
def test_predictions_without_signal_are_nearly_constant(training):
    network, data = fitted(noise_only, training=training)
    loss = resolve_loss("auto", None, network.ensemble)
    shrunk, predictions = calibrated(network, data)
    center = winsorized_mean(data.y[np.unique(data.fit.row)])
    np.testing.assert_allclose(
        shrunk.output(data.X) - center, 0.01 * (network.output(data.X) - center), rtol=1e-4, atol=1e-6
    )
    np.testing.assert_allclose(predictions.prediction, shrunk.output(data.X[predictions.row]), rtol=1e-12)
    variance_of_target = 1.0
    assert validation_loss(shrunk, predictions, data, loss) == pytest.approx(variance_of_target, abs=0.15)


def test_rare_large_values_do_not_determine_the_constant():
    network, data = fitted(lambda X, noise: np.exp(3 * noise))
    shrunk, _ = calibrated(network, data)
    target = data.y[: N // 2]
    assert shrunk.output(data.X).mean() == pytest.approx(
        winsorized_mean(target)[0], abs=0.02 * np.ptp(network.output(data.X))
    )
    assert winsorized_mean(target)[0] < 0.8 * target.mean()


def test_the_constant_is_a_weighted_mean():
    network, data = fitted(noise_only)
    weight = np.where(data.y[data.fit.row, 0] > 7, 9.0, 1.0).astype(np.float32)
    weighted = replace(data, fit=replace(data.fit, weight=weight))
    plain, heavy = (calibrated(network, each)[0].output(data.X).mean() for each in (data, weighted))
    expected = np.average(data.y[data.fit.row, 0], weights=weight)
    assert heavy == pytest.approx(expected, abs=0.02)
    assert heavy > plain + 0.5


@pytest.mark.parametrize(
    ("slope", "error", "factor"),
    [
        (0.9, 0.04, 0.9 - 4 * 0.04**2 / 0.9),  # below 1 by more than two standard errors
        (0.9, 0.06, 1.0),
        (0.1, 0.04, 0.1 - 4 * 0.04**2 / 0.1),
        (0.9, 0.5, 0.01),  # not above 0 by two standard errors: no signal
        (1.4, 0.69, 1.0),
        (-0.3, 0.1, 0.01),
        (1.5, 0.1, 1.0),
    ],
)
def test_factors_follow_from_the_slope_and_twice_its_error(slope, error, factor, monkeypatch):
    monkeypatch.setattr(calibration, "_slopes", lambda *_: (np.array([slope]), np.array([error])))
    np.testing.assert_allclose(calibration.calibration_factors(None, None, None), [factor])


def test_each_target_has_its_own_factor():
    network, data = fitted(lambda X, noise: np.column_stack([signal(X, noise), noise_only(X, noise)]))
    factors = factors_of(network, data)
    assert factors[0] == 1.0
    assert factors[1] == 0.01


def test_predictions_that_are_twice_too_large_are_halved():
    network, data = fitted(signal, n_trees=30)
    twice = calibration.shrunk(network, np.array([2.0]), np.zeros(1))
    assert factors_of(twice, data)[0] == pytest.approx(slopes_of(network, data)[0][0] / 2, rel=0.02)


def test_the_excess_variance_of_few_trees_does_not_flatten_the_slope():
    """Out-of-bag, two or three trees predict a row: their mean has a far larger variance than that of all trees."""
    network, data = fitted(signal, n_trees=30)
    rng = np.random.default_rng(0)
    rows = [np.arange(N // 2, N)[rng.random(N // 2) < 0.08] for _ in range(network.n_subnetworks)]
    own = SubnetworkRows.own(rows, [np.ones(len(part)) for part in rows])
    few = TrainingData(data.X, data.y, data.fit, own)
    slope, error = slopes_of(network, few)
    all_trees, _ = slopes_of(network, data)
    assert abs(slope[0] - all_trees[0]) < 3 * error[0]


def test_a_network_is_not_shrunk_where_it_would_be_worse_than_its_forest():
    network, data = fitted(noise_only)
    assert calibrated(network, data, error_of_trees=0.0) is None


def test_training_calibrates_on_request_and_is_never_worse_than_the_forest():
    network, data = fitted(noise_only)
    plain = train(network, data, Settings(max_epochs=2))
    shrunk = train(network, data, Settings(max_epochs=2), calibrate=True)
    assert shrunk.validation_loss <= plain.forest_loss == shrunk.forest_loss
    assert np.ptp(shrunk.network.predict(data.X)) < 0.1 * np.ptp(plain.network.predict(data.X))


@pytest.mark.parametrize("seed", range(8))
def test_an_estimator_is_nearly_constant_without_signal(seed):
    X = np.random.default_rng(seed).normal(size=(300, 4))
    y = np.random.default_rng(seed + 1).normal(size=300)
    for stacking, most in ((None, 0.1), ("auto", 0.25)):
        model = nf.NeuralForestRegressor(max_epochs=3, random_state=0, stacking=stacking).fit(X, y)
        assert model.predict(X).std() < most * model.forest_.predict(X).std()
        assert model.validation_loss_ <= model.forest_loss_
