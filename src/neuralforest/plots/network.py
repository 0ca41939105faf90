"""A tree as a network, drawn as in the paper's Figure 2: inputs, split units, leaf units, output."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from neuralforest.exceptions import InvalidParameterError
from neuralforest.plots import arguments, style
from neuralforest.plots._categories import CategoryNames
from neuralforest.plots._geometry import NetworkLayout, Size, network_layout
from neuralforest.plots._tree_layers import TreeLayers
from neuralforest.plots._tree_part import Connections, TreePart

_HEADER = 0.75  # inches
_COLUMNS = ("inputs", "splits", "leaves", "output")
_LINES: dict[int, dict[str, Any]] = {  # by the sign of the weight
    1: {"color": style.POSITIVE, "linestyle": "-"},
    -1: {"color": style.NEGATIVE, "linestyle": (0, (3, 1.5))},
}


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
        draw: bool = True,
    ) -> Self:
        """Draw the network of one tree.

        Parameters
        ----------
        estimator : fitted estimator, ForestNetwork, or a tree model that `convert` takes
        tree : int
            Number of the tree in the forest.
        row : array-like (features,), or a table with one row, optional
            A row whose path is highlighted.
        target : optional
            A class by its label, or an output by its number; default the last class or the first output.
        max_leaves, max_inputs : int
            Of a larger tree the leaves with the most training rows are drawn, with the splits above them; of more
            features those with the largest weights.
        weakest : float
            Connections are drawn if their weight is at least this fraction of the largest one of their layer.
        feature_names : sequence of str, optional
            Names that replace those of the estimator.
        ax : matplotlib axes, optional
        draw : bool
            False leaves the drawing to :meth:`plot`.
        """
        network, names = arguments.network_of(estimator), arguments.feature_names(estimator, feature_names)
        tree, chosen = arguments.tree_number(network, tree), arguments.leaf_target(network, target)
        if max_leaves < 1 or max_inputs < 1 or not 0 <= weakest < 1:
            raise InvalidParameterError(
                "max_leaves and max_inputs must be at least 1 and weakest from 0 to below 1, got "
                f"{max_leaves}, {max_inputs} and {weakest}"
            )
        if row is not None:
            row = arguments.row_of(estimator, row)
        part = TreePart(network, tree, row, max_leaves, max_inputs, weakest)
        connections, n_omitted = part.connections(chosen.column)
        units = part.inputs, part.splits, part.leaves
        labels, note = part.labels(names, CategoryNames(estimator, network), chosen), part.note(n_omitted)
        display = cls(part.layers, *units, connections, labels, part.path, part.leaf, part.title, note)
        return display.plot(ax) if draw else display

    @property
    def layout(self) -> NetworkLayout:
        """Positions of the units."""
        return network_layout([len(column) for column in self.labels], [style.box_size(c) for c in self.labels])

    @property
    def size(self) -> Size:
        """Width and height of a new figure, in inches."""
        width, height = self.layout.size
        text = max(style.text_width(self.title, style.TITLE), style.text_width(self.note or " "), 4.6)
        return max(width, text) + 2 * style.MARGIN, height + _HEADER + self._footer

    @property
    def _footer(self) -> float:
        return 0.45 + 0.17 * len(self.note.splitlines())

    def plot(self, ax: Any = None) -> Self:
        """Draw on the given axes, scaled to fit, or on new ones of the right size."""
        with style.style():
            canvas, at = style.Canvas(ax, self.size, self.title), self.layout
            self.ax_, self.figure_ = canvas.ax, canvas.ax.figure
            columns = at.x + (self.size[0] - at.size[0]) / 2  # centred where title or note are wider
            at = replace(at, x=columns, y=tuple(y + _HEADER for y in at.y))
            for x, name in zip(at.x, _COLUMNS, strict=True):
                canvas.write(x, _HEADER - 0.17, name, color=style.QUIET)
            self.lines_ = [self._draw_connections(canvas, at, layer) for layer in range(3)]
            self.boxes_ = [self._draw_units(canvas, at, column) for column in range(4)]
            x, y = style.MARGIN, canvas.height - self._footer + 0.25
            for sign, text in ((1, "positive weight"), (-1, "negative weight (thicker is larger)")):
                canvas.line([x, x + 0.4], [y, y], 1.6, **_LINES[sign])
                canvas.write(x + 0.48, y, text, ha="left")
                x += 0.75 + style.text_width(text)
            canvas.notes(self.note)
        return self

    @property
    def _on_path(self) -> list[NDArray[np.bool_]]:
        """Whether each unit of the four columns is on the path of the row; inputs and output always count as on it."""
        splits, leaves = np.isin(self.splits, [] if self.path is None else self.path), self.leaves == self.leaf
        return [np.ones(len(self.inputs), np.bool_), splits, leaves, np.ones(1, np.bool_)]

    def _draw_connections(self, canvas: style.Canvas, at: NetworkLayout, layer: int) -> list[Any]:
        connections, units = self.connections[layer], self._on_path
        ends = at.x[layer] + at.sizes[layer][0] / 2, at.x[layer + 1] - at.sizes[layer + 1][0] / 2
        largest = np.abs(connections.weight).max(initial=0.0) or 1.0
        lines = []
        for source, target, weight in zip(*connections, strict=True):
            on_path = units[layer][source] and units[layer + 1][target]
            options = {**_LINES[1 if weight >= 0 else -1], "zorder": 1.5 if on_path else 1.0}
            width = 0.4 + 1.6 * abs(weight) / largest
            if self.path is not None and not on_path:
                width, options["color"] = 0.6 * width, style.FAINT
            lines += canvas.line(ends, (at.y[layer][source], at.y[layer + 1][target]), width, **options)
        return lines

    def _draw_units(self, canvas: style.Canvas, at: NetworkLayout, column: int) -> list[Any]:
        boxes = []
        for y, on_path, text in zip(at.y[column], self._on_path[column], self.labels[column], strict=True):
            lit = on_path and column in (1, 2)
            edge = {"edgecolor": style.HIGHLIGHT, "linewidth": 2.2} if lit else {}
            colour = style.blended(style.MOVED, 1.0) if lit and column == 2 else "white"
            boxes.append(canvas.box(at.x[column], y, at.sizes[column], colour, is_round=column != 2, **edge))
            canvas.write(at.x[column], y, text)
        return boxes
