"""Decisions made on out-of-sample predictions: guard, calibration, stacking weights, prediction intervals."""

from neuralforest.selection.guard import Selected, train_guarded
from neuralforest.selection.intervals import Residuals
from neuralforest.selection.predictions import OutOfSamplePredictions, out_of_sample_predictions, validation_predictions
from neuralforest.selection.stacking import Candidate, stack

__all__ = [
    "Candidate",
    "OutOfSamplePredictions",
    "Residuals",
    "Selected",
    "out_of_sample_predictions",
    "stack",
    "train_guarded",
    "validation_predictions",
]
