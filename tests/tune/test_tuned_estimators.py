"""Estimators whose result is trees: never worse than the source on validation rows, and nothing but trees."""

import numpy as np
import pandas
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, make_friedman1
from sklearn.ensemble import (
    ExtraTreesRegressor,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.metrics import log_loss

import neuralforest as nf
from neuralforest.estimators import teacher as teacher_module
from neuralforest.estimators import tuned as tuned_module
from neuralforest.estimators.tuned import Candidate, _cautious
from neuralforest.exceptions import InvalidParameterError

X, y = make_friedman1(400, noise=0.2, random_state=0)
X_test, y_test = make_friedman1(400, noise=0.2, random_state=1)
FOREST = RandomForestRegressor(30, max_leaf_nodes=32, max_features=3, random_state=0)


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    monkeypatch.setattr(teacher_module, "_FEWEST_ROWS", 1000)
    monkeypatch.setattr(teacher_module, "_MOST_ROWS", 1000)


def rmse(model):
    return np.sqrt(np.mean((model.predict(X_test) - y_test) ** 2))


def tuned(tune="leaves", forest=FOREST, **options):
    return nf.NeuralForestRegressor(forest, tune=tune, random_state=0, max_epochs=10, **options)


def test_tuned_leaves_reduce_the_error_on_new_rows():
    model = tuned().fit(X, y)
    assert model.validation_loss_ < model.forest_loss_
    assert rmse(model) < 0.85 * rmse(model.forest_)


def test_only_leaf_values_change():
    model = tuned().fit(X, y)
    source, trees = nf.convert(model.forest_).ensemble, model.network_.ensemble
    for name in ("feature", "threshold", "missing_left", "middle", "first_split", "first_leaf"):
        assert np.array_equal(getattr(source, name), getattr(trees, name))
    assert not np.array_equal(source.value, trees.value)
    assert model.network_.soft is None
    assert model.network_.harden() is trees


def test_tuned_splits_keep_everything_but_thresholds_and_values():
    model = nf.NeuralForestRegressor(FOREST, tune="splits", random_state=0, max_epochs=40).fit(X, y)
    source, trees = nf.convert(model.forest_).ensemble, model.network_.ensemble
    for name in ("feature", "missing_left", "middle", "first_split", "first_leaf"):
        assert np.array_equal(getattr(source, name), getattr(trees, name))
    assert not np.array_equal(source.threshold, trees.threshold)
    assert rmse(model) < rmse(model.forest_)


def test_tuned_splits_are_better_than_tuned_leaves_where_the_network_is_much_better_than_the_forest():
    forest = RandomForestRegressor(30, max_leaf_nodes=32, random_state=0)
    leaves, splits = (
        nf.NeuralForestRegressor(forest, tune=tune, random_state=0, max_epochs=60).fit(X, y)
        for tune in ("leaves", "splits")
    )
    assert splits.validation_loss_ < leaves.validation_loss_
    assert rmse(splits) < 0.95 * rmse(leaves)


@pytest.mark.parametrize("given", [False, True])
def test_no_teacher_sees_the_rows_that_evaluate_it(monkeypatch, given):
    taught, evaluated = [], []

    def teacher(estimator, table, rows, seed, brief):
        taught.append((rows, brief))
        return teacher_module.teacher(estimator, table, rows, seed, brief)

    def evaluated_on(self, path, X, rows):
        evaluated.append(rows)
        return original(self, path, X, rows)

    original = tuned_module._Tuning.evaluated
    monkeypatch.setattr(tuned_module, "teacher", teacher)
    monkeypatch.setattr(tuned_module._Tuning, "evaluated", evaluated_on)
    options = {"X_val": X_test, "y_val": y_test} if given else {}
    model = nf.NeuralForestRegressor(FOREST, tune="splits", random_state=0, max_epochs=40).fit(X, y, **options)
    assert model.validation_loss_ < model.forest_loss_
    own = evaluated[1::2]  # each evaluation begins with the path of the leaves
    assert len(own) == (1 if given else 3)
    for (rows, brief), held_out in zip(taught, own, strict=False):
        assert not np.intersect1d(rows, held_out).size
        assert brief is not given
    assert np.array_equal(taught[-1][0], np.arange(len(y)))
    assert not taught[-1][1]
    assert len(taught) == (1 if given else 4)


def test_the_teacher_of_a_fold_is_smaller_and_trained_for_a_shorter_time(monkeypatch):
    seen = []
    start = nf.NeuralForestRegressor._start

    def spied(self, table):
        model = start(self, table)
        if self.tune == "all":
            seen.append((self.forest_.n_estimators, self.history_.n_epochs, self.stacking, table.n_rows))
        return model

    monkeypatch.setattr(nf.NeuralForestRegressor, "_start", spied)
    nf.NeuralForestRegressor(FOREST, tune="splits", random_state=0, max_epochs=40).fit(X, y)
    *folds, last = seen
    assert [rows for *_, rows in seen] == [266, 267, 267, 400]
    assert all(trees < last[0] and epochs == 16 and stacking is None for trees, epochs, stacking, _ in folds)
    assert last[1:3] == (40, "auto")


def test_of_penalties_of_leaves_that_are_about_as_good_the_largest_is_taken():
    rng = np.random.default_rng(0)
    loss = rng.exponential(size=400)
    noise = rng.normal(size=400)
    noise -= noise.mean()  # the standard error of its mean is 1 / 20
    losses = {
        None: loss + 1.0,
        Candidate("leaves", 10.0): loss + 0.03 + noise,
        Candidate("leaves", 1.0): loss + 0.02 + noise,
        Candidate("leaves", 0.1): loss,
    }
    chosen = []
    for shift in (0.0, 0.1):
        losses[Candidate("leaves", 10.0)] = loss + 0.02 + shift + noise
        means = {each: values.mean() for each, values in losses.items()}
        chosen.append(_cautious(Candidate("leaves", 0.1), losses, means, np.ones(400)).penalty)
    assert chosen == [10.0, 1.0]
    assert _cautious(None, losses, means, np.ones(400)) is None
    assert _cautious(Candidate("splits", 0.1), losses, means, np.ones(400)) == Candidate("splits", 0.1)


def test_a_larger_penalty_is_not_taken_where_it_is_no_better_than_the_forest():
    loss = np.random.default_rng(0).exponential(size=100)
    noise = np.random.default_rng(1).normal(size=100)
    noise -= noise.mean()
    best = Candidate("leaves", 0.1)
    losses = {None: loss + 0.01, Candidate("leaves", 10.0): loss + 0.02 + noise, best: loss}
    means = {each: values.mean() for each, values in losses.items()}
    assert _cautious(best, losses, means, np.ones(100)) == best


def test_the_forest_is_that_of_a_fit_alone():
    model = tuned().fit(X, y)
    assert np.array_equal(model.forest_.predict(X), clone(FOREST).fit(X, y).predict(X))


def test_a_fitted_forest_is_tuned_itself():
    fitted = clone(FOREST).fit(X, y)
    model = tuned(forest=fitted).fit(X, y)
    assert model.forest_ is fitted
    assert np.array_equal(model.predict(X_test), tuned().fit(X, y).predict(X_test))


def test_a_source_without_bootstrap_and_boosting_are_tuned():
    for forest in (
        ExtraTreesRegressor(20, max_leaf_nodes=16, random_state=0),
        GradientBoostingRegressor(n_estimators=20, max_depth=2, random_state=0),
    ):
        model = tuned(forest=forest).fit(X, y)
        assert model.validation_loss_ < model.forest_loss_
        assert rmse(model) < rmse(model.forest_)


def test_noise_falls_back_to_the_forest():
    noise = np.random.default_rng(0).normal(size=len(y))
    model = tuned(forest=RandomForestRegressor(30, max_leaf_nodes=8, random_state=0)).fit(X, noise)
    assert model.validation_loss_ == model.forest_loss_
    assert np.array_equal(model.network_.ensemble.value, nf.convert(model.forest_).ensemble.value)


def test_validation_losses_are_those_of_the_given_rows():
    model = tuned().fit(X, y, X_val=X_test, y_val=y_test)
    assert model.forest_loss_ == pytest.approx(rmse(model.forest_) ** 2)
    assert model.validation_loss_ == pytest.approx(rmse(model) ** 2)


def test_held_out_rows_are_not_seen_by_the_forest():
    model = tuned(validation="fraction").fit(X, y)
    assert nf.convert(model.forest_).ensemble.weight[: model.forest_[0].tree_.n_leaves].sum() == 300


@pytest.mark.parametrize("load", [load_breast_cancer, load_iris])
def test_classifiers_become_sums_of_scores_with_a_lower_log_loss(load):
    X, y = load(return_X_y=True)
    names = np.array(["a", "b", "c"])[y]
    fit, test = np.arange(0, len(y), 2), np.arange(1, len(y), 2)
    forest = RandomForestClassifier(30, max_leaf_nodes=16, random_state=0)
    model = nf.NeuralForestClassifier(forest, tune="leaves", random_state=0).fit(X[fit], names[fit])
    e = model.network_.ensemble
    assert (e.aggregation, e.link) == ("sum", "logit" if len(set(y)) == 2 else "softmax")
    assert model.validation_loss_ < model.forest_loss_
    if load is load_breast_cancer:  # the test rows of iris are too few
        ours, theirs = (log_loss(names[test], each.predict_proba(X[test])) for each in (model, model.forest_))
        assert ours < theirs
    assert set(model.predict(X[test])) <= set(names)


def test_the_standard_error_is_that_of_the_validation_losses():
    X, y = load_breast_cancer(return_X_y=True)
    forest = RandomForestClassifier(20, max_leaf_nodes=8, random_state=0)
    model = nf.NeuralForestClassifier(forest, tune="leaves", random_state=0)
    model.fit(X[:300], y[:300], X_val=X[300:], y_val=y[300:])
    losses = -np.log(model.predict_proba(X[300:])[np.arange(269), y[300:]])
    assert model.validation_loss_ == pytest.approx(losses.mean())
    assert model._uncertainty.standard_error == pytest.approx(losses.std() / np.sqrt(269), rel=0.5)


def test_categories_and_the_default_forest_are_tuned():
    kind = np.random.default_rng(0).choice(["ash", "elm", "oak"], len(y))
    table = pandas.DataFrame(X[:, :3], columns=["p", "q", "r"]).assign(kind=kind)
    target = y + 3 * (kind == "elm")
    for tune in ("leaves", "splits"):
        model = tuned(tune, forest=None).fit(table, target)
        assert model.network_.ensemble.category_left.any()
        assert model.validation_loss_ <= model.forest_loss_
        assert model.stacking_weights_ == {"network": 1.0}


def test_the_teacher_gives_no_warning_about_its_forest():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 70))
    tuned("splits").fit(X, X[:, 0])  # warnings are errors here


