"""Extra trees: as accurate as those of scikit-learn, and evaluated on rows that they were not grown on."""

import importlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.ensemble import BaggingClassifier, BaggingRegressor
from sklearn.tree import ExtraTreeClassifier, ExtraTreeRegressor

from small_models import base_model_task

extra_trees = importlib.import_module("neuralforest.base_models.extra_trees")


def rows(n_classes=0, n=300, missing=0.0, seed=0, noise=0.2):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5)).astype(np.float32)
    X[:, 2] = np.round(X[:, 2])
    y = 2 * np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + noise * rng.normal(size=n)
    X[rng.random(X.shape) < missing] = np.nan
    return X, (np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes)) if n_classes else y)


def stages(X, y, n_classes=0, **options):
    labels = np.array(list("abcdef"))[y] if n_classes else y
    return list(extra_trees.extra_trees(base_model_task(X, labels, n_classes > 0, **options)))


def grown(X, y, n_classes=0, **options):
    """Return the complete model."""
    last = stages(X, y, n_classes, **options)[-1]
    assert (last.name, last.is_complete) == ("extra_trees", True)
    return last


@pytest.mark.parametrize("n_classes", [0, 3])
def test_trees_are_as_accurate_as_those_of_scikit_learn(n_classes):
    """Over ten seeds without a common tree, so that chance is smaller than the difference that is allowed."""
    X, y = rows(n_classes, 400)
    new, truth = rows(n_classes, 1000, seed=1)
    ours, theirs = [], []
    for seed in range(10):
        prediction = grown(X, y, n_classes, seed=1000 * seed).model.prediction(new)
        tree, kind = (
            (ExtraTreeClassifier(), BaggingClassifier) if n_classes else (ExtraTreeRegressor(), BaggingRegressor)
        )
        bagged = kind(tree, 200, max_samples=0.8, bootstrap=False, random_state=seed).fit(X, y)
        expected = bagged.predict_proba(new) if n_classes else bagged.predict(new)[:, None]
        target = np.eye(n_classes)[truth] if n_classes else truth[:, None]
        ours.append(np.mean((prediction - target) ** 2))
        theirs.append(np.mean((expected - target) ** 2))
    assert abs(np.mean(ours) / np.mean(theirs) - 1) < 0.02


@settings(max_examples=30, deadline=None, derandomize=True)
@given(st.integers(0, 10**6), st.sampled_from([0, 2, 4]), st.floats(0, 0.9), st.sampled_from([10, 35, 200]))
def test_a_leaf_holds_the_mean_of_its_rows_and_no_row_evaluates_a_tree_that_was_grown_on_it(
    seed, n_classes, missing, n
):
    X, y = rows(n_classes, n, missing, seed)
    X[:, 3] = np.nan if seed % 2 else 1.0  # an uninformative column
    samples = list(extra_trees._samples(np.arange(n), 0.8, 200, seed))
    candidate = grown(X, y, n_classes, seed=seed)
    ensemble = candidate.model.ensemble
    assert 3 not in ensemble.feature
    leaf = candidate.model.apply(X)
    columns = np.eye(n_classes)[y] if n_classes else y[:, None]
    expected = np.zeros_like(columns)
    for tree, sample in enumerate(samples):
        assert_array_equal(np.sort(np.concatenate(sample)), np.arange(n))
        place, training = leaf[:, tree], sample.training
        value = ensemble.value[ensemble.first_leaf[tree] : ensemble.first_leaf[tree + 1]]
        weight = ensemble.weight[ensemble.first_leaf[tree] : ensemble.first_leaf[tree + 1]]
        assert_array_equal(np.bincount(place[training], minlength=len(weight)), weight)
        sums = np.array([np.bincount(place[training], column, len(weight)) for column in columns[training].T]).T
        assert_allclose(value, sums / weight[:, None], rtol=1e-9, atol=1e-9)
        expected[sample.left_out] += value[place[sample.left_out]] / 40
    assert_array_equal(candidate.predictions.row, np.arange(n))
    assert_allclose(candidate.predictions.prediction, expected, rtol=1e-9, atol=1e-9)


def test_leaves_are_pure_where_rows_differ():
    X, y = rows(n=200)
    ensemble = grown(X, y).model.ensemble
    assert (ensemble.weight == 1).all()
    same = grown(X, np.full(200, 3.0)).model.ensemble
    assert_array_equal(same.value, np.full((same.n_trees, 1), 3.0))


@pytest.mark.parametrize(("fraction", "counts"), [(0.8, {20}), (0.9, {10}), (0.95, {4, 6})])
def test_all_rows_evaluate_about_as_many_trees_and_two_or_none_of_the_first(fraction, counts):
    left_out = [sample.left_out for sample in extra_trees._samples(np.arange(1000), fraction, 100, 0)]
    assert set(np.bincount(np.concatenate(left_out))) == counts
    assert set(np.bincount(np.concatenate(left_out[:10]), minlength=1000)) <= {0, 2}


