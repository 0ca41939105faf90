"""A tree before and after training: how far splits moved, and how leaves changed."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from neuralforest.exceptions import InvalidParameterError
from neuralforest.plots import arguments, style
from neuralforest.plots._categories import CategoryNames
from neuralforest.plots._geometry import Nodes, Size, TreeLayout, tree_layout, tree_nodes
from neuralforest.plots._tree_layers import TreeChange, tree_change
from neuralforest.plots.text import number, short

_HEADER, _ENTRY = 0.45, 0.45  # inches: above the tree, and for an entry of the legend besides its text
_LIMIT = 5.0  # standard deviations beyond which a threshold no longer divides the rows


@dataclass(eq=False, repr=False)
class TreeDisplay:
    """A tree drawn from left to right, with the thresholds of its splits and the values of its leaves before and after.

    Made by :meth:`from_estimator`. A row goes up where its value is at most the threshold. The darker a box, the
    further its split moved or its leaf changed, within this tree.

    Parameters
    ----------
    change : TreeChange
        The data.
    nodes : Nodes
        The tree's nodes, depth-first.
    names : tuple of str
        Of the features.
    categories : CategoryNames
    title : str
    value : pair of float arrays (leaves,)
        Values of the leaves before and after training.
    weight : float array (leaves,)
        Training rows of the leaves.
    max_depth : int
        Deeper nodes are replaced by the number of their leaves and their mean.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
    boxes_ : list of matplotlib patches
    texts_ : list of matplotlib texts
        One per node of `layout`.

    Examples
    --------
    >>> from neuralforest import NeuralForestRegressor
    >>> from neuralforest.plots import TreeDisplay
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.ensemble import RandomForestRegressor
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    >>> forest = RandomForestRegressor(5, max_depth=3, random_state=0)
    >>> model = NeuralForestRegressor(forest, max_epochs=10, contrast=(3, 1), random_state=0).fit(X, y)
    >>> display = TreeDisplay.from_estimator(model, tree=1)
    >>> display.change.shift_in_spreads.shape
    (7,)
    """

    change: TreeChange
    nodes: Nodes
    names: tuple[str, ...]
    categories: CategoryNames
    title: str
    value: tuple[NDArray[np.float64], NDArray[np.float64]]
    weight: NDArray[np.float64]
    max_depth: int = 4

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        *,
        tree: int = 0,
        target: Any = None,
        max_depth: int = 4,
        feature_names: Sequence[str] | None = None,
        ax: Any = None,
        draw: bool = True,
    ) -> Self:
        """Compare a tree before and after training, and draw both in one.

        Parameters
        ----------
        estimator : fitted estimator, ForestNetwork, or a tree model that `convert` takes
        X : array-like (rows, features), optional
            Rows whose medians and standard deviations replace those of the training rows. Needed for a fully connected
            network in raw units.
        tree : int
            Number of the tree in the forest.
        target : optional
            A class by its label, or an output by its number; default the last class or the first output.
        max_depth : int
            Deeper nodes are not drawn.
        feature_names : sequence of str, optional
            Names that replace those of the estimator.
        ax : matplotlib axes, optional
        draw : bool
            False leaves the drawing to :meth:`plot`.
        """
        network, names = arguments.network_of(estimator), arguments.feature_names(estimator, feature_names, X)
        tree = arguments.tree_number(network, tree)
        if max_depth < 1:
            raise InvalidParameterError(f"max_depth must be at least 1, got {max_depth}")
        e = network.ensemble
        change = tree_change(network, tree, None if X is None else arguments.rows_of(estimator, X))
        column, label = arguments.leaf_target(network, target)
        state = "falls back to the tree: training did not improve it" if change.is_hard else "before → after training"
        if network.soft is None:
            state = "not trained"
        nodes = tree_nodes(e.middle[e.first_split[tree] : e.first_split[tree + 1]])
        value = change.value_before[:, column], change.value_after[:, column]
        title = f"Tree {tree}, {state}. Leaves: {label}"
        weight = e.weight[e.first_leaf[tree] : e.first_leaf[tree + 1]]
        display = cls(change, nodes, names, CategoryNames(estimator, network), title, value, weight, max_depth)
        return display.plot(ax) if draw else display

    @property
    def is_split(self) -> NDArray[np.bool_]:
        """Whether each node is drawn as a split, (nodes,); the others are leaves or subtrees that are not drawn."""
        return ~self.nodes.is_leaf & (self.nodes.depth < self.max_depth)

    @property
    def texts(self) -> list[str]:
        """The text in the box of each node."""
        return [
            self._split_text(int(self.nodes.split[node])) if split else self._end_text(node)
            for node, split in enumerate(self.is_split)
        ]

    def _split_text(self, split: int) -> str:
        c = self.change
        name = short(self.names[c.feature[split]])
        if np.isinf(c.threshold_before[split]):
            return f"{name} is not missing"  # the threshold is infinite
        text = self._categories_text(split) if len(c.left_before[split]) else self._threshold_text(split)
        return f"{name} {text}" + ("" if c.own_weight.min() == 1 else f"\n{100 * c.own_weight[split]:.0f}% own weight")

    def _threshold_text(self, split: int) -> str:
        c = self.change
        before, after, shift = (float(values[split]) for values in (c.threshold_before, c.threshold_after, c.shift))
        if c.is_hard:
            return f"≤ {number(before)}"
        deviations = float(c.shift_in_spreads[split])
        if c.spread is not None and not abs(deviations) <= _LIMIT:
            return f"≤ {number(before)} → outside the data"
        reverse = ", reversed" if c.is_reversed[split] else ""
        moved = f"≤ {number(before)} → {number(after)}{reverse}\n{number(shift, 2, '+')}"
        return moved + (f" ({number(abs(deviations), 2)} SD)" if c.spread is not None else "")

    def _categories_text(self, split: int) -> str:
        """Return the categories that go left, and those that do so after training where they are others."""
        c, of_set = self.change, self.categories.of_set
        feature, before, after = int(c.feature[split]), c.left_before[split], c.left_after[split]
        same = (before == after).all()
        return of_set(feature, before) if same else f"{of_set(feature, before)}\n→ {of_set(feature, after)}"

    def _end_text(self, node: int) -> str:
        n_leaves = self.nodes.end[node] - self.nodes.begin[node]
        before, after = self._means(node)
        head = f"{n_leaves} leaves, mean " if n_leaves > 1 else ""
        if self.change.is_hard:
            return head + number(before)
        return f"{head}{number(before, 3)} → {number(after, 3)} ({number(after - before, 2, '+')})"

    def _means(self, node: int) -> list[float]:
        """Return the mean over the training rows of the leaves under a node, before and after training."""
        leaves = slice(self.nodes.begin[node], self.nodes.end[node])
        weight = self.weight[leaves] if self.weight[leaves].any() else None
        return [float(np.average(value[leaves], weights=weight)) for value in self.value]

    @property
    def layout(self) -> TreeLayout:
        """Positions of the boxes."""
        texts, shown, split = self.texts, self.nodes.depth <= self.max_depth, self.is_split
        sizes = [style.box_size([texts[i] for i in np.flatnonzero(shown & kind)]) for kind in (split, ~split)]
        return tree_layout(self.nodes, sizes[0], sizes[1], self.max_depth)

    @property
    def notes(self) -> str:
        """Notes below the tree."""
        lines = []
        if not self.change.is_hard:
            known = self.change.spread is not None
            lines.append("SD: standard deviation of the feature." if known else "Shifts are in units of the feature.")
            if self.change.own_weight.min() < 1:
                lines.append("Own weight: the fraction of a split's weights that is on its own feature.")
                lines.append("The new threshold is the one with the other features at their centre.")
        if self.nodes.depth.max() > self.max_depth:
            lines.append(f"Nodes deeper than {self.max_depth} are not drawn.")
        return "\n".join(lines)

    @property
    def amounts(self) -> NDArray[np.float64]:
        """The change of each node, (nodes,): of a split in standard deviations (0 if unknown), of a leaf in value."""
        shifts = np.clip(np.nan_to_num(self.change.shift_in_spreads), -_LIMIT, _LIMIT)
        ends = [np.diff(self._means(node))[0] for node in range(len(self.nodes.split))]
        return np.where(self.is_split, shifts[self.nodes.split] if len(shifts) else 0.0, ends)

    @property
    def largest(self) -> tuple[float, float]:
        """The largest drawn changes of a split and of a leaf, which have the darkest colours."""
        drawn, size = self.nodes.depth <= self.max_depth, np.abs(self.amounts)
        split, leaf = (float(size[drawn & kind].max(initial=0.0)) for kind in (self.is_split, ~self.is_split))
        return split, leaf

    @property
    def colours(self) -> list[tuple[float, float, float]]:
        """The fill of each node, darker for a larger change."""
        split, leaf = (largest or 1.0 for largest in self.largest)
        return [
            style.blended(style.MOVED, amount / split)
            if is_split
            else style.blended(style.INCREASE if amount > 0 else style.DECREASE, amount / leaf)
            for amount, is_split in zip(self.amounts.tolist(), self.is_split, strict=True)
        ]

    @property
    def size(self) -> Size:
        """Width and height of a new figure, in inches."""
        width, height = self.layout.size
        legend = sum(_ENTRY + style.text_width(text) for _, text in self._legend)
        texts = style.text_width(self.title, style.TITLE), style.text_width(self.notes or " "), legend
        return max(width, *texts) + 2 * style.MARGIN, height + _HEADER + self._footer

    @property
    def _footer(self) -> float:
        return style.MARGIN + (0 if self.change.is_hard else 0.32) + 0.19 * len(self.notes.splitlines())

    @property
    def _legend(self) -> list[tuple[str, str]]:
        if self.change.is_hard:
            return []
        split, leaf = (number(largest, 2) for largest in self.largest)
        entries = [
            (style.MOVED, f"split moved (darkest: {split} SD)"),
            (style.INCREASE, "leaf increased"),
            (style.DECREASE, f"leaf decreased (darkest: {leaf})"),
        ]
        return entries if self.change.spread is not None else entries[1:]

    def plot(self, ax: Any = None) -> Self:
        """Draw on the given axes, scaled to fit, or on new ones of the right size."""
        with style.style():
            canvas = style.Canvas(ax, self.size, self.title)
            self.ax_, self.figure_ = canvas.ax, canvas.ax.figure
            self._draw_boxes(canvas)
            x, y = style.MARGIN, canvas.height - self._footer + 0.2
            for colour, text in self._legend:
                canvas.box(x + 0.1, y, (0.2, 0.14), style.blended(colour, 1.0), is_round=False)
                canvas.write(x + 0.27, y, text, ha="left")
                x += _ENTRY + style.text_width(text)
            canvas.notes(self.notes)
        return self

    def _draw_boxes(self, canvas: style.Canvas) -> None:
        at, texts, colours = self.layout, self.texts, self.colours
        x, y = at.x + style.MARGIN, at.y + _HEADER
        left, right = x - at.width / 2, x + at.width / 2
        self.boxes_, self.texts_ = [], []
        for box, node in enumerate(at.node.tolist()):
            above = at.parent[box]
            if above >= 0:
                canvas.line([right[above], left[box]], [y[above], y[box]], 1.0, color=style.QUIET, zorder=1)
            size = float(at.width[box]), float(at.height[box])
            self.boxes_.append(canvas.box(x[box], y[box], size, colours[node], is_round=not at.is_end[box]))
            self.texts_.append(canvas.write(x[box], y[box], texts[node]))
        for box in np.flatnonzero(at.parent == 0).tolist():  # labels of the root's branches
            label, va = ("yes ", "bottom") if y[box] < y[0] else ("no ", "top")
            options = {"va": va, "ha": "right", "color": style.QUIET, "size": 8.0}
            canvas.write((right[0] + left[box]) / 2, (y[0] + y[box]) / 2, label, **options)
