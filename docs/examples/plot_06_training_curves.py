"""
Training curves: independent and joint
======================================

Independent training has one network per tree; joint training has one network of all trees.
"""

# %%
# Independent: means over the networks, with bands that hold 80% of them. Each network is validated on the out-of-bag rows of its tree.
from sklearn.datasets import make_friedman1
from sklearn.ensemble import RandomForestRegressor

import neuralforest as nf
from neuralforest.plots import TrainingDisplay

X, y = make_friedman1(600, noise=1.0, random_state=0)
forest = RandomForestRegressor(20, max_leaf_nodes=32, random_state=0)
options = {"max_epochs": 40, "random_state": 0}
independent = nf.NeuralForestRegressor(forest, training="independent", **options).fit(X, y)
_ = TrainingDisplay.from_estimator(independent)

# %%
# Joint: here a quarter of the rows is held out for validation, and the best epoch on them is selected.
joint = nf.NeuralForestRegressor(
    forest, training="joint", validation="fraction", connectivity="sparse", learning_rate=0.003, **options
).fit(X, y)
_ = TrainingDisplay.from_estimator(joint)
