"""Companions of a network: their shares are the best ones, and every way to predict knows of them."""

import json
import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.ensemble import (
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

import neuralforest as nf
from neuralforest.cli import main
from neuralforest.network.stacking import StackedModel, Linear
from neuralforest.ensemble import TreeEnsemble
from neuralforest.estimators import companion
from neuralforest.selection.stacking import best_weight, choose, blended
from neuralforest.base_models.cross_fitting import Candidate
from neuralforest.base_models.linear import combination_forecast
from neuralforest.exceptions import ConvergenceWarning, InvalidParameterError, ModelFileError
from neuralforest.persistence import _container
from neuralforest.training import SubnetworkRows, TrainingData, guard
from neuralforest.selection.guard import OutOfSamplePredictions
from neuralforest.training.losses import resolve_loss
from small_models import says


def patches(classifier=False, n=500, seed=0):
    """Return rows whose target is another number, or class, on every small patch: trees see it, networks do not."""
    rng = np.random.default_rng(seed)
    X = np.floor(rng.uniform(0, 12, size=(n, 2)))
    table = np.random.default_rng(99).normal(size=(12, 12))
    y = table[X[:, 0].astype(int), X[:, 1].astype(int)] + 0.1 * rng.normal(size=n)
    return X + rng.uniform(0, 0.5, size=X.shape), (y > 0).astype(int) if classifier else y


def fitted(classifier=False, **parameters):
    kind = nf.NeuralForestClassifier if classifier else nf.NeuralForestRegressor
    settings = {"max_epochs": 3, "random_state": 0} | parameters
    return kind(**settings).fit(*patches(classifier))


@pytest.fixture(scope="module", params=[False, True], ids=["regressor", "classifier"])
def model(request):
    return fitted(request.param)


def test_a_prediction_is_the_mean_of_network_and_companions_by_their_shares(model):
    X, _ = patches(seed=1)
    network = model.network_
    assert sum(isinstance(each.source, Linear) for each in network.base_models) == 0
    assert 0.05 <= 1 - network.network_weight <= 0.95
    expected = network.network_weight * says(network.with_base_models(), X)
    for each in network.base_models:
        expected = expected + each.share * says(each.source, X)
    assert_allclose(says(network, X), expected, rtol=1e-12, atol=1e-12)


def test_steps_of_a_few_features_among_many_are_left_to_boosted_trees():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(400, 20))
    y = np.floor(8 * X[:, 0]) * np.floor(3 * X[:, 1]) + 0.1 * rng.normal(size=400)
    network = nf.NeuralForestRegressor(max_epochs=1, random_state=0).fit(X, y).network_
    boosted = [each for each in network.base_models if each.source.aggregation == "sum"]
    assert max(network.base_models, key=lambda each: each.share) in boosted
    assert sum(each.share for each in boosted) > 0.5
    for each in boosted:
        assert np.corrcoef(nf.convert(each.source).predict(X), y)[0, 1] > 0.98


@pytest.mark.parametrize(("knows", "mixed_in"), [(0.0, True), (0.03, True), (1.0, False)])
def test_who_says_more_than_he_knows_is_mixed_with_a_careful_line(knows, mixed_in):
    """But not so much that validation rows find trees worse than they were."""
    rng = np.random.default_rng(0)
    X, y = patches()
    network = fitted(companion=None).network_
    rows = SubnetworkRows.shared(np.arange(len(y)), np.ones(len(y)), network.n_subnetworks)
    data = TrainingData(X.astype(np.float32), y[:, None], rows, rows)
    own = judged(y.mean() + knows * (y - y.mean()) + 0.3 * rng.normal(size=len(y)), 0.0)
    loss = resolve_loss("auto", None, network.ensemble)
    wanted = companion._wanted_share_of_a_line(network, own, data, loss)
    assert (wanted > 0.5) == mixed_in
    line = own._replace(output=combination_forecast(X, y[:, None]).output(X))
    share = companion._affordable_share(network, wanted, own, line, own, data, loss)
    assert (share > 0.5) == mixed_in
    before, after = (guard.validation_loss(network, each, data, loss) for each in (own, blended(own, line, share)))
    assert after <= before
    better = own._replace(output=y[:, None])
    assert companion._affordable_share(network, 1.0, own, line, better, data, loss) == 0.0


