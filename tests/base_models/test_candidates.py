"""Candidates for stacking: early rejection, and data that are hard to fit."""

import importlib
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import neuralforest as nf
from neuralforest import base_models
from neuralforest.base_models import candidates
from neuralforest.selection import Candidate, OutOfSamplePredictions
from neuralforest.selection.stacking import best_weight
from small_models import base_model_task, output

pytestmark = pytest.mark.usefixtures("few_boosting_rounds")


def linear_target(n=120, d=6, seed=0):
    """Return rows on which a linear model is the best of all."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, X @ np.arange(1, d + 1) + 2 * rng.normal(size=n)


def fitted(X, y, classifier=False, **parameters):
    kind = nf.NeuralForestClassifier if classifier else nf.NeuralForestRegressor
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return kind(max_epochs=2, random_state=0, **parameters).fit(X, y)


def predictions(prediction):
    n = len(prediction)
    return OutOfSamplePredictions.of_all(np.arange(n), prediction.reshape(n, 1), np.ones(n))


# Early rejection.


def test_only_stages_that_are_promising_are_followed_by_others(monkeypatch):
    X, y = linear_target()
    rng = np.random.default_rng(0)
    own, good, poor = (predictions(y + error * rng.normal(size=len(y))) for error in (1.0, 1.0, 50.0))
    asked = []

    def model(name, *stages):
        def fit(task):
            for number, of_stage in enumerate(stages):
                asked.append((name, number))
                yield Candidate(name, None, of_stage, is_complete=number == len(stages) - 1)

        return fit

    stages = {"poor": (poor, good), "good": (good, good), "at once": (poor,), "later": (good, poor, good)}
    monkeypatch.setattr(base_models, "_REGISTRY", tuple(model(name, *each) for name, each in stages.items()))
    found = list(candidates(base_model_task(X.astype(np.float32), y), own))
    assert [(each.name, each.is_complete) for each in found] == [("good", True), ("at once", True)]
    assert asked == [("poor", 0), ("good", 0), ("good", 1), ("at once", 0), ("later", 0), ("later", 1)]


def test_all_base_models_of_a_regression_are_offered_unless_the_network_is_much_better():
    X, y = linear_target(200)
    task = base_model_task(X.astype(np.float32), y)
    names = [each.name for each in candidates(task, predictions(np.full(len(y), y.mean())))]
    assert names == ["extra_trees", "gradient_boosting", "shallow_gradient_boosting", "ridge"]
    almost_perfect = predictions(y + 1e-3 * np.random.default_rng(0).normal(size=len(y)))
    rest = [each.name for each in candidates(task, almost_perfect)]
    assert "extra_trees" not in rest
    assert rest[-1] == "ridge"  # which has no early stage


def test_a_classifier_is_offered_trees_alone():
    X, y = linear_target(200)
    task = base_model_task(X.astype(np.float32), (y > 0).astype(int), classifier=True)
    own = OutOfSamplePredictions.of_all(np.arange(200), np.full((200, 2), 0.5), np.ones(200))
    assert [each.name for each in candidates(task, own)] == ["extra_trees", "gradient_boosting"]


def test_a_single_row_gives_a_weight_of_0():
    own, other = (predictions(np.array([value])) for value in (0.0, 1.0))
    assert best_weight(own, other, np.ones((1, 1))) == 0.0


# Data.


@pytest.mark.parametrize("classifier", [False, True])
@pytest.mark.parametrize("known", [0, 1])
def test_columns_without_a_number_or_with_one(classifier, known):
    """Such a column has no importance, and costs next to no accuracy."""
    (X, y), (X_new, y_new) = linear_target(), linear_target(1000, seed=1)
    if classifier:
        y, y_new = y > 0, y_new > 0
    X[known:, 2] = X_new[:, 2] = np.nan
    model, without = fitted(X, y, classifier), fitted(np.delete(X, 2, axis=1), y, classifier)
    assert model.feature_importances_[2] < (0.005 if known else 1e-12)
    if not known:
        any_number = np.column_stack([X_new[:, :2], np.arange(1000.0), X_new[:, 3:]])
        assert_array_equal(output(model, any_number), output(model, X_new))
    assert model.score(X_new, y_new) > without.score(np.delete(X_new, 2, axis=1), y_new) - 0.03
    assert model.score(X_new, y_new) > 0.8


@pytest.mark.parametrize("unit", [2.0**126, 2.0**300])  # powers of two, so that trees stay the same
def test_large_and_small_targets_have_the_same_base_models(unit):
    X, y = linear_target()
    models = [fitted(X, factor * y) for factor in (1.0, unit)]
    weights = [model.stacking_weights_ for model in models]
    assert "ridge" in weights[0]
    assert weights[0].keys() == weights[1].keys()
    assert_allclose(list(weights[0].values()), list(weights[1].values()), rtol=1e-5)
    assert_allclose(models[1].predict(X) / unit, models[0].predict(X), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("n", [10, 40])
def test_ridge_regression_is_stacked_on_few_rows_and_beats_the_forest_on_new_ones(n):
    (X, y), (X_new, y_new) = linear_target(n), linear_target(1000, seed=1)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*max_samples")  # of bagging, below 13 rows
        model = nf.NeuralForestRegressor(max_epochs=2, random_state=0).fit(X, y)
    assert model.stacking_weights_["ridge"] > 0.5
    assert not {"gradient_boosting", "shallow_gradient_boosting"} & set(model.stacking_weights_)
    assert model.validation_loss_ < 0.5 * model.forest_loss_
    assert 1 - model.score(X_new, y_new) < 0.6 * (1 - model.forest_.score(X_new, y_new))


def test_wide_tables_have_no_ridge_regression(monkeypatch):
    assert "ridge" in fitted(*linear_target()).stacking_weights_
    monkeypatch.setattr(importlib.import_module("neuralforest.base_models.ridge"), "_MOST_PRODUCTS", 100)
    assert "ridge" not in fitted(*linear_target()).stacking_weights_


def test_held_out_rows_count_by_their_weights():
    X, y = linear_target(300)
    model = nf.NeuralForestRegressor(max_epochs=2, random_state=0)
    weight = np.r_[np.ones(50), np.zeros(50)]  # rows that do not count
    wrong = np.r_[y[200:250], 1e3 * np.ones(50)]
    weights = []
    for rows, target, counts in ((X[200:], wrong, weight), (X[200:250], y[200:250], np.ones(50))):
        model.fit(X[:200], y[:200], X_val=rows, y_val=target, sample_weight_val=counts)
        weights.append(model.stacking_weights_)
    assert len(weights[0]) > 1
    assert weights[0] == pytest.approx(weights[1])
