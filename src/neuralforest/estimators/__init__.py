"""The scikit-learn face of the package."""

from sklearn.ensemble import RandomForestRegressor

from neuralforest.estimators.classifier import NeuralForestClassifier
from neuralforest.estimators.regressor import NeuralForestRegressor

__all__ = ["PAPER_SETTINGS", "NeuralForestClassifier", "NeuralForestRegressor"]

PAPER_SETTINGS = {
    "forest": RandomForestRegressor(n_estimators=30, max_depth=6, bootstrap=False),
    "contrast": (100.0, 1.0),
    "learning_rate": 0.001,
    "schedule": "constant",
    "batch_size": 32,
    "max_epochs": 100,
    "standardize": False,
    "validation": "fraction",
    "validation_fraction": 1 / 3,
}
"""The paper's experiment: the forest of its authors, their training, raw units. With 75% of the rows given to `fit`, the
network learns from 50% and is judged on 25%. Choose `training` and `connectivity` for NRF1 or NRF2, sparse or full."""
