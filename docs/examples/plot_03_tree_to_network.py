"""
From a tree to a network, step by step
======================================

The paper's Figure 2: a tree of six leaves becomes a network with one unit per split and one unit per leaf, which predicts exactly the
same.
"""

# %%
# A small tree, drawn by scikit-learn.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.tree import DecisionTreeRegressor, plot_tree

import neuralforest as nf
from neuralforest.plots import NetworkDisplay

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
tree = DecisionTreeRegressor(max_leaf_nodes=6, random_state=0).fit(X, y)
figure, ax = plt.subplots(figsize=(8, 4), layout="constrained")
_ = plot_tree(tree, feature_names=list(X.columns), filled=True, impurity=False, ax=ax)

# %%
# The same tree as a network. The first layer has a unit per split: it compares one feature with a threshold. The second has a unit per
# leaf: it is active where all splits on its path agree. The path of one row is highlighted.
display = NetworkDisplay.from_estimator(tree, row=X.iloc[0])

# %%
# The predictions are exactly equal.
network = nf.convert(tree)
print(repr(network))
print("equal predictions:", np.array_equal(network.predict(X), tree.predict(X)))

# %%
# The weights between splits and leaves: -1 where the path goes left, +1 where it goes right, 0 where the split is not on the path.
layers = network.layers()
figure, ax = plt.subplots(figsize=(5, 3.4), layout="constrained")
ax.imshow(layers.W2.toarray(), cmap="RdBu", vmin=-1.5, vmax=1.5)
for (i, j), weight in np.ndenumerate(layers.W2.toarray()):
    ax.text(j, i, f"{weight:+.0f}" if weight else "0", ha="center", va="center")
_ = ax.set(xlabel="split", ylabel="leaf", title="weights of the second layer")
