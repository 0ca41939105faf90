"""Gradient boosting: the trees of scikit-learn, Newton steps, cross-fitted predictions."""

import importlib
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.metrics import log_loss

from neuralforest import base_models
from neuralforest._kernels.trees import boosting, histogram
from neuralforest.base_models import cross_fitting
from neuralforest.base_models.cross_fitting import Folds
from neuralforest.base_models.several_targets import for_every_target
from neuralforest.network import ForestNetwork
from neuralforest.selection import OutOfSamplePredictions
from small_models import base_model_task

gradient_boosting = importlib.import_module("neuralforest.base_models.gradient_boosting")

LOSSES = {0: "squared", 2: "logistic", 4: "softmax"}


def rows(n_classes=0, n=300, missing=0.1, seed=0):
    """Return features, and a target of mean 0 and spread 1, or labels."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5)).astype(np.float32)
    X[:, 2] = np.round(X[:, 2])
    signal = 2 * np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=n)
    X[rng.random(X.shape) < missing] = np.nan
    if n_classes == 0:
        return X, (signal - signal.mean()) / signal.std()
    return X, np.digitize(signal, np.quantile(signal, np.arange(1, n_classes) / n_classes)) + 10


def in_folds(X, y, classifier, center=0.0, scale=1.0):
    return Folds.of(base_model_task(X, y, classifier))._replace(y=y, center=center, scale=scale)


def boosted(folds, n_classes, n_rounds, portions=None, left_out=None, **changes):
    """Return a model that leaves out the first fold, or given rows; its rows, and its trees."""
    binned, target = gradient_boosting._Binned.of(folds, None), gradient_boosting._Target.of(n_classes > 0, folds)
    left_out = (folds.left_out[0] if left_out is None else left_out).astype(np.uint32)
    training = np.setdiff1d(np.arange(len(target.y), dtype=np.uint32), left_out)
    data = boosting.BinnedRows(binned.bins, binned.n_bins, target.y, np.ones(len(target.y)), training, left_out)
    plan = boosting.BoostingPlan(
        loss=target.loss,
        learning_rate=0.1,
        subsample=0.8,
        max_features=3,
        min_child_weight=1.0,
        l2_regularization=1.0,
        seed=0,
    )
    model = gradient_boosting._no_trees(target.initial_score, len(target.y), n_rounds, 16)
    for first, last in portions or [(0, n_rounds)]:
        boosting.boost(data, plan._replace(**changes), model, first, last)
    return model, data, gradient_boosting._ensemble(model, binned, n_rounds, target, folds)


def predicted(ensemble, X):
    """Return numbers (rows,), or probabilities (rows, classes)."""
    prediction = ForestNetwork(ensemble).prediction(X)
    return prediction[:, 0] if ensemble.classes is None else prediction


@pytest.mark.parametrize("n_classes", [0, 2])  # of more classes, many first splits are equally good
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_with_all_rows_and_features_trees_are_those_of_scikit_learn(n_classes, missing):
    X, y = rows(n_classes, 240, missing)  # no more distinct numbers than bins
    folds = in_folds(X, y, n_classes > 0)
    whole = {"subsample": 1.0, "max_features": 5, "min_child_weight": 0.01, "left_out": np.arange(0)}
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
    expected = theirs.predict_proba(X) if n_classes else theirs.predict(X)  # new rows may tell equal splits apart
    assert_allclose(predicted(ensemble, X), expected, rtol=1e-6)


def test_trees_of_several_classes_take_newton_steps():
    X, y = rows(4)
    _, _, ensemble = boosted(in_folds(X, y, True), 4, 3, subsample=1.0, left_out=np.arange(0))
    assert_allclose(ensemble.base_score, np.log(np.bincount(y - 10) / len(y)))
    leaf = ForestNetwork(ensemble).apply(X)
    for tree in range(ensemble.n_trees):
        round_, column = divmod(tree, 4)
        probability = predicted(ensemble[: 4 * round_], X)[:, column] if round_ else np.full(len(y), 0.25)
        own = ensemble.value[ensemble.first_leaf[tree] : ensemble.first_leaf[tree + 1]]
        place = leaf[:, tree]
        gradient = np.bincount(place, (y - 10 == column) - probability)
        hessian = np.bincount(place, probability * (1 - probability))
        assert_allclose(own[:, column], 0.1 * gradient / (hessian + 1), rtol=1e-5, atol=1e-7)
        assert np.count_nonzero(own) == np.count_nonzero(own[:, column])


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.integers(0, 10**6), st.sampled_from([0, 2, 4]), st.floats(0, 0.9), st.sampled_from([40, 90, 400]))
def test_scores_are_the_predictions_of_the_trees_for_every_row(seed, n_classes, missing, n):
    X, y = rows(n_classes, n, missing, seed)
    X[:, 3] = np.nan if seed % 2 else 1.0  # an uninformative column
    folds = in_folds(X, y, n_classes > 0, *((0.0, 1.0) if n_classes else (3.0, 2.0)))
    model, data, ensemble = boosted(folds, n_classes, 5, seed=seed)
    used = np.concatenate([data.training_rows, data.held_out_rows])
    score = folds.center + folds.scale * model.score
    if n_classes == 2:
        score = np.hstack([1 - (second := 1 / (1 + np.exp(-score))), second])
    elif n_classes:
        score = (e := np.exp(score)) / e.sum(axis=1, keepdims=True)
    assert_allclose(np.squeeze(score)[used], predicted(ensemble, X[used]), rtol=1e-9, atol=1e-12)
    assert 3 not in ensemble.feature[~np.isinf(ensemble.threshold)]
    of_tree = np.add.reduceat(ensemble.weight, ensemble.first_leaf[:-1])
    assert (of_tree <= len(data.training_rows)).all()
    assert abs(of_tree.mean() / len(data.training_rows) - 0.8) < 0.2


@pytest.mark.parametrize("n_classes", LOSSES, ids=LOSSES.values())
def test_errors_are_those_of_the_rows_left_out_after_every_round(n_classes):
    X, y = rows(n_classes)
    model, data, ensemble = boosted(in_folds(X, y, n_classes > 0), n_classes, 7)
    n_scores = model.score.shape[1]
    for round_ in range(7):
        prediction = predicted(ensemble[: (round_ + 1) * n_scores], X[data.held_out_rows])
        if n_classes:
            expected = -np.log(prediction[np.arange(len(prediction)), y[data.held_out_rows] - 10]).sum()
        else:
            expected = ((prediction - y[data.held_out_rows]) ** 2).sum()
        assert model.error[round_] == pytest.approx(expected)


def test_rounds_may_be_added_in_any_portions():
    folds = in_folds(*rows(4), True)
    whole, _, _ = boosted(folds, 4, 9)
    portions, _, _ = boosted(folds, 4, 9, [(0, 2), (2, 3), (3, 9)])
    for name in whole._fields:
        assert_array_equal(getattr(whole, name), getattr(portions, name))


@pytest.mark.parametrize("n_classes", [0, 4])
def test_the_base_model_is_the_mean_over_the_folds_and_does_not_depend_on_threads(
    n_classes, monkeypatch, few_boosting_rounds
):
    X, y = rows(n_classes)
    y = y if n_classes else 5 + 3 * y
    models, mean_of = [], gradient_boosting._mean_of
    monkeypatch.setattr(gradient_boosting, "_mean_of", lambda sums: models.append(sums) or mean_of(sums))
    tasks = [base_model_task(X, y, n_classes > 0, n_jobs=n_jobs) for n_jobs in (1, 2)]
    one, two = (list(gradient_boosting.gradient_boosting(task))[-1] for task in tasks)
    assert one.is_complete
    assert_array_equal(one.predictions.prediction, two.predictions.prediction)
    assert_array_equal(one.model.ensemble.value, two.model.ensemble.value)
    if n_classes == 0:
        mean = np.mean([predicted(each, X) for each in models[-1]], axis=0)
        assert_allclose(one.model.predict(X), mean)
    for each, left_out in zip(models[-1], Folds.of(tasks[0]).left_out, strict=True):
        expected = predicted(each, X[left_out])
        assert_allclose(np.squeeze(one.predictions.prediction[left_out]), expected, rtol=1e-9)


@pytest.mark.parametrize("name", ["gradient_boosting", "shallow_gradient_boosting"])
def test_an_early_stage_predicts_all_rows_before_more_trees_are_grown(name, monkeypatch):
    monkeypatch.setattr(gradient_boosting, "_MOST_TREES", 400)
    X, y = rows()
    stages = getattr(gradient_boosting, name)(base_model_task(X, y))
    first = next(stages)
    assert (first.name, first.is_complete) == (name, False)
    assert_array_equal(first.predictions.row, np.arange(300))
    assert np.mean((first.predictions.prediction[:, 0] - y) ** 2) < 0.7 * np.var(y)
    stages.close()


@pytest.mark.parametrize(
    ("classifier", "n", "expected"), [(False, 300, [16, 3]), (False, 2_001, [16]), (True, 300, [16])]
)
def test_regression_on_few_rows_has_large_trees_and_small_ones(classifier, n, expected, monkeypatch):
    monkeypatch.setattr(gradient_boosting, "_MOST_TREES", 20)
    task = base_model_task(*rows(3 * classifier, n), classifier)
    stages = [
        *gradient_boosting.gradient_boosting(task),
        *gradient_boosting.shallow_gradient_boosting(task),
    ]
    assert [1 + np.diff(each.model.ensemble.first_split).max() for each in stages if each.is_complete] == expected


@pytest.mark.parametrize("n_classes", [0, 3])
def test_of_many_rows_the_first_fold_goes_ahead_and_the_result_stays_the_same(n_classes, monkeypatch):
    monkeypatch.setattr(gradient_boosting, "_MOST_TREES", 120)
    task = base_model_task(*rows(n_classes), n_classes > 0)
    together = list(gradient_boosting.gradient_boosting(task))
    monkeypatch.setattr(gradient_boosting, "_MANY_ROWS", 300)
    ahead, *rest = gradient_boosting.gradient_boosting(task)
    assert (ahead.is_part, ahead.is_complete) == (True, False)
    assert_array_equal(ahead.predictions.row, np.sort(Folds.of(task).left_out[0]))
    assert [each.is_part for each in rest] == [False] * len(together)
    for one, two in zip(together, rest, strict=True):
        assert_array_equal(one.predictions.prediction, two.predictions.prediction)
        assert_array_equal(one.model.ensemble.value, two.model.ensemble.value)


def test_of_several_targets_the_first_fold_goes_ahead_too(monkeypatch):
    monkeypatch.setattr(gradient_boosting, "_MOST_TREES", 20)
    monkeypatch.setattr(gradient_boosting, "_MANY_ROWS", 300)
    task = base_model_task(*rows())
    y = np.repeat(task.data.y, 2, axis=1)
    task = task._replace(data=replace(task.data, y=y), target=y)
    stages = list(for_every_target(gradient_boosting.gradient_boosting, task))
    assert [(each.is_part, each.is_complete) for each in stages] == [(True, False), (False, True)]


def test_a_model_whose_first_fold_is_not_worthwhile_is_given_up(monkeypatch):
    monkeypatch.setattr(gradient_boosting, "_MANY_ROWS", 300)
    X, y = rows()
    task, noise = base_model_task(X, y), np.random.default_rng(0).normal(size=(len(y), 1))
    for scale, found in ((0.01, []), (1.0, ["gradient_boosting"])):
        own = OutOfSamplePredictions.of_all(np.arange(len(y)), y[:, None] + scale * noise, np.ones(len(y)))
        candidates = base_models.candidates(task, own)
        assert [each.name for each in candidates if each.name == "gradient_boosting"] == found


@pytest.mark.parametrize(("enough", "n_folds"), [(1, 1), (120, 1), (121, 2), (360, 3), (10_000, 5)])
def test_as_many_folds_are_fitted_as_predict_enough_rows(enough, n_folds, monkeypatch):
    monkeypatch.setattr(gradient_boosting, "_MOST_TREES", 20)
    monkeypatch.setattr(gradient_boosting, "_DEEP", gradient_boosting._DEEP._replace(enough_rows=enough))
    X, y = rows(n=600)
    task = base_model_task(X, y)
    *_, last = gradient_boosting.gradient_boosting(task)
    assert_array_equal(last.predictions.row, np.sort(np.concatenate(Folds.of(task).left_out[:n_folds])))
    of_tree = np.add.reduceat(last.refit().ensemble.weight, last.refit().ensemble.first_leaf[:-1])
    assert abs(of_tree.mean() / 600 - 0.8) < 0.02  # the model that is stacked is fitted on all rows


def test_small_trees_generalise_better_to_additive_effects(few_boosting_rounds):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 6))
    y = np.sign(X).sum(axis=1) + 0.3 * rng.normal(size=300)
    kinds = (gradient_boosting.gradient_boosting, gradient_boosting.shallow_gradient_boosting)
    errors = []
    for fit in kinds:
        *_, last = fit(base_model_task(X.astype(np.float32), y))
        errors.append(np.mean((last.predictions.prediction[:, 0] - y) ** 2))
    assert errors[1] < 0.7 * errors[0]


def test_folds_of_many_rows_are_fitted_on_a_sample(monkeypatch):
    monkeypatch.setattr(cross_fitting, "MOST_ROWS", 50)
    folds = in_folds(*rows(), False)
    assert [len(each) for each in folds.training] == [50] * 2  # a half of the rows is enough for a model
    assert [len(each) for each in folds.left_out] == [50] * 2
    for training, left_out in zip(folds.training, folds.left_out, strict=True):
        assert not np.isin(training, left_out).any()


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.lists(st.floats(-1e6, 1e6, width=32), max_size=40), st.integers(0, 3))
def test_bins_end_where_thresholds_split(numbers, copies):
    rng = np.random.default_rng(0)
    column = np.array([*numbers * (copies + 1), *(rng.normal(size=600) if copies == 3 else []), np.nan], np.float32)
    folds = Folds(
        column[:, None], column, 0.0, 1.0, np.ones(len(column)), False, [], [np.arange(len(column))], np.arange(0)
    )
    bins, n_bins, edge = gradient_boosting._Binned.of(folds, None)
    assert bins[0, -1] == histogram.MISSING
    assert n_bins[0] <= histogram.MISSING
    for place in range(n_bins[0]):
        assert_array_equal(bins[0, :-1] <= place, column[:-1] <= edge[0, place].astype(np.float32))
    if len(np.unique(column[:-1])) <= histogram.MISSING:
        assert n_bins[0] == max(len(np.unique(column[:-1])), 1)


@pytest.mark.parametrize("n_classes", [0, 2, 4])
def test_the_model_of_all_rows_has_a_fifth_of_the_trees_and_predicts_as_well(n_classes, monkeypatch):
    monkeypatch.setattr(gradient_boosting, "_MOST_TREES", 100)
    X, y = rows(n_classes, 1_400)
    task = base_model_task(X[:600], y[:600], n_classes > 0)
    *_, last = gradient_boosting.gradient_boosting(task)
    refitted = last.refit()
    trees_a_round = 4 if n_classes == 4 else 1
    n_rounds = last.model.ensemble.n_trees / 5 / trees_a_round
    assert refitted.ensemble.n_trees == trees_a_round * round(1.1 * n_rounds)
    if n_classes:
        errors = [log_loss(y[600:], each.predict_proba(X[600:])) for each in (refitted, last.model)]
    else:
        errors = [np.mean((each.predict(X[600:]) - y[600:]) ** 2) for each in (refitted, last.model)]
    assert errors[0] < 1.1 * errors[1]
    of_tree = np.add.reduceat(refitted.ensemble.weight, refitted.ensemble.first_leaf[:-1])
    assert abs(of_tree.mean() / 600 - 0.8) < 0.02  # subsamples of all rows, not of four fifths of them


def test_of_few_rows_two_models_of_all_rows_are_averaged(monkeypatch):
    monkeypatch.setattr(gradient_boosting, "_MOST_TREES", 20)
    X, y = rows(n=499)
    *_, last = gradient_boosting.gradient_boosting(base_model_task(X, y))
    e = last.refit().ensemble
    assert e.n_trees == 2 * round(1.1 * last.model.ensemble.n_trees / 5)
    half = e.n_trees // 2
    parts = [replace(e[each], value=2 * e[each].value) for each in (slice(half), slice(half, None))]
    assert_allclose(predicted(e, X), np.mean([predicted(each, X) for each in parts], axis=0))
    assert np.abs(predicted(parts[0], X) - predicted(parts[1], X)).max() > 0  # different subsamples
    assert abs(np.add.reduceat(e.weight, e.first_leaf[:-1]).mean() / 499 - 0.8) < 0.02


def test_models_of_several_targets_are_fitted_on_all_rows(monkeypatch):
    monkeypatch.setattr(gradient_boosting, "_MOST_TREES", 20)
    task = base_model_task(*rows(n=600))
    y = np.column_stack([task.data.y, -task.data.y])
    *_, last = for_every_target(
        gradient_boosting.gradient_boosting, task._replace(data=replace(task.data, y=y), target=y)
    )
    *_, alone = gradient_boosting.gradient_boosting(task)
    both = last.refit().prediction(task.data.X)
    assert_allclose(both[:, 0], alone.refit().prediction(task.data.X)[:, 0])
    assert_allclose(both[:, 1], -both[:, 0], atol=0.05)


def test_held_out_rows_evaluate_the_model_of_all_rows_itself(monkeypatch):
    monkeypatch.setattr(gradient_boosting, "_MOST_TREES", 20)
    X, y = rows(n=700)
    *_, last = gradient_boosting.gradient_boosting(base_model_task(X, y, n_held_out=150))
    assert last.refit is None
    assert last.model.ensemble.n_trees <= 55  # of at most 50 rounds; five models would have more
    assert_array_equal(last.predictions.row, np.arange(550, 700))
    assert_allclose(last.predictions.prediction[:, 0], last.model.predict(X[550:]))
