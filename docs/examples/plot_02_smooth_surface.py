"""
Smooth surfaces against steps
=============================

A forest predicts steps. Its network starts from the same steps, softened, and training fits them to the data.
"""

# %%
# The function of the paper's Figure 4, two sines, with noise.
import numpy as np
from sklearn.ensemble import RandomForestRegressor

import neuralforest as nf
from neuralforest.plots import SurfaceDisplay

rng = np.random.default_rng(0)
X = rng.uniform(size=(1500, 2))
y = np.sin(20 * X[:, 0] - 10) + np.sin(20 * X[:, 1] - 10) + 0.1 * rng.normal(size=1500)

forest = RandomForestRegressor(30, max_leaf_nodes=64, random_state=0)
model = nf.NeuralForestRegressor(forest, random_state=0).fit(X, y)
display = SurfaceDisplay.from_estimator(model, X, feature_names=["x1", "x2"])

# %%
# The distance to the function without noise, on new rows:
new = rng.uniform(size=(2000, 2))
truth = np.sin(20 * new[:, 0] - 10) + np.sin(20 * new[:, 1] - 10)
for name, each in (("forest", model.forest_), ("network", model)):
    print(name, round(float(np.sqrt(np.mean((each.predict(new) - truth) ** 2))), 3))
