"""The forest of a loaded estimator."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.ensemble import BaggingRegressor, GradientBoostingClassifier, RandomForestRegressor
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils import get_tags

import neuralforest as nf
from neuralforest.estimators import forests
from neuralforest.estimators.categorical_forest import CategoricalForest
from neuralforest.exceptions import NotFittedError, UnsupportedModelError
from neuralforest.persistence.stored_forest import Bags, StoredForest
from neuralforest.readers import read_ensemble
from neuralforest.selection import intervals
from persistence.models import RF, SMALL, X, Y, again, classifier, regressor, same_bits


@pytest.mark.filterwarnings("ignore:the forest was fitted before")
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
        rows = {"X_val": X, "y_val": truth} if model._n_folds else {}  # boosted trees have no out-of-bag rows
        refitted = loaded.fit(X, truth, **rows)
        assert refitted.forest_ is refitted.forest
        pickle.loads(pickle.dumps(loaded)).predict(X)


def test_a_stored_forest_cannot_be_fitted_again(tmp_path):
    copy = clone(again(regressor(), tmp_path))
    with pytest.raises(UnsupportedModelError, match=r"cannot be fitted to other rows: set the parameter forest"):
        copy.fit(X, Y)
    with pytest.raises(NotFittedError, match="is not fitted: load or fit an estimator"):
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
    assert (bags.drawn.ndim == 1) == (not weighted)
    for first, second in zip(model.forest_.estimators_samples_, loaded.forest_.estimators_samples_, strict=True):
        assert_array_equal(np.sort(first), np.sort(second))


def test_very_large_bootstrap_samples_are_not_stored():
    assert Bags.of([np.zeros(100, int)], [0], n_rows=2) is None
    with pytest.raises(AttributeError, match="has no bootstrap samples"):
        _ = StoredForest().estimators_samples_


@pytest.mark.parametrize(
    "source",
    [
        RandomForestRegressor(3, max_leaf_nodes=8),
        BaggingRegressor(DecisionTreeRegressor(max_leaf_nodes=8), 3, max_samples=0.8, bootstrap=False),
    ],
)
def test_files_do_not_grow_with_the_rows(source, tmp_path, monkeypatch):
    monkeypatch.setattr(intervals, "_MOST_ERRORS", 100)
    sizes = []
    for n in (1_000, 20_000):
        rng = np.random.default_rng(1)
        rows = rng.uniform(size=(n, 2))
        model = nf.NeuralForestRegressor(source, **SMALL).fit(rows, rows[:, 0] + rng.normal(size=n))
        nf.save(model, tmp_path / "model")
        sizes.append((tmp_path / "model").stat().st_size)
        loaded = nf.load(tmp_path / "model")
        for one, other in zip(model.forest_.estimators_samples_, loaded.forest_.estimators_samples_, strict=True):
            assert_array_equal(np.sort(one), np.sort(other))
    assert abs(sizes[1] - sizes[0]) < 2_000


def test_seeds_draw_the_rows_of_the_default_forest_of_a_table():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 3, 90), rng.normal(size=90)])
    forest = CategoricalForest(False, np.array([3, 0]), 4, random_state=0).fit(X, X[:, 1])
    bags = Bags.of(forest.estimators_samples_, forests.sample_seeds(forest), 90)
    assert bags.drawn.ndim == 1
    assert not bags.replacement


def test_bootstrap_samples_of_16_times_the_rows_are_stored_and_no_larger_ones():
    assert Bags.of([np.zeros(32, int)], [], n_rows=2).drawn.tolist() == [[32, 0]]
    assert Bags.of([np.zeros(33, int)], [], n_rows=2) is None


@pytest.mark.parametrize(("seed", "is_stored"), [(0, True), (2**32 - 1, True), (2**32, False), (-1, False)])
def test_seeds_are_stored_where_numpy_takes_them(seed, is_stored):
    sample = np.random.RandomState(max(seed, 0) % 2**32).randint(0, 9, 9)
    bags = Bags.of([sample], [seed], n_rows=9)
    assert (bags.drawn.ndim == 1) == is_stored
    assert_array_equal(np.sort(bags.samples[0]), np.sort(sample))


@pytest.mark.parametrize("accepts", [(True, False, False), (False, True, False), (False, False, True)])
@pytest.mark.parametrize("draws_by_weight", [True, False])
def test_a_stored_forest_has_the_flags_of_its_forest(accepts, draws_by_weight):
    ensemble = nf.convert(RandomForestRegressor(**RF).fit(X, Y)).ensemble
    forest = StoredForest.of(ensemble, None, 7, draws_by_weight, accepts)
    tags = get_tags(forest)
    assert (tags.input_tags.allow_nan, tags.input_tags.sparse, tags.target_tags.multi_output) == accepts
    assert forests.draws_by_weight(forest) == draws_by_weight
    assert not forest.bootstrap
    assert forests.n_rows_seen(forest) == 7
