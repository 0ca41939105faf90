"""Out-of-sample predictions: what networks predict on validation rows that they were not trained on."""

from collections.abc import Iterable, Iterator
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
    halves: NDArray[np.float64]  # (rows, 2, outputs): of two halves of a row's subnetworks; of one, twice its own

    @classmethod
    def of_all(
        cls, row: NDArray[np.integer], prediction: NDArray[np.float64], weight: NDArray[np.floating]
    ) -> "OutOfSamplePredictions":
        """Return predictions that all subnetworks made together, which have no excess variance."""
        halves = np.broadcast_to(prediction[:, None], (len(row), 2, prediction.shape[1]))
        return cls(
            np.asarray(row, np.int64), prediction, np.asarray(weight, np.float64), np.zeros_like(prediction), halves
        )

    @property
    def has_halves(self) -> NDArray[np.bool_]:
        """Whether several subnetworks predict a row, (rows,)."""
        result: NDArray[np.bool_] = (self.halves[:, 0] != self.halves[:, 1]).any(axis=1)
        return result

    def restrict(self, rows: NDArray[np.int64]) -> "OutOfSamplePredictions":
        """Return the same for some of the rows."""
        places = np.flatnonzero(np.isin(self.row, rows))
        return OutOfSamplePredictions._make(field[places] for field in self)

    def with_prediction(self, prediction: NDArray[np.float64]) -> "OutOfSamplePredictions":
        """Return other predictions, without excess variance, of the same rows."""
        return self.of_all(self.row, prediction, self.weight)


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
        return OutOfSamplePredictions.of_all(row, network.stacked_output(data.X[row], n_jobs), weight)
    is_used = np.zeros(len(data.y), np.bool_)  # of many rows, a sample
    for _, rows in evaluated:
        is_used[rows.row] = True
    used, place = np.flatnonzero(is_used), np.cumsum(is_used, dtype=np.int32) - 1

    def outputs() -> Iterator[tuple[NDArray[np.integer], NDArray[np.floating], NDArray[np.float64]]]:
        for network, rows in evaluated:
            for subnetwork in range(network.n_subnetworks):
                row, weight = rows.of(subnetwork)
                yield place[row], weight, network.subnetwork_output(subnetwork, data.X[row])

    shape, center = (len(used), data.y.shape[1]), data.y.mean(axis=0)
    result = averaged(outputs(), shape, center, network.n_subnetworks)
    return result._replace(row=used[result.row])


def averaged(
    outputs: Iterable[tuple[NDArray[np.integer], NDArray[np.floating], NDArray[np.float64]]],
    shape: tuple[int, ...],
    center: NDArray[np.float64],  # (outputs,), of the target: squares of numbers far from 0 would lose their digits
    n_subnetworks: int,
) -> OutOfSamplePredictions:
    """Return the mean predictions of rows, given row numbers, weights and outputs of one subnetwork after the other.

    `shape` is that of the target, (rows, outputs). The subnetworks of a row are divided into two halves, by turns.
    """
    sums, second, squares = (np.zeros(shape) for _ in range(3))
    counts, weights = np.zeros((shape[0], 1)), np.zeros(shape[0])
    for row, weight, prediction in outputs:
        output = prediction - center
        sums[row] += output
        squares[row] += output**2
        second[row] += np.where(counts[row] % 2, output, 0.0)
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
    of_second = np.where(several[:, None], second[seen] / np.maximum(k // 2, 1), mean)
    halves = np.stack([(sums - second)[seen] / (k - k // 2), of_second], axis=1)
    return OutOfSamplePredictions(seen, mean + center, weights[seen], excess, halves + center)


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
