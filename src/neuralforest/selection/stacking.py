"""Stacking weights: fitted greedily on out-of-sample predictions, so that the guard's promise holds for the stack."""

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuralforest.network import BaseModel, ForestNetwork, StackedModel
from neuralforest.selection.calibration import STEPS, calibration_factors
from neuralforest.selection.predictions import (
    OutOfSamplePredictions,
    validation_loss,
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
_PROMISING = 1.0  # standard errors by which an incomplete base model may be better than measured


class Candidate(NamedTuple):
    """A base model and its out-of-sample predictions."""

    name: str
    model: BaseModel
    predictions: OutOfSamplePredictions
    is_complete: bool = True  # otherwise an early stage, which shows whether the rest is worth fitting


class StackedPredictions(NamedTuple):
    """Out-of-sample predictions of all base models, averaged by their weights, and a digest of the rows."""

    predictions: OutOfSamplePredictions
    digest: str


class Stack(NamedTuple):
    """A network stacked with base models, and how well it predicts."""

    network: ForestNetwork
    predictions: OutOfSamplePredictions
    loss: float
    forest_loss: float  # on the same rows
    of_base_models: StackedPredictions


Fallback = Callable[[NDArray[np.floating], NDArray[np.float64]], BaseModel]
"""Fits the model for targets without a detectable signal to X and y."""


def stack(
    network: ForestNetwork,
    candidates: Iterable[Candidate],
    own: OutOfSamplePredictions,  # of the network
    data: TrainingData,
    loss: Loss,
    fallback: tuple[str, Fallback],  # name and fit of the model that replaces over-dispersed predictions
) -> Stack | None:
    """Add the candidate that lowers the loss most, as long as one does; return None where none does."""
    training_rows, of_trees = data.training_rows[0], validation_predictions(all_hard(network), data)
    mean = own.with_prediction(np.tile(winsorized_mean(data.y[training_rows]), (len(own.row), 1)))
    left = [each for each in candidates if best_weight(mean, each.predictions, data.y, _SIGNIFICANT_ALONE)]
    chosen: list[StackedModel] = []
    predictions, of_base_models = own, None
    if (wanted := _fallback_weight(network, own, data, loss)) >= _SMALLEST:
        model = fallback[1](data.X[training_rows], data.y[training_rows])
        of_fallback = own.with_prediction(model.prediction(data.X[own.row]))
        if weight := _affordable_weight(network, wanted, own, of_fallback, of_trees, data, loss):
            predictions, of_base_models = blended(own, of_fallback, weight), of_fallback
            chosen = [StackedModel(fallback[0], model, weight, is_fallback=True)]
    while offers := _offers(network, predictions, left, data, loss):
        _, place, weight = min(offers)
        best = left.pop(place)
        predictions = blended(predictions, best.predictions, weight)
        chosen = [replace(other, weight=(1 - weight) * other.weight) for other in chosen]
        chosen.append(StackedModel(best.name, best.model, weight))
        total = sum(other.weight for other in chosen)
        of_base_models = (
            best.predictions if of_base_models is None else blended(of_base_models, best.predictions, weight / total)
        )
    if of_base_models is None:
        return None
    forest_loss, after = (
        validation_loss(network, each.restrict(predictions.row), data, loss) for each in (of_trees, predictions)
    )
    if after > forest_loss:
        return None
    stacked = StackedPredictions(of_base_models, digest_of(data))
    return Stack(network.with_base_models(tuple(chosen)), predictions, after, forest_loss, stacked)


def _fallback_weight(network: ForestNetwork, own: OutOfSamplePredictions, data: TrainingData, loss: Loss) -> float:
    """Return the weight that the fallback should have: large where predictions are over-dispersed.

    A network is calibrated already, if features are standardised: its slope is near 1, unless there is no detectable
    signal. Trees that the guard fell back to are not.
    """
    if loss.name != "squared_error" or network.soft is None:
        return 0.0
    (factor,) = calibration_factors(network, own, data)
    return float(min(1.0 - factor, _LARGEST))


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
    forest_loss = validation_loss(network, of_trees, data, loss)
    for weight in wanted * np.linspace(1.0, 0.0, STEPS, endpoint=False):
        if weight >= _SMALLEST and validation_loss(network, blended(own, other, weight), data, loss) <= forest_loss:
            return float(weight)
    return 0.0


def digest_of(data: TrainingData) -> str:
    """Return a digest of the rows of a fit."""
    parts = (data.X, data.y, data.validation.row, data.validation.weight)
    return hashlib.sha256(b"".join(np.ascontiguousarray(part).tobytes() for part in parts)).hexdigest()


def _offers(
    network: ForestNetwork,
    predictions: OutOfSamplePredictions,
    candidates: list[Candidate],
    data: TrainingData,
    loss: Loss,
) -> list[tuple[float, int, float]]:
    """Return the loss after adding each candidate, its place and its weight, where that lowers the loss."""
    offers = []
    significant = _SIGNIFICANT if loss.name == "squared_error" else _SIGNIFICANT_CLASSES
    for place, candidate in enumerate(candidates):
        weight = best_weight(predictions, candidate.predictions, data.y, significant)
        if weight >= _SMALLEST:
            both = blended(predictions, candidate.predictions, weight)
            after, before = (
                whole_loss(network, each, data, loss).corrected for each in (both, predictions.restrict(both.row))
            )
            offers += [(after, place, weight)] if after < before else []
    return offers


def is_promising(own: OutOfSamplePredictions, other: OutOfSamplePredictions, y: NDArray[np.float64]) -> bool:
    """Return whether an incomplete base model may get a weight; if not, it is rejected early."""
    weight, error = _weight(own, other, y)
    return weight + _PROMISING * error >= _SMALLEST


def best_weight(
    own: OutOfSamplePredictions,
    other: OutOfSamplePredictions,
    y: NDArray[np.float64],
    significant: float = _SIGNIFICANT,
) -> float:
    """Return the weight of the other that minimises the squared error; 0 unless it is significantly above 0."""
    weight, error = _weight(own, other, y)
    return min(weight, _LARGEST) if weight > significant * error else 0.0


def _weight(own: OutOfSamplePredictions, other: OutOfSamplePredictions, y: NDArray[np.float64]) -> tuple[float, float]:
    """Return the weight of the other that minimises the squared error, and its standard error, infinite if unknown.

    The errors are those of the mean over all trees: excess variance is subtracted.
    """
    rows = np.intersect1d(own.row, other.row, assume_unique=True)
    own, other = own.restrict(rows), other.restrict(rows)
    difference, residual = other.prediction - own.prediction, y[own.row] - own.prediction
    unit = np.abs(residual).max(initial=0.0)  # squares of large numbers would be infinite
    if len(rows) < _FEWEST_ROWS or not unit > 0:
        return 0.0, np.inf
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
    )
