"""Soft trees as ONNX operators. Rows of X are columns here, so that the outputs of a unit are contiguous."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuralforest.export._graph import Graph
from neuralforest.export._hidden_layers import HiddenLayers, hidden_layers, merge
from neuralforest.export._view import View

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


def add_soft_trees(graph: Graph, view: View, x: str, form: str) -> str:
    """Add the sum over all soft trees, (outputs, rows); x is (rows, features), as the trees compare it."""
    inputs = _Inputs(graph, view, x)
    limit = {"auto": DENSE_LEAVES, "dense": np.inf, "sparse": 1}[form]  # one leaf has no connection to follow
    parts = sorted(hidden_layers(view.network, view.relative_weight), key=lambda part: part.n_leaves)
    dense = [part for part in parts if inputs.full or part.n_leaves <= limit]
    sums = [_dense_sum(graph, view, inputs, group) for group in _groups(dense)]
    sums += [_sparse_sum(graph, view, inputs, group) for group in _groups(parts[len(dense) :])]
    return sums[0] if len(sums) == 1 else graph.add("Sum", *sums)


def _groups(parts: list[HiddenLayers]) -> Iterator[list[HiddenLayers]]:
    """Cut parts, in order of size, into groups of at most _GROUP units, if each had as many as the last."""
    group: list[HiddenLayers] = []
    for part in parts:
        if group and (len(group) + 1) * part.n_leaves > _GROUP:
            yield group
            group = []
        group.append(part)
    if group:
        yield group


class _Inputs:
    """The inputs of the first layer, (features, rows)."""

    def __init__(self, graph: Graph, view: View, x: str) -> None:
        soft = view.network.soft
        assert soft is not None
        self.full = soft.connectivity == "full"
        # In float64 whatever the graph's dtype, as in the network: the contrast multiplies the rounding error.
        x = graph.add("Sub", graph.cast(x, "float64"), graph.constant(soft.center))
        x = graph.add("Div", x, graph.constant(soft.scale))
        x = graph.clip(x, soft.low, soft.high)
        x = graph.add("Transpose", graph.cast(x, graph.dtype), perm=[1, 0])
        self.dtype = "float64" if view.steepness > _STEEP else graph.dtype
        self.x = self.known = graph.cast(x, self.dtype)
        if self.full:  # a missing value adds nothing to the units of other features
            zero = graph.constant(np.zeros((), self.dtype))
            self.known = graph.add("Where", graph.add("IsNaN", self.x), zero, self.x)


def _splits(graph: Graph, view: View, inputs: _Inputs, layer: dict[str, NDArray[Any]]) -> str:
    """Add the outputs of the first layer, (..., splits, rows); `layer` has arrays of HiddenLayers, maybe stacked."""
    own = graph.add("Gather", inputs.x, graph.constant(layer["feature"]), axis=0)
    weights = graph.constant(layer["W1"].astype(inputs.dtype))
    u = graph.add("MatMul", weights, inputs.known) if inputs.full else graph.add("Mul", own, weights)
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
    n_splits = max(1, *(len(part.b1) for part in parts))
    n_leaves = max(part.n_leaves for part in parts)
    shapes = {"feature": (n_splits,), "missing": (n_splits,), "W1": (n_splits, parts[0].W1.shape[1]), "b1": (n_splits,)}
    u = _splits(graph, view, inputs, {name: _padded(parts, name, shape) for name, shape in shapes.items()})
    factor = 2 * np.float64(view.network.structure.contrast2)
    W2, b2 = _padded(parts, "W2", (n_leaves, n_splits)), _padded(parts, "b2", (n_leaves,))
    z = graph.add("MatMul", graph.number(factor * W2), u)  # (parts, leaves, rows)
    z = graph.add("Add", z, graph.number(factor * b2[:, :, None]))
    W_out = _padded(parts, "W_out", (len(parts[0].offset), n_leaves))
    return _scores(graph, view, z, W_out, np.stack([part.offset for part in parts]))


def _padded(parts: list[HiddenLayers], name: str, shape: tuple[int, ...]) -> NDArray[Any]:
    """Return the same array of all parts, (parts, *shape), with zeros behind those of smaller parts."""
    arrays = [getattr(part, name) for part in parts]
    arrays = [array if isinstance(array, np.ndarray) else array.toarray() for array in arrays]
    padded = np.zeros((len(parts), *shape), arrays[0].dtype)
    for target, array in zip(padded, arrays, strict=True):
        target[tuple(slice(n) for n in array.shape)] = array
    return padded


def _sparse_sum(graph: Graph, view: View, inputs: _Inputs, parts: list[HiddenLayers]) -> str:
    """Add the sum over parts by their connections, level by level: a leaf has one split at each level above it."""
    layers = merge(parts, view.network.softmax_head)
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