def test_a_share_is_as_large_as_the_loss_of_trees_allows():
    X, y = patches()
    network = fitted(companion=None).network_
    rows = SubnetworkRows.shared(np.arange(len(y)), np.ones(len(y)), network.n_subnetworks)
    data = TrainingData(X.astype(np.float32), y[:, None], rows, rows)
    loss = resolve_loss("auto", None, network.ensemble)
    own, other = (judged(y + error, 0.0) for error in (0.0, 1.0))  # the loss is the share squared
    limit = judged(y + 0.55, 0.0)
    share = companion._affordable_share(network, 0.9, own, other, limit, data, loss)
    assert share == pytest.approx(0.54)  # 0.9 x 0.6: with a tenth of 0.9 more it would be too large


def test_only_a_line_can_be_a_stopgap():
    trees = fitted(companion=None).network_.ensemble
    with pytest.raises(InvalidParameterError, match=r"^a is_fallback must be a linear function, got TreeEnsemble$"):
        StackedModel(trees, 0.5, is_fallback=True)


@pytest.mark.parametrize("labels", [("no", "yes"), ("a", "b", "c")])
def test_boosted_trees_beside_a_classifier_say_probabilities(labels, tmp_path):
    """They are the five models with their scores averaged, before the link."""
    torch = pytest.importorskip("torch")
    onnxruntime = pytest.importorskip("onnxruntime")
    from neuralforest.export.onnx import to_onnx
    from neuralforest.export.torch import to_torch

    rng = np.random.default_rng(0)
    X = rng.uniform(size=(500, 20)).astype(np.float32)
    y = np.array(labels)[(2 * len(labels) * X[:, 0]).astype(int) // 2 % len(labels)]
    model = nf.NeuralForestClassifier(max_epochs=1, random_state=0).fit(X, y)
    network = model.network_
    boosted = next(each for each in network.base_models if each.source.aggregation == "sum")
    assert boosted.source.link == ("logit" if len(labels) == 2 else "softmax")
    probability = nf.convert(boosted.source).predict_proba(X)
    expected = network.network_weight * network.with_base_models().predict_proba(X)
    for each in network.base_models:
        expected = expected + each.share * nf.convert(each.source).predict_proba(X)
    assert_allclose(model.predict_proba(X), expected, rtol=1e-12)
    assert_allclose(model.predict_proba(X).sum(axis=1), 1)
    assert np.mean(np.array(labels)[probability.argmax(axis=1)] == y) > 0.9
    nf.save(model, tmp_path / "model.nforest")
    assert_array_equal(nf.load(tmp_path / "model.nforest").predict_proba(X), model.predict_proba(X))
    assert_allclose(to_torch(model)(torch.from_numpy(X)).detach().numpy(), model.predict_proba(X), atol=2e-6)
    session = onnxruntime.InferenceSession(to_onnx(model).SerializeToString())
    assert_allclose(session.run(["probabilities"], {"X": X})[0], model.predict_proba(X), atol=2e-6)


@pytest.mark.parametrize("n_classes", [2, 25])
def test_rare_and_many_classes_leave_boosted_trees_out(n_classes):
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(300, 2))
    y = rng.permutation(np.r_[np.zeros(295), np.ones(5)] if n_classes == 2 else np.arange(300) % n_classes)
    network = nf.NeuralForestClassifier(max_epochs=1, random_state=0).fit(X, y).network_
    assert all(each.source.aggregation == "mean" for each in network.base_models)


