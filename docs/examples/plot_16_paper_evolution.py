"""
The paper's training evolution
==============================

A small version of a figure of the paper, with its settings, ``nf.PAPER_SETTINGS``: 30 trees of depth 6, contrasts 100 and 1, features in raw
units. The whole reproduction is in :doc:`/paper`.
"""

# %%
import numpy as np

import neuralforest as nf
from neuralforest.plots import TrainingDisplay

rng = np.random.default_rng(0)
X = rng.uniform(size=(800, 2))
y = np.sin(20 * X[:, 0] - 10) + np.sin(20 * X[:, 1] - 10) + 0.1 * rng.normal(size=800)
model = nf.NeuralForestRegressor(**nf.PAPER_SETTINGS, training="joint", connectivity="sparse", random_state=0).fit(X, y)
_ = TrainingDisplay.from_estimator(model)

# %%
# The forest of the paper cannot approximate the function better with 64 leaves per tree; the network can.
print(
    f"forest {model.forest_loss_**0.5:.3f}, network {model.validation_loss_**0.5:.3f}, in units of the target's spread"
)
