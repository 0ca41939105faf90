"""Estimators with base models: predictions, files and exports are those of the stack."""

import pickle
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.ensemble import (
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.metrics import log_loss

import neuralforest as nf
from neuralforest.cli import main
from neuralforest.estimators import validation
from neuralforest.estimators.validation import hold_out
from neuralforest.exceptions import ConvergenceWarning, ModelFileError, ValidationWarning
from neuralforest.network import LinearModel, StackedModel, feature_importances
from neuralforest.persistence import _container
from neuralforest.selection import stacking
from small_models import at_most_boosting_rounds, output, patches
from validation_losses import forest_and_model

pytestmark = pytest.mark.usefixtures("few_boosting_rounds", "one_thread")

BOOSTING = {"gradient_boosting", "shallow_gradient_boosting"}


def fitted(classifier=False, **parameters):
    kind = nf.NeuralForestClassifier if classifier else nf.NeuralForestRegressor
    return kind(**{"max_epochs": 3, "random_state": 0} | parameters).fit(*patches(classifier))


@cache
def fitted_once(classifier=False, stacking="auto"):
    """Return a model that is fitted once, for tests that do not change it."""
    return fitted(classifier, stacking=stacking)


def copy_of_fitted(classifier=False, **parameters):
    """Return a copy of the model that is fitted once, with other parameters for the next fit."""
    return pickle.loads(pickle.dumps(fitted_once(classifier))).set_params(**parameters)


@pytest.fixture(scope="module", params=[False, True], ids=["regressor", "classifier"])
def model(request):
    with at_most_boosting_rounds(200):
        return fitted_once(request.param)


# Fits.


def test_a_prediction_is_the_mean_of_network_and_base_models_by_their_weights(model):
    X = patches(seed=1)[0].astype(np.float32)
    network, weights = model.network_, model.stacking_weights_
    assert list(weights) == ["network", *(each.name for each in network.base_models)]
    assert sum(weights.values()) == pytest.approx(1)
    assert 0.05 <= weights["network"] <= 0.95
    network = network.with_temperature(1.0)
    expected = weights["network"] * network.with_base_models().prediction(X)
    for each in network.base_models:
        expected = expected + weights[each.name] * each.model.prediction(X)
    assert_allclose(network.prediction(X).reshape(len(X), -1), expected, rtol=1e-12, atol=1e-12)
    if network.classes is not None:
        expected = expected ** (1 / model.network_.temperature)
        expected /= expected.sum(axis=1, keepdims=True)
    assert_allclose(output(model, X).reshape(len(X), -1), expected, rtol=1e-12, atol=1e-12)


def test_steps_of_a_few_features_among_many_are_fitted_by_gradient_boosting():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(400, 40))
    y = np.floor(8 * X[:, 0]) * np.floor(3 * X[:, 1]) + 0.1 * rng.normal(size=400)
    with at_most_boosting_rounds(600):
        model = nf.NeuralForestRegressor(max_epochs=1, random_state=0).fit(X, y)
    weights = model.stacking_weights_
    assert max(weights, key=weights.get) in BOOSTING
    assert sum(weights[name] for name in BOOSTING & set(weights)) > 0.4
    for each in model.network_.base_models:
        if each.name in BOOSTING:
            assert np.corrcoef(each.model.predict(X), y)[0, 1] > 0.98


@pytest.mark.parametrize("labels", [("no", "yes"), ("a", "b", "c")])
def test_gradient_boosting_of_a_classifier_predicts_probabilities(labels, tmp_path):
    """The scores of the five models are averaged before the link."""
    torch = pytest.importorskip("torch")
    onnxruntime = pytest.importorskip("onnxruntime")
    from neuralforest.export.onnx import to_onnx
    from neuralforest.export.torch import to_torch

    rng = np.random.default_rng(0)
    X = rng.uniform(size=(500, 20)).astype(np.float32)
    y = np.array(labels)[(2 * len(labels) * X[:, 0]).astype(int) // 2 % len(labels)]
    model = nf.NeuralForestClassifier(max_epochs=1, random_state=0).fit(X, y)
    network = model.network_
    boosted = next(each.model for each in network.base_models if each.name == "gradient_boosting")
    assert boosted.link == ("logit" if len(labels) == 2 else "softmax")
    assert np.mean(np.array(labels)[boosted.predict_proba(X).argmax(axis=1)] == y) > 0.9
    expected = network.network_weight * network.with_base_models().with_temperature(1.0).predict_proba(X)
    for each in network.base_models:
        expected = expected + each.weight * each.model.predict_proba(X)
    expected = expected ** (1 / network.temperature)
    assert_allclose(model.predict_proba(X), expected / expected.sum(axis=1, keepdims=True), rtol=1e-12)
    assert_allclose(model.predict_proba(X).sum(axis=1), 1)
    nf.save(model, tmp_path / "model.nforest")
    assert_array_equal(nf.load(tmp_path / "model.nforest").predict_proba(X), model.predict_proba(X))
    assert_allclose(to_torch(model)(torch.from_numpy(X)).detach().numpy(), model.predict_proba(X), atol=2e-6)
    session = onnxruntime.InferenceSession(to_onnx(model).SerializeToString())
    assert_allclose(session.run(["probabilities"], {"X": X})[0], model.predict_proba(X), atol=2e-6)


@pytest.mark.parametrize("n_classes", [2, 25])
def test_rare_or_many_classes_are_not_boosted(n_classes):
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(300, 2))
    y = rng.permutation(np.r_[np.zeros(295), np.ones(5)] if n_classes == 2 else np.arange(300) % n_classes)
    model = nf.NeuralForestClassifier(max_epochs=1, random_state=0).fit(X, y)
    assert not BOOSTING & set(model.stacking_weights_)