def test_where_lines_know_more_a_line_is_added_that_does_not_extrapolate():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 8))
    y = X @ np.arange(8) + 5 * rng.normal(size=120)
    model = nf.NeuralForestRegressor(max_epochs=3, random_state=0).fit(X, y)
    line = next(each.source for each in model.network_.base_models if isinstance(each.source, Linear))
    assert np.corrcoef(line.output(X)[:, 0], X @ np.arange(8))[0, 1] > 0.98
    far = np.vstack([X.max(axis=0), 100 * np.abs(X).max(axis=0)])
    assert_allclose(*line.output(far), rtol=1e-6)
    assert_allclose(line.output(np.full((1, 8), np.nan))[0], line.intercept)
    alone = nf.NeuralForestRegressor(max_epochs=3, random_state=0, companion=None).fit(X, y)
    new = rng.normal(size=(1000, 8))
    errors = [np.mean((each.predict(new) - new @ np.arange(8)) ** 2) for each in (model, alone)]
    assert errors[0] < 0.8 * errors[1]


@settings(max_examples=30, deadline=None, derandomize=True)
@given(st.integers(0, 10**6))
def test_a_line_says_of_a_row_what_it_says_of_it_among_others(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(37, 5)) * 10.0 ** rng.integers(-3, 4, size=5)
    X[rng.random(X.shape) < 0.1] = np.nan
    low, high = np.nanmin(X, axis=0), np.nanmax(X, axis=0)
    line = Linear(low, high, rng.normal(size=5), rng.uniform(0.1, 5, 5), rng.normal(size=(5, 2)), rng.normal(size=2))
    expected = np.nan_to_num((X - line.center) / line.scale) @ line.slope + line.intercept
    assert_allclose(line.output(X), expected, rtol=1e-9, atol=1e-9)
    assert_array_equal(np.concatenate([line.output(X[i : i + 1]) for i in range(len(X))]), line.output(X))


def test_the_best_mixture_of_several_is_found():
    """Four voices with independent errors: each should weigh by how little it errs."""
    rng = np.random.default_rng(0)
    X, y = patches()
    model = fitted(companion=None)
    own, *others = (judged(y + size * rng.normal(size=len(y)), 0.0) for size in (0.1, 0.1, 0.2, 5.0))
    rows = SubnetworkRows.shared(np.arange(len(y)), np.ones(len(y)), model.network_.n_subnetworks)
    data = TrainingData(X.astype(np.float32), y[:, None], rows, rows)
    voices = [Candidate(model.network_.ensemble, each) for each in others]
    choice = choose(model.network_, voices, own, data, resolve_loss("auto", None, model.network_.ensemble))
    shares = [choice.network.network_weight, *(each.share for each in choice.network.base_models)]
    assert_allclose(shares, [4 / 9, 4 / 9, 1 / 9], atol=0.08)
    together = blended(own, choice.beside.judged, 1 - choice.network.network_weight)
    assert_allclose(together.output, choice.judged.output)


def test_where_trees_know_more_they_make_predictions_better():
    X, y = patches(seed=1)
    both, alone = (np.mean((fitted(companion=choice).predict(X) - y) ** 2) for choice in ("auto", None))
    assert both < 0.9 * alone


def test_where_the_network_knows_more_there_are_no_trees():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 4))
    model = nf.NeuralForestRegressor(max_epochs=20, random_state=0).fit(X, X @ [1.0, 2.0, -1.0, 0.5])
    assert not any(isinstance(each.source, TreeEnsemble) for each in model.network_.base_models)


def test_both_together_are_never_worse_than_the_forest_on_validation_rows(model):
    assert model.validation_loss_ <= model.forest_loss_


@pytest.mark.parametrize(
    "changes",
    [
        {"companion": None},
        {"max_epochs": 0},
        {"forest": RandomForestRegressor(5, max_leaf_nodes=8)},
        {"loss": "huber"},
        {"callback": lambda epoch, history: True},
    ],
)
def test_a_network_stays_alone_when_asked_or_when_the_trees_would_not_fit(changes):
    assert not fitted(**changes).network_.base_models


def test_weights_and_several_targets_leave_a_network_alone():
    X, y = patches()
    model = nf.NeuralForestRegressor(max_epochs=1, random_state=0)
    assert not model.fit(X, y, sample_weight=np.ones(len(y))).network_.base_models
    assert not model.fit(X, np.column_stack([y, y])).network_.base_models


