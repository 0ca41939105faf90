"""Every parameter has a rule, and what breaks it is refused before any work is done, by name and value."""

import re

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV

import neuralforest as nf
from neuralforest.exceptions import InvalidParameterError
from small_models import boosted, forest, problem, regression, small

BAD = {
    "training": ["both", None, 1],
    "connectivity": ["dense", None],
    "contrast_unit": ["leaf", None],
    "stacking": ["none", True, 0],
    "contrast": [0, (0, 1), (-1, 1), (1, np.nan), (1, np.inf), "high", (1, 1, 1), [], [[]], None, ((1, 1), (1,))],
    "learning_rate": [0, (0, 0, 0), -0.1, np.nan, np.inf, "fast", (0.1, 0.1), (0.1, 0.1, -1), None, True],
    "schedule": ["linear", None],
    "batch_size": [0, -1, 2.5, "32", None, True],
    "max_epochs": [-1, 2.0, "all", None],
    "weight_decay": [-1.0, np.nan, "no", None],
    "loss": ["mse", "log_loss", None],
    "loss_parameter": [0, -1.0, np.nan, "wide"],
    "validation": ["folds", None, 3],
    "validation_fraction": [0, 1, -0.5, np.nan, "half", None],
    "n_iter_no_change": [0, -3, 1.5, "never"],
    "standardize": ["yes", 1, None],
    "fold_contrast": ["no", 0],
    "weight_bound": [0, -1, "theory"],
    "warm_start": ["yes", None],
    "callback": ["print", 3, int],
    "checkpoint": ["file.safetensors", 3],
    "n_jobs": [0, 1.5, "all"],
    "random_state": ["seed", -1, 2**32, 1.5],
    "verbose": [-1, "much", None],
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in BAD.items() for value in values])
def test_a_value_outside_of_its_range_is_refused_by_name(name, value, monkeypatch):
    monkeypatch.setattr("sklearn.ensemble.RandomForestRegressor.fit", None)  # no work is done before
    X, y = regression()
    with pytest.raises(ValueError, match=rf"{name} must be .*got {re.escape(repr(value))}"):
        small(**{name: value}).fit(X, y)


@pytest.mark.parametrize(("name", "value"), [("loss", "squared_error"), ("class_weight", "even"), ("class_weight", 3)])
def test_the_classifier_has_rules_of_its_own(name, value):
    X, y = problem(classifier=True)
    with pytest.raises(InvalidParameterError, match=rf"{name} must be .*got {value!r}"):
        small(classifier=True, **{name: value}).fit(X, y)


@pytest.mark.parametrize("level", [None, 1.5])
def test_the_quantile_of_a_loss_has_a_level_below_1_and_no_default(level):
    X, y = regression()
    with pytest.raises(ValueError, match=rf"level of the quantile for loss='quantile', above 0 and below 1.*{level}"):
        small(loss="quantile", loss_parameter=level).fit(X, y)
    small(loss="quantile", loss_parameter=0.5).fit(X, y)
    small(loss="huber", loss_parameter=1.5).fit(X, y)


@pytest.mark.parametrize("kind", [nf.NeuralForestRegressor, nf.NeuralForestClassifier])
def test_an_unknown_parameter_is_refused_in_the_name_of_the_class(kind):
    with pytest.raises(TypeError, match=rf"^{kind.__name__}\.__init__\(\) got an unexpected .* 'n_estimators'"):
        kind(n_estimators=100)


def test_nested_parameters_of_the_default_forest_are_refused_with_what_to_pass():
    X, y = regression()
    search = GridSearchCV(nf.NeuralForestRegressor(max_epochs=1), {"forest__max_depth": [2, 3]}, cv=2)
    with pytest.raises(ValueError, match=r"forest__max_depth needs a forest .*pass forest=RandomForestRegressor"):
        search.fit(X, y)
    model = nf.NeuralForestRegressor().set_params(forest=forest(), forest__max_depth=3)
    assert model.forest.max_depth == 3


@pytest.mark.parametrize("bad", [-1, 1.5, "two", None])
def test_the_epochs_of_partial_fit_have_a_rule_too(bad):
    X, y = regression()
    with pytest.raises(ValueError, match="n_epochs must be a whole number"):
        small().fit(X, y).partial_fit(X, y, n_epochs=bad)


GOOD = {
    "contrast": [(np.float32(3), 1), [3, 1], np.array([3.0, 1.0]), [[1, 1], [10, 1]]],
    "learning_rate": [0.01, (0, 0, 0.01), np.float64(0.01), (0.01, 0.001, 0.1), np.array([0.01, 0.01, 0.01])],
    "contrast_unit": ["node", "feature"],
    "stacking": [None, "auto"],
    "schedule": ["constant", "cosine", "one_cycle", "cyclic"],
    "batch_size": [1, np.int64(7), 10_000],
    "max_epochs": [0, np.int32(1)],
    "weight_decay": [0, 0.1],
    "loss": ["auto", "squared_error", "huber"],
    "loss_parameter": [None, 0.5],
    "validation_fraction": [0.01, 0.99],
    "n_iter_no_change": [None, 1],
    "standardize": [True, np.False_],
    "fold_contrast": [False, True],
    "weight_bound": [None, 100.0],
    "n_jobs": [None, 1, -1, 2],
    "random_state": [None, 3, np.random.RandomState(0)],
    "verbose": [0, False],
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in GOOD.items() for value in values])
def test_a_value_inside_of_its_range_is_taken(name, value):
    X, y = regression(60)
    model = small(**{"max_epochs": 1, name: value}).fit(X, y)
    assert np.isfinite(model.predict(X)).all()
    assert model.validation_loss_ <= model.forest_loss_


@pytest.mark.parametrize("classifier", [False, True])
def test_early_stopping_ends_a_training_that_no_longer_gains(classifier):
    X, y = problem(classifier)
    model = small(classifier, max_epochs=200, n_iter_no_change=2, learning_rate=0.05).fit(X, y)
    assert model.history_.n_epochs < 200


def test_a_boosted_forest_is_trained_jointly_without_settings():
    X, y = regression()
    model = small(source=boosted(), connectivity="auto").fit(X, y)
    assert model.score(X, y) > 0.5
    assert (model.network_.soft.training, model.network_.soft.connectivity) == ("joint", "sparse")
    with pytest.raises(ValueError, match="must be 'joint'"):
        small(source=boosted(), training="independent").fit(X, y)


def test_parameters_are_stored_as_they_are_and_checked_in_fit_only():
    model = small(max_epochs=-5, contrast="any")
    assert model.max_epochs == -5
    assert model.contrast == "any"
    with pytest.raises(NotFittedError):
        model.predict([[0.0]])
