"""
Grid search and pipelines
=========================

The estimators are scikit-learn estimators; parameters of a given forest are reached by nested names.
"""

# %%
import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import neuralforest as nf

X, y = load_breast_cancer(return_X_y=True)
forest = RandomForestClassifier(20, random_state=0)
model = nf.NeuralForestClassifier(forest, connectivity="sparse", max_epochs=20, random_state=0)
pipeline = make_pipeline(StandardScaler(), model)
grid = {
    "neuralforestclassifier__contrast": [(0.5, 0.7), (1, 0.7), (3, 1)],
    "neuralforestclassifier__forest__max_leaf_nodes": [8, 16, 32],
}
search = GridSearchCV(pipeline, grid, scoring="neg_log_loss", cv=3).fit(X, y)
print(search.best_params_)

# %%
# Log loss of every combination.
scores = -search.cv_results_["mean_test_score"].reshape(3, 3)
figure, ax = plt.subplots(figsize=(5, 3.4), layout="constrained")
image = ax.imshow(scores, cmap="viridis_r")
ax.set_xticks(range(3), grid["neuralforestclassifier__forest__max_leaf_nodes"])
ax.set_yticks(range(3), [str(c) for c in grid["neuralforestclassifier__contrast"]])
ax.set(xlabel="max_leaf_nodes of the forest", ylabel="contrast")
_ = figure.colorbar(image, label="log loss, 3-fold cross-validation")
