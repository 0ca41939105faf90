"""Relevance: each feature is scaled by the share of held-out variance that its splits explain.

With full connectivity every split has a weight for every feature, and Adam moves all of them by steps of equal size,
even those of irrelevant features: a network would overfit the noise of a hundred of them. So irrelevant features get
smaller inputs, and thereby smaller steps.
"""

from collections.abc import Sequence

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
    return relevance_of(*_explained(network, data, center, scale))


def relevance_of(explained: NDArray[np.float64], left: float) -> NDArray[np.float64]:
    """Return the relevances, (features,), given the squares that splits explain and those that trees leave."""
    total = explained + _HALF_RELEVANT * left
    part = np.divide(explained, total, out=np.ones_like(total), where=total > 0)  # nothing is left to explain
    return np.maximum(np.sqrt(part), _SMALLEST / np.sqrt(len(part)))


def _explained(
    network: ForestNetwork, data: TrainingData, center: NDArray[np.float64], scale: NDArray[np.float64]
) -> tuple[NDArray[np.float64], float]:
    leaves = network.apply_checked(data.X)
    trees = range(network.ensemble.n_trees)
    return added_up([explained_by_tree(network, data, tree, leaves[:, tree], center, scale) for tree in trees])


def added_up(trees: Sequence[tuple[NDArray[np.float64], float]]) -> tuple[NDArray[np.float64], float]:
    """Return the squares that splits on each feature explain, at least 0, and those that the trees leave."""
    explained, left = np.zeros_like(trees[0][0]), 0.0
    for by_tree, of_tree in trees:
        explained += by_tree
        left += of_tree
    return np.maximum(explained, 0.0), left


def explained_by_tree(
    network: ForestNetwork,
    data: TrainingData,
    tree: int,
    leaves: NDArray[np.int32],  # (rows,) of this tree
    center: NDArray[np.float64],
    scale: NDArray[np.float64],
) -> tuple[NDArray[np.float64], float]:
    """Return the squares that a tree's splits on each feature explain, (features,), and those that the tree leaves."""
    e = network.ensemble
    own_subnetwork = tree * len(data.validation.begin) // e.n_trees
    rows, weight = data.validation.of(own_subnetwork)
    splits, own = slice(*e.first_split[tree : tree + 2]), slice(*e.first_leaf[tree : tree + 2])
    value, leaf, y = (e.value[own] - center) / scale, leaves[rows], (data.y[rows] - center) / scale
    sums = np.zeros_like(value)
    np.add.at(sums, leaf, weight[:, None] * y)
    explained = np.bincount(e.feature[splits], split_gains(e, tree, value, sums), e.n_features)
    return explained.astype(np.float64), float((weight * ((y - value[leaf]) ** 2).sum(axis=1)).sum())
