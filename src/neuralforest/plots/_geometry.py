"""Positions in drawings: trees from left to right, networks in columns. Does not use matplotlib.

Lengths are in inches, x to the right and y downwards.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Size = tuple[float, float]  # width, height


@dataclass(frozen=True, eq=False)
class Nodes:
    """The nodes of one tree, depth-first with the left child first: the numbers of the paper's Figure 2."""

    split: NDArray[np.int64]  # (nodes,), number of the split inside the tree, -1 at a leaf
    begin: NDArray[np.int64]  # (nodes,), first leaf under the node
    end: NDArray[np.int64]  # (nodes,), one past the last
    parent: NDArray[np.int64]  # (nodes,), -1 at the root
    depth: NDArray[np.int64]  # (nodes,)

    @property
    def is_leaf(self) -> NDArray[np.bool_]:
        return self.split < 0

    @property
    def of_split(self) -> NDArray[np.int64]:
        """Node of each split, (splits,)."""
        return np.flatnonzero(self.split >= 0)

    @property
    def of_leaf(self) -> NDArray[np.int64]:
        """Node of each leaf, (leaves,)."""
        return np.flatnonzero(self.split < 0)


def tree_nodes(middle: Sequence[int] | NDArray[np.integer]) -> Nodes:
    """Return the nodes of a tree from the first right leaf of each of its splits."""
    rows: list[tuple[int, int, int, int, int]] = []
    waiting = [(0, 0, len(middle) + 1, -1, 0)]
    while waiting:
        split, begin, end, parent, depth = waiting.pop()
        node = len(rows)
        if end - begin == 1:
            rows.append((-1, begin, end, parent, depth))
            continue
        rows.append((split, begin, end, parent, depth))
        cut = int(middle[split])
        waiting.append((split + cut - begin, cut, end, node, depth + 1))
        waiting.append((split + 1, begin, cut, node, depth + 1))
    return Nodes(*(np.array(column, np.int64) for column in zip(*rows, strict=True)))


@dataclass(frozen=True, eq=False)
class TreeLayout:
    """A tree with its root on the left; a subtree that is too deep is one box at the end."""

    node: NDArray[np.int64]  # (boxes,), number of the node in each box
    x: NDArray[np.float64]  # (boxes,), centre of the box
    y: NDArray[np.float64]  # (boxes,)
    width: NDArray[np.float64]  # (boxes,)
    height: NDArray[np.float64]  # (boxes,)
    parent: NDArray[np.int64]  # (boxes,), box of the parent, -1 at the root
    is_end: NDArray[np.bool_]  # (boxes,), a leaf, or a subtree in one box
    size: Size


def tree_layout(nodes: Nodes, split_size: Size, end_size: Size, max_depth: int, gaps: Size = (0.45, 0.1)) -> TreeLayout:
    """Place the boxes of a tree, with gaps between columns and between boxes; nodes at `max_depth` are ends."""
    shown = np.flatnonzero(nodes.depth <= max_depth)
    depth = nodes.depth[shown]
    is_end = nodes.is_leaf[shown] | (depth == max_depth)
    box = np.full(len(nodes.split), -1)
    box[shown] = np.arange(len(shown))
    parent = np.where(nodes.parent[shown] >= 0, box[nodes.parent[shown]], -1)
    slot = np.zeros(len(shown))
    slot[is_end] = np.arange(is_end.sum())
    for i in np.flatnonzero(~is_end)[::-1]:  # children come after their parents
        slot[i] = slot[parent == i].mean()
    # A split is at least 1.5 slots from an end of its column, and 2 from another split.
    pitch = max(end_size[1] + gaps[1], (split_size[1] + end_size[1] + 2 * gaps[1]) / 3, (split_size[1] + gaps[1]) / 2)
    width, height = (np.where(is_end, end_size[i], split_size[i]) for i in (0, 1))
    columns = [width[depth == d].max() for d in range(depth.max() + 1)]
    left = np.concatenate([[0.0], np.cumsum(np.add(columns, gaps[0]))])
    y = slot * pitch + height[is_end | (slot == 0)].max() / 2
    top = min((y - height / 2).min(), 0.0)
    size = (float(left[-1] - gaps[0]), float((y + height / 2).max() - top))
    return TreeLayout(shown, left[depth] + width / 2, y - top, width, height, parent, is_end, size)


@dataclass(frozen=True, eq=False)
class NetworkLayout:
    """The units of a network in four columns: inputs, splits, leaves, outputs."""

    x: NDArray[np.float64]  # (4,), centre of each column
    y: tuple[NDArray[np.float64], ...]  # 4 arrays (units of the column,)
    sizes: tuple[Size, ...]  # of the boxes of each column
    size: Size


def network_layout(counts: Sequence[int], sizes: Sequence[Size], gaps: Size = (1.3, 0.12)) -> NetworkLayout:
    """Place the units of each layer in a column, in order, spread over the height of the longest."""
    height = max(n * (size[1] + gaps[1]) for n, size in zip(counts, sizes, strict=True))
    widths = np.array([size[0] for size in sizes])
    left = np.concatenate([[0.0], np.cumsum(widths + gaps[0])])
    y = tuple((np.arange(n) + 0.5) * height / max(n, 1) for n in counts)
    return NetworkLayout(left[:-1] + widths / 2, y, tuple(sizes), (float(left[-1] - gaps[0]), float(height)))
