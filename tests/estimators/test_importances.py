"""Importances of features: those of the forest while the trees are trees, then those of the network."""

import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesRegressor, GradientBoostingRegressor, RandomForestClassifier
from sklearn.tree import DecisionTreeRegressor

import neuralforest as nf
from neuralforest.network.importance import feature_importances
from small_models import classification, forest, regression, small, small_boosted


@pytest.mark.parametrize(
    "model",
    [
        forest(random_state=0),
        ExtraTreesRegressor(5, random_state=0),
        DecisionTreeRegressor(random_state=0),
        GradientBoostingRegressor(n_estimators=5, random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_trees_have_the_importances_that_scikit_learn_gives_them(model):
    X, y = regression()
    model.fit(X, y)
    np.testing.assert_allclose(feature_importances(nf.convert(model)), model.feature_importances_, atol=1e-12)


@pytest.mark.parametrize("classes", [2, 3])
def test_gini_trees_have_the_importances_that_scikit_learn_gives_them(classes):
    X, y = classification(classes=classes)
    model = RandomForestClassifier(5, random_state=0).fit(X, y)
    np.testing.assert_allclose(feature_importances(nf.convert(model)), model.feature_importances_, atol=1e-12)


@pytest.mark.parametrize("connectivity", ["sparse", "full"])
@pytest.mark.parametrize("training", ["independent", "joint"])
def test_an_estimator_whose_trees_stayed_has_the_importances_of_its_forest(connectivity, training):
    X, y = regression()
    model = small(connectivity=connectivity, training=training, max_epochs=0, contrast=(1e-3, 1e-3)).fit(X, y)
    assert model.network_.hard.all()
    np.testing.assert_allclose(model.feature_importances_, model.forest_.feature_importances_, atol=1e-12)


@pytest.mark.parametrize("classifier", [False, True])
@pytest.mark.parametrize("make", [small, small_boosted])
@pytest.mark.parametrize("connectivity", ["sparse", "full"])
def test_a_trained_network_has_importances_of_its_own(classifier, make, connectivity):
    X, _ = regression(300)
    y = 3 * X[:, 0] + X[:, 1] ** 2
    model = make(classifier, connectivity=connectivity, max_epochs=15).fit(X, y > 0 if classifier else y)
    assert not model.network_.hard.all()
    importances = model.feature_importances_
    assert importances.shape == (4,)
    assert (importances >= 0).all()
    assert importances.sum() == pytest.approx(1)
    assert importances.argmax() == 0
    hard = feature_importances(nf.convert(model.forest_))
    assert np.abs(importances - hard).max() > 1e-6


def test_the_informative_feature_is_found_among_many():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 10))
    for connectivity in ("sparse", "full"):
        model = small(connectivity=connectivity, max_epochs=10).fit(X, 3 * X[:, 7] + 0.1 * rng.normal(size=300))
        assert model.feature_importances_[7] > 0.5


def test_the_importance_of_a_feature_does_not_depend_on_its_units():
    X, y = regression(300)
    plain = small(connectivity="full", max_epochs=5).fit(X, y).feature_importances_
    scaled = small(connectivity="full", max_epochs=5).fit(X * [1e6, 1e-3, 1, 1], y).feature_importances_
    np.testing.assert_allclose(plain, scaled, atol=0.02)


def test_a_constant_target_gives_every_feature_importance_0():
    X, _ = regression()
    np.testing.assert_array_equal(small().fit(X, np.ones(len(X))).feature_importances_, 0)
