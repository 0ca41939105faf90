"""ONNX graphs: evaluated by onnxruntime, they predict as the network, and in float64 as its weights in exact sums."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestClassifier, RandomForestRegressor

import export_twins as twins
import neuralforest as nf
from export_runs import data, prediction, run
from neuralforest.exceptions import InvalidParameterError, NotFittedError, UnsupportedModelError

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

from neuralforest.export._onnx_soft import DENSE_LEAVES  # noqa: E402
from neuralforest.export.onnx import to_onnx  # noqa: E402

MODES = [(training, connectivity) for training in ("independent", "joint") for connectivity in ("sparse", "full")]
FAST = settings(max_examples=60, deadline=None, derandomize=True)


def difference(a, b):
    assert a.shape == b.shape
    return a - b


# --- predictions -----------------------------------------------------------------------------------------------------


@FAST
@given(twins.networks(), st.sampled_from(["dense", "sparse", "auto"]), st.integers(0, 99))
def test_a_float64_graph_predicts_as_the_weights(network, form, seed):
    X = twins.random_rows(np.random.default_rng(seed), network.ensemble, 40)
    expected = twins.predict(network, X)
    graph = to_onnx(network, dtype="float64", form=form)
    for rows in (slice(None), slice(1)):
        error = np.abs(difference(prediction(run(graph, X[rows])), expected[rows]))
        assert (error <= 1e-12 * twins.spread(network, expected)).all()


@FAST
@given(twins.networks(), st.sampled_from(["dense", "sparse", "auto"]), st.integers(0, 99))
def test_a_float32_graph_predicts_as_predict(network, form, seed):
    X = twins.random_rows(np.random.default_rng(seed), network.ensemble, 40).astype(np.float32)
    if network.ensemble.compare_dtype == "float64" and network.hard.any():
        with pytest.raises(UnsupportedModelError, match=r"compare in float64.*dtype='float64'"):
            to_onnx(network)
        return
    graph, expected = to_onnx(network, form=form), twins.prediction(network, X)
    for rows in (slice(None), slice(1)):
        error = np.abs(difference(prediction(run(graph, X[rows])), expected[rows]))
        assert (error <= 1e-5 * twins.spread(network, expected)).all()


@pytest.mark.parametrize(("training", "connectivity"), MODES)
@pytest.mark.parametrize("classifier", [False, True])
def test_ten_thousand_rows_and_one_row_of_an_estimator(training, connectivity, classifier):
    X, y = data(outputs=3)
    target = np.array(["low", "middle", "high"])[np.digitize(y[:, 0], [45, 55])] if classifier else y
    model = twins.fitted(X, target, classifier, training=training, connectivity=connectivity)
    many = np.random.default_rng(1).normal(size=(10_000, X.shape[1])).astype(np.float32)
    expected = model.predict_proba(many) if classifier else model.predict(many)
    exact = twins.predict(model.network_, many[:200])
    unit = 1.0 if classifier else y.std(axis=0)
    for rows in (slice(None), slice(1)):
        assert (np.abs(prediction(run(to_onnx(model), many[rows])) - expected[rows]) <= 1e-5 * unit).all()
        wide = prediction(run(to_onnx(model, dtype="float64"), many[rows]))[:200]
        assert (np.abs(wide - exact[rows]) <= 1e-12 * unit).all()
    if classifier:
        labels = run(to_onnx(model), many)["label"]
        sure = np.diff(np.sort(expected, axis=1)[:, -2:], axis=1)[:, 0] > 1e-5
        assert sure.mean() > 0.99
        assert (labels[sure] == model.predict(many)[sure]).all()


@pytest.mark.parametrize(("training", "connectivity"), MODES)
def test_raw_units_and_steep_splits_stay_precise(training, connectivity):
    X, y = data(n=500)
    X = (800 + 300 * X).astype(np.float32)
    network = nf.convert(RandomForestRegressor(8, max_depth=6, random_state=0).fit(X, y)).soften(
        (100, 1), training=training, connectivity=connectivity
    )
    rng = np.random.default_rng(0)
    start = network.soft.parameters
    network = network.with_parameters(start * rng.uniform(0.99, 1.01, len(start)).astype(np.float32), network.hard)
    exact = twins.predict(network, X)
    assert (np.abs(prediction(run(to_onnx(network), X)) - exact) <= 1e-5 * y.std()).all()


@pytest.mark.parametrize(("training", "connectivity"), MODES)
@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_graphs_accept_zero_rows(training, connectivity, form):
    rng = np.random.default_rng(0)
    network = nf.ForestNetwork(twins.random_ensemble(rng, "forest"))
    model = to_onnx(twins.soften(rng, network, training, connectivity), form=form)
    outputs = run(model, np.empty((0, 3)))
    assert outputs["probabilities"].shape == (0, 3)
    assert outputs["label"].shape == (0,)


# --- trees -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_ties_and_missing_values_go_the_way_the_forest_sends_them(dtype):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 30, size=(400, 4)) / 10
    X[rng.random(X.shape) < 0.1] = np.nan
    y = np.nan_to_num(X).sum(axis=1)
    forest = RandomForestRegressor(10, random_state=0).fit(X, y)
    e = nf.convert(forest).ensemble
    rows = twins.random_rows(rng, e, 2000)
    prediction = run(to_onnx(nf.convert(forest), dtype=dtype), rows)["prediction"][:, 0]
    assert np.abs(prediction - forest.predict(rows)).max() < (1e-6 if dtype == "float32" else 1e-12) * y.std()


def test_fully_connected_subnetworks_of_different_numbers_of_trees_are_exported():
    X, y = data()
    network = nf.convert(RandomForestClassifier(5, max_leaf_nodes=9, random_state=0).fit(X, y > 50))
    network = network.soften((3.0, 1.0), connectivity="full", first_tree=[0, 2, 5])
    exported = prediction(run(to_onnx(network, dtype="float64"), X))
    np.testing.assert_allclose(exported, network.predict_proba(X), atol=1e-5)


def test_votes_that_are_whole_numbers_tie_as_in_the_forest():
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 4, size=(200, 3)), rng.integers(0, 3, size=200)
    forest = RandomForestClassifier(8, max_features=1, random_state=0).fit(X, y)
    network = nf.convert(forest)
    whole = np.flatnonzero((np.round(network.predict_proba(X) * 8, 9) % 1 == 0).all(axis=1))
    outputs = run(to_onnx(network), X)
    assert np.abs(outputs["probabilities"] - forest.predict_proba(X)).max() < 1e-6
    assert (outputs["label"] == forest.predict(X))[whole].all()


def test_gradient_boosting_that_compares_in_float64_is_exact_in_float64():
    X, y = data(n=400)
    X = X + 1e-9 * np.random.default_rng(1).normal(size=X.shape)
    model = HistGradientBoostingRegressor(max_iter=10, random_state=0).fit(X, y)
    prediction = run(to_onnx(nf.convert(model), dtype="float64"), X)["prediction"][:, 0]
    assert np.abs(prediction - model.predict(X)).max() < 1e-12 * y.std()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("soft", [False, True])
def test_trees_of_one_leaf_predict_a_constant(dtype, soft):
    network = nf.ForestNetwork(twins.random_ensemble(np.random.default_rng(0), "several", (1, 1), n_features=2))
    network = network.soften() if soft else network
    X = np.array([[0.0, np.nan], [1.0, 2.0]])
    for rows in (X, X[:1]):
        prediction = run(to_onnx(network, dtype=dtype), rows)["prediction"]
        np.testing.assert_allclose(prediction, network.predict(rows), rtol=1e-6)


def test_a_target_that_never_varies_comes_back_exact():
    X, y = data(outputs=2)
    y[:, 1] = 0.1
    model = twins.fitted(X, y)
    assert (model.predict(X)[:, 1] == 0.1).all()
    model._constant = np.array([np.nan, 0.7])  # which a sum of trees does not give by chance
    assert (run(to_onnx(model, dtype="float64"), X)["prediction"][:, 1] == 0.7).all()
    assert (run(to_onnx(model), X)["prediction"][:, 1] == np.float32(0.7)).all()


@pytest.mark.parametrize("second", [False, True])
def test_a_log_odds_of_zero_means_the_class_of_the_source(second):
    e = twins.random_ensemble(np.random.default_rng(0), "logit", (2,))
    zero = {"value": np.zeros((2, 1)), "base_score": np.zeros(1), "second_at_zero": second}
    network = nf.ForestNetwork(twins.TreeEnsemble(**{**e.__getstate__(), **zero}))
    X = np.zeros((3, 3))
    assert (network.predict(X) == e.classes[int(second)]).all()
    assert (run(to_onnx(network), X)["label"] == e.classes[int(second)]).all()


def test_a_probit_link_is_exported_in_float32_only():
    rng = np.random.default_rng(0)
    e = twins.random_ensemble(rng, "logit", (4, 3))
    network = nf.ForestNetwork(twins.TreeEnsemble(**{**e.__getstate__(), "link": "probit"}))
    X = twins.random_rows(rng, e, 30)
    assert np.abs(run(to_onnx(network), X)["probabilities"] - network.predict_proba(X)).max() < 1e-6
    with pytest.raises(UnsupportedModelError, match="dtype='float32'"):
        to_onnx(network, dtype="float64")


# --- the file --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_graph_is_valid_and_has_the_versions(dtype, tmp_path):
    rng = np.random.default_rng(0)
    network = twins.soften(rng, nf.ForestNetwork(twins.random_ensemble(rng, "forest")), "independent", "sparse")
    path = tmp_path / "model.onnx"
    model = to_onnx(network, path, dtype=dtype)
    onnx.checker.check_model(model, full_check=True)
    assert onnx.load(path, load_external_data=False) == model
    assert model.ir_version == 10
    assert {version.domain: version.version for version in model.opset_import} == {"": 21, "ai.onnx.ml": 3}
    shape = model.graph.input[0].type.tensor_type.shape.dim
    assert model.graph.input[0].name == "X"
    assert [dim.dim_value for dim in shape] == [0, 3]
    assert not any(tensor.external_data for tensor in model.graph.initializer)


@pytest.mark.parametrize("opset", [13, 17, 22])
def test_other_opsets_give_the_same_predictions(opset):
    rng = np.random.default_rng(0)
    network = twins.soften(rng, nf.ForestNetwork(twins.random_ensemble(rng, "softmax")), "joint", "full", hard=0)
    X = twins.random_rows(rng, network.ensemble, 20)
    model = to_onnx(network, opset=opset)
    onnx.checker.check_model(model, full_check=True)
    assert np.abs(run(model, X)["probabilities"] - network.predict_proba(X)).max() < 1e-6


def test_large_trees_are_written_by_their_connections():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(1500, 3)), rng.normal(size=1500)
    forest = RandomForestRegressor(2, random_state=0).fit(X, y)
    network = nf.convert(forest).soften((10, 1))
    assert min(np.diff(network.ensemble.first_leaf)) > DENSE_LEAVES
    small, large = to_onnx(network), to_onnx(network, form="dense")
    assert small.ByteSize() < 600_000 < 6_000_000 < large.ByteSize()
    expected = network.predict(X[:50].astype(np.float32))
    for model in (small, large):
        assert np.abs(run(model, X[:50])["prediction"][:, 0] - expected).max() < 1e-5 * y.std()


# --- errors ---------------------------------------------------------------------------------------------------------


def test_wrong_arguments_are_refused():
    network = nf.ForestNetwork(twins.random_ensemble(np.random.default_rng(0)))
    with pytest.raises(InvalidParameterError, match="dtype must be"):
        to_onnx(network, dtype="float16")
    with pytest.raises(InvalidParameterError, match="opset must be"):
        to_onnx(network, opset=9)
    with pytest.raises(InvalidParameterError, match="form must be"):
        to_onnx(network, form="gather")
    with pytest.raises(UnsupportedModelError, match=r"neuralforest.convert"):
        to_onnx(RandomForestRegressor())
    with pytest.raises(NotFittedError, match="call fit"):
        to_onnx(nf.NeuralForestRegressor())


def test_numbers_beyond_float32_are_refused_in_float32():
    e = twins.random_ensemble(np.random.default_rng(0), "mean", (3,))
    network = nf.ForestNetwork(twins.TreeEnsemble(**{**e.__getstate__(), "value": e.value * 1e60}))
    with pytest.raises(UnsupportedModelError, match=r"3\.4e38.*dtype='float64'"):
        to_onnx(network)
    X = twins.random_rows(np.random.default_rng(0), e, 5)
    np.testing.assert_allclose(run(to_onnx(network, dtype="float64"), X)["prediction"][:, 0], network.predict(X))


def test_labels_that_onnx_has_no_type_for_are_refused():
    e = twins.random_ensemble(np.random.default_rng(0), "forest")
    classes = np.array([("a", 1), ("b", 2), ("c", 3)], dtype="O,O")
    objects = np.empty(3, object)
    objects[:] = [tuple(label) for label in classes]
    network = nf.ForestNetwork(twins.TreeEnsemble(**{**e.__getstate__(), "classes": objects}))
    with pytest.raises(UnsupportedModelError, match="strings or numbers"):
        to_onnx(network)


def test_a_file_of_more_than_two_gigabytes_is_refused(monkeypatch):
    rng = np.random.default_rng(0)
    network = twins.soften(rng, nf.ForestNetwork(twins.random_ensemble(rng)), "joint", "full", hard=0)
    monkeypatch.setattr("neuralforest.export._graph._TOO_LARGE", 100)
    with pytest.raises(UnsupportedModelError, match="at most 2 GB"):
        to_onnx(network)
