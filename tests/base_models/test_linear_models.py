"""Linear base models: ridge regression, and the combination forecast where there is no detectable signal."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LinearRegression, RidgeCV
from threadpoolctl import threadpool_limits

import neuralforest as nf
from neuralforest.base_models.combination_forecast import combination_forecast
from neuralforest.base_models.cross_fitting import Folds
from neuralforest.base_models.ridge import ridge
from neuralforest.exceptions import ValidationWarning
from neuralforest.network import LinearModel
from neuralforest.selection.winsorized_mean import winsorized_mean
from small_models import base_model_task

pytestmark = pytest.mark.usefixtures("few_boosting_rounds")


def rows(n, d, weight, seed=0):
    """Return features with a common factor, and a target that depends on it by a weight, with noise of 1."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + rng.normal(size=(n, 1))
    return X, weight * X.mean(axis=1) + rng.normal(size=n)


@settings(max_examples=30, deadline=None, derandomize=True)
@given(st.integers(0, 10**6))
def test_the_prediction_of_a_row_does_not_depend_on_other_rows(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(37, 5)) * 10.0 ** rng.integers(-3, 4, size=5)
    X[rng.random(X.shape) < 0.1] = np.nan
    low, high = np.nanmin(X, axis=0), np.nanmax(X, axis=0)
    scale, coef = rng.uniform(0.1, 5, 5), rng.normal(size=(5, 2))
    model = LinearModel(low, high, rng.normal(size=5), scale, coef, rng.normal(size=2))
    expected = np.nan_to_num((X - model.center) / model.scale) @ model.coef + model.intercept
    assert_allclose(model.prediction(X), expected, rtol=1e-9, atol=1e-9)
    one_by_one = [model.prediction(X[i : i + 1]) for i in range(len(X))]
    assert_array_equal(np.concatenate(one_by_one), model.prediction(X))


# Combination forecast.


def test_the_combination_forecast_is_the_mean_of_one_regression_for_each_feature_and_of_the_mean():
    X, y = rows(200, 4, weight=1.0)
    each = [LinearRegression().fit(X[:, [j]], y).predict(X[:, [j]]) for j in range(4)]
    expected = np.mean([*each, np.full(200, y.mean())], axis=0)
    prediction = combination_forecast(X, y[:, None]).prediction(X)[:, 0]
    assert_allclose(prediction - winsorized_mean(y[:, None]), expected - y.mean())


def test_each_target_has_its_own_forecast_and_units_do_not_matter():
    X, y = rows(100, 3, weight=1.0)
    both = np.column_stack([y, -1e200 * y])
    prediction = combination_forecast(1e-200 * X, both).prediction(1e-200 * X)
    assert_allclose(prediction, combination_forecast(X, y[:, None]).prediction(X) * [1.0, -1e200])


def test_missing_values_count_as_the_mean_and_a_constant_column_has_no_effect():
    X, y = rows(100, 3, weight=1.0)
    X[:, 1] = 5.0
    X[::7, 0] = np.nan
    model = combination_forecast(X, y[:, None])
    filled, known = np.where(np.isnan(X), np.nanmean(X, axis=0), X), ~np.isnan(X[:, 0])
    assert model.coef[1] == 0.0
    assert_allclose(model.prediction(X), model.prediction(filled))
    alone = LinearRegression().fit(X[known, :1], y[known])
    assert_allclose(model.coef[0] / model.scale[0], alone.coef_ / 4)  # of three features and the mean
    inside = np.array([[np.nanmax(X[:, 0]), 0.0, 0.0]])
    assert_allclose(model.prediction(np.array([[1e9, 0.0, 0.0]])), model.prediction(inside))


@pytest.mark.parametrize(("weight", "most"), [(0.0, 1.002), (0.1, 0.998)])
def test_on_a_weak_signal_the_forecast_beats_the_mean_and_a_selected_penalty(weight, most):
    """Noise costs it next to nothing; selection costs more than there is to gain."""
    X_test, truth = rows(2000, 10, weight)[0], lambda X: weight * X.mean(axis=1)
    errors = {"mean": [], "combination": [], "ridge": []}
    for seed in range(200):
        X, y = rows(200, 10, weight, seed)
        predictions = {
            "mean": y.mean(),
            "combination": combination_forecast(X, y[:, None]).prediction(X_test)[:, 0],
            "ridge": RidgeCV(np.logspace(-1, 4, 11)).fit(X, y).predict(X_test),
        }
        for name, each in predictions.items():
            errors[name].append(1 + np.mean((each - truth(X_test)) ** 2))  # and the noise
    mean, combination, selected = (np.mean(each) for each in errors.values())
    assert combination < most * mean
    assert combination < selected


