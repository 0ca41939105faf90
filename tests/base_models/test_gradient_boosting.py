"""Boosted trees beside a network, against scikit-learn's, and against what their own trees say."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.model_selection import KFold, StratifiedKFold

from neuralforest._kernels import boost, histogram
from neuralforest.estimators import boosting
from neuralforest.base_models.cross_fitting import Folds
from neuralforest.network import ForestNetwork
from small_models import says

LOSSES = {0: "squared", 2: "logistic", 4: "softmax"}


def rows(n_classes=0, n=300, missing=0.1, seed=0):
    """Return rows of numbers, and numbers of mean 0 or labels."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5)).astype(np.float32)
    X[:, 2] = np.round(X[:, 2])
    signal = 2 * np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=n)
    X[rng.random(X.shape) < missing] = np.nan
    if n_classes == 0:
        return X, (signal - signal.mean()) / signal.std()
    return X, np.digitize(signal, np.quantile(signal, np.arange(1, n_classes) / n_classes)) + 10


def in_folds(X, y, classifier, n_folds=5, center=0.0, scale=1.0):
    parts = (StratifiedKFold if classifier else KFold)(n_folds, shuffle=True, random_state=0).split(X, y)
    learnt, unseen = zip(*parts, strict=True)
    return Folds(X, y, center, scale, np.ones(len(y)), list(learnt), list(unseen), np.arange(0))


def boosted(folds, n_classes, n_rounds, subnetworks=None, unseen=None, **changes):
    """Return a model that has not seen the first fold, or given rows; its table, and its trees."""
    binned, target = boosting._Binned.of(folds), boosting._Target.of(n_classes > 0, folds)
    unseen = (folds.unseen[0] if unseen is None else unseen).astype(np.uint32)
    learnt = np.setdiff1d(np.arange(len(target.y), dtype=np.uint32), unseen)
    table = boost.Table(binned.bins, binned.n_bins, target.y, learnt, unseen)
    plan = boost.Plan(target.loss, 0.1, 0.8, 3, 1.0, 1.0, 0)._replace(**changes)
    model = boosting._no_trees(target.first_guess, len(target.y), n_rounds, 16)
    for first, last in subnetworks or [(0, n_rounds)]:
        boost.boost(table, plan, model, first, last)
    return model, table, boosting._ensemble(model, n_rounds, binned, target, folds)


@pytest.mark.parametrize("n_classes", [0, 2])  # of more classes, many first splits are equally good
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_with_all_rows_and_features_trees_are_those_of_scikit_learn(n_classes, missing):
    X, y = rows(n_classes, 240, missing)  # no more different numbers than bins
    folds = in_folds(X, y, n_classes > 0)
    whole = {"subsample": 1.0, "max_features": 5, "min_child_weight": 0.01, "unseen": np.arange(0)}
    _, _, ensemble = boosted(folds, n_classes, 15, **whole)
    kind = HistGradientBoostingClassifier if n_classes else HistGradientBoostingRegressor
    theirs = kind(
        max_iter=15,
        learning_rate=0.1,
        max_leaf_nodes=16,
        min_samples_leaf=1,
        l2_regularization=1.0,
        early_stopping=False,
        categorical_features=None,
    ).fit(X, y)
    expected = theirs.predict_proba(X) if n_classes else theirs.predict(X)  # other rows may tell equal splits apart
    assert_allclose(says(ensemble, X), expected, rtol=1e-6)


def test_trees_of_several_classes_take_newton_steps():
    X, y = rows(4)
    _, _, ensemble = boosted(in_folds(X, y, True), 4, 3, subsample=1.0, unseen=np.arange(0))
    assert_allclose(ensemble.base_score, np.log(np.bincount(y - 10) / len(y)))
    leaf = ForestNetwork(ensemble).apply(X)
    for tree in range(ensemble.n_trees):
        round_, column = divmod(tree, 4)
        said = says(ensemble[: 4 * round_], X)[:, column] if round_ else np.full(len(y), 0.25)
        own = ensemble.value[ensemble.first_leaf[tree] : ensemble.first_leaf[tree + 1]]
        place = leaf[:, tree]
        slope = np.bincount(place, (y - 10 == column) - said)
        curvature = np.bincount(place, said * (1 - said))
        assert_allclose(own[:, column], 0.1 * slope / (curvature + 1), rtol=1e-5, atol=1e-7)
        assert np.count_nonzero(own) == np.count_nonzero(own[:, column])


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.integers(0, 10**6), st.sampled_from([0, 2, 4]), st.floats(0, 0.9), st.sampled_from([40, 90, 400]))
def test_scores_are_what_the_trees_say_on_every_row(seed, n_classes, missing, n):
    X, y = rows(n_classes, n, missing, seed)
    X[:, 3] = np.nan if seed % 2 else 1.0  # a column that says nothing
    folds = in_folds(X, y, n_classes > 0, center=3.0, scale=2.0)
    if n_classes:
        folds = folds._replace(center=0.0, scale=1.0)
    model, table, ensemble = boosted(folds, n_classes, 5, seed=seed)
    used = np.concatenate([table.learnt, table.unseen])
    score = folds.center + folds.scale * model.score
    if n_classes == 2:
        score = np.hstack([1 - (said := 1 / (1 + np.exp(-score))), said])
    elif n_classes:
        score = (e := np.exp(score)) / e.sum(axis=1, keepdims=True)
    assert_allclose(np.squeeze(score)[used], says(ensemble, X[used]), rtol=1e-9, atol=1e-12)
    assert 3 not in ensemble.feature[~np.isinf(ensemble.threshold)]
    of_tree = np.add.reduceat(ensemble.weight, ensemble.first_leaf[:-1])
    assert (of_tree <= len(table.learnt)).all()
    assert abs(of_tree.mean() / len(table.learnt) - 0.8) < 0.2


