"""The hidden layers of a tree with sparse connectivity: a split is connected to its own run of leaves only."""

import numpy as np

from neuralforest._kernels.jit import part
from neuralforest._kernels.network.activations import tanh_of_rows
from neuralforest._kernels.simd import add_lane_sums, broadcast, lane_sum, lane_sums, load, store, where_nan

_ONE, _ZERO = np.float32(1.0), np.float32(0.0)
_FAR = np.float32(16.0)  # where tanh is exactly 1
_U = np.uint64  # unsigned indices in inner loops: a signed index is checked for being negative


@part
def _split_input(structure, k, x, input0):  # type: ignore[no-untyped-def]
    """Return the first input of split k, NaN where its feature is missing."""
    return load(x, input0 + structure.input[k])


@part
def _argument(categorical, structure, k, origin, x, input0, p, w1, b1):  # type: ignore[no-untyped-def]
    """Return the argument of the unit of split k; see `Structure` for a None."""
    unit = k - origin
    if categorical is not None:
        a = broadcast(p[b1 + unit])
        weight = w1 + structure.first_weight[k] - structure.first_weight[origin]
        for j in range(structure.first_weight[k + 1] - structure.first_weight[k]):
            xj = load(x, input0 + structure.input[k] + j)
            a = a + where_nan(xj, _ZERO, xj) * p[weight + j]
    else:
        a = _split_input(structure, k, x, input0) * p[w1 + unit] + p[b1 + unit]
    return a


@part
def _add_gradient(categorical, structure, k, origin, x, input0, du, gradient, w1, b1):  # type: ignore[no-untyped-def]
    """Add the gradients of the weights and of the offset of split k, given that of its argument."""
    unit = k - origin
    if categorical is not None:
        gradient[b1 + unit] += lane_sum(du)
        weight = w1 + structure.first_weight[k] - structure.first_weight[origin]
        for j in range(structure.first_weight[k + 1] - structure.first_weight[k]):
            xj = load(x, input0 + structure.input[k] + j)
            gradient[weight + j] += lane_sum(du * where_nan(xj, _ZERO, xj))
    else:
        xk = _split_input(structure, k, x, input0)
        of_bias, of_weight = lane_sums(du, du * where_nan(xk, _ZERO, xk))
        gradient[b1 + unit] += of_bias
        gradient[w1 + unit] += of_weight


@part
def forward(structure, first_tree, tree, offsets, p, X, rows, scratch):  # type: ignore[no-untyped-def]
    """Fill the tree's rows of scratch.u and scratch.h with the outputs of layers 1 and 2 for 32 rows of X."""
    x, u, h = scratch.x, scratch.u, scratch.h
    w1, b1, w2, b2 = offsets[0], offsets[1], offsets[2], offsets[3]
    start, stop = structure.first_split[tree], structure.first_split[tree + 1]
    origin = structure.first_split[first_tree]  # the subnetwork's own numbering starts here
    leaf0 = structure.first_leaf[tree] - structure.first_leaf[first_tree]
    input0 = structure.first_input[tree] - structure.first_input[first_tree]
    run0, far = w2 - structure.first_connection[origin], _FAR / structure.contrast1
    for i in range(structure.first_input[tree], structure.first_input[tree + 1]):
        column = structure.inputs[i]
        row = i - structure.first_input[first_tree]
        for lane in range(len(rows)):
            x[row, lane] = X[rows[lane], column]
    for leaf in range(leaf0, leaf0 + stop - start + 1):
        store(h, leaf, broadcast(p[b2 + leaf]))
    for k in range(start, stop):
        a = _argument(structure.categorical, structure, k, origin, x, input0, p, w1, b1)
        store(u, k - origin, where_nan(_split_input(structure, k, x, input0), structure.missing[k] * far, a))
    tanh_of_rows(u, start - origin, stop - origin, structure.contrast1)
    for k in range(start, stop):
        uk = load(u, k - origin)
        begin, end = _U(structure.begin[k]), _U(structure.end[k])
        weight = _U(run0 + structure.first_connection[k]) - begin
        for leaf in range(begin, end):
            store(h, _U(leaf0) + leaf, load(h, _U(leaf0) + leaf) + uk * p[weight + leaf])
    tanh_of_rows(h, leaf0, leaf0 + stop - start + 1, structure.contrast2)


@part
def backward(structure, first_tree, tree, offsets, p, scratch):  # type: ignore[no-untyped-def]
    """Add the gradients of w1, b1 and w2 to scratch.gradient; scratch.h holds those of the leaves' arguments."""
    x, u, h, gradient = scratch.x, scratch.u, scratch.h, scratch.gradient
    w1, b1, w2 = offsets[0], offsets[1], offsets[2]
    origin = structure.first_split[first_tree]
    leaf0 = structure.first_leaf[tree] - structure.first_leaf[first_tree]
    input0 = structure.first_input[tree] - structure.first_input[first_tree]
    run0 = w2 - structure.first_connection[origin]
    for k in range(structure.first_split[tree], structure.first_split[tree + 1]):
        uk = load(u, k - origin)
        du, more = broadcast(_ZERO), broadcast(_ZERO)
        begin, end = _U(structure.begin[k]), _U(structure.end[k])
        fours = begin + (end - begin) // _U(4) * _U(4)
        weight = _U(run0 + structure.first_connection[k]) - begin
        for leaf in range(begin, fours, _U(4)):
            row, j = _U(leaf0) + leaf, weight + leaf
            g0, g1, g2, g3 = load(h, row), load(h, row + _U(1)), load(h, row + _U(2)), load(h, row + _U(3))
            du, more = du + g0 * p[j], more + g1 * p[j + _U(1)]
            du, more = du + g2 * p[j + _U(2)], more + g3 * p[j + _U(3)]
            add_lane_sums(gradient, j, uk * g0, uk * g1, uk * g2, uk * g3)
        for leaf in range(fours, end):
            g = load(h, _U(leaf0) + leaf)
            du = du + g * p[weight + leaf]
            gradient[weight + leaf] += lane_sum(uk * g)
        du = (du + more) * (_ONE - uk * uk) * structure.contrast1
        _add_gradient(structure.categorical, structure, k, origin, x, input0, du, gradient, w1, b1)
