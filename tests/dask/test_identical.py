"""With one partition and all rows for every tree, a Dask estimator has the bits of the local one."""

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import (
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.tree import DecisionTreeRegressor

from dask_models import assert_same_bits, blocks, make_rows
from neuralforest import NeuralForestClassifier, NeuralForestRegressor
from neuralforest.dask import DaskNeuralForestClassifier, DaskNeuralForestRegressor

SETTINGS = {"random_state": 3, "stacking": None, "max_epochs": 12}

pytestmark = pytest.mark.usefixtures("one_thread", "equal_units")


@pytest.fixture
def equal_units(monkeypatch):
    """Local fits without a learned scale of the errors, which a cluster does not fit."""
    monkeypatch.setattr("neuralforest.estimators.regressor.with_error_scale", lambda measured, *others: measured)


def fitted_both(X, y, weight=None, classifier=False, **parameters):
    local, other = (
        (NeuralForestClassifier, DaskNeuralForestClassifier)
        if classifier
        else (NeuralForestRegressor, DaskNeuralForestRegressor)
    )
    parameters = SETTINGS | parameters
    as_blocks = [None if each is None else as_dask(each) for each in (X, y, weight)]
    return local(**parameters).fit(X, y, weight), other(**parameters).fit(*as_blocks).to_local()


def as_dask(rows):
    return blocks(rows) if isinstance(rows, np.ndarray) else dd.from_pandas(rows, npartitions=1)


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"connectivity": "sparse", "contrast_unit": "feature", "n_iter_no_change": 1},
        {"schedule": "cyclic", "max_epochs": 20},
        {"standardize": False, "contrast": [(2.0, 0.5), (3.0, 1.0)], "loss": "huber"},
        {"max_epochs": 0},
        {"forest": RandomForestRegressor(4, max_leaf_nodes=20)},
        {"forest": ExtraTreesRegressor(3, max_leaf_nodes=20, bootstrap=True, random_state=8)},
        {"forest": BaggingRegressor(DecisionTreeRegressor(max_leaf_nodes=9), 1, max_samples=0.5)},
    ],
    ids=str,
)
def test_a_regression_has_the_bits_of_a_local_one(threads, parameters):
    X, y = make_rows()
    X[::9, 1] = np.nan
    assert_same_bits(*fitted_both(X, y, **parameters))


def test_training_that_ends_between_two_pauses_is_repeated_up_to_there(threads):
    X, y = make_rows(200, noise=1.0)
    parameters = {"max_epochs": 60, "learning_rate": 0.03, "forest": RandomForestRegressor(3, max_leaf_nodes=30)}
    local, other = fitted_both(X, y, **parameters)
    assert 24 < local.history_.n_epochs < 60
    assert_same_bits(local, other)


def test_over_dispersed_predictions_are_calibrated_alike(threads):
    X, _ = make_rows(300)
    y = np.random.default_rng(5).normal(size=300)
    local, other = fitted_both(X, y, max_epochs=4, forest=RandomForestRegressor(12, max_leaf_nodes=20))
    assert local.predict(X).std() < 0.01  # there is no signal
    assert_same_bits(local, other)


def test_weights_and_several_targets(threads):
    X, y = make_rows()
    weight = np.random.default_rng(1).integers(0, 3, len(y)).astype(float)
    assert_same_bits(*fitted_both(X, np.column_stack([y, -2.0 * y]), weight))
    assert_same_bits(*fitted_both(X, y, weight, max_epochs=2, forest=RandomForestRegressor(3, max_leaf_nodes=9)))
    assert_same_bits(*fitted_both(X, y, np.full(len(y), 3.0), max_epochs=2))  # as without weights


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"class_weight": "balanced", "forest": ExtraTreesClassifier(5, max_leaf_nodes=20, bootstrap=True)},
        {"class_weight": {"a": 2.0, "c": 0.5}, "forest": RandomForestClassifier(4, max_leaf_nodes=32)},
    ],
    ids=str,
)
def test_a_classification_has_the_bits_of_a_local_one(threads, parameters):
    X, y = make_rows(240)
    labels = np.array(["a", "b", "c"])[np.digitize(y, [-0.5, 0.9])]
    assert_same_bits(*fitted_both(X, labels, classifier=True, max_epochs=3, **parameters))


@pytest.mark.parametrize("classifier", [False, True])
def test_a_table_with_categories(threads, classifier):
    X, y = make_rows(300, 3)
    random = np.random.default_rng(1)
    table = pd.DataFrame(X, columns=list("abc"))
    table["kind"] = random.choice(["u", "v", "w"], 300)
    table["rare"] = pd.Categorical(random.choice(["x", "y"], 300, p=[0.97, 0.03]))
    table.loc[::17, "kind"] = None
    target = pd.Series(y + 2.0 * (table["kind"] == "u"), name="y")
    target = (target > 0.5).astype(int) if classifier else target
    local, other = fitted_both(table, target, classifier=classifier, max_epochs=3)
    assert_same_bits(local, other)
    np.testing.assert_array_equal(local.predict(table), other.predict(table))
