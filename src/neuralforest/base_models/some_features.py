"""Wide tables: base models that were fitted on some features, as models of all of them."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from neuralforest.base_models.cross_fitting import Task
from neuralforest.ensemble import widened
from neuralforest.network import BaseModel, ForestNetwork, LinearModel
from neuralforest.selection import Candidate


def on_all_features(candidate: Candidate, features: NDArray[np.int64], task: Task) -> Candidate:
    """Return a candidate that was fitted on some features as one of all features of the task."""
    n_features, refit = task.data.X.shape[1], candidate.refit
    return candidate._replace(
        model=_model(candidate.model, features, n_features),
        refit=None if refit is None else lambda: _model(refit(), features, n_features),
    )


def _model(model: BaseModel, features: NDArray[np.int64], n_features: int) -> BaseModel:
    if isinstance(model, ForestNetwork):
        return ForestNetwork(widened(model.ensemble, features, n_features))
    assert isinstance(model, LinearModel)
    wide = {name: np.full(n_features, float(name == "scale")) for name in ("low", "high", "center", "scale")}
    for name, values in wide.items():
        values[features] = getattr(model, name)
    coef = np.zeros((n_features, model.n_outputs))
    coef[features] = model.coef
    return replace(model, **wide, coef=coef)
