"""Models that are brought: what is trained of them, and how the whole model stays beside the network."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.ensemble import (
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.metrics import log_loss
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import neuralforest as nf
from neuralforest.estimators.cross_fitting import in_folds
from neuralforest.exceptions import CostWarning, InvalidParameterError, ValidationWarning
from neuralforest.network.cutting import cut_back, first_trees
from neuralforest.selection import OutOfSamplePredictions
from neuralforest.selection.learning_curve import as_of_all_rows
from small_models import boosted, classification, regression, small


@given(st.integers(2, 60), st.booleans(), st.integers(0, 20))
@settings(max_examples=40, deadline=None)
def test_a_tree_that_is_cut_back_is_the_tree_that_grows_best_first(n_leaves, classifier, seed):
    X, y = classification(150, seed) if classifier else regression(150, seed)
    kind = DecisionTreeClassifier if classifier else DecisionTreeRegressor
    whole, wanted = (kind(random_state=0, max_leaf_nodes=n).fit(X, y) for n in (None, n_leaves))
    cut = nf.ForestNetwork(cut_back(nf.convert(whole).ensemble, n_leaves))
    if classifier:  # leaves of equal gains may be split in another order
        assert cut.ensemble.n_leaves == min(n_leaves, whole.get_n_leaves())
        np.testing.assert_allclose(cut.predict_proba(X).mean(axis=0), wanted.predict_proba(X).mean(axis=0))
    else:
        np.testing.assert_allclose(cut.predict(X), wanted.predict(X), rtol=1e-9, atol=1e-9)


def test_trees_that_are_small_enough_stay_as_they_are_and_groups_are_kept():
    X, y = regression(200)
    e = nf.convert(RandomForestRegressor(6, random_state=0).fit(X, y)).ensemble
    assert cut_back(e, 10_000) is e
    cut = cut_back(e, 7)
    assert (np.diff(cut.first_leaf) == 7).all()
    np.testing.assert_allclose(np.add.reduceat(cut.weight, cut.first_leaf[:-1]), 200)
    assert first_trees(e, 4).n_trees == 4
    np.testing.assert_array_equal(first_trees(e, 4).value, e[:4].value)


def large_forest(classifier=False, n_rows=500):
    X, y = classification(n_rows) if classifier else regression(n_rows)
    kind = RandomForestClassifier if classifier else RandomForestRegressor
    source = kind(40, criterion="entropy" if classifier else "squared_error", random_state=0)
    if classifier:  # labels at random: leaves without end
        y = np.random.default_rng(0).integers(0, 3, n_rows)
    with pytest.warns(CostWarning, match=r"30 of the 40 trees of .*, cut back from up to .* leaves to 64, are trained"):
        return small(classifier, source, stacking="auto", connectivity="auto").fit(X, y), clone(source), X, y


def stacked(network, name, of_source, X):
    """Return the weighted mean of a network, the source's own predictions and other base models, with temperature."""
    alone = network.with_base_models().with_temperature(1.0)
    mean = network.network_weight * getattr(alone, name)(X)
    for each in network.base_models:
        part = of_source if each.name == "source" else each.model.prediction(network.check_X(X)).reshape(mean.shape)
        mean = mean + each.weight * part
    if name == "predict":
        return mean
    powers = mean ** (1 / network.temperature)
    return powers / powers.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("classifier", [False, True])
def test_large_trees_are_cut_back_and_the_whole_forest_stays(classifier, tmp_path):
    model, source, X, y = large_forest(classifier)
    network = model.network_
    assert network.ensemble.n_trees == 30
    assert np.diff(network.ensemble.first_leaf).max() == 64
    name = "predict_proba" if classifier else "predict"
    alone = getattr(source.fit(X, y), name)(X)
    np.testing.assert_allclose(getattr(model.source_, name)(X), alone, rtol=1e-12)
    np.testing.assert_allclose(getattr(model, name)(X), stacked(network, name, alone, X), rtol=1e-6)
    assert model.validation_loss_ <= model.forest_loss_
    nf.save(model, tmp_path / "model")
    loaded = nf.load(tmp_path / "model")
    np.testing.assert_array_equal(getattr(loaded, name)(X), getattr(model, name)(X))
    np.testing.assert_allclose(getattr(loaded.source_, name)(X), alone, rtol=1e-12)


def test_of_many_trees_some_are_trained_and_without_stacking_all():
    X, y = regression(200)
    source = RandomForestRegressor(32, max_leaf_nodes=8, random_state=0)
    with pytest.warns(CostWarning, match=r"30 of the 32 trees of RandomForestRegressor are trained.*stacking=None"):
        model = small(source=source, stacking="auto").fit(X, y)
    assert (model.network_.ensemble.n_trees, model.source_.n_estimators) == (30, 32)
    assert small(source=source).fit(X, y).network_.ensemble.n_trees == 32


def test_the_loss_of_a_large_forest_is_that_of_all_its_trees_out_of_bag():
    model, source, X, y = large_forest()
    source.set_params(oob_score=True).fit(X, y)
    measured = np.mean((source.oob_prediction_ - y) ** 2)
    reported = model.forest_loss_ * model.network_.soft.output_scale[0] ** 2
    assert 0.7 * measured < reported < measured  # without the variance of a row's few trees
    assert model.forest_loss_ > model.validation_loss_