def test_trees_do_not_depend_on_threads():
    X, y = rows(3)
    one, two = (grown(X, y, 3, n_jobs=n_jobs) for n_jobs in (1, 2))
    assert_array_equal(one.model.ensemble.threshold, two.model.ensemble.threshold)
    assert_array_equal(one.predictions.prediction, two.predictions.prediction)


def test_held_out_rows_evaluate_all_trees():
    X, y = rows()
    candidate = grown(X, y, n_held_out=50)
    assert_array_equal(candidate.predictions.row, np.arange(250, 300))
    assert_allclose(candidate.predictions.prediction, candidate.model.prediction(X[250:]))


@pytest.mark.parametrize("n_classes", [0, 3])
def test_a_few_trees_are_grown_before_all_others_and_each_stage_is_offered_for_rejection(n_classes):
    X, y = rows(n_classes)
    several = stages(X, y, n_classes)
    assert [each.is_complete for each in several] == [False, False, False, False, True]
    assert [each.model.ensemble.n_trees for each in several] == [10, 20, 50, 200, 200]
    assert [each.is_part for each in several] == [False, n_classes == 0, n_classes == 0, False, False]
    assert several[-1].model is several[-2].model
    for first in several[:3]:
        n_trees = first.model.ensemble.n_trees
        assert_array_equal(first.model.ensemble.threshold, several[-1].model.ensemble[:n_trees].threshold)


def test_a_column_of_one_number_separates_rows_with_it_from_rows_where_it_is_missing():
    X, _ = rows()
    X[:, 0] = np.where(np.arange(300) % 3 == 0, np.nan, 1.0)
    y = np.isnan(X[:, 0]).astype(float)
    candidate = grown(X[:, :1], y)
    assert_array_equal(candidate.model.ensemble.weight.reshape(-1, 2).sum(axis=1), np.full(200, 240))
    assert_allclose(candidate.predictions.prediction[:, 0], y, atol=1e-12)


def test_trees_of_many_rows_are_grown_on_different_samples(monkeypatch):
    monkeypatch.setattr(extra_trees, "MOST_ROWS", 50)
    samples = list(extra_trees._samples(np.arange(1000), 0.9, 20, 0))
    assert {len(sample.training) for sample in samples} == {50}
    assert len(np.unique(np.concatenate([sample.training for sample in samples]))) > 500
    assert not any(np.isin(sample.training, sample.left_out).any() for sample in samples)


@pytest.mark.parametrize("n", [1, 2, 9])
def test_few_training_rows_have_no_extra_trees(n):
    X, y = rows(n=n + 20)
    assert stages(X, y, n_held_out=20) == []


@pytest.mark.parametrize(("n_rows", "fraction"), [(20, 0.8), (500, 0.8), (501, 0.9), (10_000, 0.9)])
def test_few_rows_leave_a_fifth_of_them_out(n_rows, fraction):
    assert extra_trees.max_samples(n_rows) == fraction


@pytest.mark.parametrize(("n_rows", "n_classes", "fraction"), [(2_000, 0, 0.9), (2_001, 0, 0.95), (2_001, 2, 0.9)])
def test_of_many_rows_a_twentieth_evaluates_a_tree_of_a_regression(n_rows, n_classes, fraction, monkeypatch):
    class Drawn(Exception):
        pass

    def draw(rows, fraction, *_):
        raise Drawn(fraction)

    monkeypatch.setattr(extra_trees, "_samples", draw)
    with pytest.raises(Drawn) as error:
        stages(*rows(n_classes, n_rows), n_classes)
    assert error.value.args == (fraction,)


def test_the_sample_of_a_tree_does_not_keep_all_rows_in_memory(monkeypatch):
    monkeypatch.setattr(extra_trees, "MOST_ROWS", 50)
    for sample in extra_trees._samples(np.arange(1000), 0.9, 4, 0):
        assert len(sample.training) == 50
        assert sample.training.base is None  # no view


@pytest.mark.parametrize("n_classes", [0, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_trees_of_a_few_of_many_rows_are_the_same_as_of_the_whole_table(monkeypatch, n_classes, weighted):
    monkeypatch.setattr(extra_trees, "MOST_ROWS", 100)
    X, y = rows(n_classes, 600)
    task = base_model_task(X, np.array(list("abc"))[y] if n_classes else y, n_classes > 0)
    task = task._replace(weight=np.random.default_rng(1).uniform(0.5, 2.0, 600) if weighted else task.weight)
    *_, last = extra_trees.extra_trees(task)
    samples = list(extra_trees._samples(task.training, extra_trees.max_samples(task.n_rows), 4, task.seed))
    target = extra_trees._Target.of(task)
    x, most = np.ascontiguousarray(task.data.X.T), int(np.sqrt(X.shape[1])) if n_classes else X.shape[1]
    for number, sample in enumerate(samples):
        assert len(sample.training) == 100
        tree = extra_trees._tree(x, target, sample.training, most, task.seed + number)
        own = last.model.ensemble[number : number + 1]
        assert_array_equal(own.threshold, tree.threshold)
        assert_array_equal(own.value, target.center + target.scale * tree.value)
