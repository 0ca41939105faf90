"""
SHAP values
===========

Shapley values of a trained network, by any explainer that needs only a prediction function; those of its forest, by ``TreeExplainer``.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import shap
from sklearn.datasets import load_diabetes
from sklearn.ensemble import RandomForestRegressor

import neuralforest as nf

X, y = load_diabetes(return_X_y=True, as_frame=True)
forest = RandomForestRegressor(30, max_leaf_nodes=32, random_state=0)
model = nf.NeuralForestRegressor(forest, random_state=0).fit(X, y)
rows = X.sample(60, random_state=0)

of_forest = shap.TreeExplainer(model.forest_).shap_values(rows)
predict = lambda values: model.predict(pd.DataFrame(values, columns=X.columns))
explainer = shap.PermutationExplainer(predict, X.sample(40, random_state=1), seed=0)
of_model = explainer(rows, max_evals=200, silent=True).values

# %%
# The mean magnitude of each feature's contribution, in units of the target.
figure, ax = plt.subplots(figsize=(6, 4), layout="constrained")
order = np.argsort(np.abs(of_model).mean(axis=0))
place = np.arange(len(order))
ax.barh(place + 0.2, np.abs(of_model).mean(axis=0)[order], 0.38, color="#0072B2", label="model")
ax.barh(place - 0.2, np.abs(of_forest).mean(axis=0)[order], 0.38, color="#D55E00", label="forest")
ax.set_yticks(place, X.columns[order])
ax.set_xlabel("mean |SHAP value|")
_ = ax.legend()