def test_without_stacking_a_large_forest_is_an_alternative_to_its_network():
    X, y = regression(500)
    with pytest.warns(CostWarning):
        model = small(source=RandomForestRegressor(40, random_state=0), max_epochs=0, contrast=(0.01, 0.01)).fit(X, y)
    assert set(model.stacking_weights_.values()) == {0.0, 1.0}


@pytest.mark.parametrize("classifier", [False, True])
def test_boosting_is_kept_as_it_is_beside_the_default_network(classifier, tmp_path):
    X, y = classification(300) if classifier else regression(300)
    source = boosted(classifier, random_state=0)
    model = small(classifier, source, stacking="auto", connectivity="auto").fit(X, y)
    name = "predict_proba" if classifier else "predict"
    alone = getattr(clone(source).fit(X, y), name)(X)
    np.testing.assert_array_equal(getattr(model.source_, name)(X), alone)
    np.testing.assert_allclose(getattr(model, name)(X), stacked(model.network_, name, alone, X), rtol=1e-6, atol=1e-12)
    assert model.network_.soft.training == "independent"
    assert model.validation_loss_ <= model.forest_loss_
    nf.save(model, tmp_path / "model")
    np.testing.assert_array_equal(getattr(nf.load(tmp_path / "model"), name)(X), getattr(model, name)(X))


@pytest.mark.parametrize("classes", [2, 3])
def test_the_log_loss_of_boosting_is_that_of_its_copies_for_folds_less_what_they_lack(classes):
    X, y = classification(250, classes=classes)
    model = small(True, boosted(True, random_state=0), stacking="auto").fit(X, y)
    split = in_folds(nf.estimators.rows.FitRows(X, y, np.ones(250), None, 250), True, model._split_seed)
    probabilities = np.zeros((250, len(model.classes_)))
    for fold in split.folds:
        rows = np.setdiff1d(np.arange(250), fold)
        probabilities[fold] = boosted(True, random_state=0).fit(X[rows], y[rows]).predict_proba(X[fold])
    measured = log_loss(y, probabilities)
    assert model.forest_loss_ == pytest.approx(0.95 * measured, rel=0.01)


def test_the_loss_of_boosting_is_that_of_rows_that_it_has_not_seen():
    X, y = regression(250, seed=1)
    model = small(source=boosted(random_state=0), stacking="auto").fit(X, y)
    weight = np.ones(250)
    split = in_folds(nf.estimators.rows.FitRows(X, y, weight, None, 250), False, model._split_seed)
    lacking_one, lacking_two = np.zeros((250, 1)), np.zeros((250, 1))
    for prediction, left_out in ((lacking_one, range(5)), (lacking_two, [(0, 1), (2, 3)])):
        for folds in left_out:
            lacking = np.concatenate([split.folds[each] for each in np.atleast_1d(folds)])
            rows = np.setdiff1d(np.arange(250), lacking)
            prediction[lacking, 0] = boosted(random_state=0).fit(X[rows], y[rows]).predict(X[lacking])
    of_folds = OutOfSamplePredictions.of_all(np.arange(250), lacking_one, weight)
    both = np.sort(np.concatenate(split.folds[:4]))
    lacking_two = OutOfSamplePredictions.of_all(both, lacking_two[both], weight[both])
    excess = as_of_all_rows(of_folds, lacking_two, y[:, None], 5).excess_variance.mean()
    assert excess > 0
    scale = model.network_.soft.output_scale[0]
    error = np.mean((lacking_one[:, 0] - y) ** 2)
    np.testing.assert_allclose(model.forest_loss_ * scale**2, error - excess, rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_boosting_that_compares_in_float64_is_exact_in_the_stack(dtype):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3)).astype(dtype)
    y = np.round(X[:, 0] * 3) + X[:, 1]
    source = HistGradientBoostingRegressor(max_iter=20, random_state=0)
    model = small(source=source, stacking="auto", max_epochs=0).fit(X, y)
    stacked = model.network_.base_models[0].model
    assert stacked.compare_dtype == model.network_.compare_dtype == "float64"
    near = np.nextafter(stacked.ensemble.threshold[:50], np.inf)
    rows = np.tile(rng.normal(size=3), (len(near), 1))
    rows[np.arange(len(near)), stacked.ensemble.feature[:50]] = near
    np.testing.assert_allclose(model.network_.base_models[0].model.predict(rows), source.fit(X, y).predict(rows))


