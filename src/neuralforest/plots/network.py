"""A tree as a network, drawn as in the paper's Figure 2: inputs, split units, leaf units, output."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from neuralforest.exceptions import InvalidParameterError
from neuralforest.plots import style
from neuralforest.plots._geometry import NetworkLayout, network_layout
from neuralforest.plots._tree_layers import Activations, TreeLayers, activations
from neuralforest.plots._tree_part import Connections, TreePart
from neuralforest.plots.arguments import feature_names, leaf_target, network_of, rows_of, tree_number

_MARGIN, _HEADER = 0.15, 0.75  # inches
_COLUMNS = ("inputs", "splits", "leaves", "output")


@dataclass(eq=False, repr=False)
class NetworkDisplay:
    """The network of one tree: its features, one unit per split, one unit per leaf, and the output.

    Made by :meth:`from_estimator`. Units have the numbers of the tree's nodes, depth-first, as in the paper. A line is
    a connection: solid for a positive weight, dashed for a negative one, and thicker for a larger weight of its layer.
    The path of a row is highlighted: the most active leaf, the splits above it, and the connections between them.

    Parameters
    ----------
    layers : TreeLayers
        All weights of the tree.
    inputs, splits, leaves : int arrays
        The units that are drawn, from top to bottom.
    connections : three Connections
        Inputs to splits, splits to leaves, leaves to output. With full connectivity, the weights of inputs are
        multiplied by their spread.
    labels : four lists of str
        Labels of the units.
    path : int array (splits above the leaf) or None
        Split units on the row's path.
    leaf : int or None
        The leaf of the row.
    title, note : str

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
    lines_ : three lists of matplotlib lines
        One per connection.
    boxes_ : four lists of matplotlib patches
        One per unit.

    Examples
    --------
    >>> from neuralforest.plots import NetworkDisplay
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    >>> tree = DecisionTreeRegressor(max_leaf_nodes=6, random_state=0).fit(X, y)
    >>> display = NetworkDisplay.from_estimator(tree, row=X.iloc[0])
    >>> display.connections[1].weight  # -1 to the leaves on the left of a split, +1 to those on its right
    array([-1., -1., -1., ...])
    """

    layers: TreeLayers
    inputs: NDArray[np.int64]
    splits: NDArray[np.int64]
    leaves: NDArray[np.int64]
    connections: tuple[Connections, Connections, Connections]
    labels: tuple[list[str], list[str], list[str], list[str]]
    path: NDArray[np.int64] | None
    leaf: int | None
    title: str
    note: str

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        tree: int = 0,
        row: Any = None,
        target: Any = None,
        max_leaves: int = 16,
        max_inputs: int = 12,
        weakest: float = 0.1,
        feature_names: Sequence[str] | None = None,
        ax: Any = None,
    ) -> Self:
        """Draw the network of one tree.

        Parameters
        ----------
        estimator : fitted estimator, ForestNetwork, or a tree model that `convert` takes
        tree : int
            Number of the tree in the forest.
        row : array-like (features,), optional
            A row whose path is highlighted.
        target : optional
            A class, by its label, or one of several outputs, by its number; default the last class or the first
            output.
        max_leaves, max_inputs : int
            Of a larger tree the leaves with the most training rows are drawn, with the splits above them; of more
            features those with the largest weights.
        weakest : float
            Connections are drawn if their weight is at least this fraction of the largest one of their layer.
        feature_names : sequence of str, optional
            Names that replace those of the estimator.
        ax : matplotlib axes, optional
        """
        return cls.compute(estimator, tree, row, target, max_leaves, max_inputs, weakest, feature_names).plot(ax)

    @classmethod
    def compute(
        cls,
        estimator: Any,
        tree: int = 0,
        row: Any = None,
        target: Any = None,
        max_leaves: int = 16,
        max_inputs: int = 12,
        weakest: float = 0.1,
        names: Sequence[str] | None = None,
    ) -> Self:
        """Select units and connections without drawing them; see :meth:`from_estimator`."""
        network, all_names = network_of(estimator), feature_names(estimator, names)
        tree, chosen = tree_number(network, tree), leaf_target(network, target)
        if max_leaves < 1 or max_inputs < 1 or not 0 <= weakest < 1:
            raise InvalidParameterError(
                "max_leaves and max_inputs must be at least 1 and weakest from 0 to below 1, got "
                f"{max_leaves}, {max_inputs} and {weakest}"
            )
        part = TreePart.of(network, tree)
        active = None if row is None else activations(network, tree, _one_row(estimator, row))
        leaf = None if active is None else int(active.leaves.argmax())
        leaves = part.most_visited(max_leaves, leaf)
        splits = np.flatnonzero(part.above[leaves].any(axis=0))
        path = None if leaf is None else np.flatnonzero(part.above[leaf])
        inputs = part.strongest_inputs(splits, path, max_inputs, weakest)
        connections, n_omitted = part.connections(inputs, splits, leaves, chosen.column, weakest)
        labels = part.labels(inputs, splits, leaves, all_names, chosen)
        title = f"Tree {tree} as a network" + _path_title(part, leaf, active)
        note = part.note(inputs, splits, leaves, n_omitted)
        return cls(part.layers, inputs, splits, leaves, connections, labels, path, leaf, title, note)

    @property
    def layout(self) -> NetworkLayout:
        """Positions of the units."""
        return network_layout([len(column) for column in self.labels], [style.box_size(c) for c in self.labels])

    @property
    def size(self) -> tuple[float, float]:
        """Width and height of a new figure, in inches."""
        width, height = self.layout.size
        text = max(style.text_width(self.title, style.TITLE), style.text_width(self.note or " "), 4.6)
        return max(width, text) + 2 * _MARGIN, height + _HEADER + self._footer

    @property
    def _footer(self) -> float:
        return 0.45 + 0.17 * len(self.note.splitlines())

    def plot(self, ax: Any = None) -> Self:
        """Draw on the given axes, scaled to fit, or on new ones of the right size."""
        with style.style():
            width, height = self.size
            self.ax_, self._scale = style.canvas(ax, width, height)
            self.figure_ = self.ax_.figure
            at = self.layout
            shift = (width - at.size[0]) / 2  # centred where title or note are wider
            style.write(self.ax_, _MARGIN, 0.22, self.title, self._scale, size=style.TITLE, ha="left")
            for x, name in zip(at.x + shift, _COLUMNS, strict=True):
                style.write(self.ax_, x, _HEADER - 0.17, name, self._scale, color=style.QUIET)
            self.lines_ = [self._draw_connections(layer, at, shift) for layer in range(3)]
            self.boxes_ = [self._draw_units(column, at, shift) for column in range(4)]
            self._draw_footer(height)
        return self

    def _on_path(self, layer: int, source: int, target: int) -> bool:
        """Return whether a connection, given the positions of its units, is on the path of the row."""
        if self.path is None:
            return False
        split = self.splits[target if layer == 0 else source] if layer < 2 else -1
        leaf = self.leaves[target if layer == 1 else source] if layer > 0 else self.leaf
        return leaf == self.leaf and (layer == 2 or split in self.path)

    def _draw_connections(self, layer: int, at: NetworkLayout, shift: float) -> list[Any]:
        connections = self.connections[layer]
        start = at.x[layer] + at.sizes[layer][0] / 2 + shift
        end = at.x[layer + 1] - at.sizes[layer + 1][0] / 2 + shift
        largest = np.abs(connections.weight).max(initial=0.0) or 1.0
        lines = []
        for source, target, weight in zip(*connections, strict=True):
            on_path = self._on_path(layer, source, target)
            faded = self.path is not None and not on_path
            colour = style.FAINT if faded else style.POSITIVE if weight >= 0 else style.NEGATIVE
            width = (0.4 + 1.6 * abs(weight) / largest) * (0.6 if faded else 1.0)
            ends = [at.y[layer][source] + _HEADER, at.y[layer + 1][target] + _HEADER]
            dashes = "-" if weight >= 0 else (0, (3, 1.5))
            options = {
                "color": colour,
                "linestyle": dashes,
                "linewidth": width * self._scale,
                "zorder": 1.5 if on_path else 1.0,
            }
            lines += self.ax_.plot([start, end], ends, **options)
        return lines

    def _draw_units(self, column: int, at: NetworkLayout, shift: float) -> list[Any]:
        lit: set[int] = set()
        if self.path is not None:
            lit = {1: set(self.path), 2: {self.leaf}}.get(column, set())
        units = {1: self.splits, 2: self.leaves}.get(column, np.full(len(self.labels[column]), -1))
        boxes = []
        for y, unit, text in zip(at.y[column] + _HEADER, units, self.labels[column], strict=True):
            special = unit in lit
            edge = {"edgecolor": style.HIGHLIGHT, "linewidth": 2.2} if special else {}
            colour = style.blended(style.MOVED, 1.0) if special and column == 2 else "white"
            x = at.x[column] + shift
            boxes.append(style.box(self.ax_, x, y, at.sizes[column], colour, self._scale, column != 2, **edge))
            style.write(self.ax_, x, y, text, self._scale)
        return boxes

    def _draw_footer(self, height: float) -> None:
        x, y = _MARGIN, height - self._footer + 0.25
        for colour, line, text in (
            (style.POSITIVE, "-", "positive weight"),
            (style.NEGATIVE, (0, (3, 1.5)), "negative weight (thicker is larger)"),
        ):
            self.ax_.plot([x, x + 0.4], [y, y], linestyle=line, color=colour, linewidth=1.6 * self._scale)
            style.write(self.ax_, x + 0.48, y, text, self._scale, ha="left")
            x += 0.75 + style.text_width(text)
        options = {"ha": "left", "va": "bottom", "color": style.QUIET}
        style.write(self.ax_, _MARGIN, height - 0.08, self.note, self._scale, **options)


def _one_row(estimator: Any, row: Any) -> NDArray[np.floating]:
    return rows_of(estimator, np.asarray(row, np.float64).reshape(1, -1))[0]


def _path_title(part: TreePart, leaf: int | None, active: Activations | None) -> str:
    """Return the end of the title: the leaf of the row."""
    if leaf is None or active is None:
        return ""
    node = part.nodes.of_leaf[leaf]
    if (np.abs(active.leaves) == 1).all():
        return f": the row falls into leaf {node}"
    return f": leaf {node} is most active for the row ({50 * (1 + active.leaves[leaf]):.0f}%)"