def test_ridge_regression_is_stacked_for_a_linear_target_and_does_not_extrapolate():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 8))
    y = X @ np.arange(8) + 5 * rng.normal(size=120)
    model = nf.NeuralForestRegressor(max_epochs=3, random_state=0).fit(X, y)
    ridge = next(each.model for each in model.network_.base_models if each.name == "ridge")
    assert np.corrcoef(ridge.prediction(X)[:, 0], X @ np.arange(8))[0, 1] > 0.98
    far = np.vstack([X.max(axis=0), 100 * np.abs(X).max(axis=0)])
    assert_allclose(*ridge.prediction(far), rtol=1e-6)
    assert_allclose(ridge.prediction(np.full((1, 8), np.nan))[0], ridge.intercept)
    alone = nf.NeuralForestRegressor(max_epochs=3, random_state=0, stacking=None).fit(X, y)
    new = rng.normal(size=(1000, 8))
    errors = [np.mean((each.predict(new) - new @ np.arange(8)) ** 2) for each in (model, alone)]
    assert errors[0] < 0.8 * errors[1]


def test_base_models_lower_the_error_where_trees_fit_better():
    X, y = patches(seed=1)
    both, alone = (np.mean((fitted_once(stacking=choice).predict(X) - y) ** 2) for choice in ("auto", None))
    assert both < 0.9 * alone


def test_no_trees_are_stacked_where_the_network_fits_better():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 4))
    model = nf.NeuralForestRegressor(max_epochs=20, random_state=0).fit(X, X @ [1.0, 2.0, -1.0, 0.5])
    assert set(model.stacking_weights_) <= {"network", "ridge", "combination_forecast"}


@pytest.mark.parametrize("classifier", [False, True])
@pytest.mark.parametrize("missing", [False, True])
def test_the_stack_is_not_worse_than_the_forest_on_given_validation_rows(classifier, missing):
    """Both losses are computed from predictions for X_val."""
    (X, y), (X_val, y_val) = patches(classifier), patches(classifier, n=200, seed=1)
    if missing:
        X[::7, 0] = X_val[::5, 0] = np.nan
    kind = nf.NeuralForestClassifier if classifier else nf.NeuralForestRegressor
    model = kind(max_epochs=3, random_state=0).fit(X, y, X_val=X_val, y_val=y_val)
    assert model.network_.base_models
    forest, stacked = forest_and_model(model, y, X_val, y_val)
    assert stacked < forest
    assert (model.forest_loss_, model.validation_loss_) == pytest.approx((forest, stacked), rel=1e-5)
    network = model.network_
    model.network_ = network.with_base_models()
    assert stacked < forest_and_model(model, y, X_val, y_val)[1]  # the weights lower the loss of the network


@pytest.mark.parametrize("given", [{"training": "joint", "connectivity": "sparse"}, {"validation": "fraction"}])
def test_held_out_rows_fit_the_stacking_weights(given, monkeypatch):
    """No tree of the stack is grown on them, and both losses are those of predictions for them."""
    splits = []
    monkeypatch.setattr(validation, "hold_out", lambda *arguments: splits.append(hold_out(*arguments)) or splits[-1])
    model, (X, y) = fitted(**given), patches()
    (split,) = splits
    assert (len(split.fit), len(split.validation)) == (375, 125)
    forest, stacked = forest_and_model(model, y[split.fit], X[split.validation], y[split.validation])
    assert (model.forest_loss_, model.validation_loss_) == pytest.approx((forest, stacked), rel=1e-5)
    assert stacked < forest
    extra_trees = next(each.model.ensemble for each in model.network_.base_models if each.name == "extra_trees")
    assert np.add.reduceat(extra_trees.weight, extra_trees.first_leaf[:-1]).max() <= 375
    X_new, y_new = patches(seed=1, n=2000)
    of_forest, of_stack = forest_and_model(model, y[split.fit], X_new, y_new)
    assert of_stack < of_forest
    assert of_stack < 2 * stacked  # trees that were grown on the held-out rows would predict them without an error


