"""The hidden layers of a subnetwork with full connectivity: small matrix products over 32 rows, four units at a time.

Several threads may share a subnetwork. Each has its own splits and its own leaves, and meets the others where it needs
theirs.
"""

import numpy as np

from neuralforest._kernels.jit import part
from neuralforest._kernels.network.activations import tanh_of_rows
from neuralforest._kernels.simd import SIMD_WIDTH, fill, load, multiply_add, store, total, where_missing

_ONE, _ZERO = np.float32(1.0), np.float32(0.0)
_U = np.uint64  # of an index in an inner loop: a signed one is checked for being negative
_TILE = 16  # rows of a matrix whose cache lines are used up before the next are touched
_STRETCH = 1024  # parameters that are moved in one go, while their gradient is at hand
UNROLL = 4
"""Units that are computed together, so that a number that was read serves four times."""


@part
def rows_per_step(width):  # type: ignore[no-untyped-def]
    """Return how many rows of a matrix are handled in one go, always a multiple of UNROLL."""
    return (1 + _STRETCH // (UNROLL * width + 1)) * UNROLL


@part
def gather(X, batch, x, first, n_features):  # type: ignore[no-untyped-def]
    """Fill rows `first` on of x with the 32 rows of `batch` as they are, then once more with 0 for missing values."""
    for feature in range(n_features):
        for lane in range(len(batch)):
            x[first + feature, lane] = X[batch[lane], feature]
        xf = load(x, first + feature)
        store(x, first + n_features + feature, where_missing(xf, _ZERO, xf))


@part
def affine(p, weight, bias, width, first, last, source, origin, target):  # type: ignore[no-untyped-def]
    """Fill rows first to last - 1 of `target` with W @ source + b; W has `width` columns, source starts at `origin`.

    Four rows at a time; where fewer are left, the last one takes the place of those that are not there.
    """
    for r in range(first, last, UNROLL):
        r1, r2, r3 = min(r + 1, last - 1), min(r + 2, last - 1), min(r + 3, last - 1)
        w, n = _U(weight), _U(width)
        a, b, c, d = fill(p[bias + r]), fill(p[bias + r1]), fill(p[bias + r2]), fill(p[bias + r3])
        for j in range(n):
            s = load(source, _U(origin) + j)
            a = multiply_add(s, p[w + _U(r) * n + j], a)
            b = multiply_add(s, p[w + _U(r1) * n + j], b)
            c = multiply_add(s, p[w + _U(r2) * n + j], c)
            d = multiply_add(s, p[w + _U(r3) * n + j], d)
        store(target, r, a)
        store(target, r1, b)
        store(target, r2, c)
        store(target, r3, d)


@part
def first_layer(structure, first_tree, first, last, offsets, p, x, x0, u):  # type: ignore[no-untyped-def]
    """Fill rows first to last - 1 of u with the outputs of layer 1; x0 is where the gathered rows begin."""
    n_features = structure.n_features
    affine(p, offsets[0], offsets[1], n_features, first, last, x, x0 + n_features, u)
    tanh_of_rows(u, first, last, structure.contrast1)
    origin = structure.first_split[first_tree]
    for unit in range(first, last):
        own = load(x, x0 + structure.feature[origin + unit])
        store(u, unit, where_missing(own, structure.missing[origin + unit], load(u, unit)))


@part
def second_layer(structure, n_splits, first, last, offsets, p, u, h):  # type: ignore[no-untyped-def]
    """Fill rows first to last - 1 of h with the outputs of layer 2."""
    affine(p, offsets[2], offsets[3], n_splits, first, last, u, np.int64(0), h)
    tanh_of_rows(h, first, last, structure.contrast2)


@part
def input_gradient(p, weight, width, first, last, slope, n_rows, target):  # type: ignore[no-untyped-def]
    """Fill rows first to last - 1 of `target` with those rows of W.T @ slope; W has shape (n_rows, width)."""
    for j in range(first, last):
        store(target, j, fill(_ZERO))
    for tile in range(0, n_rows, _TILE):
        begin, end = _U(tile), _U(min(tile + _TILE, n_rows))
        for j in range(first, last, UNROLL):  # four at a time, as in `affine`
            j1, j2, j3 = min(j + 1, last - 1), min(j + 2, last - 1), min(j + 3, last - 1)
            w, w1, w2, w3 = _U(weight + j), _U(weight + j1), _U(weight + j2), _U(weight + j3)
            a, b, c, d = load(target, j), load(target, j1), load(target, j2), load(target, j3)
            for r in range(begin, end):
                s = load(slope, r)
                a = multiply_add(s, p[w + r * _U(width)], a)
                b = multiply_add(s, p[w1 + r * _U(width)], b)
                c = multiply_add(s, p[w2 + r * _U(width)], c)
                d = multiply_add(s, p[w3 + r * _U(width)], d)
            store(target, j, a)
            store(target, j1, b)
            store(target, j2, c)
            store(target, j3, d)


@part
def first_tile(structure, n_splits, worker):  # type: ignore[no-untyped-def]
    """Return where a worker's own tiles begin."""
    longest = n_splits if n_splits > structure.n_features else structure.n_features
    return worker * (longest + 2 * SIMD_WIDTH)


@part
def transpose(source, origin, n, target, target0):  # type: ignore[no-untyped-def]
    """Turn n rows of `source`, if they are 32 or more, into tiles: target[32 * tile + lane] holds 32 rows of one lane.

    The last tile may begin before the one before it ends; then the rows that both would hold are 0 in the last.
    """
    for tile in range(0, n if n >= SIMD_WIDTH else 0, SIMD_WIDTH):
        row = min(tile, n - SIMD_WIDTH)
        for lane in range(target.shape[1]):
            for j in range(SIMD_WIDTH):
                target[target0 + tile + lane, j] = source[_U(origin + row) + _U(j), lane]
            for j in range(tile - row):
                target[target0 + tile + lane, j] = _ZERO


@part
def add_weight_gradient(slope, first, last, source, origin, transposed, tile0, width, gradient, weight):  # type: ignore[no-untyped-def]
    """Add slope @ source.T, rows first to last - 1, to the gradient: `width` columns, the first row at `weight`."""
    few = width if width < SIMD_WIDTH else 0
    for r in range(first, last if few else first):
        s, w = load(slope, r), _U(weight + (r - first) * width)
        for j in range(_U(few)):
            gradient[w + j] += total(s * load(source, _U(origin) + j))
    for tile in range(0, width - few, SIMD_WIDTH):
        column = weight - first * width + min(tile, width - SIMD_WIDTH)
        for r in range(first, last, UNROLL):  # four at a time, as in `affine`
            r1, r2, r3 = min(r + 1, last - 1), min(r + 2, last - 1), min(r + 3, last - 1)
            a, b, c, d = fill(_ZERO), fill(_ZERO), fill(_ZERO), fill(_ZERO)
            for lane in range(slope.shape[1]):
                s = load(transposed, tile0 + tile + lane)
                a = multiply_add(s, slope[r, lane], a)
                b = multiply_add(s, slope[r1, lane], b)
                c = multiply_add(s, slope[r2, lane], c)
                d = multiply_add(s, slope[r3, lane], d)
            w, w1, w2, w3 = column + r * width, column + r1 * width, column + r2 * width, column + r3 * width
            a, b, c, d = a + load(gradient, w), b + load(gradient, w1), c + load(gradient, w2), d + load(gradient, w3)
            store(gradient, w, a)
            store(gradient, w1, b)
            store(gradient, w2, c)
            store(gradient, w3, d)


@part
def first_layer_gradient(structure, first, last, offsets, u, du, gradient):  # type: ignore[no-untyped-def]
    """Turn rows first to last - 1 of du from slopes of outputs into slopes of arguments; add those of b1."""
    for unit in range(first, last):
        uk = load(u, unit)
        z = load(du, unit) * (_ONE - uk * uk) * structure.contrast1
        store(du, unit, z)
        gradient[offsets[1] + unit] += total(z)
