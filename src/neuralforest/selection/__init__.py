"""Decisions made on out-of-sample predictions: guard, calibration, stacking weights, prediction intervals."""

from neuralforest.selection.guard import Selected, train_guarded
from neuralforest.selection.intervals import Residuals
from neuralforest.selection.predictions import OutOfSamplePredictions, out_of_sample_predictions, validation_predictions
from neuralforest.selection.source import stacked_with_source
from neuralforest.selection.stacking import Candidate, stack
from neuralforest.selection.temperature import with_calibrated_probabilities

__all__ = [
    "Candidate",
    "OutOfSamplePredictions",
    "Residuals",
    "Selected",
    "out_of_sample_predictions",
    "stack",
    "stacked_with_source",
    "train_guarded",
    "validation_predictions",
    "with_calibrated_probabilities",
]