@pytest.mark.parametrize("given", [{"training": "joint", "connectivity": "sparse"}, {"validation": "fraction"}])
def test_held_out_rows_judge_the_trees_as_well(given):
    assert fitted(**given).network_.base_models


def test_missing_values_reach_the_trees():
    X, y = patches()
    X[::7, 0] = np.nan
    model = nf.NeuralForestRegressor(max_epochs=3, random_state=0).fit(X, y)
    assert model.network_.base_models
    assert np.isfinite(model.predict(X)).all()


def test_the_share_does_not_depend_on_threads():
    one, two = (fitted(n_jobs=n).network_ for n in (1, 2))
    assert [each.share for each in one.base_models] == [each.share for each in two.base_models]
    X, _ = patches(seed=2)
    assert_array_equal(one.predict(X), two.predict(X))


@pytest.mark.parametrize("given", [{}, {"validation": "fraction"}])
def test_going_on_keeps_the_trees_their_share_and_what_both_are_worth(given):
    X, y = patches()
    model = fitted(warm_start=True, **given)
    before, losses = model.network_.base_models, (model.forest_loss_, model.validation_loss_)
    width = np.ptp(model.predict_quantiles(X, (0.1, 0.9)), axis=1)
    model.set_params(learning_rate=0.0).fit(X, y)
    assert model.network_.base_models is before
    assert_allclose((model.forest_loss_, model.validation_loss_), losses, rtol=1e-6)
    assert_allclose(np.ptp(model.predict_quantiles(X, (0.1, 0.9)), axis=1), width, rtol=1e-6)
    assert model.partial_fit(X, y).network_.base_models is before
    assert model.fit(X[:300], y[:300]).network_.base_models is before  # other rows: judged without the trees


