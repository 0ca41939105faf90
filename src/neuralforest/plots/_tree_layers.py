"""One tree of a network: its layers, its activations for a row, and how training changed its splits and leaves."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.special
from numpy.typing import NDArray

from neuralforest.exceptions import InvalidParameterError
from neuralforest.network import ForestNetwork
from neuralforest.network.initial_weights import leaf_targets
from neuralforest.plots.arguments import forest_of, medians_and_deviations, rows_of

Categories = tuple[NDArray[np.bool_], ...]  # for each split; see `left_categories`


class TreeLayers(NamedTuple):
    """The part of a network's layers that belongs to one tree, as plain matrices."""

    W1: NDArray[np.float64]  # (splits, columns)
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
    u = np.where(np.isnan(z[network.structure.column[units]]), np.where(e.missing_left[units], -1.0, 1.0), u)
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


@dataclass(frozen=True, eq=False)
class TreeChange:
    """A tree before and after training.

    Thresholds are in units of the feature. With full connectivity a trained split depends on other features too; its
    threshold is then the one with the other features at their centre. A split on categories has no threshold (NaN),
    but the categories that go left, see `left_categories`.
    """

    feature: NDArray[np.int32]  # (splits,)
    threshold_before: NDArray[np.float64]  # (splits,)
    threshold_after: NDArray[np.float64]  # (splits,)
    spread: NDArray[np.float64] | None  # (features,), standard deviations; None when they are not known
    own_weight: NDArray[np.float64]  # (splits,), fraction of weight times spread on the own feature; 1 if sparse
    is_reversed: NDArray[np.bool_]  # (splits,), whether large values now go left
    value_before: NDArray[np.float64]  # (leaves, outputs), see `leaf_values`
    value_after: NDArray[np.float64]  # (leaves, outputs)
    left_before: Categories
    left_after: Categories
    is_hard: bool  # evaluated as a tree, because it was not trained or its network did not improve it

    @property
    def shift(self) -> NDArray[np.float64]:
        """The change of each threshold, (splits,), in units of its feature; 0 where it was infinite."""
        finite = np.isfinite(self.threshold_before)
        return np.where(finite, self.threshold_after - np.where(finite, self.threshold_before, 0.0), 0.0)

    @property
    def shift_in_spreads(self) -> NDArray[np.float64]:
        """The same in standard deviations of the feature; NaN when they are not known."""
        if self.spread is None:
            return np.full(len(self.feature), np.nan)
        return self.shift / self.spread[self.feature]


def left_categories(network: ForestNetwork, tree: int, arguments: NDArray[np.float64] | None = None) -> Categories:
    """Return for each split of a tree which categories go left, all others last; none where it compares a number.

    `arguments` are those of the trained units without their own inputs, (splits,); None for before training.
    """
    e, columns, soft, left = network.ensemble, network.columns, network.soft, list[NDArray[np.bool_]]()
    W1 = None if arguments is None else tree_layers(network, tree).W1
    for unit, split in enumerate(range(e.first_split[tree], e.first_split[tree + 1])):
        if not e.is_categorical[split]:
            left.append(np.zeros(0, np.bool_))
        elif W1 is None or arguments is None or soft is None:
            left.append(columns.weight[slice(*columns.first_weight[split : split + 2])] < 0)
        else:
            own = slice(*columns.first[e.feature[split] : e.feature[split] + 2])
            one_hot = (np.eye(own.stop - own.start) - soft.center[own]) / soft.scale[own]
            one_hot = np.clip(one_hot, soft.low[own], soft.high[own])
            left.append(one_hot @ W1[unit, own] + arguments[unit] < 0)
    return tuple(left)


def tree_change(network: ForestNetwork, tree: int, X: Any = None) -> TreeChange:
    """Compare a tree of a network with its state before training; X replaces the training rows of `TreeDisplay`."""
    e, soft = network.ensemble, network.soft
    own = slice(e.first_split[tree], e.first_split[tree + 1])
    feature, categorical = e.feature[own], e.is_categorical[own]
    threshold = np.where(categorical, np.nan, e.threshold[own])
    center, spread = _center_and_spread(network, X)
    of_features = None if spread is None else spread[network.columns.first[:-1]]
    values, left = leaf_values(network, tree), left_categories(network, tree)
    if soft is None or is_hard(network, tree):
        own_weight, is_reversed = np.ones(len(feature)), np.zeros(len(feature), np.bool_)
        same = threshold, threshold, of_features, own_weight, is_reversed
        return TreeChange(feature, *same, *values, left, left, is_hard=True)
    layers, units, column = tree_layers(network, tree), np.arange(len(feature)), network.structure.column[own]
    is_own = np.zeros(layers.W1.shape, np.bool_)
    is_own[network.columns.connections(own)] = True
    others = np.where(is_own, 0.0, layers.W1)
    weight = layers.W1[units, column]
    with np.errstate(divide="ignore", invalid="ignore"):
        arguments = layers.b1 + others @ ((center - soft.center) / soft.scale)
        scaled = -arguments / weight
        comparable = np.abs(layers.W1) * ((spread if spread is not None else 1.0) / soft.scale)
        own_weight = np.where(is_own, comparable, 0.0).sum(axis=1) / comparable.sum(axis=1)
    after = np.where(np.isfinite(threshold), soft.center[column] + soft.scale[column] * scaled, threshold)
    is_reversed, left_after = (weight < 0) & ~categorical, left_categories(network, tree, arguments)
    return TreeChange(
        feature, threshold, after, of_features, own_weight, is_reversed, *values, left, left_after, is_hard=False
    )


def _center_and_spread(network: ForestNetwork, X: Any) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
    """Return the other inputs of a split, (columns,), and the standard deviations where they are known."""
    soft = network.soft
    center = np.zeros(network.columns.n_columns) if soft is None else soft.center
    if X is not None:
        medians, spread = medians_and_deviations(network.columns.expand(rows_of(network, X)))
        return np.where(np.isnan(medians), center, medians), spread
    if soft is None or ((center == 0).all() and (soft.scale == 1).all()):  # no standard deviations were computed
        if soft is not None and soft.connectivity == "full" and not network.hard.all():
            raise InvalidParameterError(
                "a tree of a fully connected network in raw units (standardize=False) needs X, whose medians replace "
                "the other features of a split: pass X"
            )
        return center, None
    return center, soft.scale * soft.spread
