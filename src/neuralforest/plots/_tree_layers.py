"""One tree of a network: its part of the layers, the activations for a row, and the values of its leaves."""

from typing import NamedTuple

import numpy as np
import scipy.special
from numpy.typing import NDArray

from neuralforest.network import ForestNetwork
from neuralforest.network.initial_weights import leaf_targets
from neuralforest.plots.arguments import forest_of


class TreeLayers(NamedTuple):
    """The part of a network's layers that belongs to one tree, as plain matrices."""

    W1: NDArray[np.float64]  # (splits, features)
    b1: NDArray[np.float64]  # (splits,)
    W2: NDArray[np.float64]  # (leaves, splits)
    b2: NDArray[np.float64]  # (leaves,)
    W_out: NDArray[np.float64]  # (outputs, leaves)
    rest: NDArray[np.float64]  # (outputs,), where no leaf is active


class Activations(NamedTuple):
    """The outputs of a tree's units for one row, each from -1 to 1."""

    splits: NDArray[np.float64]  # (splits,), -1 for left
    leaves: NDArray[np.float64]  # (leaves,), 1 where the leaf is active


def is_hard(network: ForestNetwork, tree: int) -> bool:
    """Return whether a tree is evaluated as a tree."""
    return bool(network.hard[network.subnetworks.place_of(tree).subnetwork])


def tree_layers(network: ForestNetwork, tree: int) -> TreeLayers:
    """Return the layers of one tree; those of the original tree where it is hard."""
    if network.soft is None or is_hard(network, tree):
        W1, b1, W2, b2, W_out, b_out = forest_of(network).layers(tree)
        return TreeLayers(W1.toarray(), b1, W2.toarray(), b2, W_out, b_out - W_out.sum(axis=1))
    subnetwork, splits, leaves, place = network.subnetworks.place_of(tree)
    W1, b1, W2, b2, W_out, _ = network.layers(subnetwork)
    return TreeLayers(
        W1[splits].toarray(),
        b1[splits],
        W2[leaves][:, splits].toarray(),
        b2[leaves],
        W_out[:, leaves],
        network.layout.views(network.soft.parameters, subnetwork).b_out[place].astype(np.float64),
    )


def activations(network: ForestNetwork, tree: int, row: NDArray[np.floating]) -> Activations:
    """Return the outputs of a tree's two hidden layers for a row, (features,), as the trees compare it."""
    e, soft = network.ensemble, network.soft
    subnetwork, splits, leaves, _ = network.subnetworks.place_of(tree)
    if soft is None or network.hard[subnetwork]:
        own = slice(e.first_split[tree], e.first_split[tree + 1])
        u = np.where(e.goes_left(own, row[e.feature[own]]), -1.0, 1.0)
        v = np.full(leaves.stop - leaves.start, -1.0)
        v[forest_of(network).apply(row[None])[0, tree]] = 1.0
        return Activations(u, v)
    layers, units = network.layers(subnetwork), network.subnetworks.splits(subnetwork)
    z = network.scaled(row[None])[0].astype(np.float64)
    u = np.tanh(soft.contrast[0] * (layers.W1 @ np.nan_to_num(z) + layers.b1))
    u = np.where(np.isnan(z[e.feature[units]]), np.where(e.missing_left[units], -1.0, 1.0), u)
    v = np.tanh(soft.contrast[1] * (layers.W2[leaves] @ u + layers.b2[leaves]))
    return Activations(u[splits], v)


def leaf_values(network: ForestNetwork, tree: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the prediction of each leaf when it alone is active, before and after training, (leaves, outputs) each.

    The network of a classifier starts as its tree with one more row in every leaf, spread evenly over the classes.
    """
    e, soft = network.ensemble, network.soft
    leaves = slice(e.first_leaf[tree], e.first_leaf[tree + 1])
    if soft is None or is_hard(network, tree):
        return e.value[leaves], e.value[leaves]
    layers, place = tree_layers(network, tree), network.subnetworks.place_of(tree)
    before = leaf_targets(e, soft.output_center, soft.output_scale)[leaves]
    after = layers.rest + 2 * layers.W_out.T
    if network.softmax_head:
        return scipy.special.softmax(before, axis=1), scipy.special.softmax(after, axis=1)
    if e.aggregation == "sum":  # the first tree of a subnetwork includes the base score
        base = (e.base_score - soft.output_center) / soft.output_scale if place.tree == 0 else 0.0
        return before * soft.output_scale, (after - base) * soft.output_scale
    after = after * network.subnetworks.n_trees[place.subnetwork]
    return before * soft.output_scale + soft.output_center, after * soft.output_scale + soft.output_center
