"""Sources without out-of-bag rows: folds, the mean of their models, and what is validated on which rows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import ExtraTreesRegressor, GradientBoostingClassifier, GradientBoostingRegressor
from sklearn.frozen import FrozenEstimator

import neuralforest as nf
from neuralforest.estimators.cross_fitting import CrossFittedForest, in_folds
from neuralforest.estimators.rows import FitRows
from neuralforest.exceptions import InvalidParameterError, ValidationWarning
from small_models import boosted, classification, regression, small


def rows_of(labels, weight=None):
    weight = np.ones(len(labels)) if weight is None else weight
    return FitRows(np.zeros((len(labels), 1)), np.asarray(labels), weight, None, len(labels))


@given(st.lists(st.integers(0, 3), min_size=6, max_size=60), st.integers(0, 1000))
@settings(max_examples=100, deadline=None)
def test_every_fold_is_fitted_on_all_classes_and_no_row_is_left_out_twice(labels, seed):
    labels = np.array(labels)
    counts = np.bincount(labels)
    if counts[counts > 1].sum() < 5:
        return
    split = in_folds(rows_of(labels), True, seed)
    left_out = np.concatenate(split.folds)
    assert len(left_out) == len(set(left_out)) == counts[counts > 1].sum()
    for fold in split.folds:
        assert set(labels[np.setdiff1d(split.fit, fold)]) == set(labels)


def test_rows_of_weight_0_are_never_left_out():
    weight = (np.arange(30) % 3 > 0).astype(float)
    split = in_folds(rows_of(np.zeros(30), weight), False, 0)
    np.testing.assert_array_equal(np.sort(np.concatenate(split.folds)), np.flatnonzero(weight))


@pytest.mark.parametrize("classifier", [False, True])
def test_the_forest_is_the_mean_of_models_that_have_not_seen_their_fold(classifier):
    X, y = classification(150) if classifier else regression(150)
    model = small(classifier, boosted(classifier, random_state=0), max_epochs=0, contrast=(1e6, 1e6)).fit(X, y)
    assert isinstance(model.forest_, CrossFittedForest)
    split = in_folds(rows_of(y), classifier, model._split_seed)
    scores = []
    for fold, fitted in zip(split.folds, model.forest_.models_, strict=True):
        rows = np.setdiff1d(split.fit, fold)
        again = boosted(classifier, random_state=0).fit(X[rows], y[rows])
        scores.append(again.decision_function(X) if classifier else again.predict(X))
        np.testing.assert_array_equal(fitted.predict(X), again.predict(X))
    mean = np.mean(scores, axis=0)
    ours = nf.ForestNetwork(model.forest_.ensemble_).output(X)
    np.testing.assert_allclose(ours.reshape(mean.shape), mean, rtol=1e-10, atol=1e-10)


def test_validation_losses_are_those_of_the_left_out_rows():
    X, y = regression(150)
    model = small(source=boosted(random_state=0), max_epochs=0, contrast=(1e6, 1e6)).fit(X, y)
    split = in_folds(rows_of(y), False, model._split_seed)
    errors = np.concatenate(
        [
            (fitted.predict(X[fold]) - y[fold]) ** 2
            for fold, fitted in zip(split.folds, model.forest_.models_, strict=True)
        ]
    )
    scale = model.network_.soft.output_scale[0]
    np.testing.assert_allclose(model.forest_loss_ * scale**2, errors.mean(), rtol=1e-6)


def test_boosted_models_need_no_settings_and_get_better():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(700, 4))
    y = np.sin(6 * X[:, 0]) + 2 * X[:, 1] * X[:, 2] + 0.05 * rng.normal(size=700)
    source = GradientBoostingRegressor(random_state=0)
    brought = source.fit(X[:400], y[:400]).predict(X[400:])
    model = nf.NeuralForestRegressor(GradientBoostingRegressor(random_state=0), random_state=0).fit(X[:400], y[:400])
    errors = [np.mean((prediction - y[400:]) ** 2) for prediction in (model.predict(X[400:]), brought)]
    assert errors[0] < 0.8 * errors[1]


def test_trees_that_are_averaged_are_shared_among_the_folds():
    X, y = regression(150)
    model = small(source=ExtraTreesRegressor(20, max_leaf_nodes=8, random_state=0), connectivity="auto").fit(X, y)
    assert [len(each.estimators_) for each in model.forest_.models_] == [4] * 5
    assert model.network_.ensemble.n_trees == 20
    assert (model.network_.soft.training, model.network_.soft.connectivity) == ("independent", "full")


def test_a_fitted_estimator_is_fitted_anew_and_a_warning_tells_so():
    X, y = regression(150)
    fitted = boosted(random_state=0).fit(X, y)
    with pytest.warns(ValidationWarning, match=r"was fitted before.*pass X_val"):
        model = small(source=fitted).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), small(source=boosted(random_state=0)).fit(X, y).predict(X))


def test_what_cannot_be_fitted_again_needs_validation_rows():
    X, y = regression(150)
    fitted = boosted(random_state=0).fit(X[:100], y[:100])
    for source in (FrozenEstimator(fitted), nf.convert(fitted).ensemble):
        for validation in ("auto", "cv"):
            with pytest.raises(InvalidParameterError, match=r"cannot be fitted again.*pass X_val and y_val"):
                small(source=source, validation=validation).fit(X, y)
        model = small(source=source).fit(X[:100], y[:100], X_val=X[100:], y_val=y[100:])
        assert model.validation_loss_ <= model.forest_loss_


@pytest.mark.parametrize("classifier", [False, True])
def test_a_warm_start_goes_on_with_the_same_folds_also_after_loading(classifier, tmp_path):
    X, y = classification(150) if classifier else regression(150)
    model = small(classifier, boosted(classifier, random_state=0)).fit(X, y)
    nf.save(model, tmp_path / "model")
    loaded = nf.load(tmp_path / "model")
    for each in (model, loaded):
        each.set_params(warm_start=True).fit(X, y)
    assert model.validation_loss_ == loaded.validation_loss_
    np.testing.assert_array_equal(model.predict(X), loaded.predict(X))


def test_intervals_of_folds_cover_new_rows():
    X, y = regression(900)
    model = small(source=boosted(n_estimators=30, random_state=0), max_epochs=20).fit(X[:400], y[:400])
    low, high = model.predict_quantiles(X[400:]).T
    assert 0.84 < np.mean((low <= y[400:]) & (y[400:] <= high)) < 0.95


def test_multiclass_boosting_is_cross_fitted():
    X, _ = classification(200)
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    source = GradientBoostingClassifier(n_estimators=5, random_state=0)
    model = small(True, source).fit(X, y)
    assert model.predict_proba(X).shape == (200, 3)
    assert model.validation_loss_ <= model.forest_loss_
