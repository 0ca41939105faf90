"""Prediction intervals: conformal quantiles of the validation errors, in units of the disagreement of the trees."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuralforest.exceptions import InvalidParameterError
from neuralforest.network import ForestNetwork
from neuralforest.selection.predictions import OutOfSamplePredictions
from neuralforest.training import SubnetworkRows, TrainingData

_PRIOR = 10.0  # trees that the disagreement of all rows counts for in that of one row
_LARGEST_EXCESS = 0.75  # of the squared errors, that is corrected for


@dataclass(frozen=True, eq=False)
class Residuals:
    """Errors of validation rows, target minus prediction, in units of the disagreement of the trees there.

    Out-of-bag, one or two trees may predict a row, whose disagreement is a poor estimate: it is shrunk towards that of
    all rows.
    Half of the floor is added to the disagreement of a row, so that unanimous trees are not taken as certain. With a
    prior of 0, errors are divided by the disagreement of a row's own trees plus the floor.
    """

    relative: NDArray[np.float64]  # (rows, outputs), each column sorted
    floor: NDArray[np.float64]  # (outputs,): the disagreement of all rows together
    prior: float = _PRIOR  # the number of trees that the floor counts for in the disagreement of a row

    @classmethod
    def measure(cls, network: ForestNetwork, data: TrainingData, predictions: OutOfSamplePredictions) -> "Residuals":
        """Take the errors of a trained network on its validation rows."""
        if data.validation.are_shared:
            squares, count = _deviations(network, data.X[predictions.row])
        else:
            squares, count = (array[predictions.row] for array in _deviations(network, data.X, data.validation))
        floor = np.sqrt(squares.sum(axis=0) / max((count - 1).sum(), 1))
        floor = np.where(floor > 0, floor, 1.0)  # a single tree: all rows are alike
        unit = _unit(squares, count, floor, _PRIOR)
        return cls(np.sort(_expected_errors(data, predictions) / unit, axis=0), floor)

    def quantiles(
        self, network: ForestNetwork, X: NDArray[np.floating], prediction: NDArray[np.float64], quantiles: ArrayLike
    ) -> NDArray[np.float64]:
        """Return quantiles of the target, (rows, outputs, quantiles)."""
        levels = _levels(quantiles)
        n = len(self.relative)
        # conformal: one row more than there are, and outwards where the level falls between two
        ranks = np.where(levels < 0.5, np.floor((n + 1) * levels), np.ceil((n + 1) * levels))
        steps = self.relative[np.clip(ranks.astype(np.int64) - 1, 0, n - 1)]  # (quantiles, outputs)
        unit = _unit(*_deviations(network, X), self.floor, self.prior)
        return prediction[:, :, None] + unit[:, :, None] * steps.T[None]


def _expected_errors(data: TrainingData, predictions: OutOfSamplePredictions) -> NDArray[np.float64]:
    """Return the errors, as large as they would be if all subnetworks had predicted each row."""
    error = data.y[predictions.row] - predictions.prediction
    largest = np.abs(error).max(axis=0)
    scale = np.where(largest > 0, largest, 1.0)  # squares of large numbers would be infinite
    mean = np.average((error / scale) ** 2, axis=0, weights=predictions.weight)
    excess = np.average(predictions.excess_variance / scale / scale, axis=0, weights=predictions.weight)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(mean > 0, excess / mean, 0.0)
    result: NDArray[np.float64] = error * np.sqrt(1.0 - np.minimum(share, _LARGEST_EXCESS))
    return result


def _unit(
    squares: NDArray[np.float64], count: NDArray[np.float64], floor: NDArray[np.float64], prior: float
) -> NDArray[np.float64]:
    """Return the disagreement for each row, where that of all rows counts as much as `prior` trees."""
    if prior == 0:
        return np.sqrt(squares / np.maximum(count, 1)) + floor
    return np.sqrt((squares + prior * floor**2) / (count - 1 + prior)) + floor / 2


def _levels(quantiles: ArrayLike) -> NDArray[np.float64]:
    try:
        levels = np.atleast_1d(np.asarray(quantiles, np.float64))
    except (TypeError, ValueError):
        levels = np.array([np.nan])
    if levels.ndim != 1 or not len(levels) or not ((levels > 0) & (levels < 1)).all():
        raise InvalidParameterError(f"quantiles must be numbers between 0 and 1, like (0.05, 0.95), got {quantiles!r}")
    return levels


def _deviations(
    network: ForestNetwork, X: NDArray[np.floating], rows: SubnetworkRows | None = None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return how far the forest's trees are from their mean: sums of squares (rows, outputs), and trees (rows, 1).

    Of the trees themselves, because those of a joint network do not predict by themselves. With `rows`, a tree counts
    only for its own (out-of-bag) rows: the others are its training rows.
    """
    e = network.ensemble
    leaves = network.apply_checked(X)
    count = np.zeros((len(X), 1))
    mean, squares = np.zeros((len(X), e.n_outputs)), np.zeros((len(X), e.n_outputs))
    for tree in range(e.n_trees):
        own = slice(None) if rows is None else rows.of(tree)[0]
        value = e.value[e.first_leaf[tree] + leaves[own, tree]]
        count[own] += 1
        step = value - mean[own]
        mean[own] += step / count[own]
        squares[own] += step * (value - mean[own])
    return squares, count
