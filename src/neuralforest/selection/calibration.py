"""Calibration of regression: over-dispersed predictions are shrunk towards the mean of the target.

The calibration slope is that of the target on the out-of-sample predictions: 1 for calibrated predictions, 0 for
predictions without any signal. Nothing is done where the slope is above 0 by two standard errors, and not below 1 by
two of them.
"""

import numpy as np
from numpy.typing import NDArray

from neuralforest.network import ForestNetwork
from neuralforest.selection.evidence import is_better
from neuralforest.selection.predictions import (
    Evaluated,
    OutOfSamplePredictions,
    out_of_sample_predictions,
    validation_predictions,
    whole_loss,
)
from neuralforest.selection.winsorized_mean import winsorized_mean
from neuralforest.training import Loss, TrainingData

STEPS = 10
"""From full calibration to none."""
_SMALLEST = 0.01  # factor, so that predictions still differ


def calibrated(
    network: ForestNetwork,
    evaluated: Evaluated,
    predictions: OutOfSamplePredictions,
    of_trees: OutOfSamplePredictions,
    data: TrainingData,
    loss: Loss,
    n_jobs: int | None = None,
) -> tuple[ForestNetwork, OutOfSamplePredictions] | None:
    """Return the calibrated network and its predictions; None where the network is calibrated already.

    The loss may rise, but must stay below the forest's: where it does not, predictions are shrunk less. Subnetworks
    that were evaluated as trees become soft, because the output of a tree is fixed.
    """
    wanted = calibration_factors(network, predictions, data)
    if (wanted == 1.0).all():
        return None
    forest_loss = whole_loss(network, of_trees, data, loss).corrected
    rows, weight = data.training_rows
    mean = winsorized_mean(data.scaled_y(network)[rows], weight)
    for factor in steps_from(wanted):
        smaller = shrunk(network, factor, mean)
        parts = tuple((shrunk(each, factor, mean), rows) for each, rows in evaluated)
        predictions = out_of_sample_predictions(parts, data, n_jobs)
        if is_better(network, predictions, of_trees, data, loss):
            whole = validation_predictions(smaller, data, n_jobs)
            if whole_loss(network, whole, data, loss).corrected <= forest_loss:
                return smaller, predictions
    return None


def steps_from(wanted: NDArray[np.float64]) -> list[NDArray[np.float64]]:
    """Return the factors to try, from the wanted ones towards no calibration."""
    return [wanted + (1.0 - wanted) * step / STEPS for step in range(STEPS)]


def calibration_factors(
    network: ForestNetwork, predictions: OutOfSamplePredictions, data: TrainingData
) -> NDArray[np.float64]:
    """Return the factors of over-dispersed predictions, in units of training, (outputs,); 1 for others."""
    slope, error = _slopes(network, predictions, data)
    over_dispersed = (slope + 2 * error < 1) | (slope - 2 * error < 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        factor = np.where(slope > 0, slope - 4 * error**2 / slope, 0.0)
    return np.where(over_dispersed, np.clip(factor, _SMALLEST, 1.0), 1.0)


def _slopes(
    network: ForestNetwork, predictions: OutOfSamplePredictions, data: TrainingData
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the slope of each target on its predictions, and the standard error of the slope, (outputs,).

    Out-of-bag, a row is predicted by few trees, whose excess variance would flatten the slope: it is subtracted.
    """
    soft = network.soft
    assert soft is not None
    y = data.scaled_y(network)[predictions.row]
    mean = network.in_training_units(predictions.prediction)
    excess, weights = predictions.excess_variance / soft.output_scale / soft.output_scale, predictions.weight[:, None]
    predicted = mean - np.average(mean, axis=0, weights=predictions.weight)
    true = y - np.average(y, axis=0, weights=predictions.weight)
    spread = (weights * (predicted**2 - excess)).sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        slope = (weights * predicted * true).sum(axis=0) / spread
        error = np.sqrt((weights**2 * predicted**2 * (true - slope * predicted) ** 2).sum(axis=0)) / spread
    varies = spread > 0  # otherwise the predictions are constant, or all of their variance is excess
    return np.where(varies, slope, 1.0), np.where(varies, error, 0.0)


def shrunk(network: ForestNetwork, factor: NDArray[np.float64], mean: NDArray[np.float64]) -> ForestNetwork:
    """Return the network with an output of factor x output + (1 - factor) x mean, and no hard subnetworks."""
    assert network.soft is not None
    parameters = network.soft.parameters.copy()
    for subnetwork in range(network.n_subnetworks):
        layer = network.layout.views(parameters, subnetwork)
        layer.w_out[:] *= factor.astype(np.float32)
        layer.b_out[:] *= factor.astype(np.float32)
        layer.b_out[-1] += ((1.0 - factor) * mean).astype(np.float32)
    return network.with_parameters(parameters, np.zeros(network.n_subnetworks, np.bool_))
