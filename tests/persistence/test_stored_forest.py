"""The forest of a loaded estimator."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.ensemble import BaggingRegressor, GradientBoostingClassifier, RandomForestRegressor

import neuralforest as nf
from neuralforest.exceptions import NotFittedError, UnsupportedModelError
from neuralforest.persistence.stored_forest import Bags, StoredForest
from neuralforest.readers import read_ensemble
from persistence.models import RF, SMALL, X, Y, again, classifier, regressor, same_bits


def test_the_forest_is_restored_as_its_trees(tmp_path):
    for model in (regressor(), classifier(), classifier(GradientBoostingClassifier(n_estimators=2), training="joint")):
        loaded = again(model, tmp_path)
        assert isinstance(loaded.forest_, StoredForest)
        assert loaded.forest is loaded.forest_
        same_bits(nf.convert(model.forest_).predict(X), loaded.forest_.predict(X))
        same_bits(nf.convert(model.forest_).predict(X), nf.convert(loaded.forest_).predict(X))
        assert_array_equal(loaded.forest_.apply(X), loaded.apply(X))
        truth = model.predict(X)
        np.testing.assert_allclose(loaded.forest_.score(X, truth), model.forest_.score(X, truth))
        np.testing.assert_allclose(loaded.forest_.feature_importances_.sum(), 1)
        if hasattr(model, "classes_"):
            same_bits(nf.convert(model.forest_).predict_proba(X), loaded.forest_.predict_proba(X))
            assert hasattr(loaded.forest_, "decision_function") == hasattr(model.forest_, "decision_function")
        if hasattr(loaded.forest_, "decision_function"):
            scores = model.forest_.decision_function(X)
            np.testing.assert_allclose(loaded.forest_.decision_function(X), scores, rtol=1e-12, atol=1e-12)
        refitted = loaded.fit(X, model.predict(X))
        assert refitted.forest_ is refitted.forest
        pickle.loads(pickle.dumps(loaded)).predict(X)


def test_a_stored_forest_cannot_be_fitted_again(tmp_path):
    copy = clone(again(regressor(), tmp_path))
    with pytest.raises(UnsupportedModelError, match=r"cannot be fitted to other rows: set the parameter forest"):
        copy.fit(X, Y)
    with pytest.raises(NotFittedError, match="is not fitted: load an estimator"):
        copy.forest.predict(X)
    with pytest.raises(NotFittedError, match="StoredForest cannot be read: it is not fitted"):
        read_ensemble(copy.forest)
    assert not hasattr(StoredForest(), "predict_proba")


def test_the_default_forest_is_grown_again_after_loading(tmp_path):
    model = nf.NeuralForestRegressor(**SMALL | {"max_epochs": 1}).fit(X, Y)
    loaded = again(model, tmp_path)
    assert loaded.forest is None
    same_bits(loaded.fit(X, Y).predict(X), model.predict(X))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "forest",
    [RandomForestRegressor(**RF, max_samples=0.5), BaggingRegressor(n_estimators=3, max_samples=7)],
)
def test_bootstrap_samples_are_restored(forest, weighted, tmp_path):
    weight = np.arange(1.0, len(X) + 1) if weighted else None
    model = nf.NeuralForestRegressor(forest, **SMALL).fit(X, Y, weight)
    loaded = again(model, tmp_path)
    bags = loaded.forest_._bags
    assert (bags.drawn.ndim == 1) == (isinstance(forest, RandomForestRegressor) and not weighted)
    for first, second in zip(model.forest_.estimators_samples_, loaded.forest_.estimators_samples_, strict=True):
        assert_array_equal(np.sort(first), np.sort(second))


def test_very_large_bootstrap_samples_are_not_stored():
    assert Bags.of([np.zeros(100, int)], [0], n_rows=2) is None
    with pytest.raises(AttributeError, match="has no bootstrap samples"):
        _ = StoredForest().estimators_samples_
