"""Shrinking: where a network says more than it knows, its predictions are pulled towards the mean of the target.

How much it knows is the slope of the target on the predictions for validation rows: 1 where they can be taken at their
word, 0 where they say nothing. Nothing is done where the slope is above 0 by two standard errors, and not below 1 by
two of them.
"""

import numpy as np
from numpy.typing import NDArray

from neuralforest._kernels.arguments import layer_offsets
from neuralforest.network import ForestNetwork
from neuralforest.training import guard
from neuralforest.training.data import TrainingData
from neuralforest.training.guard import Judged, Judges
from neuralforest.training.losses import Loss
from neuralforest.training.steady_mean import steady_mean

STEPS = 10
"""From shrinking as much as is wanted to not at all."""
_LEAST = 0.01  # of what was said is left, so that predictions still differ


def shrink(
    network: ForestNetwork,
    judges: Judges,
    judged: Judged,
    data: TrainingData,
    loss: Loss,
    forest_loss: float,
    n_jobs: int | None = None,
) -> tuple[ForestNetwork, Judged] | None:
    """Return a network that says no more than it knows, and what it says; None where it should stay as it is.

    The loss may rise, but not above the forest's: where it would, less is taken away. Blocks that were kept as their
    trees become soft: a tree cannot be shrunk and stay what it is.
    """
    wanted = shrink_factors(network, judged, data)
    if (wanted == 1.0).all():
        return None
    rows, weight = data.learnt
    mean = steady_mean(data.scaled_y(network)[rows], weight)
    for step in range(STEPS):
        factor = wanted + (1.0 - wanted) * step / STEPS
        shrunk = _pulled(network, factor, mean)
        judged = guard.output_of(tuple((_pulled(judge, factor, mean), rows) for judge, rows in judges), data, n_jobs)
        if guard.judged_loss(network, judged, data, loss) <= forest_loss:
            said = guard.validation_output(shrunk, data, n_jobs)
            if guard.judged_loss(network, said, data, loss) <= forest_loss:
                return shrunk, judged
    return None


def shrink_factors(network: ForestNetwork, judged: Judged, data: TrainingData) -> NDArray[np.float64]:
    """Return what the predictions should be multiplied with, in units of training, (outputs,)."""
    slope, error = _slopes(network, judged, data)
    too_much = (slope + 2 * error < 1) | (slope - 2 * error < 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        factor = np.where(slope > 0, slope - 4 * error**2 / slope, 0.0)
    return np.where(too_much, np.clip(factor, _LEAST, 1.0), 1.0)


def _slopes(
    network: ForestNetwork, judged: Judged, data: TrainingData
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the slope of each target on its predictions, and the standard error of the slope, (outputs,).

    Out-of-bag, a row is predicted by few trees, and the noise of these would flatten the slope: it is taken out.
    """
    soft = network.soft
    assert soft is not None
    y, mean = data.scaled_y(network)[judged.row], (judged.output - soft.output_center) / soft.output_scale
    noise, weights = judged.noise / soft.output_scale / soft.output_scale, judged.weight[:, None]
    said = mean - np.average(mean, axis=0, weights=judged.weight)
    true = y - np.average(y, axis=0, weights=judged.weight)
    spread = (weights * (said**2 - noise)).sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        slope = (weights * said * true).sum(axis=0) / spread
        error = np.sqrt((weights**2 * said**2 * (true - slope * said) ** 2).sum(axis=0)) / spread
    known = spread > 0  # otherwise the predictions are one number, or all noise, and the guard has chosen them
    return np.where(known, slope, 1.0), np.where(known, error, 0.0)


def _pulled(network: ForestNetwork, factor: NDArray[np.float64], mean: NDArray[np.float64]) -> ForestNetwork:
    """Return the network with an output of factor x output + (1 - factor) x mean, and no hard blocks."""
    assert network.soft is not None
    structure, parameters = network.structure, network.soft.parameters.copy()
    for block in range(network.n_blocks):
        shift, offsets = structure.first_parameter[block], layer_offsets(structure, block)
        output = parameters[shift + offsets[4] : shift + offsets[6]].reshape(-1, len(factor))
        output *= factor.astype(np.float32)
        output[-1] += ((1.0 - factor) * mean).astype(np.float32)  # the bias
    return network.with_parameters(parameters, np.zeros(network.n_blocks, np.bool_))
