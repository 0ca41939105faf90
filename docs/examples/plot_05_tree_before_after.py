"""
A tree before and after training
================================

Training moves thresholds and leaf values. Each box shows both, and the difference.
"""

# %%
from sklearn.datasets import load_diabetes
from sklearn.ensemble import RandomForestRegressor

import neuralforest as nf
from neuralforest.plots import TreeDisplay

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
forest = RandomForestRegressor(20, max_depth=3, max_features=1 / 3, random_state=0)
model = nf.NeuralForestRegressor(forest, contrast=(3, 1), connectivity="sparse", max_epochs=40, random_state=0).fit(
    X, y
)
display = TreeDisplay.from_estimator(model, tree=3)

# %%
# The thresholds move by a fraction of a standard deviation: the trained network is still recognisably the tree.
print(abs(display.change.shift_in_spreads).max().round(3))
