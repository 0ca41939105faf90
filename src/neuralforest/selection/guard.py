"""The guard: a network is returned only where it is better than its trees on validation rows."""

from dataclasses import replace
from typing import NamedTuple

from neuralforest.network import ForestNetwork
from neuralforest.selection import calibration
from neuralforest.selection.predictions import (
    Evaluated,
    OutOfSamplePredictions,
    out_of_sample_predictions,
    validation_loss,
    validation_predictions,
    whole_loss,
)
from neuralforest.training import Callback, Checkpoint, History, Loss, Settings, TrainingData, TrainingResult, train
from neuralforest.training.evaluation import all_hard, subnetwork_losses


class Selected(NamedTuple):
    """The network that the guard has chosen."""

    network: ForestNetwork
    history: History
    forest_loss: float  # of the trees as a whole, on the validation rows
    validation_loss: float  # of the network as a whole, on the same rows
    predictions: OutOfSamplePredictions  # of the network
    interrupted: bool = False  # by the callback, or by Ctrl-C


def train_guarded(
    network: ForestNetwork,
    data: TrainingData,
    settings: Settings,
    loss: Loss,
    *,
    n_jobs: int | None = None,
    callback: Callback | None = None,
    checkpoint: Checkpoint | None = None,
    keep_last: bool = False,
    calibrate: bool = False,
) -> Selected:
    """Train a soft network; never return one that is worse than its trees on the validation rows.

    Parameters
    ----------
    network, data, settings, loss, n_jobs, callback, checkpoint
        See `training.train`.
    keep_last : bool
        Keep the last epoch instead of the best one; then the guard only decides for subnetworks that were hard.
    calibrate : bool
        Shrink over-dispersed predictions of a squared error towards the mean of the target; see `calibration`.
    """
    result = train(
        network, data, settings, loss, n_jobs=n_jobs, callback=callback, checkpoint=checkpoint, keep_last=keep_last
    )
    hard = result.history.forest_loss <= result.losses
    if keep_last:
        hard &= network.hard
    trained = network.with_parameters(result.parameters, hard)
    evaluated: Evaluated = ((trained, data.validation),)
    if len(result.half_losses):
        evaluated = _cross_fitted(network, result, data, loss)
    calibrate = calibrate and loss.name == "squared_error"
    chosen, predictions, forest_loss = _guarded(trained, evaluated, data, loss, n_jobs, keep_last, calibrate)
    result.history.best_epoch[chosen.hard] = -1
    value = validation_loss(chosen, predictions, data, loss)
    return Selected(chosen, result.history, forest_loss, value, predictions, result.interrupted)


def _cross_fitted(network: ForestNetwork, result: TrainingResult, data: TrainingData, loss: Loss) -> Evaluated:
    """Return two networks, each with validation rows that had no part in selecting it.

    The best of many epochs on some rows looks better on them than it is. So the first half of a subnetwork's rows
    evaluates what was best on the second, and vice versa.
    """
    halves = data.validation.halves
    chosen = []
    for parameters, losses, half in zip(result.half_parameters, result.half_losses, halves, strict=True):
        trees = subnetwork_losses(all_hard(network), replace(data, validation=half), loss)
        chosen.append(network.with_parameters(parameters, trees <= losses))
    return (chosen[1], halves[0]), (chosen[0], halves[1])


def _guarded(
    trained: ForestNetwork,
    evaluated: Evaluated,
    data: TrainingData,
    loss: Loss,
    n_jobs: int | None,
    always: bool,
    calibrate: bool,
) -> tuple[ForestNetwork, OutOfSamplePredictions, float]:
    """Return the trained network, calibrated where needed, or the forest if that is better; and the forest's loss.

    The network must be better on rows that had no part in selecting it, as measured, and on all rows, with and without
    the excess variance of a row's few trees. A calibrated network must only be better as measured.
    """
    trees = all_hard(trained)
    predictions = out_of_sample_predictions(evaluated, data, n_jobs)
    plain = predictions if len(evaluated) == 1 else validation_predictions(trained, data, n_jobs)
    of_trees = validation_predictions(trees, data, n_jobs)
    forest, whole, cross_fitted = (whole_loss(trained, each, data, loss) for each in (of_trees, plain, predictions))
    better = always or (
        max(cross_fitted.measured, whole.measured) < forest.measured and whole.corrected < forest.corrected
    )
    if calibrate:
        calibrated = calibration.calibrated(trained, evaluated, predictions, data, loss, forest.measured, n_jobs)
        if calibrated is not None:
            return *calibrated, forest.measured
    return *((trained, predictions) if better else (trees, of_trees)), forest.measured
