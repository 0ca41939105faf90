"""The given model stacked with a network: a weighted mean of both, with weights by the lowest out-of-sample loss.

Where a network is not made of all trees of the model (large trees are cut back, models of folds, the default forest),
the whole model is kept. Weights of 0 and 1 are allowed, so the result is not worse than the source on validation rows.
Of weights that are as good as the best one, by half a standard error, the most balanced one is taken: few validation
rows do not decide between two models, and the mean of both is the safer choice. The source alone is returned unless the
mean is better by more than chance.
"""

import numpy as np

from neuralforest.network import ForestNetwork, StackedModel
from neuralforest.selection.evidence import gain_over, is_better
from neuralforest.selection.guard import Selected
from neuralforest.selection.predictions import OutOfSamplePredictions, whole_loss
from neuralforest.selection.stacking import blended
from neuralforest.training import Loss, TrainingData

SOURCE = "source"
"""The name of the given model among the base models."""

_WEIGHTS = np.linspace(0, 1, 21)
_TOLERANCE = 0.5  # standard errors by which a weight may be worse than the best one


def stacked_with_source(
    trained: Selected,
    source: ForestNetwork,
    of_source: OutOfSamplePredictions,
    data: TrainingData,
    loss: Loss,
    either: bool = False,  # the network or the source alone, whichever is better
) -> Selected:
    """Stack the source with a trained network. The loss of the forest becomes that of the source.

    All losses are those of the rows that both predict, without the excess variance of a row's few trees. What replaces
    the source must be better by more than chance.
    """
    network = trained.network.with_base_models()
    weights = _WEIGHTS[[0, -1]] if either else _WEIGHTS
    candidates = [blended(trained.predictions, of_source, weight) for weight in weights]
    losses = [whole_loss(network, each, data, loss).corrected for each in candidates]
    best = int(np.argmin(losses))
    if not either:
        best = _most_balanced(network, candidates, best, data, loss)
    if not is_better(network, candidates[best], candidates[-1], data, loss):
        best = len(weights) - 1
    stacked = network.with_base_models((StackedModel(SOURCE, source, float(weights[best])),))
    return trained._replace(
        network=stacked, predictions=candidates[best], forest_loss=losses[-1], validation_loss=losses[best]
    )


def _most_balanced(
    network: ForestNetwork,
    candidates: list[OutOfSamplePredictions],  # by weight
    best: int,
    data: TrainingData,
    loss: Loss,
) -> int:
    """Return the place of the weight nearest to 1/2 that is about as good as the best one.

    The loss is convex in the weight, so that all such weights are next to each other.
    """
    middle, place = len(candidates) // 2, best
    while place != middle:
        following = place + (1 if place < middle else -1)
        gain, error = gain_over(network, candidates[best], candidates[following], data, loss)
        if not gain <= _TOLERANCE * error:
            break
        place = following
    return place
