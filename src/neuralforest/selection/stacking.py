"""Stacking weights: fitted greedily on out-of-sample predictions, so that the guard's promise holds for the stack."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuralforest.network import BaseModel, ForestNetwork, StackedModel
from neuralforest.selection.calibration import STEPS, calibration_factors
from neuralforest.selection.evidence import is_better
from neuralforest.selection.expected_loss import FLOOR
from neuralforest.selection.predictions import (
    OutOfSamplePredictions,
    validation_predictions,
    whole_loss,
)
from neuralforest.selection.winsorized_mean import winsorized_mean
from neuralforest.training import Loss, TrainingData
from neuralforest.training.evaluation import all_hard

_SMALLEST = 0.05  # a smaller weight is not worth the memory
_FEWEST_ROWS = 10  # that can compare two models
_LARGEST = 0.95  # so that a class that extra trees exclude keeps a probability
_SIGNIFICANT = 1.0  # standard errors that a weight must be above 0
_SIGNIFICANT_ALONE = 2.0  # the same against the mean of the target: models without a signal are not stacked by chance
_SIGNIFICANT_CLASSES = 2.0  # weights minimise the squared error, and log loss penalises more
_WORTHWHILE = 0.02  # of the loss, that a base model must take away: smaller gains are not seen on other rows
_PROMISING = 1.0  # standard errors by which an incomplete base model may be better than measured


class Candidate(NamedTuple):
    """A base model and its out-of-sample predictions."""

    name: str
    model: BaseModel
    predictions: OutOfSamplePredictions
    is_complete: bool = True  # otherwise an early stage, which shows whether the rest is worth fitting
    refit: Callable[[], BaseModel] | None = None  # fits the model that is stacked instead, once this one is chosen
    is_part: bool = False  # an early stage that predicts some of the rows about as well as the whole model


class Stack(NamedTuple):
    """A network stacked with base models, and how well it predicts."""

    network: ForestNetwork
    predictions: OutOfSamplePredictions
    loss: float
    forest_loss: float  # on the same rows


Fallback = Callable[[NDArray[np.floating], NDArray[np.float64], NDArray[np.float64] | None], BaseModel]
"""Fits the model for targets without a detectable signal to X, y and weights."""


def stack(
    network: ForestNetwork,
    candidates: Iterable[Candidate],
    own: OutOfSamplePredictions,  # of the network
    data: TrainingData,
    loss: Loss,
    fallback: tuple[str, Fallback],  # name and fit of the model that replaces over-dispersed predictions
    row_weight: NDArray[np.float64] | None = None,  # (rows,); None where all rows count equally
    of_source: OutOfSamplePredictions | None = None,  # of a given model that is in the stack already
) -> Stack | None:
    """Add the candidate that lowers the loss most, as long as one does; return None where none does.

    The stack must be better than the source or, without one, than the trees.
    """
    training_rows = data.training_rows[0]
    of_trees = validation_predictions(all_hard(network), data) if of_source is None else of_source
    training = data.X[training_rows], data.y[training_rows], None if row_weight is None else row_weight[training_rows]
    mean = own.with_prediction(np.tile(winsorized_mean(*training[1:]), (len(own.row), 1)))
    unit = _unit(network)
    left = [each for each in candidates if best_weight(mean, each.predictions, data.y, _SIGNIFICANT_ALONE, unit)]
    chosen, predictions = list(network.base_models), own
    if not chosen and (wanted := _fallback_weight(network, own, data, loss)) >= _SMALLEST:
        model = fallback[1](*training)
        of_fallback = own.with_prediction(model.prediction(data.X[own.row]))
        if weight := _affordable_weight(network, wanted, own, of_fallback, of_trees, data, loss):
            predictions = blended(own, of_fallback, weight)
            chosen = [StackedModel(fallback[0], model, weight, is_fallback=True)]
    while offers := _offers(network, predictions, left, data, loss):
        _, place, weight = min(offers)
        best = left.pop(place)
        predictions = blended(predictions, best.predictions, weight)
        chosen = [replace(other, weight=(1 - weight) * other.weight) for other in chosen]
        chosen.append(StackedModel(best.name, best.model if best.refit is None else best.refit(), weight))
    if len(chosen) == len(network.base_models):
        return None
    forest_loss, after = (
        whole_loss(network, each.restrict(predictions.row), data, loss).corrected for each in (of_trees, predictions)
    )
    if after > forest_loss or not is_better(network, predictions, of_trees, data, loss):
        return None
    return Stack(network.with_base_models(tuple(chosen)), predictions, after, forest_loss)


def _fallback_weight(network: ForestNetwork, own: OutOfSamplePredictions, data: TrainingData, loss: Loss) -> float:
    """Return the weight that the fallback should have: large where predictions are over-dispersed.

    A network is calibrated already, if features are standardised: its slope is near 1, unless there is no detectable
    signal. Trees that the guard fell back to are not.
    """
    if loss.name != "squared_error" or network.soft is None:
        return 0.0
    factor = calibration_factors(network, own, data).max()  # one weight for all targets: none has a signal
    return float(min(1.0 - factor, _LARGEST))


def _unit(network: ForestNetwork) -> NDArray[np.float64] | float:
    """Return the unit of each output, in which errors are compared: the spread of a target, 1 for probabilities."""
    return 1.0 if network.soft is None or network.classes is not None else network.soft.output_scale


def _affordable_weight(
    network: ForestNetwork,
    wanted: float,
    own: OutOfSamplePredictions,
    other: OutOfSamplePredictions,
    of_trees: OutOfSamplePredictions,
    data: TrainingData,
    loss: Loss,
) -> float:
    """Return the largest part of a wanted weight with which the loss does not rise above that of the trees."""
    forest_loss = whole_loss(network, of_trees, data, loss).corrected
    for weight in wanted * np.linspace(1.0, 0.0, STEPS, endpoint=False):
        loss_with = whole_loss(network, blended(own, other, weight), data, loss).corrected
        if weight >= _SMALLEST and loss_with <= forest_loss:
            return float(weight)
    return 0.0


def _offers(
    network: ForestNetwork,
    predictions: OutOfSamplePredictions,
    candidates: list[Candidate],
    data: TrainingData,
    loss: Loss,
) -> list[tuple[float, int, float]]:
    """Return the loss after adding each candidate, its place and its weight, where that lowers the loss enough."""
    offers = []
    significant = _SIGNIFICANT if loss.name == "squared_error" else _SIGNIFICANT_CLASSES
    for place, candidate in enumerate(candidates):
        weight = best_weight(predictions, candidate.predictions, data.y, significant, _unit(network))
        if weight >= _SMALLEST:
            both = blended(predictions, candidate.predictions, weight)
            after, before = (
                whole_loss(network, each, data, loss).corrected for each in (both, predictions.restrict(both.row))
            )
            offers += [(after, place, weight)] if after < before - _WORTHWHILE * abs(before) else []
    return offers


def is_promising(
    own: OutOfSamplePredictions,
    other: OutOfSamplePredictions,
    y: NDArray[np.float64],
    unit: NDArray[np.float64] | float = 1.0,
) -> bool:
    """Return whether an incomplete base model may get a weight; if not, it is rejected early."""
    weight, error = _weight(own, other, y, unit)
    return weight + _PROMISING * error >= _SMALLEST


def may_be_worthwhile(
    own: OutOfSamplePredictions,
    other: OutOfSamplePredictions,
    y: NDArray[np.float64],
    unit: NDArray[np.float64] | float,
    classifier: bool,
) -> bool:
    """Return whether a base model may take enough of the loss away, by a part that predicts as well as all of it.

    If not, what it takes away there is less than that by more than a standard error. Too few rows do not decide.
    """
    rows = np.intersect1d(own.row, other.row, assume_unique=True)
    if len(rows) < _FEWEST_ROWS:
        return True
    own, other = own.restrict(rows), other.restrict(rows)
    weight = float(np.clip(_weight(own, other, y, unit)[0], 0.0, _LARGEST))
    before, after = (_row_losses(each, y[rows], unit, classifier) for each in (own, blended(own, other, weight)))
    gain, part = before - after - _WORTHWHILE * before, own.weight / own.weight.sum()
    mean = part @ gain
    return bool(mean + _PROMISING * np.sqrt(part**2 @ (gain - mean) ** 2) > 0)


def _row_losses(
    predictions: OutOfSamplePredictions, y: NDArray[np.float64], unit: NDArray[np.float64] | float, classifier: bool
) -> NDArray[np.float64]:
    """Return the log loss of each row, or its squared error without the excess variance, (rows,)."""
    if classifier:
        return -np.log(np.maximum((predictions.prediction * y).sum(axis=1), FLOOR))
    squares = ((y - predictions.prediction) / unit) ** 2 - predictions.excess_variance / unit / unit
    return np.asarray(squares.mean(axis=1))


def best_weight(
    own: OutOfSamplePredictions,
    other: OutOfSamplePredictions,
    y: NDArray[np.float64],
    significant: float = _SIGNIFICANT,
    unit: NDArray[np.float64] | float = 1.0,  # of each output
) -> float:
    """Return the weight of the other that minimises the squared error; 0 unless it is significantly above 0."""
    weight, error = _weight(own, other, y, unit)
    return min(weight, _LARGEST) if weight > significant * error else 0.0


def _weight(
    own: OutOfSamplePredictions,
    other: OutOfSamplePredictions,
    y: NDArray[np.float64],
    output_unit: NDArray[np.float64] | float,
) -> tuple[float, float]:
    """Return the weight of the other that minimises the squared error, and its standard error, infinite if unknown.

    The errors are those of the mean over all trees: excess variance is subtracted.
    """
    rows = np.intersect1d(own.row, other.row, assume_unique=True)
    own, other = own.restrict(rows), other.restrict(rows)
    difference, residual = other.prediction - own.prediction, y[own.row] - own.prediction
    largest = np.abs(residual / output_unit).max(initial=0.0)  # squares of large numbers would be infinite
    if len(rows) < _FEWEST_ROWS or not largest > 0:
        return 0.0, np.inf
    unit = largest * output_unit
    weight, difference, residual = own.weight[:, None], difference / unit, residual / unit
    own_excess, other_excess = own.excess_variance / unit / unit, other.excess_variance / unit / unit
    covariance = (weight * (difference * residual - own_excess)).sum()
    distance = (weight * (difference**2 - own_excess - other_excess)).sum()
    if not distance > 0:
        return 0.0, np.inf
    best = covariance / distance
    rest = (weight * difference * (residual - best * difference)).sum(axis=1)  # of several columns, one number per row
    return float(best), float(np.sqrt((rest**2).sum()) / distance)


def blended(own: OutOfSamplePredictions, other: OutOfSamplePredictions, weight: float) -> OutOfSamplePredictions:
    """Return the weighted mean of two predictions, for the rows that both have."""
    rows = np.intersect1d(own.row, other.row, assume_unique=True)
    own, other = own.restrict(rows), other.restrict(rows)
    return OutOfSamplePredictions(
        own.row,
        (1 - weight) * own.prediction + weight * other.prediction,
        own.weight,
        (1 - weight) ** 2 * own.excess_variance + weight**2 * other.excess_variance,
        (1 - weight) * own.halves + weight * other.halves,
    )
