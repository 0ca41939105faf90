"""Soft networks evaluated: predictions of rows, and losses of validation rows."""

import numpy as np

from neuralforest._kernels import output
from neuralforest._kernels._jit import kernel
from neuralforest._kernels.arguments import layer_offsets
from neuralforest._kernels.epoch import fill_batch, forward_block
from neuralforest._kernels.lanes import LANES
from neuralforest._kernels.losses import batch_loss

PARTS = 8
"""A block's validation rows are summed in this many parts, always the same, whoever computes them."""


@kernel
def add_predictions(structure, parameters, blocks, X, center, scale, scratch, tiles, counters, out):  # type: ignore[no-untyped-def]
    """Add center + scale * prediction of each of the given blocks to `out` (rows, outputs), for the rows of X."""
    zero, one = np.int64(0), np.int64(1)  # not literals: those would compile everything once more
    batch = np.empty(LANES, np.int64)
    prediction = np.empty((structure.n_outputs, LANES), np.float32)
    for block in blocks:
        offsets = layer_offsets(structure, block)
        shift = structure.first_parameter[block]
        p = parameters[shift : shift + offsets[6]]
        n_trees = structure.block_tree[block + 1] - structure.block_tree[block]
        for start in range(0, len(X), LANES):
            stop = min(start + LANES, len(X))
            for lane in range(LANES):
                batch[lane] = min(start + lane, stop - 1)
            forward_block(structure, block, offsets, p, X, batch, scratch, tiles, zero, zero, one, counters)
            output.combine(structure, n_trees, scratch.score, zero, prediction)
            for i in range(start, stop):
                for o in range(structure.n_outputs):
                    out[i, o] += center[o] + scale[o] * np.float64(prediction[o, i - start])


@kernel
def add_losses(structure, rows, parameters, plan, scratch, tiles, blocks, part0, part1, counters, sums):  # type: ignore[no-untyped-def]
    """Fill sums[block, part] with the weighted loss of parts part0 to part1 - 1 of each block's rows."""
    zero, one = np.int64(0), np.int64(1)  # not literals: those would compile everything once more
    batch = np.empty(LANES, np.int64)
    weight = np.empty(LANES, np.float32)
    shape = structure.n_outputs, LANES
    target, prediction, slope = np.empty(shape, np.float32), np.empty(shape, np.float32), np.empty(shape, np.float32)
    for block in blocks:
        offsets = layer_offsets(structure, block)
        shift = structure.first_parameter[block]
        p = parameters[shift : shift + offsets[6]]
        n_trees = structure.block_tree[block + 1] - structure.block_tree[block]
        n = rows.end[block] - rows.begin[block]
        chunks = (n + LANES - 1) // LANES
        order = np.arange(rows.begin[block], rows.end[block])
        for part in range(part0, part1):
            sums[block, part] = 0.0
            last = min(chunks * (part + 1) // PARTS * LANES, n)
            for start in range(chunks * part // PARTS * LANES, last, LANES):
                fill_batch(rows, order, start, min(start + LANES, last), batch, weight, target)
                forward_block(structure, block, offsets, p, rows.X, batch, scratch, tiles, zero, zero, one, counters)
                output.combine(structure, n_trees, scratch.score, zero, prediction)
                sums[block, part] += batch_loss(plan.loss, plan.loss_parameter, prediction, target, weight, one, slope)
