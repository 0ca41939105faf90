"""A temperature calibrates the probabilities of many subnetworks, from rows that few of them predict."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.metrics import log_loss

import neuralforest as nf
from neuralforest.base_models.extra_trees import extra_trees
from neuralforest.exceptions import InvalidParameterError, UnsupportedModelError
from neuralforest.selection import OutOfSamplePredictions, temperature
from neuralforest.selection.predictions import averaged
from small_models import base_model_task, small

N_CLASSES = 4


def simulated(n_rows, n_subnetworks, noise, seed=0):
    """Return the true probabilities, labels, and what each subnetwork predicts, (subnetworks, rows, classes)."""
    rng = np.random.default_rng(seed)
    scores = 2 * rng.normal(size=(n_rows, N_CLASSES))
    labels = np.array([rng.choice(N_CLASSES, p=p) for p in softmax(scores, axis=1)])
    noisy = scores + noise * rng.normal(size=(n_subnetworks, n_rows, N_CLASSES))
    return softmax(scores, axis=1), labels, softmax(noisy, axis=2)


def out_of_bag(predictions, k, seed=1):
    """Return the mean predictions of rows that k of all subnetworks predict."""
    m, n = predictions.shape[:2]
    rng = np.random.default_rng(seed)
    own = np.zeros((m, n), bool)
    for row in range(n):
        own[rng.choice(m, k, replace=False), row] = True
    outputs = [
        (np.flatnonzero(part), np.ones(part.sum()), each[part]) for part, each in zip(own, predictions, strict=True)
    ]
    return averaged(outputs, predictions.shape[1:], np.full(predictions.shape[2], 0.25), m)


def of_all(p, weight=None):
    """Return predictions that all subnetworks made together."""
    return OutOfSamplePredictions.of_all(np.arange(len(p)), p, np.ones(len(p)) if weight is None else weight)


def best_temperature(p, labels):
    """An independent optimum, by another parametrisation and another optimiser."""

    def loss(log_temperature):
        logs = log_softmax(np.log(p) / np.exp(log_temperature), axis=1)
        return -logs[np.arange(len(labels)), labels].mean()

    return np.exp(minimize_scalar(loss, bounds=(-2, 2), method="bounded").x)


@pytest.mark.parametrize("k", [2, 3, 8])
def test_the_temperature_is_that_of_all_subnetworks_though_few_predict_a_row(k):
    _, labels, predictions = simulated(6000, 30, noise=1.5)
    found = temperature.fitted(out_of_bag(predictions, k), np.eye(N_CLASSES)[labels], "identity")
    _, fresh_labels, fresh = simulated(6000, 30, noise=1.5, seed=7)
    best = best_temperature(fresh.mean(axis=0), fresh_labels)
    of_few = best_temperature(predictions[:k].mean(axis=0), labels)
    assert best < 0.8  # the mean of all is under-confident
    assert abs(np.log(found.temperature / best)) < 0.15
    if k == 2:  # and that of two subnetworks is less so
        assert of_few > 1.25 * best
    assert found.gain > 0


def test_extra_trees_are_calibrated_as_all_of_them_though_a_tenth_predicts_a_row():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(6000, 4)).astype(np.float32)
    y = (X[:, 0] + np.sin(3 * X[:, 1]) + 0.1 * rng.normal(size=6000) > 0).astype(int)
    *_, trees = extra_trees(base_model_task(X[:3000], y[:3000], True))
    own = trees.predictions
    some = best_temperature(np.clip(own.prediction, 1e-9, 1), y[own.row])
    best = best_temperature(np.clip(trees.model.prediction(X[3000:]), 1e-9, 1), y[3000:])
    found = temperature.fitted(own, np.eye(2)[y[:3000]], "identity").temperature
    assert best < 0.85 * some
    assert abs(np.log(found / best)) < 0.2


def test_the_gain_is_that_on_new_rows():
    _, labels, predictions = simulated(6000, 30, noise=1.5)
    found = temperature.fitted(out_of_bag(predictions, 3), np.eye(N_CLASSES)[labels], "identity")
    _, fresh_labels, fresh = simulated(20_000, 30, noise=1.5, seed=7)
    p = fresh.mean(axis=0)
    after = log_loss(fresh_labels, softmax(np.log(p) / found.temperature, axis=1))
    assert found.gain == pytest.approx(log_loss(fresh_labels, p) - after, rel=0.25)


def test_calibrated_probabilities_stay_the_same():
    p, labels, _ = simulated(2000, 1, noise=0.0)
    assert temperature.fitted(of_all(p), np.eye(N_CLASSES)[labels], "identity") == (1.0, 0.0)


def test_a_few_rows_that_are_all_right_do_not_make_probabilities_extreme():
    p, labels = np.tile([[0.05, 0.95]], (40, 1)), np.ones(40, int)
    found = temperature.fitted(of_all(p), np.eye(2)[labels], "identity")
    sharpest = (np.array([0.05, 0.95]) ** (1 / found.temperature)).min() / 0.95 ** (1 / found.temperature)
    assert sharpest > 0.5 / 80


def test_few_rows_have_no_temperature():
    p, labels, _ = simulated(9, 1, noise=0.0)
    assert temperature.fitted(of_all(p**3), np.eye(N_CLASSES)[labels], "identity") == (1.0, 0.0)


def test_rows_without_weight_do_not_count():
    p, labels, _ = simulated(3000, 1, noise=0.0)
    sharp = p**2 / (p**2).sum(axis=1, keepdims=True)
    weight = np.zeros(3000)
    weight[:1000] = 1
    y = np.eye(N_CLASSES)[labels]
    some = temperature.fitted(of_all(sharp, weight), y, "identity")
    assert some == temperature.fitted(of_all(sharp[:1000]), y, "identity")
    assert abs(np.log(some.temperature / 2)) < 0.2


@pytest.mark.parametrize(("link", "columns"), [("softmax", 3), ("logit", 1)])
def test_scores_are_divided_by_the_temperature(link, columns):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = (X[:, 0] > 0).astype(int) + (0 if columns == 1 else (X[:, 1] > 0))
    network = nf.convert(GradientBoostingClassifier(n_estimators=5, random_state=0).fit(X, y))
    assert network.link == link
    scores = network.output(X)
    scores = scores if columns > 1 else np.column_stack([np.zeros(300), scores])
    other = network.with_temperature(0.4)
    assert_allclose(other.predict_proba(X), softmax(scores / 0.4, axis=1), atol=1e-12)
    assert_array_equal(other.predict(X), network.predict(X))
    assert_array_equal(other.output(X), network.output(X))


def shells(n=600, seed=0):
    """Classes without noise, of which means over trees are under-confident."""
    X = np.random.default_rng(seed).normal(size=(n, 4))
    return X, np.digitize((X**2).sum(axis=1), [2.2, 4.4])


def fitted(X, y, **options):
    forest = RandomForestClassifier(20, max_leaf_nodes=16, random_state=0)
    model = nf.NeuralForestClassifier(forest, stacking=None, max_epochs=20, random_state=0)
    return model.set_params(**options).fit(X, y)


@pytest.fixture(scope="module")
def model():
    X, y = shells()
    return nf.NeuralForestClassifier(random_state=0, stacking=None).fit(X, y)


def test_the_default_classifier_is_calibrated(model):
    X, y = shells(4000, seed=1)
    found = model.network_.temperature
    assert found < 1
    before, after = (log_loss(y, model.network_.with_temperature(t).predict_proba(X)) for t in (1.0, found))
    assert after < before
    best = best_temperature(model.network_.with_temperature(1.0).predict_proba(X), y)
    assert abs(np.log(found / best)) < 0.4
    assert_allclose(model.predict_proba(X).sum(axis=1), 1)


def test_the_validation_loss_is_that_of_the_calibrated_probabilities():
    X, y = shells()
    X_val, y_val = shells(200, seed=2)
    model = nf.NeuralForestClassifier(RandomForestClassifier(20, max_leaf_nodes=16, random_state=0), random_state=0)
    model.fit(X, y, X_val=X_val, y_val=y_val)
    assert model.network_.temperature != 1
    assert model.validation_loss_ == pytest.approx(log_loss(y_val, model.predict_proba(X_val)), rel=1e-6)
    assert model.validation_loss_ < log_loss(y_val, model.network_.with_temperature(1.0).predict_proba(X_val))


def test_going_on_fits_the_temperature_anew_and_partial_fit_keeps_it():
    X, y = shells()
    again = fitted(X, y, warm_start=True)
    again.network_ = again.network_.with_temperature(7.0)
    again.fit(X, y)
    assert 0.3 < again.network_.temperature < 1.5
    again.network_ = again.network_.with_temperature(0.9)
    again.partial_fit(X, y)
    assert again.network_.temperature == 0.9


def test_trees_that_stay_and_the_settings_of_the_paper_have_none():
    X, y = shells(200)
    forest = RandomForestClassifier(5, max_leaf_nodes=8, random_state=0)
    for options in ({**nf.PAPER_SETTINGS, "max_epochs": 3}, {"max_epochs": 0, "stacking": None}):
        model = nf.NeuralForestClassifier(**{**options, "forest": forest, "random_state": 0}).fit(X, y)
        assert model.network_.temperature == 1
    noise = np.random.default_rng(0).integers(0, 2, 200)
    fallen_back = nf.NeuralForestClassifier(forest, stacking=None, random_state=0).fit(X, noise)
    assert fallen_back.network_.hard.all()
    assert fallen_back.network_.temperature == 1
    assert_allclose(fallen_back.predict_proba(X), fallen_back.forest_.predict_proba(X), atol=1e-12)


@pytest.mark.parametrize("value", [0.0, -1.0, np.nan, np.inf])
def test_temperatures_that_are_none_are_refused(value):
    X, y = shells(60)
    network = nf.convert(RandomForestClassifier(2, random_state=0).fit(X, y))
    with pytest.raises(InvalidParameterError, match=f"temperature must be positive and finite, got {value}"):
        network.with_temperature(value)


@pytest.mark.parametrize("value", [1e-300, 1e-9, 1e300])
def test_extreme_temperatures_give_probabilities(value, model):
    X, _ = shells(50, seed=3)
    p = model.network_.with_temperature(1.0).predict_proba(X)
    extreme = model.network_.with_temperature(value).predict_proba(X)
    expected = np.eye(3)[p.argmax(axis=1)] if value < 1 else np.full((50, 3), 1 / 3)
    assert_allclose(extreme, expected, atol=1e-3)
    assert_allclose(extreme.sum(axis=1), 1)


def test_trees_with_a_temperature_are_not_exported_as_trees():
    from neuralforest.export.sklearn import to_sklearn

    X, y = shells(60)
    network = nf.convert(RandomForestClassifier(2, random_state=0).fit(X, y))
    assert to_sklearn(network).predict_proba(X).shape == (60, 3)
    with pytest.raises(UnsupportedModelError, match="this one has a temperature"):
        to_sklearn(network.with_temperature(0.5))


def test_regressors_have_no_temperature():
    X, y = shells(60)
    model = small(False).fit(X, y)
    with pytest.raises(InvalidParameterError, match=r"must be 1 for a regressor, got 2\.0"):
        model.network_.with_temperature(2.0)


def test_exports_and_files_have_the_temperature(model, tmp_path):
    torch = pytest.importorskip("torch")
    onnxruntime = pytest.importorskip("onnxruntime")
    from neuralforest.export.onnx import to_onnx
    from neuralforest.export.torch import from_torch, to_torch

    X = shells(50, seed=3)[0].astype(np.float32)
    X[0] = 1e6  # far outside
    for value in (0.2, 3.0):
        model.network_ = model.network_.with_temperature(value)
        p = model.predict_proba(X)
        nf.save(model, tmp_path / "model.nforest")
        assert_array_equal(nf.load(tmp_path / "model.nforest").predict_proba(X), p)
        session = onnxruntime.InferenceSession(to_onnx(model).SerializeToString())
        label, exported = session.run(["label", "probabilities"], {"X": X})
        assert_array_equal(label, model.predict(X))
        assert_allclose(exported, p, atol=2e-6)
        module = to_torch(model)
        output = module(torch.from_numpy(X))
        assert_allclose(output.detach().numpy(), p, atol=2e-6)
        torch.log(output.clamp(1e-9)).sum().backward()
        assert all(torch.isfinite(weights.grad).all() for weights in module.parameters())
        assert from_torch(module).temperature == value
