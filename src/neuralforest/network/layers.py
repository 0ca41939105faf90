"""Layers: the weights of a network as matrices, to inspect them or to compute with them."""

from typing import NamedTuple

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from neuralforest.ensemble import TreeEnsemble
from neuralforest.network.columns import InputColumns
from neuralforest.network.layout import LayerParameters, ParameterLayout
from neuralforest.network.structure import connection_signs, connection_units
from neuralforest.network.subnetworks import Subnetworks


class Layers(NamedTuple):
    """The three layers of a network: units in rows, their inputs in columns."""

    W1: scipy.sparse.csr_array  # (splits, columns)
    b1: NDArray[np.float64]  # (splits,)
    W2: scipy.sparse.csr_array  # (leaves, splits)
    b2: NDArray[np.float64]  # (leaves,)
    W_out: NDArray[np.float64]  # (outputs, leaves)
    b_out: NDArray[np.float64]  # (outputs,)


def tree_layers(e: TreeEnsemble, columns: InputColumns, tree: int) -> Layers:
    """Return the paper's weights of a single tree in the units of the source, in float64."""
    splits, leaves = (slice(*first[tree : tree + 2]) for first in (e.first_split, e.first_leaf))
    shape1 = (splits.stop - splits.start, columns.n_columns)
    weight = columns.weight[columns.first_weight[splits.start] : columns.first_weight[splits.stop]]
    W1 = scipy.sparse.csr_array((weight, columns.connections(splits)), shape1)
    signs = connection_signs(e)[e.first_connection[splits.start] : e.first_connection[splits.stop]]
    W2 = scipy.sparse.csr_array((signs, connection_units(e, tree, tree + 1)), (shape1[0] + 1, shape1[0]))
    b1, half = np.where(e.is_categorical, 0.0, -e.threshold)[splits], e.value[leaves].T / 2
    return Layers(W1, b1, W2.astype(np.float64), np.float64(0.5) - e.depth[leaves], half, half.sum(axis=1))


def subnetwork_layers(
    e: TreeEnsemble, layout: ParameterLayout, subnetworks: Subnetworks, parameters: NDArray[np.float32], number: int
) -> Layers:
    """Return the weights of a subnetwork of a soft network, in the units that it is trained in."""
    p = LayerParameters(*(part.astype(np.float64) for part in layout.views(parameters, number)))
    columns, trees = InputColumns(e), subnetworks.trees(number)
    shape1, shape2 = (len(p.b1), columns.n_columns), (len(p.b2), len(p.b1))
    if p.w1.ndim == 2:
        W1, W2 = scipy.sparse.csr_array(p.w1), scipy.sparse.csr_array(p.w2)
    else:
        W1 = scipy.sparse.csr_array((p.w1, columns.connections(subnetworks.splits(number))), shape1)
        W2 = scipy.sparse.csr_array((p.w2, connection_units(e, trees.start, trees.stop)), shape2)
    return Layers(W1, p.b1, W2, p.b2, p.w_out.T, p.b_out.sum(axis=0) + p.w_out.sum(axis=0))