# The fallback of an estimator.


def test_without_a_detectable_signal_the_model_falls_back_to_the_combination_forecast():
    X, y = rows(300, 8, weight=0.0, seed=3)
    model = nf.NeuralForestRegressor(max_epochs=20, random_state=0).fit(X, y)
    (only,) = model.network_.base_models
    assert isinstance(only.model, LinearModel)
    assert only.is_fallback
    assert model.stacking_weights_ == pytest.approx({"network": 0.05, "combination_forecast": 0.95})
    assert_array_equal(only.model.coef, combination_forecast(X.astype(np.float32), y[:, None]).coef)
    assert np.std(model.predict(X)) < 0.1
    assert model.validation_loss_ <= model.forest_loss_


@pytest.mark.parametrize("again", ["partial_fit", "warm_start"])
def test_the_fallback_is_dropped_when_the_network_is_trained_on_other_rows(again, tmp_path):
    X, y = rows(300, 8, weight=0.0, seed=3)
    model = nf.NeuralForestRegressor(max_epochs=20, random_state=0, warm_start=True).fit(X, y)
    nf.save(model, tmp_path / "model.nforest")
    model = nf.load(tmp_path / "model.nforest")
    assert [each.is_fallback for each in model.network_.base_models] == [True]
    news = 3 * X[:, 0]
    if again == "partial_fit":
        model.partial_fit(X, news, n_epochs=60)
    else:
        with pytest.warns(ValidationWarning, match="warm_start continues with other rows"):
            model.fit(X, news)
        assert model.validation_loss_ < 0.2 * np.var(news) / model.network_.soft.output_scale[0] ** 2
    assert not any(each.is_fallback for each in model.network_.base_models)
    assert np.mean((model.predict(X) - news) ** 2) < 0.1 * np.var(news)


def test_the_fallback_stays_with_trees_that_no_network_replaces_and_is_dropped_with_them():
    random = np.random.default_rng(0)
    X, y = random.normal(size=(120, 8)), random.normal(size=120)
    model = nf.NeuralForestRegressor(
        standardize=False, contrast=(1e4, 1e4), learning_rate=1e-12, max_epochs=1, random_state=0
    ).fit(X, y)
    assert model.network_.hard.all()
    kept = model.network_.base_models
    assert kept[0].is_fallback
    assert model._remaining_base_models(model.network_) == kept
    model.set_params(learning_rate=0.012).partial_fit(X, 3 * X[:, 0], n_epochs=100)
    assert not model.network_.hard.all()
    assert not any(each.is_fallback for each in model.network_.base_models)


def test_the_fallback_stays_while_the_network_is_trained_on_the_same_rows():
    X, y = rows(300, 8, weight=0.0, seed=3)
    model = nf.NeuralForestRegressor(max_epochs=20, random_state=0, warm_start=True).fit(X, y)
    before = model.network_.base_models
    assert before[0].is_fallback
    (after,) = model.fit(X, y).network_.base_models
    assert after.is_fallback
    assert_array_equal(after.model.coef, before[0].model.coef)
    assert model.validation_loss_ <= model.forest_loss_


# Ridge regression.


def test_ridge_regression_is_the_mean_over_the_folds_and_evaluated_on_the_folds_left_out():
    X, y = rows(150, 4, weight=1.0)
    X[::6, 2] = np.nan
    task = base_model_task(X, 7 + 3 * y)
    (candidate,) = ridge(task)
    folds, scaled = Folds.of(task), np.nan_to_num((X - np.nanmean(X, axis=0)) / np.nanstd(X, axis=0))
    models = [RidgeCV(np.logspace(-1, 4, 11)).fit(scaled[part], 7 + 3 * y[part]) for part in folds.training]
    assert (candidate.name, candidate.is_complete) == ("ridge", True)
    assert_allclose(candidate.model.prediction(X)[:, 0], np.mean([each.predict(scaled) for each in models], axis=0))
    for model, part in zip(models, folds.left_out, strict=True):
        assert_allclose(candidate.predictions.prediction[part, 0], model.predict(scaled[part]))


def test_the_digits_of_ridge_regression_do_not_depend_on_threads():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(700, 300))
    task = base_model_task(X, X @ np.arange(1, 301) + 2 * rng.normal(size=700))
    coefs = []
    for threads in (1, 2, 4):
        with threadpool_limits(threads):
            (candidate,) = ridge(task)
            coefs.append(candidate.model.coef)
    assert_array_equal(coefs[0], coefs[1])
    assert_array_equal(coefs[0], coefs[2])
