"""Prediction intervals have the coverage that their level promises, and follow the noise."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.tree import DecisionTreeRegressor

import neuralforest as nf
from neuralforest.base_models import error_scale
from neuralforest.selection import OutOfSamplePredictions, Residuals, Selected
from neuralforest.selection.intervals import _scaled_unit
from neuralforest.selection.predictions import averaged
from neuralforest.training import SubnetworkRows, TrainingData
from small_models import forest, regression, small, small_boosted


def noisy(n, seed):
    """Return rows whose noise grows with the first feature, from 0.1 to 1.1."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 3))
    return X, np.sin(6 * X[:, 1]) + (0.1 + X[:, 0]) * rng.normal(size=n)


MODELS = {
    "oob": lambda: small(source=forest(n_estimators=30, max_leaf_nodes=32), validation="oob"),
    "fraction": lambda: small(source=forest(n_estimators=30, max_leaf_nodes=32), validation="fraction"),
    "joint": lambda: small(source=forest(n_estimators=10), training="joint"),
    "boosted": small_boosted,
    "one tree": lambda: small(source=DecisionTreeRegressor(max_leaf_nodes=16)),
}


@pytest.mark.parametrize("name", MODELS)
def test_an_interval_of_90_percent_covers_90_percent(name):
    covered, below, above = [], [], []
    for seed in range(4):
        X, y = noisy(2400, seed)
        model = MODELS[name]().fit(X[:800], y[:800])
        low, high = model.predict_quantiles(X[800:], (0.05, 0.95)).T
        covered.append(np.mean((low <= y[800:]) & (y[800:] <= high)))
        below.append(np.mean(y[800:] < low))
        above.append(np.mean(y[800:] > high))
    # of 4 fits with 200 (fraction) or 800 validation rows each, the mean has a standard deviation of 0.011 or less
    assert np.mean(covered) == pytest.approx(0.9, abs=0.035)
    assert np.mean(below) == pytest.approx(0.05, abs=0.025)
    assert np.mean(above) == pytest.approx(0.05, abs=0.025)


def test_intervals_of_the_default_forest_are_calibrated_though_few_of_its_trees_evaluate_a_row():
    covered = []
    for seed in range(3):
        X, y = noisy(3000, seed)
        model = small(max_epochs=10).set_params(forest=None).fit(X[:1500], y[:1500])
        assert model.network_.ensemble.n_trees == 8
        low, high = model.predict_quantiles(X[1500:], (0.1, 0.9)).T
        covered.append(np.mean((low <= y[1500:]) & (y[1500:] <= high)))
    assert np.mean(covered) == pytest.approx(0.8, abs=0.04)


@pytest.mark.parametrize("name", ["oob", "fraction"])
def test_intervals_are_wider_where_there_is_more_noise(name):
    X, y = noisy(1500, 0)
    model = MODELS[name]().fit(X, y)
    low, high = model.predict_quantiles(X, (0.05, 0.95)).T
    width = high - low
    assert width[X[:, 0] > 0.75].mean() > 1.5 * width[X[:, 0] < 0.25].mean()


@pytest.mark.parametrize("name", MODELS)
def test_quantiles_rise_with_their_level_and_hold_the_prediction_between_them(name):
    X, y = noisy(400, 0)
    model = MODELS[name]().fit(X, y)
    levels = np.linspace(0.01, 0.99, 30)
    quantiles = model.predict_quantiles(X, levels)
    assert quantiles.shape == (400, 30)
    assert (np.diff(quantiles, axis=1) >= 0).all()
    prediction = model.predict(X)
    assert ((quantiles[:, 0] < prediction) & (prediction < quantiles[:, -1])).all()
    np.testing.assert_array_equal(model.predict_quantiles(X, 0.5)[:, 0], model.predict_quantiles(X, [0.5])[:, 0])


def test_quantiles_follow_the_units_of_the_target():
    X, y = noisy(300, 0)
    plain, scaled = (MODELS["oob"]().fit(X, factor * y).predict_quantiles(X) for factor in (1, 1024))
    np.testing.assert_allclose(1024 * plain, scaled, rtol=1e-9)


