"""Graphs evaluated by onnxruntime, and data to train small models on."""

import numpy as np


def run(model, X):
    """Evaluate a graph; return its outputs by name."""
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 3
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    X = X.astype({"tensor(float)": np.float32, "tensor(double)": np.float64}[session.get_inputs()[0].type])
    return dict(zip([output.name for output in session.get_outputs()], session.run(None, {"X": X}), strict=True))


def prediction(outputs):
    """Return predictions (rows, outputs) or probabilities (rows, classes)."""
    return outputs["prediction"] if "prediction" in outputs else outputs["probabilities"]


def data(seed=0, n=300, features=5, outputs=1):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, features)).astype(np.float32).astype(np.float64)
    y = np.stack([np.sin(X[:, 0]) + X[:, 1] * X[:, 2], X.sum(axis=1), X[:, 3] ** 2], axis=1)[:, :outputs]
    return X, 50 + 10 * (y[:, 0] if outputs == 1 else y)
