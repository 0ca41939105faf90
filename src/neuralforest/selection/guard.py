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
    keep_last: bool = False,  # instead of the best epoch; then the guard only decides for subnetworks that were hard
    calibrate: bool = False,  # shrink over-dispersed predictions of a squared error towards the mean; see `calibration`
) -> Selected:
    """Train a soft network; never return one that is worse than its trees on the validation rows.

    The other parameters are those of `training.train`.
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
    trees = all_hard(trained)
    of_trees, plain = (validation_predictions(each, data, n_jobs) for each in (trees, trained))
    predictions = plain if len(evaluated) == 1 else out_of_sample_predictions(evaluated, data, n_jobs)
    forest, whole, cross_fitted = (whole_loss(trained, each, data, loss) for each in (of_trees, plain, predictions))
    # Better on rows that had no part in selecting the network, as measured, and on all rows, with and without the
    # excess variance of a row's few trees. A calibrated network must only be better as measured.
    better = max(cross_fitted.measured, whole.measured) < forest.measured and whole.corrected < forest.corrected
    chosen = (trained, predictions) if better or keep_last else (trees, of_trees)
    if calibrate and loss.name == "squared_error":
        shrunk = calibration.calibrated(trained, evaluated, predictions, data, loss, forest.measured, n_jobs)
        chosen = shrunk or chosen
    result.history.best_epoch[chosen[0].hard] = -1
    value = validation_loss(chosen[0], chosen[1], data, loss)
    return Selected(chosen[0], result.history, forest.measured, value, chosen[1], result.interrupted)


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