@pytest.mark.parametrize(
    "changes",
    [
        {"stacking": None},
        {"max_epochs": 0},
        {"forest": RandomForestRegressor(5, max_leaf_nodes=8)},
        {"loss": "huber"},
        {"callback": lambda epoch, history: True},
    ],
)
def test_nothing_is_stacked_where_the_documentation_excludes_it(changes):
    assert fitted(**changes).stacking_weights_ == {"network": 1.0}


@pytest.mark.parametrize("given", [{}, {"validation": "fraction"}])
def test_a_second_fit_on_the_same_rows_keeps_base_models_weights_and_losses(given):
    X, y = patches()
    model = fitted(warm_start=True, **given) if given else copy_of_fitted(warm_start=True)
    before, losses = model.network_.base_models, (model.forest_loss_, model.validation_loss_)
    width = np.ptp(model.predict_quantiles(X, (0.1, 0.9)), axis=1)
    model.set_params(learning_rate=1e-30).fit(X, y)
    assert [each.name for each in model.network_.base_models] == [each.name for each in before]
    assert_allclose((model.forest_loss_, model.validation_loss_), losses, rtol=1e-6)
    assert_allclose(np.ptp(model.predict_quantiles(X, (0.1, 0.9)), axis=1), width, rtol=1e-6)
    before = model.network_.base_models
    assert model.partial_fit(X, y).network_.base_models is before


@pytest.mark.parametrize("classifier", [False, True])
def test_a_second_fit_on_other_rows_reports_the_loss_of_the_rows_that_it_is_given(classifier):
    X, y = patches(classifier)
    other, target = X[::-1] + 0.1, 1 - y if classifier else 10 - y
    model = copy_of_fitted(classifier, warm_start=True)
    given = {"X_val": other[:100], "y_val": target[:100]}
    model.fit(other[100:], target[100:], **given)
    predicted = output(model, other[:100])
    if classifier:
        loss = log_loss(target[:100], predicted)
    else:
        loss = np.mean((predicted - target[:100]) ** 2) / model.network_.soft.output_scale[0] ** 2
    assert model.validation_loss_ == pytest.approx(loss, rel=1e-5)
    assert model.validation_loss_ <= model.forest_loss_


def test_a_second_fit_on_as_many_other_rows_is_not_validated_out_of_bag():
    """The trees have drawn other rows, so that their out-of-bag rows are no validation rows."""
    X, y = patches()
    model = copy_of_fitted(warm_start=True)
    with pytest.warns(ValidationWarning, match="other rows than those of the first fit.*pass X_val"):
        model.fit(X, -y)
    assert model._residuals.relative.shape[0] == len(y) // 4
    with pytest.raises(ValueError, match="other rows for a forest that was fitted on 500"):
        model.set_params(validation="oob").fit(X, 2 * y)