@pytest.mark.parametrize("n_classes", LOSSES, ids=LOSSES.values())
def test_errors_are_those_of_unseen_rows_after_every_round(n_classes):
    X, y = rows(n_classes)
    folds = in_folds(X, y, n_classes > 0)
    model, table, ensemble = boosted(folds, n_classes, 7)
    n_scores = model.score.shape[1]
    for round_ in range(7):
        said = says(ensemble[: (round_ + 1) * n_scores], X[table.unseen])
        if n_classes:
            expected = -np.log(said[np.arange(len(said)), y[table.unseen] - 10]).sum()
        else:
            expected = ((said - y[table.unseen]) ** 2).sum()
        assert model.error[round_] == pytest.approx(expected)


def test_rounds_may_be_added_in_any_portions():
    folds = in_folds(*rows(4), True)
    whole, _, _ = boosted(folds, 4, 9)
    portions, _, _ = boosted(folds, 4, 9, [(0, 2), (2, 3), (3, 9)])
    for name in whole._fields:
        assert_array_equal(getattr(whole, name), getattr(portions, name))


@pytest.mark.parametrize("n_classes", [0, 4])
def test_the_mean_of_the_models_is_kept_and_does_not_depend_on_threads(n_classes, monkeypatch):
    X, y = rows(n_classes)
    folds = in_folds(X, y, n_classes > 0, center=0.0 if n_classes else 5.0, scale=1.0 if n_classes else 3.0)
    models = []
    monkeypatch.setattr(boosting, "_mean_of", lambda sums, mean=boosting._mean_of: models.append(sums) or mean(sums))
    one, two = (next(boosting.gradient_boosting(n_classes > 0, folds, 0, n_jobs, lambda judged: True)) for n_jobs in (1, 2))
    assert_array_equal(one.judged.output, two.judged.output)
    assert_array_equal(one.source.value, two.source.value)
    if n_classes == 0:
        assert_allclose(says(one.source, X), np.mean([says(each, X) for each in models[1]], axis=0))
    for each, unseen in zip(models[1], folds.unseen, strict=True):
        assert_allclose(np.squeeze(one.judged.output[unseen]), says(each, X[unseen]), rtol=1e-9)


def test_what_gives_no_hope_is_given_up(monkeypatch):
    monkeypatch.setattr(boosting, "_MOST_TREES", 400)
    folds = in_folds(*rows(), False)
    asked = []
    assert list(boosting.gradient_boosting(False, folds, 0, 1, lambda judged: bool(asked.append(judged)))) == []
    assert len(asked) == 2  # of both kinds
    for judged in asked:
        assert_array_equal(judged.row, np.arange(300))


@pytest.mark.parametrize(("classifier", "n", "expected"), [(0, 300, [16, 3]), (0, 2_001, [16]), (1, 300, [16])])
def test_few_numbers_have_large_trees_and_small_ones(classifier, n, expected, monkeypatch):
    monkeypatch.setattr(boosting, "_MOST_TREES", 20)
    folds = in_folds(*rows(3 * classifier, n), bool(classifier))
    boosted = boosting.gradient_boosting(bool(classifier), folds, 0, 1, lambda judged: True)
    assert [1 + np.diff(each.source.first_split).max() for each in boosted] == expected


def test_small_trees_know_more_of_effects_that_add_up():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 6))
    folds = in_folds(X, np.sign(X).sum(axis=1) + 0.3 * rng.normal(size=300), False)
    large, small = boosting.gradient_boosting(False, folds, 0, 1, lambda judged: True)
    errors = [np.mean((each.judged.output[:, 0] - folds.y) ** 2) for each in (large, small)]
    assert errors[1] < 0.7 * errors[0]


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.lists(st.floats(-1e6, 1e6, width=32), max_size=40), st.integers(0, 3))
def test_bins_are_cut_where_thresholds_cut(numbers, copies):
    rng = np.random.default_rng(0)
    column = np.array([*numbers * (copies + 1), *(rng.normal(size=600) if copies == 3 else []), np.nan], np.float32)
    folds = Folds(column[:, None], column, 0.0, 1.0, np.ones(len(column)), [], [np.arange(len(column))], np.arange(0))
    bins, n_bins, edge = boosting._Binned.of(folds)
    assert bins[0, -1] == histogram.MISSING
    assert n_bins[0] <= histogram.MISSING
    for place in range(n_bins[0]):
        assert_array_equal(bins[0, :-1] <= place, column[:-1] <= edge[0, place].astype(np.float32))
    if len(np.unique(column[:-1])) <= histogram.MISSING:
        assert n_bins[0] == max(len(np.unique(column[:-1])), 1)
