"""From a TreeEnsemble to what the kernels take: which unit is connected to which, and buffers to compute in."""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from neuralforest._kernels.network.arguments import IDENTITY, SOFTMAX, Scratch, Structure, Tiles, layer_offsets
from neuralforest._kernels.simd import SIMD_WIDTH
from neuralforest.ensemble import TreeEnsemble
from neuralforest.network.columns import InputColumns
from neuralforest.network.subnetworks import Training, partition

Connectivity = Literal["sparse", "full"]
_LINE = 16  # float32 numbers of a cache line


def build_structure(
    ensemble: TreeEnsemble, first_tree: NDArray[np.int64], connectivity: Connectivity, contrast: tuple[float, float]
) -> Structure:
    """Lay the trees out as subnetworks, given the first tree of each."""
    e, columns = ensemble, InputColumns(ensemble)
    split, column = columns.connections(slice(None))
    used, place = np.unique(e.tree_of_split[split] * columns.n_columns + column, return_inverse=True)  # trees in order
    first_input = np.searchsorted(used, np.arange(e.n_trees + 1) * columns.n_columns)
    structure = Structure(
        first_split=_writable(e.first_split),
        first_leaf=_writable(e.first_leaf),
        first_connection=e.first_connection,
        begin=_writable(e.begin),
        end=_writable(e.end),
        column=columns.first[e.feature].astype(np.int32),
        missing=np.where(e.missing_left, -1, 1).astype(np.float32),
        inputs=(used % columns.n_columns).astype(np.int32),
        first_input=first_input.astype(np.int64),
        input=(place[columns.first_weight[:-1]] - first_input[e.tree_of_split]).astype(np.int32),
        first_weight=columns.first_weight,
        categorical=1 if columns.is_category.any() else None,
        first_tree=first_tree.astype(np.int64),
        first_parameter=np.zeros(len(first_tree), np.int64),
        n_columns=columns.n_columns,
        n_outputs=e.n_outputs,
        full=connectivity == "full",
        head=SOFTMAX if averages_probabilities(e) else IDENTITY,
        contrast1=np.float32(contrast[0]),
        contrast2=np.float32(contrast[1]),
    )
    sizes = [layer_offsets(structure, subnetwork)[-1] for subnetwork in range(len(first_tree) - 1)]
    np.cumsum(sizes, out=structure.first_parameter[1:])
    return structure


def _writable(array: NDArray[np.generic]) -> NDArray[np.generic]:
    """Return a view with the type of an ordinary array, so that numba compiles one version of a kernel, not two."""
    return array.view() if array.flags.writeable else array.copy()


def averages_probabilities(ensemble: TreeEnsemble) -> bool:
    """Return whether trees predict probabilities, so that each soft tree ends in a softmax of its own."""
    return ensemble.classes is not None and ensemble.link == "identity"


def connection_signs(ensemble: TreeEnsemble) -> NDArray[np.float32]:
    """Return the weight of every connection, split by split: -1 to the leaves on its left, +1 to those on its right."""
    e = ensemble
    leaf = np.arange(e.first_connection[-1]) - np.repeat(e.first_connection[:-1] - e.begin, e.end - e.begin)
    return np.where(leaf < np.repeat(e.middle, e.end - e.begin), np.float32(-1), np.float32(1))


def connection_units(ensemble: TreeEnsemble, first: int, last: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the leaf and the split of every connection of trees first to last - 1, counted from the first of these."""
    e = ensemble
    splits = np.arange(e.first_split[first], e.first_split[last])
    lengths = (e.end - e.begin)[splits]
    shift = e.first_leaf[e.tree_of_split[splits]] - e.first_leaf[first] + e.begin[splits]
    start = e.first_connection[splits] - e.first_connection[e.first_split[first]]
    leaf = np.arange(lengths.sum()) - np.repeat(start - shift, lengths)
    return leaf, np.repeat(splits - e.first_split[first], lengths)


def build_scratch(structure: Structure, workers: int = 1, gradient: bool = False) -> tuple[Scratch, Tiles | None]:
    """Allocate buffers that serve any subnetwork; `workers` is how many threads will share them."""
    trees = structure.first_tree
    splits = int(np.diff(structure.first_split[trees]).max())
    leaves = int(np.diff(structure.first_leaf[trees]).max())
    inputs = int(np.diff(structure.first_input[trees]).max())
    tiles = None
    if structure.full:
        inputs = 2 * structure.n_columns * workers
        tiles = Tiles(_rows(splits), _rows((max(splits, structure.n_columns) + 2 * SIMD_WIDTH) * workers))
    scratch = Scratch(
        x=_rows(inputs),
        u=_rows(splits),
        h=_rows(leaves),
        score=_rows(2 * int(np.diff(trees).max()) * structure.n_outputs),
        gradient=np.zeros(int(np.diff(structure.first_parameter).max()) if gradient else 0, np.float32),
    )
    return scratch, tiles


def _rows(n: int) -> NDArray[np.float32]:
    """Allocate n rows of 32 numbers that each begin where a cache line does: others would be read in three pieces."""
    room = np.zeros((max(n, 1) + 1) * SIMD_WIDTH, np.float32)
    begin = -(room.ctypes.data // room.itemsize) % _LINE
    return room[begin : begin + max(n, 1) * SIMD_WIDTH].reshape(-1, SIMD_WIDTH)


def count_parameters(
    ensemble: TreeEnsemble,
    connectivity: Connectivity = "sparse",
    training: Training = "independent",
    first_tree: NDArray[np.int64] | None = None,
) -> int:
    """Return how many weights and offsets the network of an ensemble has.

    A sparse tree has 2 (K - 1) + (sum of leaf depths) + 2 K + 1 of them, whatever the number d of columns; a fully
    connected one (d + 1) (K - 1) + K (K - 1) + 2 K + 1. With several outputs there are K + 1 more for each.
    """
    e = ensemble
    trees = partition(e, training, first_tree)
    splits, leaves = np.diff(e.first_split[trees]), np.diff(e.first_leaf[trees])
    if connectivity == "sparse":
        hidden = splits.sum() + InputColumns(e).first_weight[-1] + e.first_connection[-1]
    else:
        hidden = ((InputColumns(e).n_columns + 1) * splits + leaves * splits).sum()
    return int(hidden + leaves.sum() + (leaves.sum() + len(leaves)) * e.n_outputs)
