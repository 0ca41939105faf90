"""
A first model, compared with a random forest
============================================

The default model against a random forest of 500 trees, on Friedman's function: ten features, five of them without effect.
"""

# %%
# Both models are fitted on the same rows and scored on others.
import matplotlib.pyplot as plt
from sklearn.datasets import make_friedman1
from sklearn.ensemble import RandomForestRegressor
from sklearn.metrics import root_mean_squared_error
from sklearn.model_selection import train_test_split

import neuralforest as nf

X, y = make_friedman1(1000, noise=1.0, random_state=0)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)

random_forest = RandomForestRegressor(500, random_state=0).fit(X_train, y_train)
model = nf.NeuralForestRegressor(random_state=0).fit(X_train, y_train)
network = nf.NeuralForestRegressor(stacking=None, random_state=0).fit(X_train, y_train)

# %%
# What the default model consists of:
print(model.stacking_weights_)

# %%
# The noise has a standard deviation of 1, which no model can beat.
models = {
    "random forest, 500 trees": random_forest,
    "its forest": network.forest_,
    "network alone": network,
    "default": model,
}
errors = {name: root_mean_squared_error(y_test, each.predict(X_test)) for name, each in models.items()}
figure, ax = plt.subplots(figsize=(6, 2.6), layout="constrained")
bars = ax.barh(list(errors), list(errors.values()), color=["#999999", "#D55E00", "#56B4E9", "#0072B2"])
ax.bar_label(bars, [f"{error:.2f}" for error in errors.values()], padding=3)
ax.axvline(1, color="#222222", linestyle=":", label="noise")
ax.set(xlabel="test RMSE", xlim=(0, 1.15 * max(errors.values())))
ax.invert_yaxis()
_ = ax.legend(loc="lower right")
