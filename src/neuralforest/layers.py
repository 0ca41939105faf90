"""Layers: the weights of a network as matrices, for those who want to look at them or to compute with them."""

from typing import NamedTuple

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from neuralforest._kernels.arguments import Structure, layer_offsets
from neuralforest.ensemble import TreeEnsemble
from neuralforest.structure import connection_signs, connection_units


class Layers(NamedTuple):
    """The three layers of a network: units in rows, what they are joined to in columns."""

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


def block_layers(e: TreeEnsemble, s: Structure, parameters: NDArray[np.float32], block: int) -> Layers:
    """Return the weights of a block of a soft network, in the units that it is trained in."""
    p = parameters[s.first_parameter[block] : s.first_parameter[block + 1]].astype(np.float64)
    w1, b1, w2, b2, w_out, b_out, _ = layer_offsets(s, block)
    first, last = s.block_tree[block], s.block_tree[block + 1]
    features = e.feature[e.first_split[first] : e.first_split[last]]
    shape1, shape2 = (len(features), e.n_features), (w_out - b2, len(features))
    if s.full:
        W1, W2 = (scipy.sparse.csr_array(p[a:b].reshape(c)) for a, b, c in ((w1, b1, shape1), (w2, b2, shape2)))
    else:
        W1 = scipy.sparse.csr_array((p[w1:b1], (np.arange(len(features)), features)), shape1)
        W2 = scipy.sparse.csr_array((p[w2:b2], connection_units(e, first, last)), shape2)
    W_out = p[w_out:b_out].reshape(-1, e.n_outputs)
    constant = p[b_out:].reshape(-1, e.n_outputs).sum(axis=0)  # b_out - sum(w_out)
    return Layers(W1, p[b1:w2], W2, p[b2:w_out], W_out.T, constant + W_out.sum(axis=0))
