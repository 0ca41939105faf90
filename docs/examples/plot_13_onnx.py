"""
Deployment with ONNX
====================

A fitted model as an ONNX graph, which runs without neuralforest and scikit-learn.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
import onnxruntime
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

import neuralforest as nf
from neuralforest.export.onnx import to_onnx

X, y = load_breast_cancer(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
model = nf.NeuralForestClassifier(random_state=0).fit(X_train, y_train)

graph = to_onnx(model, dtype="float64")
session = onnxruntime.InferenceSession(graph.SerializeToString())
label, probabilities = session.run(["label", "probabilities"], {"X": X_test})
print(f"{len(graph.SerializeToString()) / 1e6:.1f} MB, labels agree: {bool((label == model.predict(X_test)).all())}")

# %%
# The probabilities of both, and their differences.
own = model.predict_proba(X_test)[:, 1]
figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.4), layout="constrained")
left.plot(own, probabilities[:, 1], "o", color="#0072B2", alpha=0.5)
left.set(xlabel="predict_proba", ylabel="ONNX")
right.hist(np.log10(np.abs(probabilities[:, 1] - own) + 1e-18), bins=20, color="#0072B2")
_ = right.set(xlabel="log10 of the difference", ylabel="rows")
