"""The guard: a network that is worse than its trees on validation rows is not handed out."""

import numpy as np
from numpy.typing import NDArray

from neuralforest.network import ForestNetwork
from neuralforest.training.data import TrainingData
from neuralforest.training.losses import Loss


def block_losses(network: ForestNetwork, data: TrainingData, loss: Loss) -> NDArray[np.float64]:
    """Return the validation loss of every block by itself, in the units that the network is trained in."""
    y = data.scaled_y(network)
    losses = np.empty(network.n_blocks)
    for block in range(network.n_blocks):
        row, weight = data.validation.of(block)
        losses[block] = loss.mean(_scaled(network, network.block_output(block, data.X[row])), y[row], weight)
    return losses


def validation_output(
    network: ForestNetwork, data: TrainingData, n_jobs: int | None = None
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """Return the validation rows of all blocks together, what the network says there, and their weights.

    Where blocks have validation rows of their own (out-of-bag), a row is predicted by those blocks that it belongs to.
    """
    rows = data.validation
    if rows.are_shared:
        row, weight = rows.of(0)
        return row.astype(np.int64), network.output(data.X[row], n_jobs), weight.astype(np.float64)
    sums, counts, weights = np.zeros_like(data.y), np.zeros(len(data.y)), np.zeros(len(data.y))
    for block in range(network.n_blocks):
        row, weight = rows.of(block)
        sums[row] += network.block_output(block, data.X[row])
        counts[row] += 1
        weights[row] = weight
    seen = np.flatnonzero(counts)
    return seen, sums[seen] / counts[seen, None], weights[seen]


def whole_loss(network: ForestNetwork, data: TrainingData, loss: Loss, n_jobs: int | None = None) -> float:
    """Return the validation loss of all blocks together."""
    row, output, weight = validation_output(network, data, n_jobs)
    return loss.mean(_scaled(network, output), data.scaled_y(network)[row], weight)


def _scaled(network: ForestNetwork, output: NDArray[np.float64]) -> NDArray[np.float64]:
    if network.soft is None or network.classes is not None:
        return output
    return (output - network.soft.output_center) / network.soft.output_scale


def all_hard(network: ForestNetwork) -> ForestNetwork:
    """Return the network with every block kept as its trees."""
    assert network.soft is not None
    return network.with_parameters(network.soft.parameters, np.ones(network.n_blocks, np.bool_))
