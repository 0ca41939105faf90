"""Relevance: each feature is scaled by the share of held-out variance that its splits explain.

With full connectivity every split has a weight for every feature, and Adam moves all of them by steps of equal size,
even those of irrelevant features: a network would overfit the noise of a hundred of them. So irrelevant features get
smaller inputs, and thereby smaller steps.
"""

import numpy as np
from numpy.typing import NDArray

from neuralforest.network import ForestNetwork
from neuralforest.network.importance import split_gains
from neuralforest.training import TrainingData

_HALF_RELEVANT = 0.1  # of the remaining squared error: a feature that explains as much has a relevance of 0.7
_SMALLEST = 0.5  # divided by the square root of the number of features: the chance level of all together


def relevance(
    network: ForestNetwork, data: TrainingData, center: NDArray[np.float64], scale: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return a number up to 1 for each feature, (features,), from the validation rows of the trees of a mean.

    Center and scale, (outputs,), are those of the targets, so that all of them count alike.
    """
    explained, left = _explained(network, data, center, scale)
    total = explained + _HALF_RELEVANT * left
    part = np.divide(explained, total, out=np.ones_like(total), where=total > 0)  # nothing is left to explain
    return np.maximum(np.sqrt(part), _SMALLEST / np.sqrt(len(part)))


def _explained(
    network: ForestNetwork, data: TrainingData, center: NDArray[np.float64], scale: NDArray[np.float64]
) -> tuple[NDArray[np.float64], float]:
    """Return the squares that splits on each feature explain, at least 0, and those that the trees leave."""
    e, leaves = network.ensemble, network.apply_checked(data.X)
    explained, left = np.zeros(e.n_features), 0.0
    for tree in range(e.n_trees):
        own_subnetwork = min(tree, len(data.validation.begin) - 1)  # or all trees share one subnetwork
        rows, weight = data.validation.of(own_subnetwork)
        splits, own = slice(*e.first_split[tree : tree + 2]), slice(*e.first_leaf[tree : tree + 2])
        value, leaf, y = (e.value[own] - center) / scale, leaves[rows, tree], (data.y[rows] - center) / scale
        sums = np.zeros_like(value)
        np.add.at(sums, leaf, weight[:, None] * y)
        explained += np.bincount(e.feature[splits], split_gains(e, tree, value, sums), e.n_features)
        left += float((weight * ((y - value[leaf]) ** 2).sum(axis=1)).sum())
    return np.maximum(explained, 0.0), left