def test_an_interrupt_while_base_models_are_fitted_keeps_the_network(monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(stacking, "best_weight", interrupt)
    with pytest.warns(ConvergenceWarning, match="without them"):
        model = fitted()
    X, _ = patches(seed=1)
    assert not model.network_.base_models
    assert_array_equal(model.predict(X), fitted_once(stacking=None).predict(X))


def test_the_command_line_stacks_unless_trees_are_counted(tmp_path):
    X, y = patches(n=1_200)
    rows = tmp_path / "rows.csv"
    np.savetxt(rows, np.column_stack([X, y]), delimiter=",", header="a,b,y", comments="")
    for arguments, n_trees, alone in (([], 8, False), (["--trees", "5"], 5, True)):
        out = tmp_path / "m.nforest"
        command = ["fit", str(rows), "--target", "y", "--out", str(out), "--epochs", "1", "--quiet", *arguments]
        assert main(command) == 0
        network = nf.load(out).model.network_
        assert (network.ensemble.n_trees, not network.base_models) == (n_trees, alone)


def test_intervals_and_importances_are_those_of_the_stack(model):
    network, importances = model.network_, model.feature_importances_
    assert_allclose(importances.sum(), 1)
    expected = network.network_weight * feature_importances(network.with_base_models())
    for each in network.base_models:
        expected = expected + each.weight * each.model.importances()
    assert_allclose(importances, expected)
    if not model._classifier:
        X, y = patches(seed=1, n=2000)
        low, high = model.predict_quantiles(X, (0.1, 0.9)).T
        assert 0.74 < np.mean((low <= y) & (y <= high)) < 0.9


# Files and exports.


def test_files_pickles_and_clones(model, tmp_path):
    X, _ = patches(seed=3)
    path = tmp_path / "model.nforest"
    nf.save(model, path)
    for copy in (nf.load(path), pickle.loads(pickle.dumps(model))):
        assert_array_equal(output(copy, X), output(model, X))
        assert copy.stacking_weights_ == model.stacking_weights_
    assert clone(model).get_params()["stacking"] == "auto"


@pytest.mark.parametrize("link", ["logit", "probit"])
def test_a_file_keeps_the_link_of_a_base_model(link, tmp_path):
    X, y = patches(classifier=True)
    network = nf.convert(RandomForestClassifier(3, random_state=0).fit(X, y))
    boosted = nf.convert(GradientBoostingClassifier(n_estimators=3, random_state=0).fit(X, y)).ensemble
    boosted = nf.ForestNetwork(replace(boosted, link=link))
    network = network.with_base_models((StackedModel("gradient_boosting", boosted, 0.5),))
    nf.save(network, tmp_path / "model.nforest")
    assert_array_equal(nf.load(tmp_path / "model.nforest").predict_proba(X), network.predict_proba(X))


@pytest.mark.parametrize("weight", [-0.1, 1.5, np.nan])
def test_a_file_with_an_impossible_stacking_weight_is_refused(model, tmp_path, weight):
    path = tmp_path / "model.nforest"
    nf.save(model, path)
    arrays, header = _container.read(path)
    assert "base_model.0.stacking_weight" in arrays
    arrays["base_model.0.stacking_weight"] = np.array([weight])
    _container.write(path, arrays, header)
    with pytest.raises(ModelFileError, match=r"stacking.weight"):
        nf.load(path)


def test_a_regressor_with_base_models_of_all_types_is_stored(tmp_path):
    model = copy_of_fitted()
    linear = LinearModel(*np.ones((4, 2)), coef=np.ones((2, 1)), intercept=np.ones(1))
    extra_trees, boosted = (
        nf.convert(kind(n_estimators=3, random_state=0).fit(*patches()))
        for kind in (ExtraTreesRegressor, GradientBoostingRegressor)
    )
    models = {"extra_trees": extra_trees, "gradient_boosting": boosted, "ridge": linear}
    base_models = tuple(StackedModel(name, each, 0.25) for name, each in models.items())
    model.network_ = model.network_.with_base_models(base_models)
    nf.save(model, tmp_path / "model.nforest")
    loaded, (X, _) = nf.load(tmp_path / "model.nforest"), patches(seed=3)
    assert_array_equal(loaded.predict(X), model.predict(X))
    assert loaded.stacking_weights_ == {"network": 0.25} | dict.fromkeys(models, 0.25)
    assert [str(each.model) for each in loaded.network_.base_models] == [str(each) for each in models.values()]


def test_torch_and_onnx_compute_the_same(model):
    torch = pytest.importorskip("torch")
    onnxruntime = pytest.importorskip("onnxruntime")
    from neuralforest.export.onnx import to_onnx
    from neuralforest.export.torch import from_torch, to_torch

    X = patches(seed=4)[0].astype(np.float32)
    expected = output(model, X).reshape(len(X), -1)
    module = to_torch(model)
    assert_allclose(module(torch.from_numpy(X)).detach().numpy(), expected, atol=2e-6)
    assert from_torch(module).base_models is model.network_.base_models
    session = onnxruntime.InferenceSession(to_onnx(model).SerializeToString())
    assert_allclose(session.run(None, {"X": X})[-1].reshape(len(X), -1), expected, atol=2e-6)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_base_models_of_all_types_are_exported(dtype):
    """Rows with missing values and far outside of the range that the linear model was fitted on."""
    torch = pytest.importorskip("torch")
    onnxruntime = pytest.importorskip("onnxruntime")
    from neuralforest.export.onnx import to_onnx
    from neuralforest.export.torch import to_torch

    network = nf.load(Path(__file__).parents[1] / "models" / "format-3-network.nforest")
    rng = np.random.default_rng(0)
    X = (3 * rng.normal(size=(200, 3))).astype(np.float32).astype(dtype)
    X[rng.random(X.shape) < 0.2] = np.nan
    expected, most = network.predict(X)[:, None], 2e-6 if dtype == "float32" else 1e-6
    assert len(network.base_models) == 3
    rows = torch.from_numpy(X).requires_grad_()
    exported = to_torch(network)(rows)
    assert_allclose(exported.detach().numpy(), expected, atol=most)
    exported.sum().backward()
    assert np.isfinite(rows.grad.numpy()).all()
    session = onnxruntime.InferenceSession(to_onnx(network, dtype=dtype).SerializeToString())
    assert_allclose(session.run(None, {"X": X})[0], expected, atol=most)
