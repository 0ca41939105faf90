"""The guard: a network that is worse than its trees on validation rows is not handed out."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuralforest.network import ForestNetwork
from neuralforest.training.data import BlockRows, TrainingData
from neuralforest.training.losses import Loss


def block_losses(network: ForestNetwork, data: TrainingData, loss: Loss) -> NDArray[np.float64]:
    """Return the validation loss of every block by itself, in the units that the network is trained in."""
    y = data.scaled_y(network)
    losses = np.empty(network.n_blocks)
    for block in range(network.n_blocks):
        row, weight = data.validation.of(block)
        losses[block] = loss.mean(_scaled(network, network.block_output(block, data.X[row])), y[row], weight)
    return losses


class Judged(NamedTuple):
    """What a network says on its validation rows."""

    row: NDArray[np.int64]
    output: NDArray[np.float64]  # (rows, outputs)
    weight: NDArray[np.float64]
    noise: NDArray[np.float64]  # (rows, outputs): how much its square is expected to fall when all blocks predict

    def on(self, rows: NDArray[np.int64]) -> "Judged":
        """Return the same for some of the rows."""
        places = np.flatnonzero(np.isin(self.row, rows))
        return Judged(self.row[places], self.output[places], self.weight[places], self.noise[places])


Judges = tuple[tuple[ForestNetwork, BlockRows], ...]
"""Networks, and the validation rows that each is judged on. No block has a row twice."""


def honest_judges(
    network: ForestNetwork,
    best_of_half: NDArray[np.float32],
    loss_of_half: NDArray[np.float64],
    data: TrainingData,
    loss: Loss,
) -> Judges:
    """Return two networks, each with the rows that had no part in choosing it.

    The best of many epochs on some rows looks better on them than it is. So the first half of a block's rows judges
    what was best on the second, and the other way round.
    """
    halves = data.validation.halves
    chosen = []
    for parameters, losses, half in zip(best_of_half, loss_of_half, halves, strict=True):
        trees = block_losses(all_hard(network), replace(data, validation=half), loss)
        chosen.append(network.with_parameters(parameters, trees <= losses))
    return (chosen[1], halves[0]), (chosen[0], halves[1])


def validation_output(network: ForestNetwork, data: TrainingData, n_jobs: int | None = None) -> Judged:
    """Return what the network says on the validation rows of all blocks together."""
    return output_of(((network, data.validation),), data, n_jobs)


def output_of(judges: Judges, data: TrainingData, n_jobs: int | None = None) -> Judged:
    """Return what networks say on the validation rows of all blocks together.

    Where blocks have validation rows of their own (out-of-bag), a row is predicted by those k of all m blocks that it
    belongs to. Their mean is noisier than that of all, by their variance times 1 / k - 1 / m.
    """
    network, rows = judges[0]
    if len(judges) == 1 and rows.are_shared:
        row, weight = rows.of(0)
        output = network.output(data.X[row], n_jobs)
        return Judged(row.astype(np.int64), output, weight.astype(np.float64), np.zeros_like(output))
    sums, squares = np.zeros_like(data.y), np.zeros_like(data.y)
    counts, weights = np.zeros((len(data.y), 1)), np.zeros(len(data.y))
    center = data.y.mean(axis=0)  # squares of numbers far from 0 would lose their digits
    for network, rows in judges:
        for block in range(network.n_blocks):
            row, weight = rows.of(block)
            output = network.block_output(block, data.X[row]) - center
            sums[row] += output
            squares[row] += output**2
            counts[row] += 1
            weights[row] = weight
    seen = np.flatnonzero(counts)
    k, mean = counts[seen], sums[seen] / counts[seen]
    several = k[:, 0] > 1
    variance = np.zeros_like(mean)
    variance[several] = (squares[seen] / k - mean**2)[several] * (k / np.maximum(k - 1, 1))[several]
    if several.any():
        variance[~several] = variance[several].mean(axis=0)
    noise = np.maximum(variance, 0.0) * (1 / k - 1 / network.n_blocks)
    return Judged(seen, mean + center, weights[seen], noise)


class WholeLoss(NamedTuple):
    """The validation loss of all blocks together."""

    measured: float
    expected: float  # without the noise of a row's few blocks, where that can be known


def whole_loss(network: ForestNetwork, judged: Judged, data: TrainingData, loss: Loss) -> WholeLoss:
    """Return the loss of what was said on validation rows, as it is, and as it would be if all blocks judged every row.

    Noise favours smooth networks over trees, whose noise is larger; in the mean over all blocks it goes away. Of a
    squared error it is known.
    """
    value = judged_loss(network, judged, data, loss)
    if loss.name != "squared_error" or not np.isfinite(value):
        return WholeLoss(value, value)
    scale = 1.0 if network.soft is None else network.soft.output_scale
    noise = np.average((judged.noise / scale / scale).mean(axis=1), weights=judged.weight)  # scale**2 might be 0
    return WholeLoss(value, value - float(noise))


def judged_loss(network: ForestNetwork, judged: Judged, data: TrainingData, loss: Loss) -> float:
    """Return the loss of what was said on validation rows, in the units that the network is trained in."""
    return loss.mean(_scaled(network, judged.output), data.scaled_y(network)[judged.row], judged.weight)


def _scaled(network: ForestNetwork, output: NDArray[np.float64]) -> NDArray[np.float64]:
    if network.soft is None or network.classes is not None:
        return output
    return (output - network.soft.output_center) / network.soft.output_scale


def all_hard(network: ForestNetwork) -> ForestNetwork:
    """Return the network with every block kept as its trees."""
    assert network.soft is not None
    return network.with_parameters(network.soft.parameters, np.ones(network.n_blocks, np.bool_))
