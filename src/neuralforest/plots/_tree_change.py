"""A tree before and after training: thresholds of its splits and values of its leaves."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuralforest.exceptions import InvalidParameterError
from neuralforest.network import ForestNetwork
from neuralforest.plots._tree_layers import is_hard, leaf_values, tree_layers
from neuralforest.plots.arguments import medians_and_deviations, rows_of


@dataclass(frozen=True, eq=False)
class TreeChange:
    """A tree before and after training.

    Thresholds are in units of the feature. With full connectivity a trained split depends on other features too; its
    threshold is then the one with the other features at their centre.
    """

    feature: NDArray[np.int32]  # (splits,)
    threshold_before: NDArray[np.float64]  # (splits,)
    threshold_after: NDArray[np.float64]  # (splits,)
    spread: NDArray[np.float64] | None  # (features,), standard deviations; None when they are not known
    own_weight: NDArray[np.float64]  # (splits,), fraction of weight times spread on the own feature; 1 if sparse
    is_reversed: NDArray[np.bool_]  # (splits,), whether large values now go left
    value_before: NDArray[np.float64]  # (leaves, outputs), see `leaf_values`
    value_after: NDArray[np.float64]  # (leaves, outputs)
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


def tree_change(network: ForestNetwork, tree: int, X: Any = None) -> TreeChange:
    """Compare a tree of a network with its state before training; X replaces the training rows of `TreeDisplay`."""
    e, soft = network.ensemble, network.soft
    own = slice(e.first_split[tree], e.first_split[tree + 1])
    feature, threshold = e.feature[own], e.threshold[own]
    center, spread = _center_and_spread(network, X)
    values = leaf_values(network, tree)
    if soft is None or is_hard(network, tree):
        own_weight, is_reversed = np.ones(len(feature)), np.zeros(len(feature), np.bool_)
        return TreeChange(feature, threshold, threshold, spread, own_weight, is_reversed, *values, is_hard=True)
    layers, units = tree_layers(network, tree), np.arange(len(feature))
    others = layers.W1.copy()
    others[units, feature] = 0.0
    weight = layers.W1[units, feature]
    with np.errstate(divide="ignore", invalid="ignore"):
        scaled = -(layers.b1 + others @ ((center - soft.center) / soft.scale)) / weight
        comparable = np.abs(layers.W1) * ((spread if spread is not None else 1.0) / soft.scale)
        own_weight = comparable[units, feature] / comparable.sum(axis=1)
    after = np.where(np.isfinite(threshold), soft.center[feature] + soft.scale[feature] * scaled, threshold)
    return TreeChange(feature, threshold, after, spread, own_weight, weight < 0, *values, is_hard=False)


def _center_and_spread(network: ForestNetwork, X: Any) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
    """Return the values of the other features of a split, and the standard deviations where they are known."""
    soft = network.soft
    center = np.zeros(network.n_features) if soft is None else soft.center
    if X is not None:
        medians, spread = medians_and_deviations(rows_of(network, X))
        return np.where(np.isnan(medians), center, medians), spread
    if soft is None or ((center == 0).all() and (soft.scale == 1).all()):  # no standard deviations were computed
        if soft is not None and soft.connectivity == "full" and not network.hard.all():
            raise InvalidParameterError(
                "a tree of a fully connected network in raw units (standardize=False) needs X, whose medians replace "
                "the other features of a split: pass X"
            )
        return center, None
    return center, soft.scale * soft.spread
