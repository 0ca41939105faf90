"""Losses of subnetworks and of predictions on validation rows, in the units that the network is trained in."""

import numpy as np
from numpy.typing import NDArray

from neuralforest.network import ForestNetwork
from neuralforest.training.data import TrainingData
from neuralforest.training.losses import Loss


def subnetwork_losses(network: ForestNetwork, data: TrainingData, loss: Loss) -> NDArray[np.float64]:
    """Return the validation loss of every subnetwork by itself."""
    y = data.scaled_y(network)
    losses = np.empty(network.n_subnetworks)
    for subnetwork in range(network.n_subnetworks):
        row, weight = data.validation.of(subnetwork)
        output = network.subnetwork_output(subnetwork, data.X[row])
        losses[subnetwork] = loss.mean(network.in_training_units(output), y[row], weight)
    return losses


def all_hard(network: ForestNetwork) -> ForestNetwork:
    """Return the network with every subnetwork evaluated as its trees."""
    assert network.soft is not None
    return network.with_parameters(network.soft.parameters, np.ones(network.n_subnetworks, np.bool_))
