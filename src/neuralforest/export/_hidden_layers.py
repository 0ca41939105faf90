"""Hidden layers of soft subnetworks: per tree, or with full connectivity per subnetwork. Knows no other library."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
import scipy.sparse
from numpy.typing import NDArray

from neuralforest.network import ForestNetwork, LayerParameters
from neuralforest.network.structure import connection_units


class HiddenLayers(NamedTuple):
    """Units that are connected to no others: those of one tree, or of a fully connected subnetwork."""

    feature: NDArray[np.int32]  # (splits,)
    missing: NDArray[np.float32]  # (splits,): the unit's output where its feature is missing
    W1: NDArray[np.float32]  # (splits, 1), the weight of the split's own feature; or (splits, features)
    b1: NDArray[np.float32]  # (splits,)
    W2: Any  # (leaves, splits), an array or a scipy.sparse.csr_array
    b2: NDArray[np.float32]  # (leaves,)
    W_out: NDArray[np.floating]  # (scores, leaves); scores are the outputs, of every tree where each has a softmax
    offset: NDArray[np.float64]  # (scores,): where no leaf is active

    @property
    def n_leaves(self) -> int:
        return len(self.b2)


def hidden_layers(network: ForestNetwork, weight: NDArray[np.float64]) -> Iterator[HiddenLayers]:
    """Return the hidden layers of the soft subnetworks, their scores multiplied by weights, (subnetworks,)."""
    of_subnetwork = _full if network.structure.full else _sparse
    for subnetwork in np.flatnonzero(~network.hard).tolist():
        p, factor = network.layout.views(network.kernel_parameters, subnetwork), weight[subnetwork]
        for layers in of_subnetwork(network, subnetwork, p):
            W_out = factor * layers.W_out.astype(np.float64)
            yield layers._replace(W_out=W_out, offset=factor * layers.offset)


def _sparse(network: ForestNetwork, subnetwork: int, p: LayerParameters) -> Iterator[HiddenLayers]:
    e, trees = network.ensemble, network.subnetworks.trees(subnetwork)
    units = connection_units(e, trees.start, trees.stop)
    W2 = scipy.sparse.csr_array((p.w2, units), (len(p.b2), len(p.b1)))
    for tree in trees:
        _, splits, leaves, place = network.subnetworks.place_of(tree)
        own = slice(e.first_split[tree], e.first_split[tree + 1])
        yield HiddenLayers(
            feature=e.feature[own],
            missing=network.structure.missing[own],
            W1=p.w1[splits, None],
            b1=p.b1[splits],
            W2=W2[leaves, splits],
            b2=p.b2[leaves],
            W_out=p.w_out[leaves].T,
            offset=p.b_out[place].astype(np.float64),
        )


def _full(network: ForestNetwork, subnetwork: int, p: LayerParameters) -> Iterator[HiddenLayers]:
    e, subnetworks = network.ensemble, network.subnetworks
    own, W_out, offset = subnetworks.splits(subnetwork), p.w_out.T, p.b_out.astype(np.float64)
    if network.softmax_head:
        leaves = [subnetworks.place_of(tree).leaves for tree in subnetworks.trees(subnetwork)]
        W_out = scipy.linalg.block_diag(*(W_out[:, part] for part in leaves))
    offset = offset.ravel() if network.softmax_head else offset.sum(axis=0)
    yield HiddenLayers(e.feature[own], network.structure.missing[own], p.w1, p.b1, p.w2, p.b2, W_out, offset)


def merge(parts: list[HiddenLayers], softmax_head: bool) -> HiddenLayers:
    """Lay sparse hidden layers end to end as one."""
    W_out, offset = [part.W_out for part in parts], [part.offset for part in parts]
    units = ("feature", "missing", "W1", "b1", "b2")
    return HiddenLayers(
        **{name: np.concatenate([getattr(part, name) for part in parts]) for name in units},
        W2=scipy.sparse.block_diag([part.W2 for part in parts], format="csr"),
        W_out=scipy.linalg.block_diag(*W_out) if softmax_head else np.concatenate(W_out, axis=1),
        offset=np.concatenate(offset) if softmax_head else np.sum(offset, axis=0),
    )
