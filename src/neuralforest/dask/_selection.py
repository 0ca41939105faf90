"""What one worker does for all trees together: put their networks together and decide for the whole, by the guard.

It takes the predictions that the trees' tasks made, and no rows.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuralforest.dask._trees import GrownTree, Plan, Shared, TrainedTree, TreeOutputs, softened
from neuralforest.ensemble import concatenated
from neuralforest.network import ForestNetwork
from neuralforest.selection import OutOfSamplePredictions, Residuals, temperature
from neuralforest.selection.calibration import calibration_factors
from neuralforest.selection.guard import compare
from neuralforest.selection.intervals import deviations
from neuralforest.selection.predictions import averaged, whole_loss
from neuralforest.selection.winsorized_mean import winsorized_mean
from neuralforest.training import History, Loss, SubnetworkRows, TrainingData, resolve_loss
from neuralforest.training.evaluation import all_hard


class Chosen(NamedTuple):
    """The network of all trees that the guard has chosen."""

    network: ForestNetwork
    history: History
    forest_loss: float
    validation_loss: float
    residuals: Residuals | None  # of a regression
    calibration: NDArray[np.float64]  # (outputs,): factors below 1 for over-dispersed predictions
    n_diverged: int


class _Whole(NamedTuple):
    """The trained networks of all trees as one, and their validation rows."""

    trained: ForestNetwork
    data: TrainingData  # targets of the validation rows; no X
    rows: list[NDArray[np.int64]]  # of each tree, among these
    loss: Loss


def choose(
    shared: Shared,
    plan: Plan,
    grown: Sequence[GrownTree],
    trained: Sequence[TrainedTree],
    center: NDArray[np.float64],  # mean of the targets of all rows
) -> Chosen:
    """Put the networks of all trees together, and return them or the trees, whichever is better."""
    whole = _whole(shared, plan, grown, trained)
    outputs = [each.outputs for each in trained]
    of_trees, plain, cross = (
        _predictions(whole, outputs, name, center) for name in ("of_tree", "plain", "cross_fitted")
    )
    forest_loss, better = compare(whole.trained, of_trees, plain, cross, whole.data, whole.loss)
    network, predictions = (whole.trained, cross) if better else (all_hard(whole.trained), of_trees)
    factors = np.ones(whole.data.y.shape[1])
    if shared.estimator.standardize and whole.loss.name == "squared_error":
        factors = calibration_factors(whole.trained, cross, whole.data)
    of_classes = _calibration(shared, whole, network, predictions)
    return Chosen(
        network.with_temperature(of_classes.temperature),
        _history(trained, network),
        forest_loss,
        whole_loss(network, predictions, whole.data, whole.loss).corrected - of_classes.gain,
        _residuals(whole, outputs, predictions),
        factors,
        sum(each.diverged for each in trained),
    )


def calibrate(
    shared: Shared,
    plan: Plan,
    grown: Sequence[GrownTree],
    trained: Sequence[TrainedTree],
    center: NDArray[np.float64],
    chosen: Chosen,
    shrunk: Sequence[Sequence[tuple[Any, ...]]],  # of each tree, by factor: see `shrunk_outputs`
) -> Chosen:
    """Return the networks with the first factors that do not make them worse than the trees; see `calibration`."""
    whole = _whole(shared, plan, grown, trained)
    for number in range(len(shrunk[0])):
        outputs = [
            each.outputs._replace(plain=own[number][1], cross_fitted=own[number][2])
            for each, own in zip(trained, shrunk, strict=True)
        ]
        cross, plain = (_predictions(whole, outputs, name, center) for name in ("cross_fitted", "plain"))
        losses = [whole_loss(whole.trained, each, whole.data, whole.loss).corrected for each in (cross, plain)]
        if max(losses) <= chosen.forest_loss:
            parameters = np.concatenate([own[number][0] for own in shrunk])
            network = whole.trained.with_parameters(parameters, np.zeros(len(trained), np.bool_))
            residuals = _residuals(whole, outputs, cross)
            history = _history(trained, network)
            return chosen._replace(network=network, history=history, validation_loss=losses[0], residuals=residuals)
    return chosen


def target_mean(network: ForestNetwork, targets: Sequence[tuple[NDArray[Any], ...]]) -> NDArray[np.float64]:
    """Return the winsorized mean of the training rows of all trees, in units of training; see `training_targets`."""
    numbers, weights, y = (np.concatenate(each) for each in zip(*targets, strict=True))
    _, first, place = np.unique(numbers, return_index=True, return_inverse=True)
    return winsorized_mean(network.in_training_units(y[first]), np.bincount(place, weights).astype(np.float64))


def _whole(shared: Shared, plan: Plan, grown: Sequence[GrownTree], trained: Sequence[TrainedTree]) -> _Whole:
    split_scale = np.concatenate([each.split_scale for each in trained])
    soft = softened(shared, plan, concatenated([each.ensemble for each in grown]), split_scale)
    hard = np.array([each.is_hard for each in trained])
    network = soft.with_parameters(np.concatenate([each.parameters for each in trained]), hard)
    numbers = np.unique(np.concatenate([each.outputs.number for each in trained]))
    rows = [np.searchsorted(numbers, each.outputs.number) for each in trained]
    y = np.zeros((len(numbers), network.n_outputs))
    for place, each in zip(rows, trained, strict=True):
        y[place] = each.outputs.y
    one = SubnetworkRows.own([np.arange(1)], [np.ones(1)])
    loss = resolve_loss(shared.estimator.loss, shared.estimator.loss_parameter, network.ensemble)
    return _Whole(network, TrainingData(np.zeros((len(y), 0)), y, one, one), rows, loss)


def _predictions(
    whole: _Whole, outputs: Sequence[TreeOutputs], name: str, center: NDArray[np.float64]
) -> OutOfSamplePredictions:
    """Return the mean predictions of all validation rows."""
    own = [(row, each.weight, getattr(each, name)) for row, each in zip(whole.rows, outputs, strict=True)]
    if len(own) == 1:  # all trees share their rows
        row, weight, prediction = own[0]
        return OutOfSamplePredictions.of_all(row, prediction, weight)
    if name == "cross_fitted":  # all first halves, then all second ones
        parts = [[slice(each.middle), slice(each.middle, None)] for each in outputs]
        own = [tuple(array[part[i]] for array in each) for i in (0, 1) for each, part in zip(own, parts, strict=True)]  # type: ignore[misc]
    return averaged(own, whole.data.y.shape, center, len(outputs))


def _calibration(
    shared: Shared,
    whole: _Whole,
    network: ForestNetwork,
    predictions: OutOfSamplePredictions,
) -> temperature.Calibration:
    """Return the temperature of the probabilities of a classifier; trees stay what they are."""
    if not shared.estimator._has_temperature or whole.loss.name != "log_loss" or network.hard.all():
        return temperature.NONE
    return temperature.fitted(predictions, whole.data.y, network.link)


def _residuals(whole: _Whole, outputs: Sequence[TreeOutputs], predictions: OutOfSamplePredictions) -> Residuals | None:
    if whole.trained.classes is not None:
        return None
    values: Iterable[Any] = ((row, each.leaf_value) for row, each in zip(whole.rows, outputs, strict=True))
    shape = len(whole.data.y), whole.trained.n_outputs
    squares, count = (array[predictions.row] for array in deviations(values, shape))
    return Residuals.of(squares, count, whole.data, predictions)


def _history(trained: Sequence[TrainedTree], network: ForestNetwork) -> History:
    n_epochs = max(len(each.training_loss) for each in trained)
    training, validation = np.full((n_epochs, len(trained)), np.nan), np.full((n_epochs + 1, len(trained)), np.nan)
    seconds = np.zeros(n_epochs)
    for tree, each in enumerate(trained):
        training[: len(each.training_loss), tree] = each.training_loss
        validation[: len(each.validation_loss), tree] = each.validation_loss
        seconds[: len(each.seconds)] += each.seconds
    best = np.array([each.best_epoch for each in trained])
    forest_loss = np.array([each.forest_loss for each in trained])
    return History(training, validation, forest_loss, np.where(network.hard, -1, best), seconds)
