"""Soft trees as ONNX operators. Rows of X are columns here, so that the outputs of a unit are contiguous."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
import scipy.sparse
from numpy.typing import NDArray

from neuralforest.export._graph import Graph
from neuralforest.export._one_hot import OneHot, SparseWeights
from neuralforest.export._view import View
from neuralforest.network import ForestNetwork, LayerParameters
from neuralforest.network.structure import connection_units

DENSE_LEAVES = 512
"""A tree of more leaves is exported by its connections, one of fewer as a dense matrix.

Measured with onnxruntime 1.31 on one thread, float32, random forests on 10 features: with 64 leaves a dense tree takes
a third to a half of the time of a sparse one, at 512 both take the same time within a factor of about 2 (1.1 MB and
0.07 MB per tree), and at 2048 a dense one takes up to 4 times as long and 50 times the space. One gather of whole
paths, instead of one per level, took 2 to 13 times as long as the sparse form.
"""

_GROUP = 1024
"""Units of a layer that are computed together: more need more memory per row, fewer need more operators."""

_STEEP = 100.0  # beyond it the first layer is computed in float64, so that the error stays below 1e-5


class HiddenLayers(NamedTuple):
    """Units that are connected to no others: those of one tree, or of a fully connected subnetwork."""

    column: NDArray[np.int32]  # (splits,): the split's own input column, or the first of several
    missing: NDArray[np.float32]  # (splits,): the unit's output where its feature is missing
    W1: NDArray[np.float32]  # (splits, 1), the weight of a number, 0 for a category; or (splits, columns)
    W1_categories: NDArray[np.float32]  # (splits, columns of categories); without columns where W1 has all
    b1: NDArray[np.float32]  # (splits,)
    W2: Any  # (leaves, splits), an array or a scipy.sparse.csr_array
    b2: NDArray[np.float32]  # (leaves,)
    W_out: NDArray[np.floating]  # (scores, leaves); scores are the outputs, of every tree where each has a softmax
    offset: NDArray[np.float64]  # (scores,): where no leaf is active

    @property
    def n_leaves(self) -> int:
        return len(self.b2)


def add_soft_trees(graph: Graph, view: View, x: str, form: str) -> str:
    """Add the sum over all soft trees, (outputs, rows); x is (rows, features), as the trees compare it."""
    inputs = _Inputs(graph, view, x)
    limit = {"auto": DENSE_LEAVES, "dense": np.inf, "sparse": 1}[form]  # one leaf has no connection to follow
    parts = sorted(_hidden_layers(view), key=lambda part: part.n_leaves)
    dense = [part for part in parts if inputs.full or part.n_leaves <= limit]
    sums = [_dense_sum(graph, view, inputs, group) for group in _groups(dense)]
    sums += [_sparse_sum(graph, view, inputs, group) for group in _groups(parts[len(dense) :])]
    return sums[0] if len(sums) == 1 else graph.add("Sum", *sums)


def _hidden_layers(view: View) -> Iterator[HiddenLayers]:
    """Return the hidden layers of the soft subnetworks, their scores multiplied by their weights."""
    network = view.network
    of_subnetwork = _full if network.structure.full else _sparse
    for subnetwork in view.soft_subnetworks:
        p, factor = network.layout.views(network.kernel_parameters, subnetwork), view.relative_weight[subnetwork]
        for layers in of_subnetwork(network, subnetwork, p):
            W_out = factor * layers.W_out.astype(np.float64)
            yield layers._replace(W_out=W_out, offset=factor * layers.offset)


def _sparse(network: ForestNetwork, subnetwork: int, p: LayerParameters) -> Iterator[HiddenLayers]:
    e, trees = network.ensemble, network.subnetworks.trees(subnetwork)
    units = connection_units(e, trees.start, trees.stop)
    W2 = scipy.sparse.csr_array((p.w2, units), (len(p.b2), len(p.b1)))
    w = SparseWeights.of(network, np.arange(e.n_splits)[network.subnetworks.splits(subnetwork)])
    n_categories = np.count_nonzero(network.columns.is_category)
    W1, W1_categories = (np.zeros((len(p.b1), n), p.w1.dtype) for n in (1, n_categories))
    W1[w.unit_of_number, 0], W1_categories[w.unit_of_category, w.place] = p.w1[w.number], p.w1[w.category]
    for tree in trees:
        _, splits, leaves, place = network.subnetworks.place_of(tree)
        own = slice(e.first_split[tree], e.first_split[tree + 1])
        yield HiddenLayers(
            column=network.structure.column[own],
            missing=network.structure.missing[own],
            W1=W1[splits],
            W1_categories=W1_categories[splits],
            b1=p.b1[splits],
            W2=W2[leaves, splits],
            b2=p.b2[leaves],
            W_out=p.w_out[leaves].T,
            offset=p.b_out[place].astype(np.float64),
        )


def _full(network: ForestNetwork, subnetwork: int, p: LayerParameters) -> Iterator[HiddenLayers]:
    s, subnetworks = network.structure, network.subnetworks
    own, W_out, offset = subnetworks.splits(subnetwork), p.w_out.T, p.b_out.astype(np.float64)
    if network.softmax_head:
        leaves = [subnetworks.place_of(tree).leaves for tree in subnetworks.trees(subnetwork)]
        W_out = scipy.linalg.block_diag(*(W_out[:, part] for part in leaves))
    offset = offset.ravel() if network.softmax_head else offset.sum(axis=0)
    rest = p.w1[:, :0]
    yield HiddenLayers(s.column[own], s.missing[own], p.w1, rest, p.b1, p.w2, p.b2, W_out, offset)


def _merged(parts: list[HiddenLayers], softmax_head: bool) -> HiddenLayers:
    """Lay sparse hidden layers end to end as one."""
    W_out, offset = [part.W_out for part in parts], [part.offset for part in parts]
    units = ("column", "missing", "W1", "W1_categories", "b1", "b2")
    return HiddenLayers(
        **{name: np.concatenate([getattr(part, name) for part in parts]) for name in units},
        W2=scipy.sparse.block_diag([part.W2 for part in parts], format="csr"),
        W_out=scipy.linalg.block_diag(*W_out) if softmax_head else np.concatenate(W_out, axis=1),
        offset=np.concatenate(offset) if softmax_head else np.sum(offset, axis=0),
    )


def _groups(parts: list[HiddenLayers]) -> Iterator[list[HiddenLayers]]:
    """Cut parts, in order of size, into groups of equally many scores and of at most _GROUP units after padding."""
    group: list[HiddenLayers] = []
    for part in parts:
        n_units = (len(group) + 1) * part.n_leaves
        if group and (n_units > _GROUP or len(part.offset) != len(group[0].offset)):
            yield group
            group = []
        group.append(part)
    if group:
        yield group


class _Inputs:
    """The inputs of the first layer, (columns, rows)."""

    def __init__(self, graph: Graph, view: View, x: str) -> None:
        soft = view.network.soft
        assert soft is not None
        self.full = soft.connectivity == "full"
        # In float64 whatever the graph's dtype, as in the network: the contrast multiplies the rounding error.
        x = graph.add("Sub", _expanded(graph, graph.cast(x, "float64"), view.one_hot), graph.constant(soft.center))
        x = graph.add("Div", x, graph.constant(soft.scale))
        x = graph.clip(x, soft.low, soft.high)
        x = graph.add("Transpose", graph.cast(x, graph.dtype), perm=[1, 0])
        self.dtype = "float64" if view.steepness > _STEEP else graph.dtype
        self.x = self.known = graph.cast(x, self.dtype)
        if self.full or view.one_hot:  # a missing value adds nothing to the units of other features
            zero = graph.constant(np.zeros((), self.dtype))
            self.known = graph.add("Where", graph.add("IsNaN", self.x), zero, self.x)
        if view.one_hot and not self.full:
            places = graph.constant(np.flatnonzero(view.one_hot.is_category))
            self.categories = graph.add("Gather", self.known, places, axis=0)


def _expanded(graph: Graph, x: str, one_hot: OneHot | None) -> str:
    """Add the input columns of float64 rows, (rows, columns); see `InputColumns.expand`."""
    if one_hot is None:
        return x
    x = graph.add("Gather", x, graph.constant(one_hot.feature), axis=1)
    low, high = graph.constant(one_hot.low), graph.constant(one_hot.high)
    inside = graph.add("And", graph.add("GreaterOrEqual", x, low), graph.add("Less", x, high))
    value = graph.cast(graph.add("Xor", inside, graph.constant(one_hot.is_other)), "float64")
    value = graph.add("Where", graph.add("IsNaN", x), graph.constant(one_hot.missing), value)
    return graph.add("Where", graph.constant(one_hot.is_category), value, x)


def _splits(graph: Graph, view: View, inputs: _Inputs, layer: dict[str, NDArray[Any]]) -> str:
    """Add the outputs of the first layer, (..., splits, rows); `layer` has arrays of HiddenLayers, maybe stacked."""
    own = graph.add("Gather", inputs.x, graph.constant(layer["column"]), axis=0)
    weights = graph.constant(layer["W1"].astype(inputs.dtype))
    u = graph.add("MatMul", weights, inputs.known) if inputs.full else graph.add("Mul", own, weights)
    if view.one_hot and not inputs.full:
        weights = graph.constant(layer["W1_categories"].astype(inputs.dtype))
        u = graph.add("Add", u, graph.add("MatMul", weights, inputs.categories))
    u = graph.add("Add", u, graph.constant(layer["b1"][..., None].astype(inputs.dtype)))
    contrast = view.network.structure.contrast1
    if contrast != 1:  # not folded into the weights, which would round them once more
        u = graph.add("Mul", u, graph.constant(contrast.astype(inputs.dtype)))
    u = graph.add("Tanh", graph.cast(u, graph.dtype))
    return graph.add("Where", graph.add("IsNaN", own), graph.number(layer["missing"][..., None]), u)


def _scores(graph: Graph, view: View, z: str, W_out: NDArray[np.floating], offset: NDArray[np.floating]) -> str:
    """Add the sum over some trees, (outputs, rows), of twice the argument of their leaves, (parts, leaves, rows).

    tanh(z) + 1 is 2 sigmoid(2 z). W_out has shape (parts, scores, leaves), offset (parts, scores).
    """
    score = graph.add("MatMul", graph.number(2 * W_out), graph.add("Sigmoid", z))  # (parts, scores, rows)
    score = graph.add("Add", score, graph.number(offset[:, :, None]))
    if view.network.softmax_head:
        n_outputs = view.ensemble.n_outputs
        shape = np.array([offset.size // n_outputs, n_outputs, 0])  # (trees, outputs, rows), 0 for as many as before
        score = graph.add("Softmax", graph.add("Reshape", score, graph.constant(shape)), axis=1)
    return graph.add("ReduceSum", score, graph.constant(np.array([0])), keepdims=0)


def _dense_sum(graph: Graph, view: View, inputs: _Inputs, parts: list[HiddenLayers]) -> str:
    """Add the sum over parts of similar size: one product of matrices each, smaller parts padded with zeros."""
    arrays = {name: _padded([getattr(part, name) for part in parts]) for name in HiddenLayers._fields}
    u = _splits(graph, view, inputs, arrays)
    factor = 2 * np.float64(view.network.structure.contrast2)
    z = graph.add("MatMul", graph.number(factor * arrays["W2"]), u)  # (parts, leaves, rows)
    z = graph.add("Add", z, graph.number(factor * arrays["b2"][:, :, None]))
    return _scores(graph, view, z, arrays["W_out"], arrays["offset"])


def _padded(arrays: list[Any]) -> NDArray[Any]:
    """Return arrays, one for each part, as one array (parts, ...), with zeros behind those of smaller parts."""
    arrays = [array.toarray() if scipy.sparse.issparse(array) else array for array in arrays]
    shape = np.max([array.shape for array in arrays], axis=0)
    padded = np.zeros((len(arrays), *np.maximum(shape, 1)), arrays[0].dtype)
    for target, array in zip(padded, arrays, strict=True):
        target[tuple(slice(n) for n in array.shape)] = array
    return padded


def _sparse_sum(graph: Graph, view: View, inputs: _Inputs, parts: list[HiddenLayers]) -> str:
    """Add the sum over parts by their connections, level by level: a leaf has one split at each level above it."""
    layers = _merged(parts, view.network.softmax_head)
    u = _splits(graph, view, inputs, layers._asdict())
    factor = 2 * np.float64(view.network.structure.contrast2)
    z = graph.number(factor * layers.b2[:, None])
    depth = np.diff(layers.W2.indptr)
    for level in range(depth.max()):
        at = np.where(level < depth, layers.W2.indptr[:-1] + level, 0)
        weight = np.where(level < depth, factor * layers.W2.data[at], 0.0)
        step = graph.add("Gather", u, graph.constant(layers.W2.indices[at].astype(np.int32)), axis=0)
        z = graph.add("Add", graph.add("Mul", step, graph.number(weight[:, None])), z)
    z = graph.add("Unsqueeze", z, graph.constant(np.array([0])))
    return _scores(graph, view, z, layers.W_out[None], layers.offset[None])
