"""LightGBM: boosters and scikit-learn estimators, gbdt, dart and rf, from the library's own text format.

A row goes left where x <= threshold in float64, and sums are float64, so predictions are equal to the last bit. See
`_lightgbm_text`.
"""

from typing import Any

import lightgbm
import numpy as np
from numpy.typing import NDArray

from neuralforest.ensemble import TreeEnsemble
from neuralforest.readers._lightgbm_text import ensemble_of, read_file
from neuralforest.readers._refusal import not_fitted

__all__ = ["READERS", "ROUNDING", "output", "read_file", "read_lightgbm"]

ROUNDING = 1e-12
"""How far predictions may differ, relative to the largest score: by the rounding of the link."""


def read_lightgbm(model: Any) -> TreeEnsemble:
    """Read a Booster or an estimator: its best iterations after early stopping."""
    booster = model
    if isinstance(model, lightgbm.LGBMModel):
        if not model.__sklearn_is_fitted__():
            raise not_fitted(model)
        booster = model.booster_
    classes = np.asarray(model.classes_) if isinstance(model, lightgbm.LGBMClassifier) else None
    return ensemble_of(model, booster.model_to_string(), classes)


def output(model: Any, X: NDArray[np.float64], ensemble: TreeEnsemble) -> NDArray[np.float64]:
    """Return the model's own predictions, probabilities of classes, for rows of numbers and codes of categories."""
    booster = getattr(model, "booster_", model)
    prediction = np.asarray(booster.predict(X, validate_features=False))
    is_binary = booster.model_to_string(num_iteration=1).partition("objective=")[2].startswith("binary")
    return np.column_stack([1 - prediction, prediction]) if is_binary else prediction


READERS = {lightgbm.Booster: read_lightgbm, lightgbm.LGBMModel: read_lightgbm}
