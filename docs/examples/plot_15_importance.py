"""
Feature importances
===================

The importances of the trained model, next to those of its forest, and by permutation.
"""

# %%
from sklearn.datasets import make_friedman1
from sklearn.inspection import permutation_importance

import neuralforest as nf
from neuralforest.plots import ImportanceDisplay

X, y = make_friedman1(800, noise=1.0, random_state=0)
model = nf.NeuralForestRegressor(random_state=0).fit(X[:600], y[:600])
names = [f"x{i}" for i in range(1, 11)]
display = ImportanceDisplay.from_estimator(model, feature_names=names)

# %%
# x6 to x10 have no effect. Permutation on held-out rows measures what the model loses without a feature.
permuted = permutation_importance(model, X[600:], y[600:], n_repeats=5, random_state=0)
for name, mean in zip(names, permuted.importances_mean, strict=True):
    print(f"{name:4s} {mean:6.3f}")
