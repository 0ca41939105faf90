"""Moved thresholds are those of a slow search that evaluates whole ensembles, and never raise the loss."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.special
from sklearn.datasets import load_iris, make_friedman1
from sklearn.ensemble import GradientBoostingRegressor, RandomForestClassifier, RandomForestRegressor

import neuralforest as nf
from neuralforest.ensemble import TreeEnsemble
from neuralforest.network import ForestNetwork
from neuralforest.training import split_search
from neuralforest.training.leaf_values import LeafRows, as_scores
from neuralforest.training.split_search import with_moved_thresholds

X, y = make_friedman1(80, noise=0.1, random_state=0)
X = X.round(1).astype(np.float32)
WEIGHT = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
ROWS = LeafRows(X, y[:, None], WEIGHT)


def squared_error(e, rows=ROWS):
    return float(rows.weight @ (ForestNetwork(e).stacked_output(rows.X)[:, 0] - rows.target[:, 0]) ** 2)


def log_loss(e, rows):
    score = ForestNetwork(e).stacked_output(rows.X)
    return float(-(rows.weight[:, None] * rows.target * scipy.special.log_softmax(score, axis=1)).sum())


def slowly_moved(e):
    """Try every threshold of every split on the whole ensemble, each tree from its last split to its first."""
    for tree in range(e.n_trees):
        for split in reversed(range(e.first_split[tree], e.first_split[tree + 1])):
            leaf = ForestNetwork(e).apply(X)[:, tree]
            own = np.sort(np.unique(X[:, e.feature[split]].astype(np.float64)))
            here = (leaf >= e.begin[split]) & (leaf < e.end[split])
            best = squared_error(e), e
            for middle in (own[1:] + own[:-1]) / 2:
                left = np.count_nonzero(X[here, e.feature[split]] <= middle)
                if min(left, here.sum() - left) < split_search._FEWEST_ROWS:
                    continue
                threshold = e.threshold.copy()
                threshold[split] = middle
                moved = replace(e, threshold=threshold)
                if squared_error(moved) < best[0] * (1 - 1e-12):
                    best = squared_error(moved), moved
            e = best[1]
    return e


@pytest.mark.parametrize("kind", [RandomForestRegressor, GradientBoostingRegressor])
def test_every_split_moves_to_where_the_loss_of_the_ensemble_is_lowest(kind):
    options = {"max_features": 2} if kind is RandomForestRegressor else {"max_depth": 10}
    e = nf.convert(kind(n_estimators=4, max_leaf_nodes=6, random_state=0, **options).fit(X, y)).ensemble
    moved, slow = with_moved_thresholds(e, ROWS), slowly_moved(e)
    assert squared_error(moved) == pytest.approx(squared_error(slow), rel=1e-9)
    assert squared_error(moved) < 0.95 * squared_error(e)
    np.testing.assert_array_equal(ForestNetwork(moved).apply(X), ForestNetwork(slow).apply(X))


def test_only_thresholds_change():
    e = nf.convert(RandomForestRegressor(4, max_leaf_nodes=6, random_state=0).fit(X, y)).ensemble
    moved = with_moved_thresholds(e, ROWS)
    for name in ("feature", "missing_left", "middle", "value", "first_split"):
        assert np.array_equal(getattr(e, name), getattr(moved, name))
    assert not np.array_equal(e.threshold, moved.threshold)


def test_a_log_loss_does_not_rise():
    X, label = load_iris(return_X_y=True)
    X = X.astype(np.float32)
    forest = RandomForestClassifier(10, max_leaf_nodes=4, max_depth=2, random_state=0).fit(X[::3], label[::3])
    e = as_scores(nf.convert(forest).ensemble)
    rows = LeafRows(X, np.eye(3)[label], np.ones(len(X)))
    moved = with_moved_thresholds(e, rows)
    assert not np.array_equal(e.threshold, moved.threshold)
    assert log_loss(moved, rows) < log_loss(e, rows)


def test_rows_with_missing_values_stay_on_their_side():
    holes = X.copy()
    holes[::4, :3] = np.nan
    rows = LeafRows(holes, y[:, None], WEIGHT)
    e = nf.convert(RandomForestRegressor(5, max_leaf_nodes=8, random_state=0).fit(holes, y)).ensemble
    moved = with_moved_thresholds(e, rows)
    assert squared_error(moved, rows) < squared_error(e, rows)
    assert np.array_equal(e.missing_left, moved.missing_left)


def test_splits_by_category_stay_and_are_descended():
    # category 1 goes right; below it, thresholds of x are too low
    e = TreeEnsemble(
        feature=[0, 1, 1],
        threshold=[0.0, 2.5, 2.5],
        missing_left=[False] * 3,
        middle=[2, 1, 3],
        value=[[0.0], [1.0], [10.0], [20.0]],
        weight=np.ones(4),
        first_split=[0, 3],
        first_leaf=[0, 4],
        n_features=2,
        first_category=[0, 3, 3, 3],
        category_left=[True, False, True],
    )
    kind, x = (grid.ravel() for grid in np.meshgrid([0.0, 1.0], np.arange(20.0)))
    rows = np.column_stack([kind, x]).astype(np.float32)
    target = np.where(kind == 0, x > 7.0, np.where(x > 12.0, 20.0, 10.0))
    moved = with_moved_thresholds(e, LeafRows(rows, target[:, None].astype(float), np.ones(len(x))))
    assert moved.threshold[1:].tolist() == [7.5, 12.5]
    assert np.array_equal(moved.category_left, e.category_left)


def test_constant_features_leave_the_trees_as_they_are():
    e = nf.convert(RandomForestRegressor(2, max_leaf_nodes=4, random_state=0).fit(X, y)).ensemble
    same = LeafRows(np.ones_like(X), y[:, None], WEIGHT)
    assert np.array_equal(with_moved_thresholds(e, same).threshold, e.threshold)