def test_ctrl_c_while_the_trees_grow_keeps_the_network(monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(companion, "best_weight", interrupt)
    with pytest.warns(ConvergenceWarning, match="without them"):
        model = fitted()
    assert not model.network_.base_models
    assert model.validation_loss_ <= model.forest_loss_


def test_the_forest_of_the_command_line_has_a_companion_unless_trees_are_counted(tmp_path):
    X, y = patches(n=1_200)
    rows = tmp_path / "rows.csv"
    np.savetxt(rows, np.column_stack([X, y]), delimiter=",", header="a,b,y", comments="")
    for arguments, n_trees, alone in (([], 8, False), (["--trees", "5"], 5, True)):
        out = tmp_path / "m.nforest"
        command = ["fit", str(rows), "--target", "y", "--out", str(out), "--epochs", "1", "--quiet", *arguments]
        assert main(command) == 0
        network = nf.load(out).model.network_
        assert (network.ensemble.n_trees, not network.base_models) == (n_trees, alone)


def test_intervals_and_importances_are_those_of_both(model):
    network, importances = model.network_, model.feature_importances_
    assert_allclose(importances.sum(), 1)
    expected = network.network_weight * nf.importance.feature_importances(network.with_base_models())
    for each in network.base_models:
        expected = expected + each.share * nf.importance.feature_importances(nf.convert(each.source))
    assert_allclose(importances, expected)
    if not model._classifier:
        X, y = patches(seed=1, n=2000)
        low, high = model.predict_quantiles(X, (0.1, 0.9)).T
        assert 0.74 < np.mean((low <= y) & (y <= high)) < 0.9


def test_files_pickles_and_clones(model, tmp_path):
    X, _ = patches(seed=3)
    path = tmp_path / "model.nforest"
    nf.save(model, path)
    for copy in (nf.load(path), pickle.loads(pickle.dumps(model))):
        assert_array_equal(says(copy.network_, X), says(model.network_, X))
        assert [(str(c), c.share) for c in copy.network_.base_models] == [
            (str(c), c.share) for c in model.network_.base_models
        ]
    assert clone(model).get_params()["companion"] == "auto"


@pytest.mark.parametrize("link", ["logit", "probit"])
def test_a_file_keeps_the_link_of_a_companion(link, tmp_path):
    X, y = patches(classifier=True)
    network = nf.convert(RandomForestClassifier(3, random_state=0).fit(X, y))
    boosted = nf.convert(GradientBoostingClassifier(n_estimators=3, random_state=0).fit(X, y)).ensemble
    network = network.with_base_models((StackedModel(replace(boosted, link=link), 0.5),))
    nf.save(network, tmp_path / "model.nforest")
    assert_array_equal(nf.load(tmp_path / "model.nforest").predict_proba(X), network.predict_proba(X))


def test_a_file_of_format_2_holds_one_companion(tmp_path):
    model = fitted(True)
    path = tmp_path / "model.nforest"
    nf.save(model, path)
    arrays, header = _container.read(path)
    old = {name.replace("companion.0.", "companion."): array for name, array in arrays.items()}
    description = json.loads(header) | {"format": 2}
    assert description["model"]["network"].pop("base_models") == ["mean identity"]
    _container.write(path, old, json.dumps(description))
    X, _ = patches(seed=3)
    assert_array_equal(nf.load(path).predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize("share", [-0.1, 1.5, np.nan])
def test_a_file_with_an_impossible_share_is_refused(model, tmp_path, share):
    path = tmp_path / "model.nforest"
    nf.save(model, path)
    arrays, header = _container.read(path)
    arrays["companion.0.share"] = np.array([share])
    _container.write(path, arrays, header)
    with pytest.raises(ModelFileError, match="share"):
        nf.load(path)


def test_torch_and_onnx_compute_the_same(model):
    torch = pytest.importorskip("torch")
    onnxruntime = pytest.importorskip("onnxruntime")
    from neuralforest.export.onnx import to_onnx
    from neuralforest.export.torch import from_torch, to_torch

    X = patches(seed=4)[0].astype(np.float32)
    expected = says(model.network_, X).reshape(len(X), -1)
    module = to_torch(model)
    assert_allclose(module(torch.from_numpy(X)).detach().numpy(), expected, atol=2e-6)
    assert from_torch(module).base_models is model.network_.base_models
    session = onnxruntime.InferenceSession(to_onnx(model).SerializeToString())
    assert_allclose(session.run(None, {"X": X})[-1].reshape(len(X), -1), expected, atol=2e-6)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_all_kinds_of_companions_are_exported(dtype):
    """Rows with missing values and far outside of what the linear function was fitted on."""
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
    said = to_torch(network)(rows)
    assert_allclose(said.detach().numpy(), expected, atol=most)
    said.sum().backward()
    assert np.isfinite(rows.grad.numpy()).all()
    session = onnxruntime.InferenceSession(to_onnx(network, dtype=dtype).SerializeToString())
    assert_allclose(session.run(None, {"X": X})[0], expected, atol=most)


def test_a_regressor_with_all_kinds_of_companions_is_stored(tmp_path):
    model, line = fitted(), Linear(*np.ones((4, 2)), slope=np.ones((2, 1)), intercept=np.ones(1))
    deep, boosted = (
        nf.convert(kind(n_estimators=3, random_state=0).fit(*patches())).ensemble
        for kind in (ExtraTreesRegressor, GradientBoostingRegressor)
    )
    beside = tuple(StackedModel(source, 0.25) for source in (deep, boosted, line))
    model.network_ = model.network_.with_base_models(beside)
    nf.save(model, tmp_path / "model.nforest")
    loaded, (X, _) = nf.load(tmp_path / "model.nforest"), patches(seed=3)
    assert_array_equal(loaded.predict(X), model.predict(X))
    assert [str(each) for each in loaded.network_.base_models] == [str(each) for each in beside]


def judged(output, noise, rows=None):
    output = np.asarray(output, float).reshape(-1, 1)
    rows = np.arange(len(output)) if rows is None else rows
    return OutOfSamplePredictions(rows, output, np.ones(len(output)), np.broadcast_to(noise, output.shape))


@settings(max_examples=50, deadline=None, derandomize=True)
@given(st.integers(0, 10**6), st.floats(0, 1))
def test_without_noise_the_share_is_that_with_the_least_error_or_none(seed, truth):
    rng = np.random.default_rng(seed)
    own, trees = rng.normal(size=(2, 60))
    y = ((1 - truth) * own + truth * trees + 0.3 * rng.normal(size=60))[:, None]
    share, choices = best_weight(judged(own, 0.0), judged(trees, 0.0), y), np.linspace(0, 0.95, 191)
    errors = [np.mean((blended(judged(own, 0.0), judged(trees, 0.0), choice).output - y) ** 2) for choice in choices]
    best = choices[np.argmin(errors)]
    assert abs(share - best) <= 0.0051 if best > 0.15 else share in (0.0, pytest.approx(best, abs=0.0051))


def test_the_noise_of_few_trees_does_not_count_against_them():
    rng = np.random.default_rng(0)
    y = rng.normal(size=(20_000, 1))
    network, forest = y + rng.normal(size=y.shape), y + rng.normal(size=y.shape)  # equally good as a whole
    noisy = forest + rng.normal(size=y.shape)  # the same, by the few trees that judge a row
    assert best_weight(judged(network, 0.0), judged(noisy, 0.0), y) < 0.36
    assert abs(best_weight(judged(network, 0.0), judged(noisy, 1.0), y) - 0.5) < 0.03


def test_only_rows_that_both_judge_count():
    y = np.arange(22.0)[:, None]
    own = judged([99.0, *(y[1:-1, 0] + 0.5)], 0.0, np.arange(21))
    trees = judged([*(y[1:-1, 0] - 0.5), 99.0], 0.0, np.arange(1, 22))
    assert best_weight(own, trees, y) == 0.5
    assert_array_equal(blended(own, trees, 0.5).row, np.arange(1, 21))


def test_what_cannot_stand_beside_a_network_is_refused():
    X, y = patches()
    network = nf.convert(RandomForestRegressor(3, max_leaf_nodes=5, random_state=0).fit(X, y))
    trees = nf.convert(ExtraTreesRegressor(3, random_state=0).fit(X, y)).ensemble
    narrow = nf.convert(ExtraTreesRegressor(3, random_state=0).fit(X[:, :1], y)).ensemble
    line = Linear(*np.ones((4, 2)), slope=np.ones((2, 1)), intercept=np.ones(1))
    lines = Linear(*np.ones((4, 2)), slope=np.ones((2, 2)), intercept=np.ones(2))
    classes = nf.convert(RandomForestClassifier(3, random_state=0).fit(X, y > 0))
    words = nf.convert(RandomForestClassifier(3, random_state=0).fit(X, np.where(y > 0, "a", "b"))).ensemble
    logits = nf.convert(GradientBoostingClassifier(n_estimators=3).fit(X, y > 0))
    for message, host, base_models in (
        ("at most 1", network, (StackedModel(trees, 1.5),)),
        ("at least 0", network, (StackedModel(trees, -0.1), StackedModel(line, 0.5))),
        ("at most 1", network, (StackedModel(trees, 0.6), StackedModel(line, 0.6))),
        ("link", logits, (StackedModel(logits.ensemble, 0.5),)),
        ("numbers", classes, (StackedModel(lines, 0.5),)),
        ("classes", classes, (StackedModel(words, 0.5),)),
        ("features", network, (StackedModel(narrow, 0.5),)),
        ("features", network, (StackedModel(Linear(*np.ones((4, 1)), np.ones((1, 1)), np.ones(1)), 0.5),)),
    ):
        with pytest.raises(InvalidParameterError, match=message):
            host.with_base_models(base_models)
    with pytest.raises(InvalidParameterError, match="scale must be positive"):
        Linear(*np.zeros((4, 2)), slope=np.ones((2, 1)), intercept=np.ones(1))
    with pytest.raises(InvalidParameterError, match="shape"):
        Linear(*np.ones((4, 2)), slope=np.ones(2), intercept=np.ones(1))
    with pytest.raises(InvalidParameterError, match="as many"):
        Linear(*np.ones((4, 3)), slope=np.ones((2, 1)), intercept=np.ones(1))
