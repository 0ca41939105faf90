"""Linear functions beside a network: digits that do not vary, and a line that costs nothing where nothing is known."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LinearRegression, RidgeCV
from sklearn.model_selection import KFold
from threadpoolctl import threadpool_limits

import neuralforest as nf
from neuralforest.base_models.cross_fitting import Folds
from neuralforest.base_models.linear import combination_forecast, ridge_regression
from neuralforest.network.stacking import Linear
from neuralforest.selection.winsorized_mean import winsorized_mean


def rows(n, d, weight, seed=0):
    """Return features that have something in common, and a target that follows it by a weight, in noise of 1."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + rng.normal(size=(n, 1))
    return X, weight * X.mean(axis=1) + rng.normal(size=n)


def test_a_careful_line_is_the_mean_of_one_regression_for_each_feature_and_of_the_mean():
    X, y = rows(200, 4, weight=1.0)
    each = [LinearRegression().fit(X[:, [j]], y).predict(X[:, [j]]) for j in range(4)]
    expected = np.mean([*each, np.full(200, y.mean())], axis=0)
    assert_allclose(
        combination_forecast(X, y[:, None]).output(X)[:, 0] - winsorized_mean(y[:, None]), expected - y.mean()
    )


def test_each_target_has_its_own_and_units_do_not_matter():
    X, y = rows(100, 3, weight=1.0)
    both = np.column_stack([y, -1e200 * y])
    line = combination_forecast(1e-200 * X, both)
    assert_allclose(line.output(1e-200 * X), combination_forecast(X, y[:, None]).output(X) * [1.0, -1e200])


def test_missing_values_count_as_the_mean_and_one_number_says_nothing():
    X, y = rows(100, 3, weight=1.0)
    X[:, 1] = 5.0
    X[::7, 0] = np.nan
    line = combination_forecast(X, y[:, None])
    filled, known = np.where(np.isnan(X), np.nanmean(X, axis=0), X), ~np.isnan(X[:, 0])
    assert line.slope[1] == 0.0
    assert_allclose(line.output(X), line.output(filled))
    alone = LinearRegression().fit(X[known, :1], y[known])
    assert_allclose(line.slope[0] / line.scale[0], alone.coef_ / 4)  # of three features and the mean
    assert_allclose(line.output(np.array([[1e9, 0.0, 0.0]])), line.output(np.array([[np.nanmax(X[:, 0]), 0.0, 0.0]])))


@pytest.mark.parametrize(("weight", "most"), [(0.0, 1.002), (0.1, 0.998)])
def test_of_a_weak_signal_it_finds_more_than_a_penalty_that_is_chosen(weight, most):
    """Noise costs it next to nothing; choosing costs more than there is to gain."""
    X_test, truth = rows(2000, 10, weight)[0], lambda X: weight * X.mean(axis=1)
    errors = {"mean": [], "careful": [], "chosen": []}
    for seed in range(200):
        X, y = rows(200, 10, weight, seed)
        said = {
            "mean": y.mean(),
            "careful": combination_forecast(X, y[:, None]).output(X_test)[:, 0],
            "chosen": RidgeCV(np.logspace(-1, 4, 11)).fit(X, y).predict(X_test),
        }
        for name, each in said.items():
            errors[name].append(1 + np.mean((each - truth(X_test)) ** 2))  # and the noise
    mean, careful, chosen = (np.mean(each) for each in errors.values())
    assert careful < most * mean
    assert careful < chosen


def test_where_network_and_others_know_nothing_a_careful_line_speaks():
    X, y = rows(300, 8, weight=0.0, seed=3)
    model = nf.NeuralForestRegressor(max_epochs=20, random_state=0).fit(X, y)
    (only,) = model.network_.base_models
    assert isinstance(only.source, Linear)
    assert only.is_fallback
    assert only.share == pytest.approx(0.95)
    assert_array_equal(only.source.slope, combination_forecast(X.astype(np.float32), y[:, None]).slope)
    assert np.std(model.predict(X)) < 0.1
    assert model.validation_loss_ <= model.forest_loss_


@pytest.mark.parametrize("again", ["partial_fit", "warm_start"])
def test_a_line_that_stands_in_leaves_when_the_network_learns_from_other_rows(again, tmp_path):
    X, y = rows(300, 8, weight=0.0, seed=3)
    model = nf.NeuralForestRegressor(max_epochs=20, random_state=0, warm_start=True).fit(X, y)
    nf.save(model, tmp_path / "model.nforest")
    model = nf.load(tmp_path / "model.nforest")
    assert [each.is_fallback for each in model.network_.base_models] == [True]
    news = 3 * X[:, 0]
    if again == "partial_fit":
        model.partial_fit(X, news, n_epochs=60)
    else:
        model.fit(X, news)
        assert model.validation_loss_ < 0.2 * np.var(news) / model.network_.soft.output_scale[0] ** 2
    assert not model.network_.base_models
    assert np.mean((model.predict(X) - news) ** 2) < 0.1 * np.var(news)


def test_it_stays_beside_trees_that_are_kept_and_leaves_when_they_give_way():
    random = np.random.default_rng(0)
    X, y = random.normal(size=(120, 8)), random.normal(size=120)
    model = nf.NeuralForestRegressor(
        standardize=False, contrast=(1e4, 1e4), learning_rate=0.0, max_epochs=1, random_state=0
    ).fit(X, y)
    assert model.network_.hard.all()
    kept = model.network_.base_models
    assert kept[0].is_fallback
    assert model._still_beside(model.network_) == kept
    model.set_params(learning_rate=0.012).partial_fit(X, 3 * X[:, 0], n_epochs=100)
    assert not model.network_.hard.all()
    assert not any(each.is_fallback for each in model.network_.base_models)


def test_it_stays_while_the_network_goes_on_with_the_same_rows():
    X, y = rows(300, 8, weight=0.0, seed=3)
    model = nf.NeuralForestRegressor(max_epochs=20, random_state=0, warm_start=True).fit(X, y)
    before = model.network_.base_models
    assert model.fit(X, y).network_.base_models == before
    assert model.validation_loss_ <= model.forest_loss_


def test_the_digits_of_a_ridge_regression_do_not_depend_on_threads():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(700, 300))
    y = X @ np.arange(1, 301) + 2 * rng.normal(size=700)
    learnt, unseen = zip(*KFold(5).split(X), strict=True)
    folds = Folds(X, y, 0.0, 1.0, np.ones(700), list(learnt), list(unseen), np.arange(0))
    slopes = []
    for threads in (1, 2, 4):
        with threadpool_limits(threads):
            slopes.append(ridge_regression(folds).source.slope)
    assert_array_equal(slopes[0], slopes[1])
    assert_array_equal(slopes[0], slopes[2])
