"""The hidden layers of a subnetwork with full connectivity: matrix products over 32 rows, several units at a time.

Several threads may share a subnetwork. Each computes its own splits and its own leaves, and waits for the others before
it reads theirs.
"""

import numpy as np

from neuralforest._kernels.jit import part
from neuralforest._kernels.network.activations import tanh_of_rows
from neuralforest._kernels.simd import SIMD_WIDTH, broadcast, lane_sum, load, multiply_add, store, where_nan

_ONE, _ZERO = np.float32(1.0), np.float32(0.0)
_U = np.uint64  # unsigned indices in inner loops: a signed index is checked for being negative
_TILE = 16  # rows of a matrix whose cache lines are used completely before the next are loaded
_STRETCH = 1024  # parameters that are updated together, while their gradient is in the cache
UNROLL = 4
"""Unroll factor: units that are computed together, so that a loaded number is used four times."""


@part
def rows_per_step(width):  # type: ignore[no-untyped-def]
    """Return how many rows of a matrix are processed together, a multiple of UNROLL."""
    return (1 + _STRETCH // (UNROLL * width + 1)) * UNROLL


@part
def gather(X, rows, x, first, n_columns):  # type: ignore[no-untyped-def]
    """Fill rows `first` on of x with 32 rows of X, then once more with missing values replaced by 0."""
    for column in range(n_columns):
        for lane in range(len(rows)):
            x[first + column, lane] = X[rows[lane], column]
        xf = load(x, first + column)
        store(x, first + n_columns + column, where_nan(xf, _ZERO, xf))


@part
def affine(p, weight, bias, width, first, last, source, origin, target):  # type: ignore[no-untyped-def]
    """Fill rows first to last - 1 of `target` with W @ source + b; W has `width` columns, source starts at `origin`.

    Eight rows at a time; where fewer are left, the last row is computed in place of those that do not exist.
    """
    w, n, x = _U(weight), _U(width), _U(origin)
    for r in range(first, last, 2 * UNROLL):
        r1, r2, r3 = min(r + 1, last - 1), min(r + 2, last - 1), min(r + 3, last - 1)
        r4, r5, r6, r7 = min(r + 4, last - 1), min(r + 5, last - 1), min(r + 6, last - 1), min(r + 7, last - 1)
        a, b, c, d = broadcast(p[bias + r]), broadcast(p[bias + r1]), broadcast(p[bias + r2]), broadcast(p[bias + r3])
        e, f, g, h = broadcast(p[bias + r4]), broadcast(p[bias + r5]), broadcast(p[bias + r6]), broadcast(p[bias + r7])
        w0, w1, w2, w3 = w + _U(r) * n, w + _U(r1) * n, w + _U(r2) * n, w + _U(r3) * n
        w4, w5, w6, w7 = w + _U(r4) * n, w + _U(r5) * n, w + _U(r6) * n, w + _U(r7) * n
        for j in range(n):
            s = load(source, x + j)
            a = multiply_add(s, p[w0 + j], a)
            b = multiply_add(s, p[w1 + j], b)
            c = multiply_add(s, p[w2 + j], c)
            d = multiply_add(s, p[w3 + j], d)
            e = multiply_add(s, p[w4 + j], e)
            f = multiply_add(s, p[w5 + j], f)
            g = multiply_add(s, p[w6 + j], g)
            h = multiply_add(s, p[w7 + j], h)
        store(target, r, a)
        store(target, r1, b)
        store(target, r2, c)
        store(target, r3, d)
        store(target, r4, e)
        store(target, r5, f)
        store(target, r6, g)
        store(target, r7, h)


@part
def _split_input(structure, k, x, x0):  # type: ignore[no-untyped-def]
    """Return the first input of split k, NaN where its feature is missing."""
    return load(x, x0 + structure.column[k])


@part
def first_layer(structure, first_tree, first, last, offsets, p, x, x0, u):  # type: ignore[no-untyped-def]
    """Fill rows first to last - 1 of u with the outputs of layer 1; the gathered rows begin at x0."""
    n_columns = structure.n_columns
    affine(p, offsets[0], offsets[1], n_columns, first, last, x, x0 + n_columns, u)
    tanh_of_rows(u, first, last, structure.contrast1)
    origin = structure.first_split[first_tree]
    for unit in range(first, last):
        xk = _split_input(structure, origin + unit, x, x0)
        store(u, unit, where_nan(xk, structure.missing[origin + unit], load(u, unit)))


@part
def second_layer(structure, n_splits, first, last, offsets, p, u, h):  # type: ignore[no-untyped-def]
    """Fill rows first to last - 1 of h with the outputs of layer 2."""
    affine(p, offsets[2], offsets[3], n_splits, first, last, u, np.int64(0), h)
    tanh_of_rows(h, first, last, structure.contrast2)


@part
def input_gradient(p, weight, width, first, last, grad, n_rows, target):  # type: ignore[no-untyped-def]
    """Fill rows first to last - 1 of `target` with those rows of W.T @ grad; W has shape (n_rows, width)."""
    for j in range(first, last):
        store(target, j, broadcast(_ZERO))
    for tile in range(0, n_rows, _TILE):
        begin, end = _U(tile), _U(min(tile + _TILE, n_rows))
        for j in range(first, last, UNROLL):  # several at a time, as in `affine`
            j1, j2, j3 = min(j + 1, last - 1), min(j + 2, last - 1), min(j + 3, last - 1)
            w, w1, w2, w3 = _U(weight + j), _U(weight + j1), _U(weight + j2), _U(weight + j3)
            a, b, c, d = load(target, j), load(target, j1), load(target, j2), load(target, j3)
            for r in range(begin, end):
                g = load(grad, r)
                a = multiply_add(g, p[w + r * _U(width)], a)
                b = multiply_add(g, p[w1 + r * _U(width)], b)
                c = multiply_add(g, p[w2 + r * _U(width)], c)
                d = multiply_add(g, p[w3 + r * _U(width)], d)
            store(target, j, a)
            store(target, j1, b)
            store(target, j2, c)
            store(target, j3, d)


@part
def first_tile(structure, n_splits, worker):  # type: ignore[no-untyped-def]
    """Return the first row of a worker's own tiles."""
    longest = n_splits if n_splits > structure.n_columns else structure.n_columns
    return worker * (longest + 2 * SIMD_WIDTH)


@part
def transpose(source, origin, n, target, target0):  # type: ignore[no-untyped-def]
    """Transpose n rows of `source`, if 32 or more, into tiles: target[32 * tile + lane] holds 32 rows of one lane.

    The last tile may overlap the one before it; the rows of both are then 0 in the last.
    """
    for tile in range(0, n if n >= SIMD_WIDTH else 0, SIMD_WIDTH):
        row = min(tile, n - SIMD_WIDTH)
        for lane in range(target.shape[1]):
            for j in range(SIMD_WIDTH):
                target[target0 + tile + lane, j] = source[_U(origin + row) + _U(j), lane]
            for j in range(tile - row):
                target[target0 + tile + lane, j] = _ZERO


@part
def add_weight_gradient(grad, first, last, source, origin, transposed, tile0, width, gradient, weight):  # type: ignore[no-untyped-def]
    """Add grad @ source.T, rows first to last - 1, to the gradient: `width` columns, the first row at `weight`."""
    few = width if width < SIMD_WIDTH else 0
    for r in range(first, last if few else first):
        g, w = load(grad, r), _U(weight + (r - first) * width)
        for j in range(_U(few)):
            gradient[w + j] += lane_sum(g * load(source, _U(origin) + j))
    for tile in range(0, width - few, SIMD_WIDTH):
        column = weight - first * width + min(tile, width - SIMD_WIDTH)
        for r in range(first, last, UNROLL):  # several at a time, as in `affine`
            r1, r2, r3 = min(r + 1, last - 1), min(r + 2, last - 1), min(r + 3, last - 1)
            a, b, c, d = broadcast(_ZERO), broadcast(_ZERO), broadcast(_ZERO), broadcast(_ZERO)
            for lane in range(grad.shape[1]):
                s = load(transposed, tile0 + tile + lane)
                a = multiply_add(s, grad[r, lane], a)
                b = multiply_add(s, grad[r1, lane], b)
                c = multiply_add(s, grad[r2, lane], c)
                d = multiply_add(s, grad[r3, lane], d)
            w, w1, w2, w3 = column + r * width, column + r1 * width, column + r2 * width, column + r3 * width
            a, b, c, d = a + load(gradient, w), b + load(gradient, w1), c + load(gradient, w2), d + load(gradient, w3)
            store(gradient, w, a)
            store(gradient, w1, b)
            store(gradient, w2, c)
            store(gradient, w3, d)


@part
def first_layer_gradient(structure, first, last, offsets, u, du, gradient):  # type: ignore[no-untyped-def]
    """Turn rows first to last - 1 of du from gradients of outputs into those of arguments; add the gradients of b1."""
    for unit in range(first, last):
        uk = load(u, unit)
        z = load(du, unit) * (_ONE - uk * uk) * structure.contrast1
        store(du, unit, z)
        gradient[offsets[1] + unit] += lane_sum(z)
