"""
Your own booster
================

Pass a model of XGBoost, LightGBM or CatBoost to the estimator. It is kept unchanged and stacked with the network of the default forest; or
its own trees are trained, as one network.
"""

# %%
# Three problems: a smooth function, one with steps, and real data. For each, the booster alone, the estimator around it, and with
# ``stacking=None`` the network of the booster's own trees. All are fitted on the same rows.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes, make_friedman1
from sklearn.metrics import root_mean_squared_error
from sklearn.model_selection import train_test_split
from xgboost import XGBRegressor

import neuralforest as nf

rng = np.random.default_rng(0)
Z = rng.uniform(size=(600, 6))
problems = {
    "smooth (Friedman 1)": make_friedman1(600, noise=1.0, random_state=0),
    "steps": (Z, 3 * (Z[:, 0] > 0.5) + np.floor(4 * Z[:, 1]) + 0.3 * rng.normal(size=600)),
    "diabetes": load_diabetes(return_X_y=True),
}
booster = XGBRegressor(n_estimators=60, max_depth=3, learning_rate=0.15, n_jobs=1)
errors, weights = {}, {}
for name, (X, y) in problems.items():
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    stacked = nf.NeuralForestRegressor(booster, random_state=0).fit(X_train, y_train)
    joint = nf.NeuralForestRegressor(booster, stacking=None, max_epochs=40, random_state=0).fit(X_train, y_train)
    models = {"XGBoost": stacked.source_, "stacked with a network": stacked, "its own trees, trained": joint}
    errors[name] = {kind: root_mean_squared_error(y_test, model.predict(X_test)) for kind, model in models.items()}
    weights[name] = stacked.stacking_weights_

# %%
# ``source_`` is the booster alone, fitted on all training rows. The stacking weights are fitted on cross-validated predictions of five
# folds; where the booster is the better model, it has most of the weight.
for name, parts in weights.items():
    print(f"{name}: " + ", ".join(f"{part} {weight:.2f}" for part, weight in parts.items()))

# %%
# Test error relative to that of the booster. Which of the two is better depends on the data. The stack, which is the default, is compared
# on all data sets in the benchmarks.
figure, ax = plt.subplots(figsize=(7, 3.2), layout="constrained")
place = np.arange(len(errors))
for i, (kind, color) in enumerate(zip(models, ["#D55E00", "#0072B2", "#E69F00"], strict=True)):
    ratio = [each[kind] / each["XGBoost"] for each in errors.values()]
    bars = ax.barh(place + 0.27 * (i - 1), ratio, 0.25, color=color, label=kind)
    ax.bar_label(bars, [f"{value:.2f}" for value in ratio], padding=3)
ax.set_yticks(place, list(errors))
ax.set(xlabel="test RMSE / test RMSE of XGBoost", xlim=(0, 1.2))
ax.invert_yaxis()
_ = figure.legend(loc="outside upper center", ncols=3, frameon=False)

# %%
# Converted and not trained, the network of the booster's trees predicts what XGBoost predicts, up to its rounding.
network = nf.convert(joint.source_)
print(np.abs(network.predict(X_test) - joint.source_.predict(X_test)).max())
