"""The hidden layers of a block with full connectivity: small matrix products over 32 rows, four units at a time.

Several threads may share a block. Each has its own splits and its own leaves, and meets the others where it needs
theirs.
"""

import numpy as np

from neuralforest._kernels._jit import part
from neuralforest._kernels.activations import tanh
from neuralforest._kernels.lanes import LANES, fill, load, multiply_add, store, total, where_missing

_ONE, _ZERO = np.float32(1.0), np.float32(0.0)
_TILE = 16  # rows of a matrix whose cache lines are used up before the next are touched


@part
def gather(X, batch, x, first, n_features):  # type: ignore[no-untyped-def]
    """Fill rows `first` on of x with the 32 rows of `batch` as they are, and behind them with 0 for what is missing."""
    for lane in range(LANES):
        for feature in range(n_features):
            x[first + feature, lane] = X[batch[lane], feature]
    for feature in range(first, first + n_features):
        xf = load(x, feature)
        store(x, n_features + feature, where_missing(xf, _ZERO, xf))


@part
def affine(p, weight, bias, width, first, last, source, origin, target):  # type: ignore[no-untyped-def]
    """Fill rows first to last - 1 of `target` with W @ source + b; W has `width` columns, source starts at `origin`."""
    r = first
    while r + 4 <= last:
        w = weight + r * width
        a, b, c, d = fill(p[bias + r]), fill(p[bias + r + 1]), fill(p[bias + r + 2]), fill(p[bias + r + 3])
        for j in range(width):
            s = load(source, origin + j)
            a = multiply_add(s, p[w + j], a)
            b = multiply_add(s, p[w + width + j], b)
            c = multiply_add(s, p[w + 2 * width + j], c)
            d = multiply_add(s, p[w + 3 * width + j], d)
        store(target, r, a)
        store(target, r + 1, b)
        store(target, r + 2, c)
        store(target, r + 3, d)
        r += 4
    while r < last:
        w = weight + r * width
        a = fill(p[bias + r])
        for j in range(width):
            a = multiply_add(load(source, origin + j), p[w + j], a)
        store(target, r, a)
        r += 1


@part
def first_layer(structure, first_tree, first, last, offsets, p, x, x0, u):  # type: ignore[no-untyped-def]
    """Fill rows first to last - 1 of u with the outputs of layer 1; x0 is where the gathered rows begin."""
    n_features = structure.n_features
    affine(p, offsets[0], offsets[1], n_features, first, last, x, x0 + n_features, u)
    origin = structure.first_split[first_tree]
    for unit in range(first, last):
        own = load(x, x0 + structure.feature[origin + unit])
        store(u, unit, where_missing(own, structure.missing[origin + unit], tanh(load(u, unit) * structure.contrast1)))


@part
def second_layer(structure, n_splits, first, last, offsets, p, u, h):  # type: ignore[no-untyped-def]
    """Fill rows first to last - 1 of h with the outputs of layer 2."""
    affine(p, offsets[2], offsets[3], n_splits, first, last, u, np.int64(0), h)
    for leaf in range(first, last):
        store(h, leaf, tanh(load(h, leaf) * structure.contrast2))


@part
def pull_back(p, weight, width, first, last, slope, n_rows, target):  # type: ignore[no-untyped-def]
    """Fill rows first to last - 1 of `target` with those rows of W.T @ slope; W has shape (n_rows, width)."""
    for j in range(first, last):
        store(target, j, fill(_ZERO))
    for tile in range(0, n_rows, _TILE):
        tile_end = min(tile + _TILE, n_rows)
        j = first
        while j + 4 <= last:
            a, b, c, d = load(target, j), load(target, j + 1), load(target, j + 2), load(target, j + 3)
            for r in range(tile, tile_end):
                s = load(slope, r)
                w = weight + r * width + j
                a = multiply_add(s, p[w], a)
                b = multiply_add(s, p[w + 1], b)
                c = multiply_add(s, p[w + 2], c)
                d = multiply_add(s, p[w + 3], d)
            store(target, j, a)
            store(target, j + 1, b)
            store(target, j + 2, c)
            store(target, j + 3, d)
            j += 4
        while j < last:
            a = load(target, j)
            for r in range(tile, tile_end):
                a = multiply_add(load(slope, r), p[weight + r * width + j], a)
            store(target, j, a)
            j += 1


@part
def transpose(source, origin, n, target, target0):  # type: ignore[no-untyped-def]
    """Turn n rows of `source` into tiles of 32 x 32: a row of `target` holds 32 rows of one lane; 0 beyond the last."""
    for tile in range(0, n, LANES):
        for lane in range(LANES):
            for j in range(LANES):
                row = tile + j
                target[target0 + tile + lane, j] = source[origin + row, lane] if row < n else _ZERO


@part
def _add_tile(vector, gradient, position, n, spare, spare_row):  # type: ignore[no-untyped-def]
    """Add the first n lanes of a vector to the gradient; what stands behind them may be another thread's."""
    if n >= LANES:
        store(gradient, position, load(gradient, position) + vector)
    else:
        store(spare, spare_row, vector)
        for j in range(n):
            gradient[position + j] += spare[spare_row, j]


@part
def add_outer(slope, first, last, transposed, tile0, width, gradient, weight):  # type: ignore[no-untyped-def]
    """Add slope @ source.T, rows first to last - 1, to the gradient of a matrix with `width` columns."""
    spare = tile0 + (width + LANES - 1) // LANES * LANES
    r = first
    while r + 2 <= last:
        w = weight + r * width
        for tile in range(0, width, LANES):
            a, b = fill(_ZERO), fill(_ZERO)
            for lane in range(LANES):
                s = load(transposed, tile0 + tile + lane)
                a = multiply_add(s, slope[r, lane], a)
                b = multiply_add(s, slope[r + 1, lane], b)
            _add_tile(a, gradient, w + tile, width - tile, transposed, spare)
            _add_tile(b, gradient, w + width + tile, width - tile, transposed, spare)
        r += 2
    if r < last:
        w = weight + r * width
        for tile in range(0, width, LANES):
            a = fill(_ZERO)
            for lane in range(LANES):
                a = multiply_add(load(transposed, tile0 + tile + lane), slope[r, lane], a)
            _add_tile(a, gradient, w + tile, width - tile, transposed, spare)


@part
def layer_one_slopes(structure, first, last, offsets, u, du, gradient):  # type: ignore[no-untyped-def]
    """Turn rows first to last - 1 of du from slopes of outputs into slopes of arguments; add those of b1."""
    for unit in range(first, last):
        uk = load(u, unit)
        z = load(du, unit) * (_ONE - uk * uk) * structure.contrast1
        store(du, unit, z)
        gradient[offsets[1] + unit] += total(z)
