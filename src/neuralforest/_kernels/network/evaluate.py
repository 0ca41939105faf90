"""Evaluation of soft networks: predictions of rows, and losses of validation rows."""

import numpy as np

from neuralforest._kernels.barrier import Team
from neuralforest._kernels.jit import invert_none, kernel, part
from neuralforest._kernels.network import output
from neuralforest._kernels.network.arguments import Weights, compiled_offsets, middle_of
from neuralforest._kernels.network.epoch import EVALUATE, forward_subnetwork, gather_rows, train_epoch
from neuralforest._kernels.simd import SIMD_WIDTH

CHUNKS = 4
"""Chunks of 32 rows that all subnetworks predict before the next ones are copied."""
PARTS = 8
"""A subnetwork's validation rows are summed in this many fixed parts, so that sums do not depend on the threads.

Threads share the parts of a single subnetwork. Of several subnetworks, two parts are in use: the halves of the rows.
"""


@part
def _rows_of_chunk(first, end, rows):  # type: ignore[no-untyped-def]
    """Fill `rows` with 32 numbers from `first` on; those beyond the end repeat the last."""
    for lane in range(len(rows)):
        rows[lane] = min(first + lane, end - 1)


@kernel
def add_predictions(structure, parameters, subnetworks, X, center, scale, scratch, tiles, counters, out):  # type: ignore[no-untyped-def]
    """Add center + scale * prediction of each of the given subnetworks to `out` (rows, outputs), for the rows of X.

    `center` and `scale` have shape (all subnetworks, outputs). Buffers must be those for CHUNKS threads.
    """
    zero, one, n = np.int64(0), np.int64(1), len(X)  # not literals, for which everything would be compiled once more
    rows, is_sparse, team = np.empty(SIMD_WIDTH, np.int64), invert_none(tiles), Team(zero, one, counters)
    prediction = np.empty((structure.n_outputs, SIMD_WIDTH), np.float32)
    for block in range(zero, n, CHUNKS * SIMD_WIDTH):
        stop = min(block + CHUNKS * SIMD_WIDTH, n)
        for start in range(block, stop, SIMD_WIDTH):
            _rows_of_chunk(start, n, rows)
            gather_rows(structure, X, rows, scratch, tiles, (start - block) // SIMD_WIDTH * 2 * structure.n_columns)
        for s in subnetworks:
            offsets, shift = compiled_offsets(structure, s), structure.first_parameter[s]
            p, n_trees = parameters[shift : shift + offsets[6]], structure.first_tree[s + 1] - structure.first_tree[s]
            for start in range(block, stop, SIMD_WIDTH):
                x0 = (start - block) // SIMD_WIDTH * 2 * structure.n_columns
                _rows_of_chunk(start, n, rows)
                forward_subnetwork(structure, s, offsets, p, X, rows, x0, scratch, tiles, is_sparse, zero, team)
                output.combine(structure, n_trees, scratch.score, zero, prediction)
                for i in range(start, min(start + SIMD_WIDTH, stop)):
                    for o in range(structure.n_outputs):
                        out[i, o] += center[s, o] + scale[s, o] * np.float64(prediction[o, i - start])


def add_losses(structure, rows, parameters, plan, scratch, tiles, subnetworks, part0, part1, counters, sums):  # type: ignore[no-untyped-def]
    """Fill sums[subnetwork, part] with the weighted loss of parts part0 to part1 - 1 of each subnetwork's rows.

    This calls the training kernel, because a second kernel would take as long to compile.
    """
    n = rows.end - rows.begin
    parts = np.arange(PARTS + 1)[:, None]
    halves = np.minimum(middle_of(0, n) * parts, n)
    cuts = halves if len(n) > 1 else np.minimum(-(-n // SIMD_WIDTH) * parts // PARTS * SIMD_WIDTH, n)
    weights = Weights(parameters, parameters, parameters, parameters, np.zeros(len(n), np.int64))
    for number in range(part0, part1):
        begin, end, loss = rows.begin + cuts[number], rows.begin + cuts[number + 1], np.zeros(len(n))
        if (end > begin).any():
            train_epoch(
                structure, rows._replace(begin=begin, end=end), weights, plan, scratch, tiles, subnetworks,
                0, EVALUATE, 0.0, 0.0, loss, 0, 1, counters,
            )  # fmt: skip
        sums[subnetworks, number] = loss[subnetworks]