@pytest.mark.parametrize("kind", [GradientBoostingClassifier, HistGradientBoostingClassifier])
@pytest.mark.parametrize("classes", [2, 3])
def test_networks_with_a_link_are_stacked_before_it(kind, classes, tmp_path):
    X, y = classification(200, classes=classes)
    source = kind(random_state=0, **{"n_estimators" if kind is GradientBoostingClassifier else "max_iter": 4})
    model = small(True, source, stacking="auto", training="joint").fit(X, y)
    weight = model.stacking_weights_["source"]
    own, alone = model.network_.with_base_models().output(X), clone(source).fit(X, y).decision_function(X)
    blended = (1 - weight) * own + weight * alone.reshape(own.shape)
    np.testing.assert_allclose(model.network_.output(X), blended, rtol=1e-5, atol=1e-5)
    nf.save(model, tmp_path / "model")
    np.testing.assert_array_equal(nf.load(tmp_path / "model").predict_proba(X), model.predict_proba(X))
    torch = pytest.importorskip("torch")
    from neuralforest.export.torch import to_torch

    rows = torch.from_numpy(X)
    np.testing.assert_allclose(to_torch(model)(rows).detach().numpy(), model.predict_proba(X), atol=2e-6)


@pytest.mark.parametrize("joint", [False, True])
def test_stacks_with_a_source_agree_with_onnxruntime(joint):
    onnxruntime = pytest.importorskip("onnxruntime")
    from neuralforest.export.onnx import to_onnx

    X, y = classification(200)
    X = X.astype(np.float32)
    training = "joint" if joint else "auto"
    model = small(True, boosted(True, random_state=0), stacking="auto", training=training).fit(X, y)
    session = onnxruntime.InferenceSession(to_onnx(model).SerializeToString())
    outputs = session.run(["probabilities"], {session.get_inputs()[0].name: X})
    np.testing.assert_allclose(outputs[0], model.predict_proba(X), atol=5e-6)


def test_trees_without_out_of_bag_rows_are_stacked_with_the_model_of_all_rows():
    X, y = regression(300)
    source = ExtraTreesRegressor(20, max_leaf_nodes=16, random_state=0)
    model = small(source=source, stacking="auto").fit(X, y)
    np.testing.assert_allclose(model.source_.predict(X), clone(source).fit(X, y).predict(X))
    assert model.network_.ensemble.n_trees == 20
    assert model.validation_loss_ <= model.forest_loss_


def test_a_fitted_model_is_stacked_as_it_is_and_copies_of_it_validate_it():
    X, y = regression(200)
    fitted = boosted(random_state=0).fit(X, y)
    with pytest.warns(ValidationWarning, match=r"copies of it are fitted on the folds"):
        model = small(source=fitted, stacking="auto").fit(X, y)
    assert model.source_ is fitted


def test_what_cannot_be_fitted_again_is_validated_on_given_rows():
    X, y = regression(200)
    ensemble = nf.convert(boosted(random_state=0).fit(X[:100], y[:100])).ensemble
    model = small(source=ensemble, stacking="auto")
    with pytest.raises(InvalidParameterError, match=r"cannot be fitted again.*pass X_val and y_val"):
        model.fit(X, y)
    model.fit(X[:100], y[:100], X_val=X[100:], y_val=y[100:])
    scale = model.network_.soft.output_scale[0]
    error = np.mean((nf.ForestNetwork(ensemble).predict(X[100:]) - y[100:]) ** 2)
    np.testing.assert_allclose(model.forest_loss_ * scale**2, error, rtol=1e-6)


def test_a_warm_start_of_a_stack_needs_rows_that_the_source_has_not_seen(tmp_path):
    X, y = regression(200)
    model = small(source=boosted(random_state=0), stacking="auto", warm_start=True).fit(X[:150], y[:150])
    nf.save(model, tmp_path / "model")
    loaded = nf.load(tmp_path / "model")
    model.fit(X[:150], y[:150])
    assert model.validation_loss_ <= model.forest_loss_
    with pytest.raises(InvalidParameterError, match=r"pass X_val and y_val, use partial_fit, or fit anew"):
        loaded.fit(X[:150], y[:150])
    loaded.fit(X[:150], y[:150], X_val=X[150:], y_val=y[150:])
    assert "source" in loaded.stacking_weights_
    loaded.partial_fit(X[:150], y[:150])
    assert "source" in loaded.stacking_weights_


def test_a_log_link_is_refused():
    X, y = regression(200)
    source = HistGradientBoostingRegressor(loss="poisson", max_iter=5, random_state=0)
    with pytest.raises(InvalidParameterError, match=r"predict its log: refit the source with a squared error"):
        small(source=source, stacking="auto").fit(X, np.exp(y / 3))


def test_bart_is_brought_like_any_other_model():
    pytest.importorskip("stochtree")
    X, y = regression(200)
    source = nf.BARTRegressor(n_trees=10, n_draws=4, n_samples=12, n_burn_in=10, random_state=0)
    assert source.fit(X, y).ensemble_.n_groups == 4
    np.testing.assert_allclose(source.predict(X), nf.convert(source.model_, draws=4).predict(X))
    model = small(source=clone(source), stacking="auto").fit(X, y)
    np.testing.assert_array_equal(model.source_.predict(X), source.predict(X))
    jointly = small(source=clone(source)).fit(X, y)
    assert jointly.network_.n_subnetworks == 20  # draws of five folds
    for parameters, message in (({"n_draws": 0}, "n_draws must be"), ({"n_samples": 3}, "at least n_draws")):
        with pytest.raises(InvalidParameterError, match=message):
            clone(source).set_params(**parameters).fit(X, y)