def test_quantiles_of_several_targets_are_those_of_each():
    X, y = regression(300)
    model = small().fit(X, np.column_stack([y, 100 * y]))
    quantiles = model.predict_quantiles(X, (0.1, 0.9))
    assert quantiles.shape == (300, 2, 2)
    width = np.diff(quantiles, axis=2)[:, :, 0]
    assert 50 < (width[:, 1] / width[:, 0]).mean() < 200


def two_groups(n, seed):
    """Return rows whose noise is 0.1 or 1, by the third feature."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 4))
    return X, np.sin(6 * X[:, 0]) + np.where(X[:, 2] > 0.5, 1.0, 0.1) * rng.normal(size=n)


def test_intervals_of_the_default_forest_follow_the_noise(tmp_path):
    """The disagreement of few trees does not show it: intervals of both groups would be about as wide."""
    X, y = two_groups(3000, 0)
    model = small(max_epochs=10).set_params(forest=None, connectivity="auto").fit(X[:2000], y[:2000])
    assert model._residuals.scale is not None
    low, high = model.predict_quantiles(X[2000:], (0.05, 0.95)).T
    y, noisy_half = y[2000:], X[2000:, 2] > 0.5
    inside = (low <= y) & (y <= high)
    assert (high - low)[noisy_half].mean() > 3 * (high - low)[~noisy_half].mean()
    assert 0.82 < inside[noisy_half].mean() < 0.96
    assert 0.85 < inside[~noisy_half].mean() <= 1.0
    nf.save(model, tmp_path / "model.nforest")
    loaded = nf.load(tmp_path / "model.nforest")
    np.testing.assert_array_equal(loaded.predict_quantiles(X[2000:]), model.predict_quantiles(X[2000:]))


def test_a_scale_is_not_learned_where_the_noise_is_the_same_everywhere():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(900, 4))
    model = small().fit(X, X[:, 0] + rng.normal(size=900))
    assert model._residuals.scale is None


def of_errors(errors):
    """Return data and predictions with these errors, made by all subnetworks together."""
    rows = np.arange(len(errors))
    predictions = OutOfSamplePredictions.of_all(rows, np.zeros_like(errors), np.ones(len(errors)))
    return SimpleNamespace(y=errors), predictions


def test_quiet_rows_are_not_widened_by_the_excess_variance_of_noisy_ones():
    """Errors of few subnetworks are those of all of them, plus an excess variance that grows less than the noise."""
    rng = np.random.default_rng(4)
    spread = np.where(np.arange(6000) % 2 == 0, 0.1, 1.0)[:, None]
    noise = spread * rng.normal(size=(6000, 1))
    of_subnetworks = 0.5 * np.sqrt(spread) * rng.normal(size=(10, 6000, 1))
    own = [np.arange(each, 6000, 7) for each in range(10)]
    outputs = [(rows, np.ones(len(rows)), of_all[rows]) for rows, of_all in zip(own, of_subnetworks, strict=True)]
    predictions = averaged(outputs, (6000, 1), np.zeros(1), 10)
    assert predictions.has_halves.mean() < 0.5  # most rows are predicted by one subnetwork
    before, scale = Residuals(np.sort(noise, axis=0), np.ones(1)), nf.convert(forest().fit([[0.0], [1.0]], [0, 1]))
    data, unit = SimpleNamespace(y=noise), np.ones((6000, 1))
    better, unit = before.or_scaled(data, predictions, unit, np.sqrt(spread), scale)
    low, high = np.quantile(better.relative, (0.05, 0.95))
    errors = noise - of_subnetworks.mean(axis=0)
    inside = (low * unit <= errors) & (errors <= high * unit)
    for each in (0.1, 1.0):
        assert 0.87 < inside[spread == each].mean() < 0.93


def test_rows_of_any_scale_are_covered_alike_though_the_scale_varies_less_than_the_noise():
    rng = np.random.default_rng(3)
    spread = np.exp(rng.uniform(-2, 2, size=(6000, 1)))
    errors, learned = spread * rng.normal(size=(6000, 1)), spread**0.5
    before, scale = Residuals(np.sort(errors, axis=0), np.ones(1)), nf.convert(forest().fit([[0.0], [1.0]], [0, 1]))
    half = slice(0, 3000)
    better, _ = before.or_scaled(*of_errors(errors[half]), np.ones((3000, 1)), np.sqrt(learned[half]), scale)
    new = slice(3000, None)
    unit = _scaled_unit(np.sqrt(learned[new]), better.floor, better.middle, better.factor)
    low, high = np.quantile(better.relative, (0.05, 0.95))
    inside = (low * unit <= errors[new]) & (errors[new] <= high * unit)
    for part in np.array_split(np.argsort(spread[new, 0]), 6):
        assert 0.85 < inside[part].mean() < 0.95


def test_each_target_has_a_scale_of_its_own():
    rng = np.random.default_rng(1)
    X = rng.uniform(size=(1200, 3))
    noise = np.where(X[:, [0, 1]] > 0.5, 1.0, 0.05) * rng.normal(size=(1200, 2))
    model = small().fit(X, 100 * noise)
    assert model._residuals.scale.n_outputs == 2
    low, high = np.moveaxis(model.predict_quantiles(X, (0.05, 0.95)), 2, 0)
    for target in (0, 1):
        width, large = (high - low)[:, target], X[:, target] > 0.5
        assert width[large].mean() > 2 * width[~large].mean()


@pytest.mark.parametrize("most_rows", [20_000, 1_000])
def test_where_a_stack_is_evaluated_on_few_rows_the_scale_is_learned_from_its_network_on_all(most_rows, monkeypatch):
    monkeypatch.setattr(error_scale, "_MOST_ROWS", most_rows)
    rng = np.random.default_rng(6)
    X = rng.uniform(size=(3000, 3))
    spread = np.where(X[:, :1] > 0.5, 1.0, 0.1)
    y = spread * rng.normal(size=(3000, 1))
    rows, few = SubnetworkRows.shared(np.arange(3000), np.ones(3000), 1), np.arange(0, 3000, 5)
    data = TrainingData(X, y, rows, rows)
    of_network = OutOfSamplePredictions.of_all(
        np.arange(3000), 0.5 * spread * rng.normal(size=(3000, 1)), np.ones(3000)
    )
    of_stack = OutOfSamplePredictions.of_all(few, np.zeros((600, 1)), np.ones(600))
    network = nf.convert(forest().fit(X, y[:, 0]))
    trained = Selected(network, None, np.inf, 0.0, of_stack, of_network=of_network)
    measured = Residuals.measure(network, data, of_stack)
    learned = error_scale.with_error_scale(measured, data, trained, 0, 1, np.zeros(3, np.int64))
    assert len(learned.relative) == 600  # errors of the stack
    e = learned.scale.ensemble
    of_tree = np.add.reduceat(e.weight, e.first_leaf[:-1]).mean()
    assert abs(of_tree / min(most_rows, 3000) - 0.64) < 0.02  # subsamples of four fifths of all rows
    new = rng.uniform(size=(4000, 3))
    noise = np.where(new[:, 0] > 0.5, 1.0, 0.1) * rng.normal(size=4000)
    low, high = learned.quantiles(network, new, np.zeros((4000, 1)), (0.05, 0.95))[:, 0].T
    inside, noisy_half = (low <= noise) & (noise <= high), new[:, 0] > 0.5
    assert 0.85 < inside[noisy_half].mean() < 0.95
    assert 0.85 < inside[~noisy_half].mean() < 0.98


def test_a_scale_must_make_intervals_better_by_more_than_chance():
    rng = np.random.default_rng(2)
    spread = np.where(np.arange(400) % 2 == 0, 0.1, 1.0)[:, None]
    errors, same = spread * rng.normal(size=(400, 1)), np.ones((400, 1))
    before, scale = Residuals(np.sort(errors, axis=0), np.ones(1)), nf.convert(forest().fit([[0.0], [1.0]], [0, 1]))
    better, units = before.or_scaled(*of_errors(errors), same, np.sqrt(spread), scale)
    assert better.scale is scale
    quantiles = [np.quantile(np.abs(errors[spread == each]) / each, 0.9) for each in (0.1, 1.0)]
    np.testing.assert_allclose(units, spread * np.where(spread == 0.1, *quantiles) / np.mean(quantiles))
    np.testing.assert_allclose(better.relative, np.sort(errors / units, axis=0))
    noise = np.sqrt(rng.uniform(0.8, 1.2, size=(400, 1)))
    for roots, own in ((np.sqrt(spread), spread), (noise, same)):  # the same units, and useless ones
        assert before.or_scaled(*of_errors(errors), own, roots, scale)[0] is before
