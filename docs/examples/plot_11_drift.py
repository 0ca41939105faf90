"""
Updating a model under drift
============================

``partial_fit`` continues the training of the network on new rows. A forest can only be grown again.
"""

# %%
# A function that changes slowly from month to month.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import root_mean_squared_error

import neuralforest as nf

rng = np.random.default_rng(0)


def month(t, n=300):
    X = rng.uniform(-1, 1, (n, 4))
    return X, np.sin(3 * X[:, 0] + 0.15 * t) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=n)


X, y = month(0, 1000)
fixed = nf.NeuralForestRegressor(stacking=None, random_state=0).fit(X, y)
updated = nf.NeuralForestRegressor(stacking=None, random_state=0).fit(X, y)
errors = []
for t in range(1, 13):
    X, y = month(t)
    errors.append([root_mean_squared_error(y, model.predict(X)) for model in (fixed, updated)])
    updated.partial_fit(X, y, n_epochs=5)

# %%
# Each month is predicted before it is used for the update.
figure, ax = plt.subplots(figsize=(6.4, 3.4), layout="constrained")
ax.plot(range(1, 13), errors, "o-", label=["fitted once", "updated every month"])
ax.axhline(0.1, color="#222222", linestyle=":", label="noise")
ax.set(xlabel="month", ylabel="RMSE of the month", ylim=(0, None))
_ = ax.legend()
