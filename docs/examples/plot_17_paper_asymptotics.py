"""
The paper's asymptotic behaviour
================================

A small version of a figure of the paper: with more rows, a forest of depth 6 stops improving, and its network does not. The whole
reproduction is in :doc:`/paper`.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

import neuralforest as nf

rng = np.random.default_rng(0)


def draw(n, noise=0.1):
    X = rng.uniform(size=(n, 2))
    return X, np.sin(20 * X[:, 0] - 10) + np.sin(20 * X[:, 1] - 10) + noise * rng.normal(size=n)


X_new, truth = draw(2000, noise=0.0)
sizes, errors = [150, 500, 1500, 3000], []
for n in sizes:
    settings = dict(nf.PAPER_SETTINGS) | {"max_epochs": 40}
    model = nf.NeuralForestRegressor(**settings, training="joint", connectivity="sparse", random_state=0).fit(*draw(n))
    errors.append([np.sqrt(np.mean((each.predict(X_new) - truth) ** 2)) for each in (model.forest_, model)])
figure, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
ax.loglog(sizes, np.array(errors)[:, 0], "s-", color="#D55E00", label="forest")
ax.loglog(sizes, np.array(errors)[:, 1], "o-", color="#0072B2", label="network")
ax.minorticks_off()
ax.set_xticks(sizes, [f"{n:,}" for n in sizes])
ax.set_yticks([0.1, 0.2, 0.5, 1], ["0.1", "0.2", "0.5", "1"])
ax.set(xlabel="rows", ylabel="RMSE to the true function")
_ = ax.legend()
