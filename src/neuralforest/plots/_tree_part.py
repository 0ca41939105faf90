"""The part of one tree's network that is drawn: units, connections and labels. Does not use matplotlib."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuralforest.network import ForestNetwork
from neuralforest.plots._categories import CategoryNames
from neuralforest.plots._geometry import tree_nodes
from neuralforest.plots._tree_layers import activations, is_hard, leaf_values, left_categories, tree_layers
from neuralforest.plots.arguments import Target
from neuralforest.plots.text import number, short

Units = NDArray[np.int64]


class Connections(NamedTuple):
    """The drawn connections between two columns of units."""

    source: Units  # position in the column on the left
    target: Units  # position in the column on the right
    weight: NDArray[np.float64]


class TreePart:
    """A selection of units of a tree: the most visited leaves, the splits above them, and the strongest inputs.

    Given a row, the leaf that is most active for it and the splits above that leaf, its path, are among them.
    """

    def __init__(
        self, network: ForestNetwork, tree: int, row: Any, max_leaves: int, max_inputs: int, weakest: float
    ) -> None:
        e, soft = network.ensemble, network.soft
        own = slice(e.first_split[tree], e.first_split[tree + 1])
        self.network, self.tree, self.weakest = network, tree, weakest
        self.layers, self.feature, self.nodes = tree_layers(network, tree), e.feature[own], tree_nodes(e.middle[own])
        self.column = network.columns.first[self.feature]  # of a category, the first
        self.full = soft is not None and soft.connectivity == "full" and not is_hard(network, tree)
        is_trained = soft is not None and not is_hard(network, tree)
        self.left = left_categories(network, tree, self.layers.b1 if is_trained else None)
        # With full connectivity the weights are multiplied by the spread of the features, to compare them.
        self.W1 = self.layers.W1 * soft.spread if self.full and soft is not None else self.layers.W1
        leaf = np.arange(len(self.feature) + 1)[:, None]
        above = (e.begin[own] <= leaf) & (leaf < e.end[own])  # (leaves, splits)
        weight = e.weight[e.first_leaf[tree] : e.first_leaf[tree + 1]].copy()
        self.leaf: int | None = None
        self.path: Units | None = None
        if row is not None:
            self.active = activations(network, tree, row).leaves
            self.leaf = int(self.active.argmax())
            self.path = np.flatnonzero(above[self.leaf])
            weight[self.leaf] = np.inf
            # Of a category, the column of the row is on the path; NaN where it is missing.
            is_active = ~network.columns.is_category | (network.columns.expand(row[None])[0] != 0)
            self.on_path = is_active & np.isin(network.columns.feature, self.feature[self.path])
        self.leaves: Units = np.sort(np.argsort(-weight, kind="stable")[:max_leaves])
        self.splits: Units = np.flatnonzero(above[self.leaves].any(axis=0))
        self.inputs = self._strongest_inputs(max_inputs)

    def _strong(self, matrix: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return which weights are drawn: all that exist, or with full connectivity those that are large enough."""
        size = np.abs(matrix)
        return (size > 0) & (size >= (self.weakest * size.max(initial=0.0) if self.full else 0.0))

    def _strongest_inputs(self, limit: int) -> Units:
        """Return the inputs with the largest weights, in order; those on the path of a row are preferred."""
        matrix = self.W1[self.splits]
        size = np.where(self._strong(matrix), np.abs(matrix), 0.0).sum(axis=0)
        if self.path is not None:
            size[self.on_path] += size.max(initial=0.0)
        strongest = np.argsort(-size, kind="stable")[:limit]
        return np.sort(strongest[size[strongest] > 0])

    def connections(self, output: int) -> tuple[tuple[Connections, Connections, Connections], int]:
        """Return the drawn connections of each layer, and the number of omitted ones."""
        drawn, n_omitted = [], 0
        inputs, splits, leaves = self.inputs, self.splits, self.leaves
        for matrix in (self.W1[np.ix_(splits, inputs)], self.layers.W2[np.ix_(leaves, splits)]):
            strong = self._strong(matrix)
            target, source = np.nonzero(strong)
            drawn.append(Connections(source, target, matrix[target, source]))
            n_omitted += int(np.count_nonzero(matrix) - strong.sum())
        places = np.arange(len(leaves))
        last = Connections(places, np.zeros_like(places), self.layers.W_out[output, leaves])
        return (drawn[0], drawn[1], last), n_omitted

    def labels(
        self, names: Sequence[str], categories: CategoryNames, target: Target
    ) -> tuple[list[str], list[str], list[str], list[str]]:
        """Return the labels of the units in the four columns."""
        values = leaf_values(self.network, self.tree)[1][:, target.column]
        return (
            [categories.of_column(i, names) for i in self.inputs],
            [f"{self.nodes.of_split[k]}: {self._rule(k, names, categories)}" for k in self.splits],
            [f"{self.nodes.of_leaf[k]}: {number(values[k], 3)}" for k in self.leaves],
            [short(target.label.split(" (")[0].removeprefix("probability of "), 24)],
        )

    def _rule(self, split: int, names: Sequence[str], categories: CategoryNames) -> str:
        W1, b1 = self.W1[split], self.layers.b1[split]
        if self.full:
            of_features = np.add.reduceat(np.abs(W1), self.network.columns.first[:-1])
            return f"mostly {short(names[int(of_features.argmax())])}"
        feature, column, soft = self.feature[split], self.column[split], self.network.soft
        left = self.left[split]
        if len(left):
            return f"{short(names[feature])} {categories.of_set(feature, left)}"
        threshold = -b1 / W1[column] if W1[column] else np.nan
        if soft is not None and not is_hard(self.network, self.tree):
            threshold = soft.center[column] + soft.scale[column] * threshold
        return f"{short(names[feature])} {'≥' if W1[column] < 0 else '≤'} {number(threshold)}"

    @property
    def title(self) -> str:
        """The title of the drawing, with the leaf of the row."""
        title = f"Tree {self.tree} as a network"
        if self.leaf is None:
            return title
        node = self.nodes.of_leaf[self.leaf]
        if (np.abs(self.active) == 1).all():
            return f"{title}: the row falls into leaf {node}"
        return f"{title}: leaf {node} is most active for the row ({50 * (1 + self.active[self.leaf]):.0f}%)"

    def note(self, n_omitted: int) -> str:
        """Return a note on what is omitted."""
        n_leaves, n_inputs = len(self.layers.b2), int(self.layers.W1[self.splits].any(axis=0).sum())
        lines = []
        if len(self.leaves) < n_leaves:
            lines.append(f"{len(self.leaves)} of {n_leaves} leaves are drawn, those with the most training rows.")
        if len(self.inputs) < n_inputs:
            kind = "inputs" if self.network.columns.is_category.any() else "features"
            lines.append(f"{len(self.inputs)} of {n_inputs} {kind} are drawn, those with the largest weights.")
        if n_omitted:
            lines.append(f"{n_omitted} connections with small weights are not drawn.")
        subnetworks = self.network.subnetworks
        if self.full and subnetworks.n_trees[subnetworks.of_tree[self.tree]] > 1:
            lines.append("Connections to units of other trees are not drawn.")
        return "\n".join(lines)
