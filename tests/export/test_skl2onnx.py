"""Pipelines exported by skl2onnx."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import export_twins as twins
from export_runs import data, run

onnx = pytest.importorskip("onnx")
ort = pytest.importorskip("onnxruntime")
skl2onnx = pytest.importorskip("skl2onnx")

from neuralforest.export.skl2onnx import register  # noqa: E402


def pipeline_of(X, y, classifier=False):
    scaler = StandardScaler().fit(X)
    return make_pipeline(scaler, twins.fitted(scaler.transform(X), y, classifier))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_pipeline_is_exported_by_skl2onnx(dtype):
    register()
    X, y = data(outputs=2)
    pipeline = pipeline_of(X, y)
    graph = skl2onnx.to_onnx(pipeline, X[:1].astype(dtype))
    onnx.checker.check_model(graph, full_check=True)
    prediction = run(graph, X)["variable"]
    assert prediction.dtype == dtype
    assert (np.abs(prediction - pipeline.predict(X)) < 1e-5 * y.std(axis=0)).all()


@pytest.mark.parametrize("labels", [np.array(["a", "b", "c"]), np.array([4, 5, 7])])
def test_a_pipeline_of_a_classifier_keeps_its_labels(labels):
    register()
    X, y = data()
    code = np.digitize(y, [45, 55])
    pipeline = pipeline_of(X, labels[code], classifier=True)
    outputs = run(skl2onnx.to_onnx(pipeline, X[:1].astype(np.float32), options={"zipmap": False}), X)
    assert (outputs["label"] == pipeline.predict(X)).all()
    assert np.abs(outputs["probabilities"] - pipeline.predict_proba(X)).max() < 1e-5
    maps = run(skl2onnx.to_onnx(pipeline, X[:1].astype(np.float32)), X)["output_probability"]
    assert set(maps[0]) == set(labels.tolist())


def test_whole_numbers_can_be_the_input_of_a_pipeline():
    register()
    X, y = data()
    X = np.round(3 * X).astype(np.int64)
    model = twins.fitted(X, y)
    graph = skl2onnx.to_onnx(model, X[:1])
    session = ort.InferenceSession(graph.SerializeToString())
    assert np.abs(session.run(None, {"X": X})[0][:, 0] - model.predict(X)).max() < 1e-5 * y.std()
