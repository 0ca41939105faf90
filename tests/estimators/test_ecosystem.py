"""The estimators inside scikit-learn's own tools."""

import pickle

import joblib
import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.inspection import permutation_importance
from sklearn.metrics import r2_score
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from neuralforest.estimators.parameters import _RULES
from small_models import classification, forest, output, problem, regression, run_in_a_new_process, small, small_boosted

PREDICT_IN_A_NEW_PROCESS = """
import pickle, sys
with open(sys.argv[1], "rb") as file:
    models, X = pickle.load(file)
for model in models:
    predict = model.predict_proba if hasattr(model, "predict_proba") else model.predict
    sys.stdout.buffer.write(predict(X).tobytes())
"""


def test_a_pipeline_fits_predicts_and_scores():
    X, y = regression()
    X[::7, 1] = np.nan
    pipeline = make_pipeline(SimpleImputer(), StandardScaler(), small()).fit(X, y)
    alone = small().fit(StandardScaler().fit_transform(SimpleImputer().fit_transform(X)), y)
    assert pipeline.score(X, y) == alone.score(pipeline[:-1].transform(X), y) > 0.5


def test_grid_search_reaches_the_parameters_of_the_forest():
    X, y = regression()
    grid = {"forest__max_depth": [1, 4], "connectivity": ["sparse", "full"], "contrast": [(1, 1), ((1, 1), (10, 1))]}
    search = GridSearchCV(small(), grid, cv=2).fit(X, y)
    assert search.best_params_["forest__max_depth"] == 4
    assert max(tree.get_depth() for tree in search.best_estimator_.forest_.estimators_) == 4
    assert search.score(X, y) > 0.5


def test_cross_val_predict_gives_a_row_to_every_row():
    X, y = classification()
    probability = cross_val_predict(small(classifier=True), X, y, cv=3, method="predict_proba")
    assert probability.shape == (len(X), 3)
    assert np.mean(probability.argmax(axis=1) == y) > 0.6


def test_a_calibrated_classifier_has_probabilities_that_sum_to_1():
    X, y = classification()
    calibrated = CalibratedClassifierCV(small(classifier=True), cv=2).fit(X, y)
    np.testing.assert_allclose(calibrated.predict_proba(X).sum(axis=1), 1)


def test_permutation_importance_finds_the_informative_feature():
    X, y = regression()
    model = small().fit(X, y)
    assert permutation_importance(model, X, y, n_repeats=2, random_state=0).importances_mean.argmax() == 0


def test_a_clone_is_unfitted_and_fits_to_the_same():
    X, y = regression()
    model = small().fit(X, y)
    copy = clone(model)
    assert not hasattr(copy, "network_")
    assert copy.fit(X, y).predict(X).tobytes() == model.predict(X).tobytes()


@pytest.mark.filterwarnings("ignore:the forest was fitted before")
def test_a_frozen_forest_survives_cloning_and_is_used_as_it_is():
    X, y = regression()
    grown = forest(random_state=0).fit(X, y)
    model = clone(small(source=FrozenEstimator(grown))).fit(X, y)
    np.testing.assert_array_equal(model.forest_.predict(X), grown.predict(X))
    assert cross_val_score(small(source=FrozenEstimator(grown)), X, y, cv=2).shape == (2,)


def test_pickles_predict_the_same_bits_in_a_new_process(tmp_path):
    X, _ = regression()
    models = [
        make(classifier, connectivity=connectivity).fit(X, problem(classifier)[1])
        for make, connectivity in ((small, "full"), (small_boosted, "sparse"))
        for classifier in (False, True)
    ]
    (tmp_path / "models.pickle").write_bytes(pickle.dumps((models, X)))
    answer = run_in_a_new_process(PREDICT_IN_A_NEW_PROCESS, tmp_path / "models.pickle")
    assert answer == b"".join(output(model, X).tobytes() for model in models)


def test_joblib_memory_maps_a_model(tmp_path):
    X, y = regression()
    model = small().fit(X, y)
    joblib.dump(model, tmp_path / "model.joblib")
    loaded = joblib.load(tmp_path / "model.joblib", mmap_mode="r")
    assert loaded.predict(X).tobytes() == model.predict(X).tobytes()
    assert loaded.partial_fit(X, y).predict(X).shape == y.shape


@pytest.mark.parametrize("classifier", [False, True])
def test_parameters_can_be_read_and_set_and_every_one_has_a_rule(classifier):
    model = small(classifier)
    parameters = model.get_params(deep=False)
    assert set(parameters) - {"forest"} == set(_RULES) - {"n_epochs"} - (set() if classifier else {"class_weight"})
    assert model.set_params(forest__max_depth=3, max_epochs=7).get_params()["forest__max_depth"] == 3
    assert model.max_epochs == 7
    assert model.forest.max_depth == 3


def test_the_html_repr_shows_parameters_and_what_was_fitted():
    X, y = regression()
    model = small()
    assert "max_epochs" in model._repr_html_()
    assert "forest_loss_" in model.fit(X, y)._repr_html_()
    assert repr(model).startswith("NeuralForestRegressor(")


def test_weights_are_routed_through_a_grid_search():
    X, y = regression()
    weight = np.where(X[:, 0] > 0, 1.0, 0.0)
    with sklearn.config_context(enable_metadata_routing=True):
        model = small().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        search = GridSearchCV(model, {"max_epochs": [0, 2]}, cv=2).fit(X, y, sample_weight=weight)
        expected = small(max_epochs=search.best_params_["max_epochs"]).fit(X, y, sample_weight=weight)
        assert search.predict(X).tobytes() == expected.predict(X).tobytes()
        with pytest.raises(sklearn.exceptions.UnsetMetadataPassedError):
            GridSearchCV(small(), {"max_epochs": [0]}, cv=2).fit(X, y, sample_weight=weight)


def test_validation_rows_are_routed_through_a_pipeline():
    X, y = regression()
    with sklearn.config_context(enable_metadata_routing=True):
        model = small().set_fit_request(X_val=True, y_val=True)
        pipeline = make_pipeline(StandardScaler(), model, transform_input=["X_val"])
        pipeline.fit(X[:90], y[:90], X_val=X[90:], y_val=y[90:])
    scaler = StandardScaler().fit(X[:90])
    direct = small().fit(scaler.transform(X[:90]), y[:90], X_val=scaler.transform(X[90:]), y_val=y[90:])
    assert pipeline.predict(X).tobytes() == direct.predict(scaler.transform(X)).tobytes()


def test_score_is_the_one_of_scikit_learn():
    X, y = regression()
    model = small(source=HistGradientBoostingRegressor(max_iter=5, max_leaf_nodes=4), training="joint").fit(X, y)
    assert model.score(X, y) == r2_score(y, model.predict(X))
    labels = (y > 0).astype(int)
    classifier = small(classifier=True).fit(X, labels)
    assert classifier.score(X, labels) == np.mean(classifier.predict(X) == labels)
