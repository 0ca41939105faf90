"""One tree of a network: its part of the layers, what its units say about a row, and what training changed in it."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.special
from numpy.typing import NDArray

from neuralforest._kernels.network.arguments import SOFTMAX
from neuralforest.exceptions import InvalidParameterError
from neuralforest.network import ForestNetwork
from neuralforest.plots._subject import forest_of, medians_and_spreads, rows_of
from neuralforest.network.structure import leaf_targets


class TreeLayers(NamedTuple):
    """The part of a network's layers that belongs to one tree, as plain matrices."""

    W1: NDArray[np.float64]  # (splits, features)
    b1: NDArray[np.float64]  # (splits,)
    W2: NDArray[np.float64]  # (leaves, splits)
    b2: NDArray[np.float64]  # (leaves,)
    W_out: NDArray[np.float64]  # (outputs, leaves)
    rest: NDArray[np.float64]  # (outputs,), what the tree says where no leaf fires


class Place(NamedTuple):
    """Where a tree stands in its network."""

    subnetwork: int
    first: int  # first tree of the subnetwork
    splits: slice  # among the splits of the subnetwork
    leaves: slice


def place_of(network: ForestNetwork, tree: int) -> Place:
    """Return the subnetwork of a tree, and the tree's splits and leaves in it."""
    e = network.ensemble
    subnetwork, first = (tree, tree) if network.n_subnetworks == e.n_trees else (0, 0)
    splits, leaves = (slice(*(int(o[t] - o[first]) for t in (tree, tree + 1))) for o in (e.first_split, e.first_leaf))
    return Place(subnetwork, first, splits, leaves)


def is_hard(network: ForestNetwork, tree: int) -> bool:
    """Return whether a tree is evaluated as it came from the forest."""
    return bool(network.hard[place_of(network, tree).subnetwork])


def tree_layers(network: ForestNetwork, tree: int) -> TreeLayers:
    """Return the layers of one tree: those of the forest where the tree is kept as it was, else the network's own."""
    e = network.ensemble
    if network.soft is None or is_hard(network, tree):
        W1, b1, W2, b2, W_out, b_out = forest_of(network).layers(tree)
        return TreeLayers(W1.toarray(), b1, W2.toarray(), b2, W_out, b_out - W_out.sum(axis=1))
    subnetwork, first, splits, leaves = place_of(network, tree)
    W1, b1, W2, b2, W_out, _ = network.layers(subnetwork)
    stop = network.structure.first_parameter[subnetwork + 1]  # each tree's share of the offset stands at the subnetwork's end
    n_trees = e.n_trees // network.n_subnetworks
    shares = network.soft.parameters[stop - n_trees * e.n_outputs : stop].reshape(n_trees, e.n_outputs)
    return TreeLayers(
        W1[splits].toarray(),
        b1[splits],
        W2[leaves][:, splits].toarray(),
        b2[leaves],
        W_out[:, leaves],
        shares[tree - first].astype(np.float64),
    )


class Activations(NamedTuple):
    """What the units of a tree say about one row, each from -1 to 1."""

    splits: NDArray[np.float64]  # (splits,), -1 for left
    leaves: NDArray[np.float64]  # (leaves,), 1 where the leaf fires


def activations(network: ForestNetwork, tree: int, row: NDArray[np.floating]) -> Activations:
    """Return the outputs of a tree's two hidden layers for a row, (features,), as the trees compare it."""
    e, soft = network.ensemble, network.soft
    subnetwork, first, splits, leaves = place_of(network, tree)
    if soft is None or network.hard[subnetwork]:
        own = slice(e.first_split[tree], e.first_split[tree + 1])
        x = row[e.feature[own]]
        u = np.where((x <= e.threshold[own]) | (np.isnan(x) & e.missing_left[own]), -1.0, 1.0)
        v = np.full(leaves.stop - leaves.start, -1.0)
        v[forest_of(network).apply(row[None])[0, tree]] = 1.0
        return Activations(u, v)
    layers = network.layers(subnetwork)
    units = slice(e.first_split[first], e.first_split[first] + len(layers.b1))
    z = network.scaled(row[None])[0].astype(np.float64)
    u = np.tanh(soft.contrast[0] * (layers.W1 @ np.nan_to_num(z) + layers.b1))
    u = np.where(np.isnan(z[e.feature[units]]), np.where(e.missing_left[units], -1.0, 1.0), u)
    v = np.tanh(soft.contrast[1] * (layers.W2[leaves] @ u + layers.b2[leaves]))
    return Activations(u[splits], v)


