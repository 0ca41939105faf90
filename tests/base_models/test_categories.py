"""Base models on categories: trees split them in the order of their mean target, on the rows of each tree."""

import importlib

import numpy as np
import pytest

import twins
from neuralforest.base_models.extra_trees import extra_trees
from small_models import base_model_task

gradient_boosting = importlib.import_module("neuralforest.base_models.gradient_boosting")
HIGH = (1, 4, 6, 9)  # categories whose order has no meaning


def rows(n=300, seed=0, classifier=False):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.integers(0, 10, n), rng.normal(size=n)]).astype(np.float32)
    y = 3.0 * np.isin(X[:, 0], HIGH) + 0.2 * X[:, 1] + 0.1 * rng.normal(size=n)
    X[rng.random(n) < 0.05, 0] = np.nan
    return X, (y > 1.5).astype(int) if classifier else y


@pytest.mark.parametrize("classifier", [False, True], ids=["regression", "classes"])
@pytest.mark.parametrize("kind", ["extra_trees", "gradient_boosting"])
def test_trees_split_categories_into_sets(kind, classifier, few_boosting_rounds):
    stages = {"extra_trees": extra_trees, "gradient_boosting": gradient_boosting.gradient_boosting}[kind]
    X, y = rows(classifier=classifier)
    candidates = [list(stages(base_model_task(X, y, classifier, n_jobs=n, n_categories=[10, 0])))[-1] for n in (1, 2)]
    model = candidates[0].model
    e = model.ensemble
    np.testing.assert_array_equal(e.is_categorical, e.feature == 0)
    assert (np.diff(e.first_category)[e.feature == 0] == 11).all()
    np.testing.assert_array_equal(model.prediction(X), candidates[1].model.prediction(X))
    np.testing.assert_array_equal(candidates[0].predictions.prediction, candidates[1].predictions.prediction)
    test, truth = rows(seed=1, classifier=classifier)
    np.testing.assert_allclose(model.prediction(test)[:, -1], np.atleast_2d(twins.predict(e, test).T)[-1], rtol=1e-9)
    known = ~np.isnan(test[:, 0])
    error = np.abs(model.prediction(test)[known, -1] - truth[known]).mean()
    assert error < (0.1 if classifier else 0.4)
    others = np.array([[-1.0, 0.0], [10.0, 0.0], [99.0, 0.0]], np.float32)
    assert np.ptp(model.prediction(others), axis=0).max() == 0  # categories that were not there are alike


def test_categories_are_ordered_by_the_rows_of_each_tree_alone():
    X, y = rows()
    task = base_model_task(X, y, n_categories=[10, 0])
    some = np.arange(100)
    order, other = task.order(some), base_model_task(X, np.where(np.arange(300) < 100, y, 99.0), n_categories=[10, 0])
    np.testing.assert_array_equal(order.ranks[0], other.order(some).ranks[0])
    assert base_model_task(X, y).order(some) is None
    means = [y[some][X[some, 0] == category].mean() for category in range(10)]
    assert sorted(np.argsort(order.ranks[0][:10])[-4:]) == sorted(np.argsort(means)[-4:]) == sorted(HIGH)
