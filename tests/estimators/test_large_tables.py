"""Wide and long tables: features are screened, rows are sampled, and what is left out is said."""

import importlib

import numpy as np
import pytest
import scipy.sparse

import neuralforest as nf
from neuralforest.base_models import cross_fitting
from neuralforest.estimators import forests, modes, screening, validation
from neuralforest.exceptions import CostWarning
from neuralforest.training import data


def rows(n=300, d=40, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)).astype(np.float32)
    return X, X[:, 3] ** 2 + 2 * X[:, 7] + 0.1 * rng.normal(size=n)


@pytest.fixture
def wide(monkeypatch):
    """Take 20 features for many, and 5 for those that are kept."""
    for module in (modes, screening):
        monkeypatch.setattr(module, "MOST_FEATURES", 20)
    monkeypatch.setattr(screening, "_FEWEST", 5)


def test_what_a_feature_explains_is_the_variance_between_its_bins():
    rng = np.random.default_rng(0)
    group = rng.integers(0, 4, 2_000)
    y = np.array([0.0, 5.0, -5.0, 1.0])[group] + rng.normal(size=2_000)
    X = np.column_stack([group, rng.normal(size=2_000), np.where(group == 1, np.nan, 0.0), np.zeros(2_000)])
    explained, chance = screening.explained_by_features(X, y[:, None])
    between = sum(np.mean(group == g) * (y[group == g].mean() - y.mean()) ** 2 for g in range(4)) / y.var()
    np.testing.assert_allclose(explained[0], between, rtol=1e-12)
    missing = group == 1
    by_missing = sum(np.mean(m) * (y[m].mean() - y.mean()) ** 2 for m in (missing, ~missing)) / y.var()
    np.testing.assert_allclose(explained[2], by_missing, rtol=1e-12)
    assert explained[1] < chance < explained[2]
    assert explained[3] == pytest.approx(0, abs=1e-20)


def test_features_without_a_signal_exceed_the_chance_level_in_one_of_a_thousand_cases():
    rng = np.random.default_rng(1)
    explained, chance = screening.explained_by_features(rng.normal(size=(500, 5_000)), rng.normal(size=(500, 1)))
    assert 0 <= np.count_nonzero(explained > chance) <= 15  # 5 in the mean


@pytest.mark.parametrize("is_sparse", [False, True])
def test_a_wide_table_is_fitted_on_the_relevant_features(wide, is_sparse):
    X, y = rows()
    given = scipy.sparse.csr_array(X) if is_sparse else X
    with pytest.warns(CostWarning, match="X has 40 features.*uses the 5 that explain most"):
        model = nf.NeuralForestRegressor(random_state=0, max_epochs=20).fit(given, y)
    used = np.unique(model.network_.ensemble.feature)
    assert {3, 7} <= set(used)
    assert len(used) <= 5
    assert model.network_.soft.connectivity == "sparse"
    changed = X.copy()
    changed[:, np.setdiff1d(np.arange(40), used)] = 9.0
    np.testing.assert_array_equal(model.predict(changed), model.predict(X))
    assert np.mean((model.predict(X) - y) ** 2) < 0.2 * y.var()


def test_base_models_of_a_wide_table_take_all_of_its_features(wide):
    X, y = rows(700)
    with pytest.warns(CostWarning):
        model = nf.NeuralForestRegressor(random_state=0, max_epochs=2).fit(X, y)  # so that base models are better
    stacked = model.network_.base_models
    assert stacked
    used = np.unique(model.network_.ensemble.feature)
    for each in stacked:
        assert each.model.n_features == 40
        assert set(np.flatnonzero(each.model.importances())) <= set(used)


def test_a_wide_classifier(wide):
    X, y = rows()
    with pytest.warns(CostWarning, match="X has 40 features"):
        model = nf.NeuralForestClassifier(random_state=0, max_epochs=5).fit(X, np.digitize(y, [-1, 2]))
    assert {3, 7} <= set(model.network_.ensemble.feature)


def test_a_table_that_is_not_wide_is_not_screened():
    table = type("Table", (), {"X": np.zeros((5, modes.MOST_FEATURES))})
    assert screening.relevant_features(table, False) is None


def test_a_table_of_many_rows_validates_on_a_sample_and_trains_on_the_rest(monkeypatch):
    monkeypatch.setattr(validation, "MOST_VALIDATION_ROWS", 200)
    monkeypatch.setattr(forests, "_MOST_ROWS", 300)
    X, y = rows(1_000, 9)
    model = nf.NeuralForestRegressor(random_state=0, max_epochs=1, stacking=None).fit(X, y)
    table = validation.FitRows(X, y, np.ones(1_000), None, 1_000)
    split = validation.TrainValidationSplit(np.arange(1_000), np.arange(0))
    fit, validated = split.training_rows(table, model.forest_, model.network_.n_subnetworks)
    assert len(np.unique(validated.row)) <= 200
    for tree, bag in enumerate(model.forest_.estimators_samples_):
        assert len(bag) == 300
        trained, seen = fit.of(tree)[0], validated.of(tree)[0]
        assert not np.intersect1d(trained, seen).size
        assert set(bag) <= set(trained)
        assert len(trained) + len(seen) == 1_000


def test_a_long_table_is_fitted_in_two_folds_and_evaluated_on_the_rows_of_the_network(monkeypatch):
    monkeypatch.setattr(cross_fitting, "MOST_ROWS", 100)
    monkeypatch.setattr(cross_fitting, "MOST_VALIDATION_ROWS", 250)
    X, y = rows(400, 8)
    everything = np.arange(400)
    validated = data.SubnetworkRows.shared(everything[:240], np.ones(240), 1)
    all_rows = data.TrainingData(X, y[:, None], data.SubnetworkRows.shared(everything, np.ones(400), 1), validated)
    task = cross_fitting.Task(False, all_rows, y, np.ones(400), everything, everything[:0], 400, 0, 1, np.zeros(8, int))
    folds = cross_fitting.Folds.of(task)
    assert [len(each) for each in folds.training] == [100, 100]
    left_out = np.concatenate(folds.left_out)
    assert all(len(each) <= 100 for each in folds.left_out)
    assert left_out.max() < 240
    assert not any(np.intersect1d(*each).size for each in zip(folds.training, folds.left_out, strict=True))


def test_many_targets_are_fitted_without_base_models_and_say_so():
    X, y = rows(60, 8)
    with pytest.warns(CostWarning, match="y has 21 targets"):
        model = nf.NeuralForestRegressor(random_state=0, max_epochs=1).fit(X, y[:, None] * np.arange(1, 22))
    assert model.stacking_weights_ == {"network": 1.0}


def test_extra_trees_that_would_take_too_much_memory_are_left_out_and_say_so(monkeypatch):
    module = importlib.import_module("neuralforest.base_models.extra_trees")  # the package has a function of this name
    monkeypatch.setattr(module, "_MOST_NUMBERS", 1_000)
    X, y = rows(60, 8)
    with pytest.warns(CostWarning, match="extra trees with probabilities of 2 classes"):
        nf.NeuralForestClassifier(random_state=0, max_epochs=1).fit(X, y > 0)