@dataclass(frozen=True, eq=False)
class TreeChange:
    """A tree before and after training.

    Parameters
    ----------
    feature : int array (splits,)
        The feature that the forest splits on.
    threshold_before, threshold_after : float arrays (splits,)
        In units of the feature. With full connectivity a trained split depends on other features too, and this is its
        threshold where those are at their centre.
    spread : float array (features,) or None
        Standard deviation of each feature; None when it is not known.
    share : float array (splits,)
        Part of the split's weights, each times its feature's spread, that is on its own feature; 1 with sparse
        connectivity.
    turned : bool array (splits,)
        Whether large values now go left.
    value_before, value_after : float arrays (leaves, outputs)
        What each leaf says when it alone fires: a prediction, probabilities, or scores that are added up.
    kept : bool
        Whether the tree was no worse than its network, and so was kept as it was.
    """

    feature: NDArray[np.int32]
    threshold_before: NDArray[np.float64]
    threshold_after: NDArray[np.float64]
    spread: NDArray[np.float64] | None
    share: NDArray[np.float64]
    turned: NDArray[np.bool_]
    value_before: NDArray[np.float64]
    value_after: NDArray[np.float64]
    kept: bool

    @property
    def shift(self) -> NDArray[np.float64]:
        """By how much each threshold moved, (splits,), in units of its feature; 0 where it was infinite."""
        finite = np.isfinite(self.threshold_before)
        return np.where(finite, self.threshold_after - np.where(finite, self.threshold_before, 0.0), 0.0)

    @property
    def shift_in_spreads(self) -> NDArray[np.float64]:
        """The same in spreads of the feature; NaN when they are not known."""
        if self.spread is None:
            return np.full(len(self.feature), np.nan)
        return self.shift / self.spread[self.feature]


def tree_change(network: ForestNetwork, tree: int, X: Any = None) -> TreeChange:
    """Compare a tree of a network with the one that it started from.

    Parameters
    ----------
    network : ForestNetwork
    tree : int
    X : array-like (rows, features), optional
        Rows whose medians and spreads are used in place of those that the network was trained with.
    """
    e, soft = network.ensemble, network.soft
    own = slice(e.first_split[tree], e.first_split[tree + 1])
    feature, threshold = e.feature[own], e.threshold[own]
    center, spread = _center_and_spread(network, X)
    values = leaf_values(network, tree)
    if soft is None or is_hard(network, tree):
        share, turned = np.ones(len(feature)), np.zeros(len(feature), np.bool_)
        return TreeChange(feature, threshold, threshold, spread, share, turned, *values, kept=True)
    layers = tree_layers(network, tree)
    units = np.arange(len(feature))
    others = layers.W1.copy()
    others[units, feature] = 0.0
    own_weight = layers.W1[units, feature]
    with np.errstate(divide="ignore", invalid="ignore"):
        at = -(layers.b1 + others @ ((center - soft.center) / soft.scale)) / own_weight
        weights = np.abs(layers.W1) * ((spread if spread is not None else 1.0) / soft.scale)
        share = weights[units, feature] / weights.sum(axis=1)
    after = np.where(np.isfinite(threshold), soft.center[feature] + soft.scale[feature] * at, threshold)
    return TreeChange(feature, threshold, after, spread, share, own_weight < 0, *values, kept=False)


def _center_and_spread(network: ForestNetwork, X: Any) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
    """Return where the other features of a split are held, and the unit that its shift is also told in."""
    soft, n_features = network.soft, network.ensemble.n_features
    if X is not None:
        medians, spreads = medians_and_spreads(rows_of(network, X))
        center = np.zeros(n_features) if soft is None else soft.center
        return np.where(np.isnan(medians), center, medians), spreads
    if soft is None:
        return np.zeros(n_features), None
    if (soft.center == 0).all() and (soft.scale == 1).all():  # raw units: the network has never seen a spread
        if soft.connectivity == "full" and not network.hard.all():
            raise InvalidParameterError(
                "a tree of a fully connected network in raw units (standardize=False) needs X, whose medians say where "
                "the other features of a split are held: pass X"
            )
        return soft.center, None
    return soft.center, soft.scale * soft.spread


def leaf_values(network: ForestNetwork, tree: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return what each leaf of a tree says when it alone fires, at the start and now, (leaves, outputs) each.

    A classifier's network starts as its tree with one more row in every leaf, shared out evenly among the classes.
    """
    e, soft = network.ensemble, network.soft
    leaves = slice(e.first_leaf[tree], e.first_leaf[tree + 1])
    if soft is None or is_hard(network, tree):
        return e.value[leaves], e.value[leaves]
    layers = tree_layers(network, tree)
    before = leaf_targets(e, soft.output_center, soft.output_scale)[leaves]
    after = layers.rest + 2 * layers.W_out.T
    if network.structure.head == SOFTMAX:
        return scipy.special.softmax(before, axis=1), scipy.special.softmax(after, axis=1)
    if e.aggregation == "sum":  # the first tree carries the base score
        assert e.base_score is not None
        base = (e.base_score - soft.output_center) / soft.output_scale if tree == 0 else 0.0
        return before * soft.output_scale, (after - base) * soft.output_scale
    after = after * (e.n_trees // network.n_subnetworks)
    return before * soft.output_scale + soft.output_center, after * soft.output_scale + soft.output_center
