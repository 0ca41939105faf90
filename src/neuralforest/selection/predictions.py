"""Out-of-sample predictions: what networks predict on validation rows that they were not trained on."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuralforest.network import ForestNetwork
from neuralforest.training.data import SubnetworkRows, TrainingData
from neuralforest.training.losses import Loss


class OutOfSamplePredictions(NamedTuple):
    """Predictions of validation rows."""

    row: NDArray[np.int64]
    prediction: NDArray[np.float64]  # (rows, outputs)
    weight: NDArray[np.float64]
    excess_variance: NDArray[np.float64]  # (rows, outputs): the variance that the mean over all subnetworks would lose

    def restrict(self, rows: NDArray[np.int64]) -> "OutOfSamplePredictions":
        """Return the same for some of the rows."""
        places = np.flatnonzero(np.isin(self.row, rows))
        return OutOfSamplePredictions._make(field[places] for field in self)

    def with_prediction(self, prediction: NDArray[np.float64]) -> "OutOfSamplePredictions":
        """Return other predictions, without excess variance, of the same rows."""
        return self._replace(prediction=prediction, excess_variance=np.zeros_like(prediction))


Evaluated = tuple[tuple[ForestNetwork, SubnetworkRows], ...]
"""Networks, each with the validation rows that it is evaluated on. No subnetwork has a row twice."""


def validation_predictions(
    network: ForestNetwork, data: TrainingData, n_jobs: int | None = None
) -> OutOfSamplePredictions:
    """Return the predictions of a network for the validation rows of all subnetworks together."""
    return out_of_sample_predictions(((network, data.validation),), data, n_jobs)


def out_of_sample_predictions(
    evaluated: Evaluated, data: TrainingData, n_jobs: int | None = None
) -> OutOfSamplePredictions:
    """Return the predictions of networks for the validation rows of all subnetworks together.

    Where subnetworks have validation rows of their own (out-of-bag), a row is predicted by those k of all m subnetworks
    that it belongs to. Their mean has a larger variance than that of all, by their variance times 1 / k - 1 / m.
    """
    network, rows = evaluated[0]
    if len(evaluated) == 1 and rows.are_shared:
        row, weight = rows.of(0)
        prediction = network.stacked_output(data.X[row], n_jobs)
        return OutOfSamplePredictions(
            row.astype(np.int64), prediction, weight.astype(np.float64), np.zeros_like(prediction)
        )
    sums, squares = np.zeros_like(data.y), np.zeros_like(data.y)
    counts, weights = np.zeros((len(data.y), 1)), np.zeros(len(data.y))
    center = data.y.mean(axis=0)  # squares of numbers far from 0 would lose their digits
    for network, rows in evaluated:
        for subnetwork in range(network.n_subnetworks):
            row, weight = rows.of(subnetwork)
            output = network.subnetwork_output(subnetwork, data.X[row]) - center
            sums[row] += output
            squares[row] += output**2
            counts[row] += 1
            weights[row] = weight
    seen = np.flatnonzero(counts)
    k, mean = counts[seen], sums[seen] / counts[seen]
    several = k[:, 0] > 1
    variance = np.zeros_like(mean)
    variance[several] = (squares[seen] / k - mean**2)[several] * (k / np.maximum(k - 1, 1))[several]
    if several.any():
        variance[~several] = variance[several].mean(axis=0)
    excess = np.maximum(variance, 0.0) * (1 / k - 1 / network.n_subnetworks)
    return OutOfSamplePredictions(seen, mean + center, weights[seen], excess)


class WholeLoss(NamedTuple):
    """The validation loss of all subnetworks together."""

    measured: float
    corrected: float  # without the excess variance of a row's few subnetworks, where the loss allows it


def whole_loss(
    network: ForestNetwork, predictions: OutOfSamplePredictions, data: TrainingData, loss: Loss
) -> WholeLoss:
    """Return the loss of predictions as measured, and as expected if all subnetworks predicted every row.

    Excess variance favours smooth networks over trees, whose variance is larger. For a squared error it is known.
    """
    value = validation_loss(network, predictions, data, loss)
    if loss.name != "squared_error" or not np.isfinite(value):
        return WholeLoss(value, value)
    scale = 1.0 if network.soft is None else network.soft.output_scale
    scaled = predictions.excess_variance / scale / scale  # scale**2 might be 0
    return WholeLoss(value, value - float(np.average(scaled.mean(axis=1), weights=predictions.weight)))


def validation_loss(
    network: ForestNetwork, predictions: OutOfSamplePredictions, data: TrainingData, loss: Loss
) -> float:
    """Return the loss of predictions, in the units that the network is trained in."""
    y = data.scaled_y(network)[predictions.row]
    return loss.mean(network.in_training_units(predictions.prediction), y, predictions.weight)
