"""Deep trees beside a network: what they say is what their rows say, as much as scikit-learn's do."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.ensemble import BaggingClassifier, BaggingRegressor
from sklearn.tree import ExtraTreeClassifier, ExtraTreeRegressor

from neuralforest.base_models.cross_fitting import Task
from neuralforest.estimators import deep
from neuralforest.estimators.rows import Table
from neuralforest.estimators.validation import Split
from neuralforest.network import ForestNetwork
from neuralforest.training import SubnetworkRows, TrainingData
from small_models import says


def rows(n_classes=0, n=300, missing=0.0, seed=0, noise=0.2):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5)).astype(np.float32)
    X[:, 2] = np.round(X[:, 2])
    y = 2 * np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + noise * rng.normal(size=n)
    X[rng.random(X.shape) < missing] = np.nan
    return X, (np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes)) if n_classes else y)


def grown(X, y, n_classes=0, seed=0, n_jobs=1, held_out=0, is_promising=lambda judged: True):
    n = len(y)
    part = SubnetworkRows.shared(np.arange(n), np.ones(n), 1)
    columns = np.eye(n_classes)[y] if n_classes else y[:, None]
    data = TrainingData(X, columns, part, part)
    labels = np.array(list("abcdef"))[y] if n_classes else y
    table = Table(X, labels, np.ones(n), None, n - held_out)
    split = Split(np.arange(n - held_out), np.arange(n - held_out, n))
    return deep.extra_trees(Task(n_classes > 0, data, table, split, seed, n_jobs, is_promising))


@pytest.mark.parametrize("n_classes", [0, 3])
def test_trees_are_as_good_as_those_of_scikit_learn(n_classes):
    """Over ten seeds that have no tree in common, so that chance is less than the difference that is allowed."""
    X, y = rows(n_classes, 400)
    new, truth = rows(n_classes, 1000, seed=1)
    ours, theirs = [], []
    for seed in range(10):
        said = says(grown(X, y, n_classes, 1000 * seed).source, new)
        tree, kind = (
            (ExtraTreeClassifier(), BaggingClassifier) if n_classes else (ExtraTreeRegressor(), BaggingRegressor)
        )
        bagged = kind(tree, 200, max_samples=0.8, bootstrap=False, random_state=seed).fit(X, y)
        expected = bagged.predict_proba(new) if n_classes else bagged.predict(new)
        target = np.eye(n_classes)[truth] if n_classes else truth
        ours.append(np.mean((said - target) ** 2))
        theirs.append(np.mean((expected - target) ** 2))
    assert abs(np.mean(ours) / np.mean(theirs) - 1) < 0.02


@settings(max_examples=30, deadline=None, derandomize=True)
@given(st.integers(0, 10**6), st.sampled_from([0, 2, 4]), st.floats(0, 0.9), st.sampled_from([10, 35, 200]))
def test_a_leaf_says_the_mean_of_its_rows_and_no_row_judges_a_tree_that_has_seen_it(seed, n_classes, missing, n):
    X, y = rows(n_classes, n, missing, seed)
    X[:, 3] = np.nan if seed % 2 else 1.0  # a column that says nothing
    bags = list(deep._bags(np.arange(n), 0.8, 200, seed))
    candidate = grown(X, y, n_classes, seed)
    ensemble = candidate.source
    assert 3 not in ensemble.feature
    leaf = ForestNetwork(ensemble).apply(X)
    columns = np.eye(n_classes)[y] if n_classes else y[:, None]
    judged = np.zeros_like(columns)
    for tree, bag in enumerate(bags):
        assert_array_equal(np.sort(np.concatenate(bag)), np.arange(n))
        place = leaf[:, tree]
        value = ensemble.value[ensemble.first_leaf[tree] : ensemble.first_leaf[tree + 1]]
        weight = ensemble.weight[ensemble.first_leaf[tree] : ensemble.first_leaf[tree + 1]]
        assert_array_equal(np.bincount(place[bag.seen], minlength=len(weight)), weight)
        sums = np.array([np.bincount(place[bag.seen], column, len(weight)) for column in columns[bag.seen].T]).T
        assert_allclose(value, sums / weight[:, None], rtol=1e-9, atol=1e-9)
        judged[bag.unseen] += value[place[bag.unseen]] / 40
    assert_array_equal(candidate.judged.row, np.arange(n))
    assert_allclose(candidate.judged.output, judged, rtol=1e-9, atol=1e-9)


def test_leaves_are_pure_where_rows_differ():
    X, y = rows(n=200)
    ensemble = grown(X, y).source
    assert (ensemble.weight == 1).all()
    same = grown(X, np.full(200, 3.0)).source
    assert_array_equal(same.value, np.full((same.n_trees, 1), 3.0))


@pytest.mark.parametrize(("share", "counts"), [(0.8, {20}), (0.9, {10}), (0.95, {4, 6})])
def test_all_rows_are_judged_by_about_as_many_trees_and_by_two_or_none_from_the_start(share, counts):
    unseen = [bag.unseen for bag in deep._bags(np.arange(1000), share, 100, 0)]
    assert set(np.bincount(np.concatenate(unseen))) == counts
    assert set(np.bincount(np.concatenate(unseen[:10]), minlength=1000)) <= {0, 2}


def test_trees_do_not_depend_on_threads():
    X, y = rows(3)
    one, two = (grown(X, y, 3, n_jobs=n_jobs) for n_jobs in (1, 2))
    assert_array_equal(one.source.threshold, two.source.threshold)
    assert_array_equal(one.judged.output, two.judged.output)


def test_held_out_rows_judge_all_trees():
    X, y = rows()
    candidate = grown(X, y, held_out=50)
    assert_array_equal(candidate.judged.row, np.arange(250, 300))
    assert_allclose(candidate.judged.output[:, 0], says(candidate.source, X[250:]))


def test_what_gives_no_hope_is_given_up():
    asked = []
    assert grown(*rows(), is_promising=lambda judged: bool(asked.append(judged))) is None
    assert len(asked) == 1


def test_a_column_of_one_number_tells_rows_with_it_from_those_without():
    X, _ = rows()
    X[:, 0] = np.where(np.arange(300) % 3 == 0, np.nan, 1.0)
    y = np.isnan(X[:, 0]).astype(float)
    candidate = grown(X[:, :1], y)
    assert_array_equal(candidate.source.weight.reshape(-1, 2).sum(axis=1), np.full(200, 240))
    assert_allclose(candidate.judged.output[:, 0], y, atol=1e-12)


def test_trees_of_more_rows_than_one_may_see_see_different_ones(monkeypatch):
    monkeypatch.setattr(deep, "MOST_ROWS", 50)
    bags = list(deep._bags(np.arange(1000), 0.9, 20, 0))
    assert {len(bag.seen) for bag in bags} == {50}
    assert len(np.unique(np.concatenate([bag.seen for bag in bags]))) > 500
    assert not any(np.isin(bag.seen, bag.unseen).any() for bag in bags)


@pytest.mark.parametrize("n", [1, 2, 9])
def test_few_rows_with_others_to_judge_have_no_deep_trees(n):
    X, y = rows(n=n + 20)
    assert grown(X, y, held_out=20) is None
