"""
Reliability of probabilities
============================

A reliability curve shows how often an event occurs among rows for which it is predicted with a given probability.
"""

# %%
# A forest of few trees is compared with the model made from it, on rows that neither was trained on.
import matplotlib.pyplot as plt
from sklearn.datasets import make_classification
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

import neuralforest as nf
from neuralforest.plots import ReliabilityDisplay

X, y = make_classification(5000, 15, n_informative=6, flip_y=0.1, random_state=0)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.6, random_state=0)
model = nf.NeuralForestClassifier(random_state=0).fit(X_train, y_train)
figure, axes = plt.subplots(1, 2, figsize=(8, 4.4), layout="constrained")
for ax, (name, each) in zip(axes, {"forest": model.forest_, "model": model}.items(), strict=True):
    ReliabilityDisplay.from_estimator(each, X_test, y_test, ax=ax)
    loss = log_loss(y_test, each.predict_proba(X_test))
    ax.set_title(f"{name}: log loss {loss:.3f}")
