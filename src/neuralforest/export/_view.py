"""What every export needs of a model: its trees, its soft subnetworks, and how their sums become a prediction."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuralforest.ensemble import TreeEnsemble
from neuralforest.exceptions import NotFittedError, UnsupportedModelError
from neuralforest.export._one_hot import OneHot
from neuralforest.network import FAR, ForestNetwork


class WeightedSum(NamedTuple):
    """A raw prediction is shift + hard * (sum over hard trees) + soft * (weighted sum over soft subnetworks)."""

    shift: NDArray[np.float64]  # (outputs,)
    hard: NDArray[np.float64]  # (outputs,)
    soft: NDArray[np.float64]  # (outputs,)
    hard_center: NDArray[np.float64]  # (outputs,): subtracted from every value of a hard tree, so that sums stay small


@dataclass(frozen=True, eq=False)
class View:
    """A model to export: its network, and the targets that never vary, (outputs,), NaN where they do."""

    network: ForestNetwork
    constant: NDArray[np.float64]
    subnetworks: tuple[int, ...]  # those that are part of the export
    missing_range: NDArray[np.float64] | None = None  # (features, 2): see `TreeEnsemble`; None without such numbers

    @classmethod
    def of(cls, model: Any) -> "View":
        """Return the view of a fitted estimator or a ForestNetwork."""
        network = model if isinstance(model, ForestNetwork) else getattr(model, "network_", None)
        if isinstance(network, ForestNetwork):
            constant, missing_range = getattr(model, "_constant", None), network.ensemble.missing_range
            constant = np.broadcast_to(np.nan if constant is None else constant, network.n_outputs)
            has_range = not np.isnan(missing_range).all()
            return cls(network, constant, tuple(range(network.n_subnetworks)), missing_range if has_range else None)
        if hasattr(model, "fit") and hasattr(type(model), "_classifier"):
            name = type(model).__name__
            raise NotFittedError(f"a model must be fitted before it is exported, and this {name} is not: call fit")
        raise UnsupportedModelError(
            f"a fitted NeuralForestRegressor, NeuralForestClassifier or ForestNetwork can be exported, got a "
            f"{type(model).__name__}; neuralforest.convert makes a ForestNetwork of a tree model"
        )

    def of_base_model(self, model: ForestNetwork) -> "View":
        """Return the view of trees that are stacked with the network."""
        return View(model, self.constant[: model.n_outputs], tuple(range(model.n_subnetworks)))

    @cached_property
    def groups(self) -> list["View"]:
        """The groups of trees whose probabilities are averaged, as views; empty where raw predictions are summed."""
        first_tree = self.network.subnetworks.first_tree[list(self.subnetworks)]
        group = np.searchsorted(self.ensemble.groups, first_tree, side="right")
        if self.ensemble.link != "probit" or len(np.unique(group)) == 1:
            return []
        own = [np.asarray(self.subnetworks)[group == each].tolist() for each in np.unique(group)]
        return [View(self.network, self.constant, tuple(each)) for each in own]

    @cached_property
    def one_hot(self) -> OneHot | None:
        """The input columns of the soft network, or None where they are its features."""
        return OneHot.of(self.network)

    @property
    def ensemble(self) -> TreeEnsemble:
        return self.network.ensemble

    @property
    def steepness(self) -> float:
        """The largest contrast * |offset| of the first layer.

        Times 6e-8 it is the error in the argument of tanh where w x + b is rounded twice in float32 (kernels: once).
        """
        network = self.network
        parts = (network.layout.views(network.kernel_parameters, s).b1 for s in self.soft_subnetworks)
        offset = np.abs(np.concatenate(list(parts)))
        largest = float(offset.max(initial=0, where=offset < FAR))  # thresholds of +inf saturate in any precision
        return largest * float(network.structure.contrast1)

    @cached_property
    def soft_subnetworks(self) -> list[int]:
        return [each for each in self.subnetworks if not self.network.hard[each]]

    @cached_property
    def hard_trees(self) -> NDArray[np.int64]:
        of_tree = self.network.subnetworks.of_tree
        return np.flatnonzero(self.network.hard[of_tree] & np.isin(of_tree, self.subnetworks))

    @cached_property
    def relative_weight(self) -> NDArray[np.float64]:
        """The weight of each subnetwork, (subnetworks,), relative to the largest.

        Subnetworks of a mean count by their number of trees. Where each tree has a softmax, trees are summed instead.
        """
        n_trees = self.network.subnetworks.n_trees
        by_trees = self.ensemble.aggregation == "mean" and not self.network.softmax_head
        return n_trees / n_trees.max() if by_trees else np.ones(len(n_trees))

    @cached_property
    def weighted_sum(self) -> WeightedSum:
        """How the sums become a prediction; see `ForestNetwork.output`."""
        e, soft, n_soft = self.ensemble, self.network.soft, len(self.soft_subnetworks)
        mean = e.aggregation == "mean"
        trees = np.flatnonzero(np.isin(self.network.subnetworks.of_tree, self.subnetworks))
        n_groups = len(np.unique(np.searchsorted(e.groups, trees, side="right")))
        weight = 1 / (len(trees) if mean else n_groups)  # of a tree
        values = [e.value[e.first_leaf[tree] : e.first_leaf[tree + 1]] for tree in self.hard_trees]
        centered = bool(values) and e.classes is None
        center = np.concatenate(values).mean(axis=0) if centered else np.zeros(e.n_outputs)
        shift = weight * len(values) * center
        if not mean:  # soft subnetworks of a sum, one for a group, include the base score
            shift = shift + weight * (n_groups - n_soft) * e.base_score
        factor = np.zeros(e.n_outputs)
        if soft is not None and n_soft:
            n_trees = self.network.subnetworks.n_trees
            shift = shift + weight * (len(trees) - len(values) if mean else n_soft) * soft.output_center
            factor = weight * (n_trees.max() if mean else 1) * soft.output_scale
            factor = factor / (n_trees.max() if self.network.softmax_head else 1)
        varies = np.isnan(self.constant)
        return WeightedSum(np.where(varies, shift, self.constant), weight * varies, factor * varies, center)
