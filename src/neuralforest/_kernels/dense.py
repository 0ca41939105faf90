"""The hidden layers of a block with full connectivity: small matrix products over 32 rows, four units at a time.

Several threads may share a block. Each has its own splits and its own leaves, and meets the others where it needs
theirs.
"""

import numpy as np

from neuralforest._kernels._jit import part
from neuralforest._kernels.activations import tanh
from neuralforest._kernels.lanes import LANES, fill, load, multiply_add, store, total, where_missing

_ONE, _ZERO = np.float32(1.0), np.float32(0.0)
_U = np.uint64  # of an index in an inner loop: a signed one is checked for being negative
_TILE = 16  # rows of a matrix whose cache lines are used up before the next are touched
_STRETCH = 1024  # parameters that are moved in one go, while their gradient is at hand
ABREAST = 4
"""Units that are computed together, so that a number that was read serves four times."""


@part
def rows_abreast(width):  # type: ignore[no-untyped-def]
    """Return how many rows of a matrix are handled in one go, always a multiple of ABREAST."""
    return (1 + _STRETCH // (ABREAST * width + 1)) * ABREAST


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
    """Fill rows first to last - 1 of `target` with W @ source + b; W has `width` columns, source starts at `origin`."""
    n, x = _U(width), _U(origin)
    r = first
    while r + ABREAST <= last:
        a, b, c, d = fill(p[bias + r]), fill(p[bias + r + 1]), fill(p[bias + r + 2]), fill(p[bias + r + 3])
        w = _U(weight + r * width)
        for j in range(n):
            s = load(source, x + j)
            a = multiply_add(s, p[w + j], a)
            b = multiply_add(s, p[w + n + j], b)
            c = multiply_add(s, p[w + n + n + j], c)
            d = multiply_add(s, p[w + n + n + n + j], d)
        store(target, r, a)
        store(target, r + 1, b)
        store(target, r + 2, c)
        store(target, r + 3, d)
        r += ABREAST
    while r < last:
        a, w = fill(p[bias + r]), _U(weight + r * width)
        for j in range(n):
            a = multiply_add(load(source, x + j), p[w + j], a)
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
    n, one = _U(width), _U(1)
    for tile in range(0, n_rows, _TILE):
        begin, end = _U(tile), _U(min(tile + _TILE, n_rows))
        j = first
        while j + ABREAST <= last:
            a, b, c, d = load(target, j), load(target, j + 1), load(target, j + 2), load(target, j + 3)
            w = _U(weight + j)
            for r in range(begin, end):
                s = load(slope, r)
                a = multiply_add(s, p[w + r * n], a)
                b = multiply_add(s, p[w + r * n + one], b)
                c = multiply_add(s, p[w + r * n + one + one], c)
                d = multiply_add(s, p[w + r * n + one + one + one], d)
            store(target, j, a)
            store(target, j + 1, b)
            store(target, j + 2, c)
            store(target, j + 3, d)
            j += ABREAST
        while j < last:
            a, w = load(target, j), _U(weight + j)
            for r in range(begin, end):
                a = multiply_add(load(slope, r), p[w + r * n], a)
            store(target, j, a)
            j += 1


@part
def first_tile(structure, n_splits, worker):  # type: ignore[no-untyped-def]
    """Return where a worker's own tiles begin."""
    longest = n_splits if n_splits > structure.n_features else structure.n_features
    return worker * (longest + 2 * LANES)


@part
def transpose(source, origin, n, target, target0):  # type: ignore[no-untyped-def]
    """Turn n rows of `source`, if they are 32 or more, into tiles: target[32 * tile + lane] holds 32 rows of one lane.

    The last tile may begin before the one before it ends; then the rows that both would hold are 0 in the last.
    """
    for tile in range(0, n if n >= LANES else 0, LANES):
        row = min(tile, n - LANES)
        for lane in range(LANES):
            for j in range(_U(target.shape[1])):
                target[target0 + tile + lane, j] = source[_U(origin + row) + j, lane]
            for j in range(tile - row):
                target[target0 + tile + lane, j] = _ZERO


@part
def add_outer(slope, first, last, source, origin, transposed, tile0, width, gradient, weight):  # type: ignore[no-untyped-def]
    """Add slope @ source.T, rows first to last - 1, to the gradient: `width` columns, the first row at `weight`."""
    few = width if width < LANES else 0
    for r in range(first, last if few else first):
        s, w = load(slope, r), _U(weight + (r - first) * width)
        for j in range(_U(few)):
            gradient[w + j] += total(s * load(source, _U(origin) + j))
    for tile in range(0, width - few, LANES):
        w = weight + min(tile, width - LANES)
        r = first
        while r + ABREAST <= last:
            a, b, c, d = fill(_ZERO), fill(_ZERO), fill(_ZERO), fill(_ZERO)
            for lane in range(LANES):
                s = load(transposed, tile0 + tile + lane)
                a = multiply_add(s, slope[r, lane], a)
                b = multiply_add(s, slope[r + 1, lane], b)
                c = multiply_add(s, slope[r + 2, lane], c)
                d = multiply_add(s, slope[r + 3, lane], d)
            store(gradient, w, load(gradient, w) + a)
            store(gradient, w + width, load(gradient, w + width) + b)
            store(gradient, w + 2 * width, load(gradient, w + 2 * width) + c)
            store(gradient, w + 3 * width, load(gradient, w + 3 * width) + d)
            w += ABREAST * width
            r += ABREAST
        while r < last:
            a = fill(_ZERO)
            for lane in range(LANES):
                a = multiply_add(load(transposed, tile0 + tile + lane), slope[r, lane], a)
            store(gradient, w, load(gradient, w) + a)
            w += width
            r += 1


@part
def layer_one_slopes(structure, first, last, offsets, u, du, gradient):  # type: ignore[no-untyped-def]
    """Turn rows first to last - 1 of du from slopes of outputs into slopes of arguments; add those of b1."""
    for unit in range(first, last):
        uk = load(u, unit)
        z = load(du, unit) * (_ONE - uk * uk) * structure.contrast1
        store(du, unit, z)
        gradient[offsets[1] + unit] += total(z)
