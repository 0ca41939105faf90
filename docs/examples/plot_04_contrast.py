"""
Softening: what the contrast does
=================================

To train a network by gradient descent, its step functions are replaced by tanh. The contrast is the slope: large values stay close to
the tree, small ones are smooth.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.tree import DecisionTreeRegressor

import neuralforest as nf

rng = np.random.default_rng(0)
x = np.sort(rng.uniform(0, 1, 200))
y = np.sin(6 * x) + 0.1 * rng.normal(size=200)
tree = DecisionTreeRegressor(max_leaf_nodes=8, random_state=0).fit(x[:, None], y)
network = nf.convert(tree)

# %%
# The first number is the contrast of the splits, in units of the feature; the second is that of the leaves. None of these networks is
# trained yet.
grid = np.linspace(0, 1, 500)[:, None]
figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
ax.plot(x, y, ".", color="#CCCCCC", label="rows")
ax.plot(grid, network.predict(grid), color="#222222", label="tree, and hard network")
for contrast, colour in (((300, 3), "#D55E00"), ((60, 1), "#009E73"), ((20, 1), "#0072B2")):
    ax.plot(grid, network.soften(contrast=contrast).predict(grid), color=colour, label=f"contrast {contrast}")
_ = ax.legend()
