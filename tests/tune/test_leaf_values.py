"""Leaf values are those of a dense ridge regression, or of a dense Newton method on the penalised log loss."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.optimize
import scipy.special
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

import neuralforest as nf
from neuralforest.exceptions import InvalidParameterError
from neuralforest.network import ForestNetwork
from neuralforest.training import leaf_values
from neuralforest.training.leaf_values import LeafRows, as_scores, output_of_tree, refitted, without_base_score


@pytest.fixture(autouse=True)
def _exact(monkeypatch):
    """Solve the systems to the last digits."""
    monkeypatch.setattr(leaf_values, "_TOLERANCE", 1e-11)
    monkeypatch.setattr(leaf_values, "_MOST_STEPS", 2000)
    monkeypatch.setattr(leaf_values, "_NEWTON_STEPS", 30)


def memberships(e, X):
    """The dense design matrix, (rows, leaves)."""
    leaf = ForestNetwork(e).apply(X) + e.first_leaf[:-1]
    Z = np.zeros((len(X), e.n_leaves))
    np.put_along_axis(Z, leaf, 1.0, axis=1)
    return Z


def last(e, rows, penalty):
    return list(refitted(e, rows, [100 * penalty, penalty]))[-1][1]


@pytest.mark.parametrize("kind", [RandomForestRegressor, GradientBoostingRegressor])
def test_values_of_a_squared_error_are_those_of_a_dense_ridge_regression(kind):
    X, y = load_diabetes(return_X_y=True)
    X, y, w = X[:150].astype(np.float32), y[:150], np.random.default_rng(0).uniform(0.5, 2, 150)
    e = nf.convert(kind(n_estimators=6, max_leaf_nodes=7, random_state=0).fit(X, y)).ensemble
    penalty, Z = 0.7, memberships(e, X)
    factor = 1 / e.n_trees if e.aggregation == "mean" else 1.0  # of a leaf value in the prediction
    # towards the trees' own values: prior variance of the values is 1 / (penalty n_trees factor^2)
    residual = y - ForestNetwork(e).predict(X)
    A = factor * Z
    precision = penalty * e.n_trees * factor**2
    expected = np.linalg.solve(A.T @ (w[:, None] * A) + precision * np.eye(e.n_leaves), A.T @ (w * residual))
    tuned = last(e, LeafRows(X, y[:, None], w), penalty)
    np.testing.assert_allclose(tuned.value[:, 0] - e.value[:, 0], expected, atol=1e-6 * np.abs(expected).max())


@pytest.mark.parametrize("load", [load_breast_cancer, load_iris])
def test_values_of_a_log_loss_minimise_it_with_its_penalty(load):
    X, y = load(return_X_y=True)
    rows = np.random.default_rng(0).permutation(len(y))[:100]
    X, y = X[rows].astype(np.float32), y[rows]
    e = as_scores(nf.convert(RandomForestClassifier(4, max_leaf_nodes=4, random_state=0).fit(X, y)).ensemble)
    target = np.eye(3)[y] if e.n_outputs == 3 else y[:, None].astype(float)
    Z, start, penalty = memberships(e, X), ForestNetwork(e).output(X), 0.5

    def objective(flat):
        score = start + Z @ flat.reshape(e.value.shape) / 2  # the root of four trees
        if e.n_outputs == 1:
            loss = np.logaddexp(0, score) - target * score
        else:
            loss = scipy.special.logsumexp(score, axis=1)[:, None] - score
            loss = loss * target
        return loss.sum() + penalty / 2 * flat @ flat

    found = scipy.optimize.minimize(objective, np.zeros(e.value.size), tol=1e-12)
    tuned = last(e, LeafRows(X, target, np.ones(len(X))), penalty)
    theta = (tuned.value - e.value) * 2
    assert objective(theta.ravel()) <= found.fun + 1e-6
    np.testing.assert_allclose(theta.ravel(), found.x, atol=2e-3)


def test_a_weight_of_two_is_a_row_given_twice():
    X, y = load_diabetes(return_X_y=True)
    X, y = X[:80].astype(np.float32), y[:80, None]
    e = nf.convert(RandomForestRegressor(5, max_leaf_nodes=8, random_state=0).fit(X, y.ravel())).ensemble
    weight = np.ones(80)
    weight[:20] = 2
    twice = LeafRows(X, y, np.ones(80)).followed_by(LeafRows(X[:20], y[:20], np.ones(20)))
    weighted = last(e, LeafRows(X, y, weight), 1.0)
    np.testing.assert_allclose(weighted.value, last(e, twice, 1.0).value, rtol=1e-7)


def test_a_large_penalty_keeps_the_values():
    X, y = load_diabetes(return_X_y=True)
    e = nf.convert(RandomForestRegressor(5, max_leaf_nodes=8, random_state=0).fit(X, y)).ensemble
    [(_, tuned)] = refitted(e, LeafRows(X.astype(np.float32), y[:, None], np.ones(len(y))), [1e12])
    np.testing.assert_allclose(tuned.value, e.value, rtol=1e-6)


def test_scores_of_a_forest_are_the_geometric_mean_of_its_trees():
    X, y = load_iris(return_X_y=True)
    e = nf.convert(RandomForestClassifier(5, max_leaf_nodes=4, random_state=0).fit(X, y)).ensemble
    leaf = ForestNetwork(e).apply(X) + e.first_leaf[:-1]
    smooth = (e.weight[:, None] * e.value + 1 / 3) / (e.weight[:, None] + 1)
    geometric = np.exp(np.log(smooth)[leaf].mean(axis=1))
    expected = geometric / geometric.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(ForestNetwork(as_scores(e)).predict_proba(X), expected, rtol=1e-12)


def test_boosted_trees_of_a_class_stay_those_of_the_class():
    X, y = load_iris(return_X_y=True)
    e = nf.convert(GradientBoostingClassifier(n_estimators=4, max_depth=2, random_state=0).fit(X, y)).ensemble
    assert output_of_tree(e).tolist() == [0, 1, 2] * 4
    tuned = last(e, LeafRows(X.astype(np.float32), np.eye(3)[y], np.ones(len(y))), 1.0)
    assert output_of_tree(tuned).tolist() == [0, 1, 2] * 4
    assert not np.array_equal(tuned.value, e.value)
    moved = without_base_score(tuned)
    assert not moved.base_score.any()
    np.testing.assert_allclose(ForestNetwork(moved).output(X), ForestNetwork(tuned).output(X), rtol=1e-12)


def test_other_links_are_refused():
    X, y = load_diabetes(return_X_y=True)
    e = nf.convert(RandomForestRegressor(2, max_leaf_nodes=4, random_state=0).fit(X, y)).ensemble
    rows = LeafRows(X.astype(np.float32), y[:, None], np.ones(len(y)))
    with pytest.raises(InvalidParameterError, match="link 'log'"):
        next(refitted(replace(e, link="log"), rows))
