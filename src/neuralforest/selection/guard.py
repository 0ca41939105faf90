"""The guard: a network is returned only where it is better than its trees on validation rows."""

from dataclasses import replace
from typing import NamedTuple

from neuralforest.network import ForestNetwork
from neuralforest.selection import calibration
from neuralforest.selection.evidence import is_better
from neuralforest.selection.predictions import (
    Evaluated,
    OutOfSamplePredictions,
    out_of_sample_predictions,
    validation_predictions,
    whole_loss,
)
from neuralforest.training import Callback, Checkpoint, History, Loss, Settings, TrainingData, TrainingResult, train
from neuralforest.training.evaluation import all_hard, subnetwork_losses


class Selected(NamedTuple):
    """The network that the guard has chosen."""

    network: ForestNetwork
    history: History
    forest_loss: float  # of the trees as a whole, on the validation rows, without excess variance
    validation_loss: float  # of the network as a whole, alike
    predictions: OutOfSamplePredictions  # of the network
    interrupted: bool = False  # by the callback, or by Ctrl-C
    of_network: OutOfSamplePredictions | None = None  # before base models are added, on the same rows or more


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
    forest_loss, better = compare(trained, of_trees, plain, predictions, data, loss)
    chosen = (trained, predictions) if better or keep_last else (trees, of_trees)
    if calibrate and loss.name == "squared_error":
        shrunk = calibration.calibrated(trained, evaluated, predictions, of_trees, data, loss, n_jobs)
        chosen = shrunk or chosen
    result.history.best_epoch[chosen[0].hard] = -1
    value = whole_loss(chosen[0], chosen[1], data, loss).corrected
    return Selected(chosen[0], result.history, forest_loss, value, chosen[1], result.interrupted)


def compare(
    trained: ForestNetwork,
    of_trees: OutOfSamplePredictions,
    plain: OutOfSamplePredictions,  # of the trained network
    cross_fitted: OutOfSamplePredictions,  # of networks that were selected on other rows
    data: TrainingData,
    loss: Loss,
) -> tuple[float, bool]:
    """Return the validation loss of the trees, and whether the network as a whole is better.

    Better on rows that had no part in selecting the network, by more than chance (see `evidence`), and on all rows,
    both with and without the excess variance of a row's few trees.
    """
    forest, whole, other = (whole_loss(trained, each, data, loss) for each in (of_trees, plain, cross_fitted))
    better = max(other.measured, whole.measured) < forest.measured and whole.corrected < forest.corrected
    return forest.corrected, better and is_better(trained, cross_fitted, of_trees, data, loss)


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
