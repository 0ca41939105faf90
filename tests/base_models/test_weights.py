"""Weights of rows in base models: integer weights are repeated rows."""

import importlib

import numpy as np
import pytest

import neuralforest as nf
from neuralforest._kernels.trees import boosting, extra_tree
from neuralforest.base_models.combination_forecast import combination_forecast
from neuralforest.ensemble import FlatTrees

gradient_boosting = importlib.import_module("neuralforest.base_models.gradient_boosting")


@pytest.mark.parametrize("classifier", [False, True])
def test_extra_trees_of_integer_weights_are_those_of_repeated_rows(classifier):
    """Leaves of one tree: the same splits, because a threshold depends on the range of the rows alone."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2, 60))
    y, column = (np.ones(60), (x[0] > 0).astype(np.int64)) if classifier else (x[0] + rng.normal(size=60), None)
    weight = rng.integers(1, 4, 60)
    again = np.repeat(np.arange(60), weight)
    n_outputs = 2 if classifier else 1
    weighted, repeated = FlatTrees.room_for(60, 60, n_outputs), FlatTrees.room_for(len(again), len(again), n_outputs)
    rows = np.arange(60, dtype=np.uint32)
    n = extra_tree.grow(x, weight * y, weight.astype(float), column, rows, 2, 0, weighted)
    assert extra_tree.grow(x, y, None, column, again.astype(np.uint32), 2, 0, repeated) == n
    for name in ("feature", "threshold"):
        np.testing.assert_array_equal(getattr(weighted, name)[:n], getattr(repeated, name)[:n])
    np.testing.assert_allclose(weighted.value[: n + 1], repeated.value[: n + 1], atol=1e-12)
    np.testing.assert_allclose(weighted.weight[: n + 1], repeated.weight[: n + 1])


@pytest.mark.parametrize("loss", [boosting.SQUARED, boosting.LOGISTIC])
def test_boosted_trees_of_integer_weights_are_those_of_repeated_rows(loss):
    rng = np.random.default_rng(0)
    n, weight = 200, rng.integers(1, 4, 200)
    bins = rng.integers(0, 9, size=(3, n)).astype(np.uint8)
    y = (bins[0] > 4).astype(float) if loss == boosting.LOGISTIC else bins[0] + rng.normal(size=n)
    again = np.repeat(np.arange(n), weight)
    plan = boosting.BoostingPlan(loss, 0.3, 1.0, 3, 0.0, 1.0, 0)
    models = []
    for each, own in ((np.arange(n), weight.astype(float)), (again, np.ones(len(again)))):
        rows = np.arange(len(each), dtype=np.uint32)
        data = boosting.BinnedRows(bins[:, each].copy(), np.full(3, 9), y[each], own, rows, rows)
        models.append(gradient_boosting._no_trees(np.zeros(1), len(each), 5, 4))
        boosting.boost(data, plan, models[-1], 0, 5)
    weighted, repeated = models
    np.testing.assert_array_equal(weighted.bin, repeated.bin)
    np.testing.assert_allclose(weighted.value, repeated.value, rtol=1e-4)
    np.testing.assert_allclose(weighted.error, repeated.error, rtol=1e-4)


def test_the_combination_forecast_of_integer_weights_is_that_of_repeated_rows():
    rng = np.random.default_rng(0)
    X, y, weight = rng.normal(size=(50, 3)), rng.normal(size=(50, 2)), rng.integers(1, 4, 50)
    model = combination_forecast(X, y, weight.astype(float))
    products = np.average(X[:, 0] * y[:, 0], weights=weight) - X[:, 0].mean() * np.average(y[:, 0], weights=weight)
    products -= y[:, 0].mean() * (np.average(X[:, 0], weights=weight) - X[:, 0].mean())
    np.testing.assert_allclose(model.coef[0, 0], products / X[:, 0].std() / 4, rtol=1e-9)


def test_a_class_without_weight_is_fitted_without_base_models():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 5))
    y = np.where(np.arange(300) < 12, 2, X[:, 0] > 0)
    weight = np.where(np.arange(300) < 50, 0.0, rng.uniform(0.5, 1.0, 300))
    model = nf.NeuralForestClassifier(max_epochs=1, random_state=0).fit(X, y, sample_weight=weight)
    assert model.predict_proba(X).shape == (300, 3)
    assert model.stacking_weights_ == {"network": 1.0}
