"""The part of one tree's network that is drawn: units, connections and labels. Does not use matplotlib."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuralforest.network import ForestNetwork
from neuralforest.plots._geometry import Nodes, tree_nodes
from neuralforest.plots._tree_layers import TreeLayers, is_hard, leaf_values, tree_layers
from neuralforest.plots.arguments import Target
from neuralforest.plots.text import number, short

Units = NDArray[np.int64]


class Connections(NamedTuple):
    """The drawn connections between two columns of units."""

    source: Units  # position in the column on the left
    target: Units  # position in the column on the right
    weight: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class TreePart:
    """A tree of a network, from which units and connections are selected."""

    network: ForestNetwork
    tree: int
    layers: TreeLayers
    nodes: Nodes
    feature: NDArray[np.int32]  # (splits,)
    above: NDArray[np.bool_]  # (leaves, splits), whether the split is on the leaf's path

    @classmethod
    def of(cls, network: ForestNetwork, tree: int) -> "TreePart":
        e = network.ensemble
        own = slice(e.first_split[tree], e.first_split[tree + 1])
        leaf = np.arange(own.stop - own.start + 1)[:, None]
        above = (e.begin[own] <= leaf) & (leaf < e.end[own])
        return cls(network, tree, tree_layers(network, tree), tree_nodes(e.middle[own]), e.feature[own], above)

    @property
    def full(self) -> bool:
        soft = self.network.soft
        return soft is not None and soft.connectivity == "full" and not is_hard(self.network, self.tree)

    @property
    def W1(self) -> NDArray[np.float64]:
        """The weights of the first layer; with full connectivity times the spread of the features, to compare them."""
        soft = self.network.soft
        return self.layers.W1 * soft.spread if self.full and soft is not None else self.layers.W1

    def most_visited(self, limit: int, always: int | None) -> Units:
        """Return the leaves with the most training rows, in order; one of them is always included."""
        e = self.network.ensemble
        weight = e.weight[e.first_leaf[self.tree] : e.first_leaf[self.tree + 1]].copy()
        if always is not None:
            weight[always] = np.inf
        return np.sort(np.argsort(-weight, kind="stable")[:limit])

    def _strong(self, matrix: NDArray[np.float64], weakest: float) -> NDArray[np.bool_]:
        """Return which weights are drawn: all that exist, or with full connectivity those that are large enough."""
        size = np.abs(matrix)
        return (size > 0) & (size >= (weakest * size.max(initial=0.0) if self.full else 0.0))

    def strongest_inputs(self, splits: Units, path: Units | None, limit: int, weakest: float) -> Units:
        """Return the features with the largest weights, in order; those on the path of a row are preferred."""
        matrix = self.W1[splits]
        size = np.where(self._strong(matrix, weakest), np.abs(matrix), 0.0).sum(axis=0)
        if path is not None:
            size[self.feature[path]] += size.max(initial=0.0)
        strongest = np.argsort(-size, kind="stable")[:limit]
        return np.sort(strongest[size[strongest] > 0])

    def connections(
        self, inputs: Units, splits: Units, leaves: Units, output: int, weakest: float
    ) -> tuple[tuple[Connections, Connections, Connections], int]:
        """Return the drawn connections of each layer between the given units, and the number of omitted ones."""
        W1, W2, W_out = self.W1, self.layers.W2, self.layers.W_out
        drawn, n_omitted = [], 0
        for matrix in (W1[np.ix_(splits, inputs)], W2[np.ix_(leaves, splits)]):
            strong = self._strong(matrix, weakest)
            target, source = np.nonzero(strong)
            drawn.append(Connections(source, target, matrix[target, source]))
            n_omitted += int(np.count_nonzero(matrix) - strong.sum())
        places = np.arange(len(leaves))
        last = Connections(places, np.zeros_like(places), W_out[output, leaves])
        return (drawn[0], drawn[1], last), n_omitted

    def labels(
        self, inputs: Units, splits: Units, leaves: Units, names: Sequence[str], target: Target
    ) -> tuple[list[str], list[str], list[str], list[str]]:
        """Return the labels of the units in the four columns."""
        values = leaf_values(self.network, self.tree)[1][:, target.column]
        return (
            [short(names[i]) for i in inputs],
            [f"{self.nodes.of_split[k]}: {self._rule(k, names)}" for k in splits],
            [f"{self.nodes.of_leaf[k]}: {number(values[k], 3)}" for k in leaves],
            [short(target.label.split(" (")[0].removeprefix("probability of "), 24)],
        )

    def _rule(self, split: int, names: Sequence[str]) -> str:
        W1, b1 = self.W1[split], self.layers.b1[split]
        if self.full:
            return f"mostly {short(names[np.abs(W1).argmax()])}"
        feature, soft = self.feature[split], self.network.soft
        threshold = -b1 / W1[feature] if W1[feature] else np.nan
        if soft is not None and not is_hard(self.network, self.tree):
            threshold = soft.center[feature] + soft.scale[feature] * threshold
        return f"{short(names[feature])} {'≥' if W1[feature] < 0 else '≤'} {number(threshold)}"

    def note(self, inputs: Units, splits: Units, leaves: Units, n_omitted: int) -> str:
        """Return a note on what is omitted."""
        n_leaves, n_inputs = len(self.above), int(self.layers.W1[splits].any(axis=0).sum())
        lines = []
        if len(leaves) < n_leaves:
            lines.append(f"{len(leaves)} of {n_leaves} leaves are drawn, those with the most training rows.")
        if len(inputs) < n_inputs:
            lines.append(f"{len(inputs)} of {n_inputs} features are drawn, those with the largest weights.")
        if n_omitted:
            lines.append(f"{n_omitted} connections with small weights are not drawn.")
        subnetworks = self.network.subnetworks
        if self.full and subnetworks.n_trees[subnetworks.of_tree[self.tree]] > 1:
            lines.append("Connections to units of other trees are not drawn.")
        return "\n".join(lines)
