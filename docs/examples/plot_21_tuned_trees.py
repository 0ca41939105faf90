"""
Better trees, and SHAP
======================

If the result must be trees, for SHAP or for a server that supports nothing else, ``tune="leaves"`` refits the leaf values of a forest
together, and ``tune="splits"`` also moves its thresholds. The result is exported as a forest of scikit-learn.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
import shap
from sklearn.datasets import make_friedman1
from sklearn.ensemble import RandomForestRegressor
from sklearn.metrics import root_mean_squared_error
from sklearn.model_selection import train_test_split

import neuralforest as nf
from neuralforest.export.sklearn import to_sklearn

X, y = make_friedman1(1000, n_features=8, noise=1.0, random_state=0)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
forest = RandomForestRegressor(30, max_leaf_nodes=64, random_state=0)
leaves = nf.NeuralForestRegressor(forest, tune="leaves", random_state=0).fit(X_train, y_train)
splits = nf.NeuralForestRegressor(forest, tune="splits", max_epochs=60, random_state=0).fit(X_train, y_train)
network = nf.NeuralForestRegressor(forest, random_state=0).fit(X_train, y_train)

# %%
# The exported model is an ordinary random forest, with the same predictions.
exported = to_sklearn(splits)
print(type(exported).__name__, "of", len(exported.estimators_), "trees")
print("largest difference:", np.abs(exported.predict(X_test) - splits.predict(X_test)).max())

# %%
# Tuned trees gain less than the network, which is smooth, but predict as fast as the forest.
models = {"forest": leaves.forest_, 'tune="leaves"': leaves, 'tune="splits"': splits, "network": network}
errors = {name: root_mean_squared_error(y_test, model.predict(X_test)) for name, model in models.items()}
figure, ax = plt.subplots(figsize=(7, 2.4), layout="constrained")
bars = ax.barh(list(errors), list(errors.values()), color=["#D55E00", "#56B4E9", "#0072B2", "#009E73"])
ax.bar_label(bars, [f"{error:.2f}" for error in errors.values()], padding=3)
ax.set(xlabel="test RMSE", xlim=(0, 1.15 * max(errors.values())))
ax.invert_yaxis()

# %%
# ``TreeExplainer`` computes exact SHAP values of the exported trees. Those of the first five features, which the target depends on, follow
# its function more closely than those of the forest: here of feature 3, whose effect is linear.
rows = X_test[:200]
figure, ax = plt.subplots(figsize=(7, 3.4), layout="constrained")
for name, trees, color in (("forest", leaves.forest_, "#D55E00"), ("tuned trees", exported, "#0072B2")):
    values = shap.TreeExplainer(trees).shap_values(rows)
    ax.plot(rows[:, 3], values[:, 3], ".", color=color, label=name)
ax.plot([0, 1], [-5, 5], color="#222222", linestyle=":", label="true effect")
ax.set(xlabel="feature 3", ylabel="SHAP value")
_ = ax.legend()
