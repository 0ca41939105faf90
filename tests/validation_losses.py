"""Validation losses from predictions alone, in plain NumPy."""

import numpy as np

from small_models import output


def mean_loss(model, X, y, spread=1.0, weight=None):
    """Return the log loss of a classifier, or the squared error of a regressor in units of the target's spread."""
    prediction = output(model, X)
    if hasattr(model, "predict_proba"):
        own = prediction[np.arange(len(y)), np.searchsorted(model.classes_, y)]
        return np.average(-np.log(np.maximum(own, 1e-7)), weights=weight)
    return np.average(((prediction - y) / spread) ** 2, weights=weight)


def forest_and_model(model, y, X_val, y_val, weight=None):
    """Return the losses of the forest and of the estimator on validation rows; y is the target of the training rows."""
    spread = 1.0 if hasattr(model, "predict_proba") else np.std(y)
    return tuple(mean_loss(each, X_val, y_val, spread, weight) for each in (model.forest_, model))