def test_several_targets_and_weights_are_tuned():
    Y, weight = np.column_stack([y, 1000 * X[:, 0]]), np.random.default_rng(0).integers(0, 3, len(y))
    model = tuned().fit(X, Y, sample_weight=weight)
    assert model.predict(X).shape == Y.shape
    assert model.validation_loss_ < model.forest_loss_


def test_quantiles_cover_new_rows():
    low, high = tuned().fit(X, y).predict_quantiles(X_test, (0.05, 0.95)).T
    assert 0.84 < np.mean((low <= y_test) & (y_test <= high)) < 0.97


def test_a_file_holds_tuned_trees(tmp_path):
    model = tuned().fit(X, y)
    nf.save(model, tmp_path / "model.nf")
    loaded = nf.load(tmp_path / "model.nf")
    assert loaded.tune == "leaves"
    assert np.array_equal(loaded.predict(X_test), model.predict(X_test))


def test_the_summary_is_in_units_of_the_target(capsys):
    model = tuned(verbose=1).fit(X, y)
    out = capsys.readouterr().out
    assert f"forest {model.forest_loss_**0.5:.4g}, model {model.validation_loss_**0.5:.4g}" in out
    assert "30 trees tuned" in out


def test_results_do_not_depend_on_threads():
    one, two = (tuned("splits", n_jobs=n).fit(X[:100], y[:100]).predict(X_test) for n in (1, 2))
    assert np.array_equal(one, two)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"tune": "thresholds"}, "tune must be 'all', 'leaves' or 'splits'"),
        ({"loss": "huber"}, "squared error or a log loss"),
        ({"validation": "oob"}, "out-of-bag trees alone"),
        ({"forest": nf.convert(clone(FOREST).fit(X, y)).ensemble}, "pass X_val and y_val"),
        ({"forest": clone(FOREST).fit(X, y), "validation": "fraction"}, "pass X_val and y_val"),
    ],
)
def test_what_cannot_be_tuned_is_refused(options, match):
    with pytest.raises(InvalidParameterError, match=match):
        tuned(**options).fit(X, y)


def test_tuned_trees_are_not_trained_further():
    model = tuned(warm_start=True).fit(X, y)
    for go_on in (model.fit, model.partial_fit):
        with pytest.raises(InvalidParameterError, match="cannot be trained further"):
            go_on(X, y)


def test_trees_without_an_estimator_are_tuned_on_given_rows():
    trees = nf.convert(clone(FOREST).fit(X[:200], y[:200])).ensemble
    model = tuned(forest=trees).fit(X[:200], y[:200], X_val=X[200:], y_val=y[200:])
    assert model.validation_loss_ < model.forest_loss_


def test_one_class_in_a_single_row_is_kept():
    X, y = load_diabetes(return_X_y=True)
    label = (y > 100).astype(int)
    label[0] = 2
    forest = RandomForestClassifier(10, max_leaf_nodes=8, random_state=0)
    model = nf.NeuralForestClassifier(forest, tune="leaves", random_state=0).fit(X, label)
    assert model.predict_proba(X).shape == (len(y), 3)
