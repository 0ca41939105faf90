"""Trees with child pointers, as most libraries keep them, and how they become depth-first arrays."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuralforest._kernels.trees import topology
from neuralforest.exceptions import InvalidEnsembleError

_NODE_DTYPES = {
    "left": np.int64,
    "right": np.int64,
    "feature": np.int64,
    "threshold": np.float64,
    "missing_left": np.bool_,
    "value": np.float64,
    "weight": np.float64,
}


class TreeNodes(NamedTuple):
    """One tree as most libraries keep it: arrays over nodes with child pointers; node 0 is the root."""

    left: NDArray[np.integer]  # (nodes,), negative at a leaf
    right: NDArray[np.integer]  # (nodes,)
    feature: NDArray[np.integer]  # (nodes,), ignored at a leaf
    threshold: NDArray[np.floating]  # (nodes,), ignored at a leaf
    missing_left: NDArray[np.bool_]  # (nodes,), ignored at a leaf
    value: NDArray[np.floating]  # (nodes, outputs), ignored at a split
    weight: NDArray[np.floating]  # (nodes,), training rows, ignored at a split
    category_left: "Mapping[int, NDArray[np.bool_]] | None" = None  # by node, of splits that test a category


class FlatTrees(NamedTuple):
    """The arrays of a `TreeEnsemble` while its trees are appended to them, one after the other."""

    feature: NDArray[np.int32]  # (splits,)
    threshold: NDArray[np.float64]  # (splits,)
    missing_left: NDArray[np.bool_]  # (splits,)
    middle: NDArray[np.int32]  # (splits,)
    value: NDArray[np.float64]  # (leaves, outputs)
    weight: NDArray[np.float64]  # (leaves,)

    @classmethod
    def room_for(cls, n_splits: int, n_leaves: int, n_outputs: int) -> "FlatTrees":
        """Return uninitialised arrays."""
        return cls(
            feature=np.empty(n_splits, np.int32),
            threshold=np.empty(n_splits, np.float64),
            missing_left=np.empty(n_splits, np.bool_),
            middle=np.empty(n_splits, np.int32),
            value=np.empty((n_leaves, n_outputs), np.float64),
            weight=np.empty(n_leaves, np.float64),
        )

    def filled(self, n_splits: int, n_leaves: int) -> "FlatTrees":
        """Return the part of the arrays that is in use."""
        return FlatTrees._make([*(a[:n_splits] for a in self[:4]), *(a[:n_leaves] for a in self[4:])])


_POINTER_ERRORS = {
    topology.OUT_OF_RANGE: "a child pointer leads outside of the nodes",
    topology.VISITED_TWICE: "a node is reached twice, so the pointers form a cycle or share a branch",
    topology.ONE_CHILD: "a node has one child only",
}


def _contiguous(nodes: TreeNodes, number: int, flat: FlatTrees) -> TreeNodes:
    """Return the tree in the dtypes and the layout that the kernel is compiled for, with all its shapes checked."""
    n_nodes = len(nodes.left)
    columns: list[NDArray[np.generic]] = []
    for name, dtype in _NODE_DTYPES.items():
        column: NDArray[np.generic] = np.ascontiguousarray(getattr(nodes, name), dtype)
        shape = (n_nodes, flat.value.shape[1]) if name == "value" else (n_nodes,)
        if column.shape != shape:
            raise InvalidEnsembleError(f"{name} of tree {number} must have shape {shape}, got {column.shape}")
        columns.append(column)
    return TreeNodes(*columns)  # type: ignore[arg-type]


def flatten(trees: Iterable[TreeNodes]) -> tuple[FlatTrees, NDArray[np.int64], dict[str, Any]]:
    """Return trees depth-first, all of them end to end, the first split of each, (trees + 1,), and categories."""
    trees = list(trees)
    if not trees:
        raise InvalidEnsembleError("an ensemble needs at least one tree, got none")
    shape = np.shape(trees[0].value)
    if len(shape) != 2:
        raise InvalidEnsembleError(f"value of tree 0 must have shape (nodes, outputs), got {shape}")
    most_splits = sum(max(len(nodes.left) - 1, 0) // 2 for nodes in trees)  # if every node is in use
    flat = FlatTrees.room_for(most_splits, most_splits + len(trees), shape[1])
    first_split, node_of_split = np.zeros(len(trees) + 1, np.int64), np.zeros(most_splits, np.int64)
    for number, nodes in enumerate(trees):
        start = first_split[number]  # leaves are one more in every tree before, hence start + number
        contiguous = _contiguous(nodes, number, flat)
        status, n_splits = topology.append_tree(contiguous, flat, node_of_split, start, start + number)
        if status != topology.OK:
            raise InvalidEnsembleError(f"tree {number} is not a tree: {_POINTER_ERRORS[status]}")
        first_split[number + 1] = start + n_splits
    categories = _category_lists(trees, first_split, node_of_split)
    return flat.filled(first_split[-1], first_split[-1] + len(trees)), first_split, categories


def _category_lists(
    trees: Sequence[TreeNodes], first_split: NDArray[np.int64], node_of_split: NDArray[np.int64]
) -> dict[str, Any]:
    """Return the categories of the splits as a `TreeEnsemble` holds them; empty where no split tests a category."""
    if not any(nodes.category_left for nodes in trees):
        return {}
    lists: list[NDArray[np.bool_]] = [np.zeros(0, np.bool_)] * int(first_split[-1])
    for nodes, first, last in zip(trees, first_split[:-1], first_split[1:], strict=True):
        for split in range(first, last) if nodes.category_left else ():
            lists[split] = (nodes.category_left or {}).get(int(node_of_split[split]), lists[split])
    sizes = np.array([len(each) for each in lists], np.int64)
    return {"first_category": np.concatenate([[0], np.cumsum(sizes)]), "category_left": np.concatenate(lists)}
