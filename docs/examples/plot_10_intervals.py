"""
Prediction intervals and noise
==============================

``predict_quantiles`` returns conformal intervals: they contain the target with the requested probability over all rows together.
"""

# %%
# Noise that grows with x.
import matplotlib.pyplot as plt
import numpy as np

import neuralforest as nf

rng = np.random.default_rng(0)


def draw(n):
    x = rng.uniform(0, 1, n)
    return x[:, None], np.sin(6 * x) + (0.05 + 0.5 * x) * rng.normal(size=n)


X, y = draw(1500)
model = nf.NeuralForestRegressor(random_state=0).fit(X, y)
grid = np.linspace(0, 1, 200)[:, None]
low, high = model.predict_quantiles(grid, (0.05, 0.95)).T
figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
ax.plot(X[:, 0], y, ".", color="#BBBBBB", markersize=3, label="rows")
ax.plot(grid, model.predict(grid), color="#0072B2", label="prediction")
ax.fill_between(grid[:, 0], low, high, color="#0072B2", alpha=0.2, label="90% interval")
ax.plot(grid, np.sin(6 * grid), ":", color="#222222", label="true function")
_ = ax.legend()

# %%
# The coverage on new rows, over all rows and where the noise is small and large:
X_new, y_new = draw(5000)
low, high = model.predict_quantiles(X_new, (0.05, 0.95)).T
inside = (low <= y_new) & (y_new <= high)
print("all rows:", inside.mean().round(3))
for name, part in (("x below 0.2", X_new[:, 0] < 0.2), ("x above 0.8", X_new[:, 0] > 0.8)):
    print(name, inside[part].mean().round(3))
