"""How far validation losses can be trusted: standard errors, and the evidence that a model is better than another."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuralforest.network import ForestNetwork
from neuralforest.selection.predictions import OutOfSamplePredictions, validation_loss, whole_loss
from neuralforest.training import Loss, TrainingData

_GROUPS = 100  # of rows, whose mean losses are compared; fewer rows are compared one by one
_STANDARD_ERRORS = 0.25  # that a difference must be above 0, where there are many rows
_FEW_ROWS = 13.0  # that the same is 1 / rows larger by: of few rows, the best of many epochs looks better than it is


class Uncertainty(NamedTuple):
    """How far a validation loss can be trusted."""

    standard_error: float  # of the loss, in the units that the network is trained in
    out_of_bag: bool  # rather than held-out rows


def uncertainty(
    network: ForestNetwork, predictions: OutOfSamplePredictions, data: TrainingData, loss: Loss
) -> Uncertainty:
    """Return the standard error of a validation loss.

    As measured, with the excess variance of few trees: larger than without it.
    """
    values, weights = _grouped(network, predictions, data, loss)
    return Uncertainty(_standard_error(values, weights, predictions.weight), not data.validation.are_shared)


def is_better(
    network: ForestNetwork,  # whose units are used
    predictions: OutOfSamplePredictions,
    of_trees: OutOfSamplePredictions,
    data: TrainingData,
    loss: Loss,
) -> bool:
    """Return whether predictions are better than those of the trees by more than chance, for the rows that both have.

    The difference of the losses is compared with its standard error, from the differences of single rows. Of few
    validation rows, or few that count, more is needed.
    """
    gain, error = gain_over(network, predictions, of_trees, data, loss)
    if np.isinf(gain):
        return gain > 0
    needed = _STANDARD_ERRORS + _FEW_ROWS / _n_effective(predictions.weight)
    return bool(gain > 0 and gain > needed * error)


def gain_over(
    network: ForestNetwork,
    predictions: OutOfSamplePredictions,
    of_trees: OutOfSamplePredictions,
    data: TrainingData,
    loss: Loss,
) -> tuple[float, float]:
    """Return by how much the loss is below that of the trees, for the rows that both have, and its standard error.

    A gain over an infinite loss is infinite, unless both are.
    """
    of_trees = of_trees.restrict(predictions.row)
    gain = whole_loss(network, of_trees, data, loss).corrected - whole_loss(network, predictions, data, loss).corrected
    (before, weights), (after, _) = (_grouped(network, each, data, loss) for each in (of_trees, predictions))
    if not np.isfinite(before).all():
        return (np.inf if np.isfinite(after).all() else -np.inf), np.nan
    with np.errstate(invalid="ignore"):
        return gain, _standard_error(before - after, weights, predictions.weight)


def _n_effective(weight: NDArray[np.float64]) -> float:
    """Return how many rows of equal weight have a mean of the same variance."""
    part = weight / weight.max()
    return float(part.sum() ** 2 / (part**2).sum())


def _grouped(
    network: ForestNetwork, predictions: OutOfSamplePredictions, data: TrainingData, loss: Loss
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the mean losses of groups of rows, and the weights of the groups, which sum to 1."""
    n_groups = min(_GROUPS, len(predictions.row))
    groups = [OutOfSamplePredictions._make(field[i::n_groups] for field in predictions) for i in range(n_groups)]
    weights = np.array([group.weight.sum() for group in groups])
    return np.array([validation_loss(network, group, data, loss) for group in groups]), weights / weights.sum()


def _standard_error(values: NDArray[np.float64], weights: NDArray[np.float64], of_rows: NDArray[np.float64]) -> float:
    """Return the standard error of the mean of groups; NaN for one row, or where a value is infinite."""
    n = min(_n_effective(of_rows), _n_effective(weights))
    if n < 1 + 1e-9 or not np.isfinite(values).all():
        return np.nan
    squares = weights**2 * (values - (weights * values).sum()) ** 2
    return float(np.sqrt(squares.sum() * n / (n - 1)))
