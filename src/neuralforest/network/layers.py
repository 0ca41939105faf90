"""Layers: the weights of a network as matrices, to inspect them or to compute with them."""

from typing import NamedTuple

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from neuralforest.ensemble import TreeEnsemble
from neuralforest.network.layout import LayerParameters, ParameterLayout
from neuralforest.network.structure import connection_signs, connection_units
from neuralforest.network.subnetworks import Subnetworks


class Layers(NamedTuple):
    """The three layers of a network: units in rows, their inputs in columns."""

    W1: scipy.sparse.csr_array  # (splits, features)
    b1: NDArray[np.float64]  # (splits,)
    W2: scipy.sparse.csr_array  # (leaves, splits)
    b2: NDArray[np.float64]  # (leaves,)
    W_out: NDArray[np.float64]  # (outputs, leaves)
    b_out: NDArray[np.float64]  # (outputs,)


def tree_layers(e: TreeEnsemble) -> Layers:
    """Return the paper's weights of a single tree in the units of the source, in float64."""
    units = np.arange(e.n_splits)
    W1 = scipy.sparse.csr_array((np.ones(e.n_splits), (units, e.feature)), (e.n_splits, e.n_features))
    W2 = scipy.sparse.csr_array((connection_signs(e), connection_units(e, 0, 1)), (e.n_leaves, e.n_splits))
    half = e.value.T / 2
    return Layers(W1, -e.threshold, W2.astype(np.float64), np.float64(0.5) - e.depth, half, half.sum(axis=1))


def subnetwork_layers(
    e: TreeEnsemble, layout: ParameterLayout, subnetworks: Subnetworks, parameters: NDArray[np.float32], number: int
) -> Layers:
    """Return the weights of a subnetwork of a soft network, in the units that it is trained in."""
    p = LayerParameters(*(part.astype(np.float64) for part in layout.views(parameters, number)))
    features, trees = e.feature[subnetworks.splits(number)], subnetworks.trees(number)
    shape1, shape2 = (len(p.b1), e.n_features), (len(p.b2), len(p.b1))
    if p.w1.ndim == 2:
        W1, W2 = scipy.sparse.csr_array(p.w1), scipy.sparse.csr_array(p.w2)
    else:
        W1 = scipy.sparse.csr_array((p.w1, (np.arange(len(features)), features)), shape1)
        W2 = scipy.sparse.csr_array((p.w2, connection_units(e, trees.start, trees.stop)), shape2)
    return Layers(W1, p.b1, W2, p.b2, p.w_out.T, p.b_out.sum(axis=0) + p.w_out.sum(axis=0))
