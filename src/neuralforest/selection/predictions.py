"""Out-of-sample predictions: what networks predict on validation rows that they were not trained on."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuralforest.network import ForestNetwork
from neuralforest.selection.expected_loss import expected_loss
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
    outputs = (
        (*rows.of(subnetwork), network.subnetwork_output(subnetwork, data.X[rows.of(subnetwork)[0]]))
        for network, rows in evaluated
        for subnetwork in range(network.n_subnetworks)
    )
    return averaged(outputs, data.y.shape, data.y.mean(axis=0), network.n_subnetworks)


def averaged(
    outputs: Iterable[tuple[NDArray[np.integer], NDArray[np.floating], NDArray[np.float64]]],
    shape: tuple[int, ...],
    center: NDArray[np.float64],  # (outputs,), of the target: squares of numbers far from 0 would lose their digits
    n_subnetworks: int,
) -> OutOfSamplePredictions:
    """Return the mean predictions of rows, given row numbers, weights and outputs of one subnetwork after the other.

    `shape` is that of the target, (rows, outputs).
    """
    sums, squares = np.zeros(shape), np.zeros(shape)
    counts, weights = np.zeros((shape[0], 1)), np.zeros(shape[0])
    for row, weight, prediction in outputs:
        output = prediction - center
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
    excess = np.maximum(variance, 0.0) * (1 / k - 1 / n_subnetworks)
    return OutOfSamplePredictions(seen, mean + center, weights[seen], excess)


class WholeLoss(NamedTuple):
    """The validation loss of all subnetworks together."""

    measured: float
    corrected: float  # without the excess variance of a row's few subnetworks: what new rows would show


def whole_loss(
    network: ForestNetwork, predictions: OutOfSamplePredictions, data: TrainingData, loss: Loss
) -> WholeLoss:
    """Return the loss of predictions as measured, and as expected if all subnetworks predicted every row.

    Excess variance favours smooth networks over trees, whose variance is larger.
    """
    scale = 1.0 if network.soft is None else network.soft.output_scale
    excess = predictions.excess_variance / scale / scale  # scale**2 might be 0
    y, prediction = data.scaled_y(network)[predictions.row], network.in_training_units(predictions.prediction)
    corrected = expected_loss(loss, network.ensemble.link, prediction, y, predictions.weight, excess)
    return WholeLoss(loss.mean(prediction, y, predictions.weight), corrected)


def validation_loss(
    network: ForestNetwork, predictions: OutOfSamplePredictions, data: TrainingData, loss: Loss
) -> float:
    """Return the loss of predictions, in the units that the network is trained in."""
    y = data.scaled_y(network)[predictions.row]
    return loss.mean(network.in_training_units(predictions.prediction), y, predictions.weight)
