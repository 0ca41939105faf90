"""
What the stack adds
===================

By default, base models are stacked with the network where that improves held-out predictions. On some data they have most of the weight,
on others none.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn import datasets
from sklearn.metrics import root_mean_squared_error
from sklearn.model_selection import train_test_split

import neuralforest as nf

rng = np.random.default_rng(0)
steps = rng.uniform(size=(800, 6))
problems = {
    "smooth (Friedman 1)": datasets.make_friedman1(800, noise=1.0, random_state=0),
    "linear": datasets.make_regression(400, 20, n_informative=8, noise=20.0, random_state=0),
    "steps": (steps, 3 * (steps[:, 0] > 0.5) + np.floor(4 * steps[:, 1]) + 0.3 * rng.normal(size=800)),
    "diabetes": datasets.load_diabetes(return_X_y=True),
}
weights, ratios = {}, {}
for name, (X, y) in problems.items():
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    stacked = nf.NeuralForestRegressor(random_state=0).fit(X_train, y_train)
    alone = nf.NeuralForestRegressor(stacking=None, random_state=0).fit(X_train, y_train)
    weights[name] = stacked.stacking_weights_
    error, own = (root_mean_squared_error(y_test, each.predict(X_test)) for each in (stacked, alone))
    ratios[name] = error / own

# %%
# Weights of the parts of each model, and the test error of the stack relative to that of the network alone.
kinds = sorted({kind for each in weights.values() for kind in each}, key=lambda kind: kind != "network")
figure, ax = plt.subplots(figsize=(7.5, 3), layout="constrained")
left = np.zeros(len(weights))
colours = ["#0072B2", "#D55E00", "#009E73", "#E69F00", "#CC79A7", "#56B4E9"]
for kind, colour in zip(kinds, colours, strict=False):
    width = np.array([each.get(kind, 0.0) for each in weights.values()])
    ax.barh(list(weights), width, left=left, color=colour, label=kind.replace("_", " "))
    left += width
for i, ratio in enumerate(ratios.values()):
    ax.text(1.02, i, f"error x {ratio:.2f}", va="center")
ax.set(xlabel="stacking weight", xlim=(0, 1.25))
ax.invert_yaxis()
_ = figure.legend(loc="outside upper center", ncols=3, frameon=False)
