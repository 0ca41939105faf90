"""
Networks and BART
=================

Bayesian additive regression trees (BART) draw sums of small trees from a posterior distribution. ``BARTRegressor`` samples with
stochtree and can be stacked with a network; the paper proposes networks made of its trees for future research.
"""

# %%
# A draw is a sum of 50 trees, and the prediction is the mean of 10 draws, evenly spaced among 200. Test rows have no noise, so that the
# error is the distance to the true function.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.base import clone
from sklearn.datasets import make_friedman1
from sklearn.metrics import root_mean_squared_error

import neuralforest as nf
from neuralforest.plots import TrainingDisplay

X, y = make_friedman1(400, noise=1.0, random_state=0)
X_test, y_test = make_friedman1(2000, noise=0.0, random_state=1)
bart = nf.BARTRegressor(n_trees=50, n_draws=10, n_samples=200, n_burn_in=100, random_state=0).fit(X, y)
print(bart.ensemble_)

# %%
# **Converted**, the draws are a hard network that predicts the same.
network = nf.convert(bart)
print(f"largest difference {np.abs(network.predict(X_test) - bart.predict(X_test)).max():.1e}")

# %%
# **Stacked**: BART is kept unchanged and blended with the network of the default forest. The weights are fitted on cross-validated
# predictions: BART is sampled again for each of five folds.
stacked = nf.NeuralForestRegressor(clone(bart), random_state=0).fit(X, y)
print({part: round(weight, 2) for part, weight in stacked.stacking_weights_.items()})

# %%
# **Trained**: with ``stacking=None``, the trees of each draw become one network, which is trained jointly.
trained = nf.NeuralForestRegressor(clone(bart), stacking=None, max_epochs=30, random_state=0).fit(X, y)
print(trained.network_)

# %%
# The errors of all of them, and that of the default model, which does not use BART.
default = nf.NeuralForestRegressor(random_state=0).fit(X, y)
models = {
    "BART": bart,
    "BART and network, stacked": stacked,
    "BART's trees, trained": trained,
    "default model": default,
}
errors = {name: root_mean_squared_error(y_test, model.predict(X_test)) for name, model in models.items()}
figure, ax = plt.subplots(figsize=(7, 2.4), layout="constrained")
bars = ax.barh(list(errors), list(errors.values()), color=["#D55E00", "#0072B2", "#E69F00", "#009E73"])
ax.bar_label(bars, [f"{error:.2f}" for error in errors.values()], padding=3)
ax.set(xlabel="RMSE to the true function", xlim=(0, 1.15 * max(errors.values())))
ax.invert_yaxis()

# %%
# Training curves of the networks of BART's draws.
_ = TrainingDisplay.from_estimator(trained)
