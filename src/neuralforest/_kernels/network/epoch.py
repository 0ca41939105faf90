"""One pass over the training rows: shuffle, then forward, loss, backward and Adam for every minibatch.

A minibatch is processed in chunks of 32 rows; the lanes of a last, shorter chunk repeat its last row with weight 0.
Threads may share a subnetwork (joint training): each has its own trees, or in the hidden layers of a full network its
own groups of units, and waits for the others at a barrier. The arithmetic of a number does not depend on the number of
threads, so neither does the result.
"""

from typing import Any, NamedTuple

import numpy as np

from neuralforest._kernels.barrier import Team, wait
from neuralforest._kernels.jit import invert_none, kernel, part
from neuralforest._kernels.network import dense, output, sparse
from neuralforest._kernels.network.adam import adam, column_sum, project
from neuralforest._kernels.network.arguments import compiled_offsets
from neuralforest._kernels.network.losses import batch_loss
from neuralforest._kernels.network.shuffle import shuffle
from neuralforest._kernels.simd import SIMD_WIDTH, lane_sum, load

EVALUATE = -1
"""In place of the number of an epoch: compute the loss and train nothing."""


class Chunk(NamedTuple):
    """At most 32 rows of a minibatch, one per SIMD lane."""

    row: Any  # int64 (SIMD_WIDTH,): positions in X and y
    weight: Any  # float32 (SIMD_WIDTH,)
    target: Any  # float32 (outputs, SIMD_WIDTH)
    prediction: Any  # float32 (outputs, SIMD_WIDTH)
    grad: Any  # float32 (outputs, SIMD_WIDTH): of the loss w.r.t. the prediction
    score_grad: Any  # float32 (outputs, SIMD_WIDTH): of the loss w.r.t. the score of one tree


@part
def _fill_chunk(rows, entries, first, last, chunk):  # type: ignore[no-untyped-def]
    """Copy rows entries[first:last] (at most 32) into the lanes; further lanes repeat the last row with weight 0."""
    for lane in range(len(chunk.row)):
        entry = entries[min(first + lane, last - 1)]
        chunk.row[lane] = rows.row[entry]
        chunk.weight[lane] = rows.weight[entry] if first + lane < last else np.float32(0.0)
        for o in range(len(chunk.target)):
            chunk.target[o, lane] = rows.y[chunk.row[lane], o]


@part
def _fill_order(order, begin, training, seed, epoch, subnetwork):  # type: ignore[no-untyped-def]
    """Fill `order` with the entries of a subnetwork, which start at `begin`: shuffled for training."""
    if training:
        shuffle(order, seed, epoch, subnetwork)
    for i in range(len(order)):
        order[i] = begin + (order[i] if training else i)


@part
def _range_of(n, team, multiple):  # type: ignore[no-untyped-def]
    """Return the first and the last + 1 of a worker's units, out of n, in groups of `multiple` units."""
    groups, worker, workers = (n + multiple - 1) // multiple, team.worker, team.workers
    first, last = groups * worker // workers * multiple, groups * (worker + 1) // workers * multiple
    return first, last if last < n else n


@part
def _shape(structure, subnetwork):  # type: ignore[no-untyped-def]
    """Return the first tree of a subnetwork, and its numbers of trees, splits and leaves."""
    first, last = structure.first_tree[subnetwork], structure.first_tree[subnetwork + 1]
    n_splits = structure.first_split[last] - structure.first_split[first]
    return first, last - first, n_splits, structure.first_leaf[last] - structure.first_leaf[first]


@part
def gather_rows(structure, X, rows, scratch, tiles, x0):  # type: ignore[no-untyped-def]
    """Copy 32 rows of X to scratch.x, from its row x0 on, for full connectivity; see `Tiles` for a None."""
    if tiles is not None:
        dense.gather(X, rows, scratch.x, x0, structure.n_columns)


@part
def forward_subnetwork(structure, subnetwork, offsets, p, X, rows, x0, scratch, tiles, is_sparse, half, team):  # type: ignore[no-untyped-def]
    """Fill the scores of this worker's trees for 32 rows of X, which `gather_rows` has copied to x0."""
    first_tree, n_trees, n_splits, n_leaves = _shape(structure, subnetwork)
    if tiles is not None:
        wait(team)  # until now others may have updated w1, or read u
        first, last = _range_of(n_splits, team, dense.UNROLL)
        dense.first_layer(structure, first_tree, first, last, offsets, p, scratch.x, x0, scratch.u)
        wait(team)
        first, last = _range_of(n_leaves, team, dense.rows_per_step(n_splits))
        dense.second_layer(structure, n_splits, first, last, offsets, p, scratch.u, scratch.h)
        wait(team)
    begin, end = _range_of(n_trees, team, 1)
    for tree in range(first_tree + begin, first_tree + end):
        if is_sparse is not None:
            sparse.forward(structure, first_tree, tree, offsets, p, X, rows, scratch)
        output.forward(structure, first_tree, tree, offsets, p, scratch.h, scratch.score, half)


@part
def _backward_subnetwork(structure, subnetwork, offsets, p, scratch, tiles, is_sparse, half, chunk, team):  # type: ignore[no-untyped-def]
    """Add the gradients of this worker's trees, given that of the prediction; except those of a full w2."""
    first_tree, n_trees, n_splits, n_leaves = _shape(structure, subnetwork)
    begin, end = _range_of(n_trees, team, 1)
    for tree in range(first_tree + begin, first_tree + end):
        output.score_gradient(structure, n_trees, tree - first_tree, scratch.score, half, chunk.grad, chunk.score_grad)
        output.backward(structure, first_tree, tree, offsets, p, scratch.h, chunk.score_grad, scratch.gradient)
        if is_sparse is not None:
            sparse.backward(structure, first_tree, tree, offsets, p, scratch)
    if tiles is not None:
        wait(team)
        first, last = _range_of(n_splits, team, dense.UNROLL)
        dense.input_gradient(p, offsets[2], n_splits, first, last, scratch.h, n_leaves, tiles.du)
        dense.first_layer_gradient(structure, first, last, offsets, scratch.u, tiles.du, scratch.gradient)
        n, x0 = structure.n_columns, (2 * team.worker + 1) * structure.n_columns
        t0 = dense.first_tile(structure, n_splits, team.worker)
        dense.transpose(scratch.x, x0, n, tiles.transposed, t0)
        w1 = offsets[0] + first * n
        dense.add_weight_gradient(tiles.du, first, last, scratch.x, x0, tiles.transposed, t0, n, scratch.gradient, w1)
        dense.transpose(scratch.u, np.int64(0), n_splits, tiles.transposed, t0)
        wait(team)


@part
def _update_full_w2(structure, subnetwork, offsets, weights, scratch, tiles, plan, factor, step, chunks, team):  # type: ignore[no-untyped-def]
    """Add the gradients of this worker's rows of a full w2, and update them when the minibatch is complete.

    A few rows at a time: neither the matrix nor its gradient fits into the cache. `chunks` is whether this is the only
    chunk of its minibatch, and whether it is the last. The gradient of an only chunk is never written to memory: the
    next rows reuse its place.
    """
    _, _, n_splits, n_leaves = _shape(structure, subnetwork)
    (only, complete), n_rows = chunks, dense.rows_per_step(n_splits)
    first, last = _range_of(n_leaves, team, n_rows)
    t0 = dense.first_tile(structure, n_splits, team.worker)
    rate, shift = plan.rates[1] * factor, structure.first_parameter[subnetwork]
    r = first
    while r < last:
        end = r + n_rows if r + n_rows < last else last
        start = offsets[2] + (first if only else r) * n_splits
        stop = start + (end - r) * n_splits
        dense.add_weight_gradient(
            scratch.h, r, end, scratch.u, np.int64(0), tiles.transposed, t0, n_splits, scratch.gradient, start
        )
        moved = shift + (r - first if only else 0) * n_splits
        adam(weights, scratch.gradient, moved, start, stop if complete else start, rate, step, plan, plan.weight_decay)
        r = end


@part
def _update_subnetwork(structure, subnetwork, offsets, weights, scratch, plan, factor, step, sums, team):  # type: ignore[no-untyped-def]
    """Update the parameters of this worker's trees with Adam; except a full w2.

    Tree by tree: a number at the end of a slice may be rounded differently from one in its middle, so the slices must
    not depend on the number of workers.
    """
    first_tree, n_trees, _, _ = _shape(structure, subnetwork)
    begin, end = _range_of(n_trees, team, 1)
    w1, b1, w2, b2, w_out, b_out, _ = offsets
    split0, leaf0 = structure.first_split[first_tree], structure.first_leaf[first_tree]
    outputs = structure.n_outputs
    shift, p = structure.first_parameter[subnetwork], weights.parameters
    for tree in range(first_tree + begin, first_tree + end):
        s0, s1 = structure.first_split[tree] - split0, structure.first_split[tree + 1] - split0
        l0, l1 = structure.first_leaf[tree] - leaf0, structure.first_leaf[tree + 1] - leaf0
        i0, i1 = s0 * structure.n_columns, s1 * structure.n_columns
        if not structure.full:  # a split by category has several inputs
            weight0 = structure.first_weight[split0]
            i0, i1 = structure.first_weight[split0 + s0] - weight0, structure.first_weight[split0 + s1] - weight0
        c0 = structure.first_connection[split0 + s0] - structure.first_connection[split0]
        c1 = c0 if structure.full else structure.first_connection[split0 + s1] - structure.first_connection[split0]
        o0, o1, bias = w_out + l0 * outputs, w_out + l1 * outputs, b_out + (tree - first_tree) * outputs
        for o in range(outputs):
            sums[o] = column_sum(p, shift + o0 + o, shift + o1, outputs)
        for layer in range(6):
            if layer == 0:
                start, stop = w1 + i0, w1 + i1
            elif layer == 1:
                start, stop = b1 + s0, b1 + s1
            elif layer == 2:
                start, stop = w2 + c0, w2 + c1
            elif layer == 3:
                start, stop = b2 + l0, b2 + l1
            else:
                start, stop = (o0, o1) if layer == 4 else (bias, bias + outputs)
            decay = plan.weight_decay if layer < 5 else 0.0
            adam(weights, scratch.gradient, shift, start, stop, plan.rates[layer // 2] * factor, step, plan, decay)
        for o in range(outputs):  # the stored offset is b_out - sum(w_out)
            p[shift + bias + o] += np.float32(sums[o] - column_sum(p, shift + o0 + o, shift + o1, outputs))


@part
def _project(weight_bound, p, offsets, n_outputs):  # type: ignore[no-untyped-def]
    """Project the weights of a subnetwork onto the theory's bound, if there is one."""
    if weight_bound is not None:
        project(p, offsets, n_outputs, weight_bound * (offsets[4] - offsets[3]))


@kernel
def train_epoch(  # type: ignore[no-untyped-def]
    structure,
    rows,
    weights,
    plan,
    scratch,
    tiles,
    subnetworks,
    seed,
    epoch,
    rate0,
    rate1,
    loss,
    worker,
    workers,
    counters,
):
    """Train the given subnetworks for one epoch; learning rates are multiplied by rate0 at its start, rate1 at its end.

    `loss` (all subnetworks,) receives the mean training loss of each, measured during the epoch. With EVALUATE for an
    epoch, rows are taken in their order, nothing is trained, and `loss` receives sums.
    """
    training, is_sparse, n_outputs, X = epoch != EVALUATE, invert_none(tiles), structure.n_outputs, rows.X
    team, sums, shape = Team(worker, workers, counters), np.empty(n_outputs), (n_outputs, SIMD_WIDTH)
    target, prediction = np.empty(shape, np.float32), np.empty(shape, np.float32)
    grad, score_grad = np.empty(shape, np.float32), np.empty(shape, np.float32)
    row, weight = np.empty(SIMD_WIDTH, np.int64), np.empty(SIMD_WIDTH, np.float32)
    chunk = Chunk(row, weight, target, prediction, grad, score_grad)
    x0 = worker * 2 * structure.n_columns
    for s in subnetworks:
        offsets, shift, n_trees = compiled_offsets(structure, s), structure.first_parameter[s], _shape(structure, s)[1]
        p = weights.parameters[shift : shift + offsets[6]]
        n, step, sum_, weight_sum, n_chunks = rows.end[s] - rows.begin[s], weights.steps[s], 0.0, 0.0, 0
        order = np.empty(n, np.int64)
        _fill_order(order, rows.begin[s], training, seed, epoch, s)
        size = n if n > 0 and not training else plan.batch_size
        for first in range(0, n, size):
            last = min(first + size, n)
            step += 1
            factor = rate0 + (rate1 - rate0) * last / n
            for start in range(first, last, SIMD_WIDTH):
                half = n_chunks % 2 * n_trees * n_outputs  # a fast thread writes one while a slow one reads the other
                n_chunks += 1
                _fill_chunk(rows, order, start, min(start + SIMD_WIDTH, last), chunk)
                gather_rows(structure, X, chunk.row, scratch, tiles, x0)
                forward_subnetwork(structure, s, offsets, p, X, chunk.row, x0, scratch, tiles, is_sparse, half, team)
                wait(team)
                output.combine(structure, n_trees, scratch.score, half, prediction)
                sum_ += batch_loss(plan.loss, plan.loss_parameter, prediction, target, weight, last - first, grad)
                weight_sum += lane_sum(load(weight, 0))
                if training:
                    _backward_subnetwork(structure, s, offsets, p, scratch, tiles, is_sparse, half, chunk, team)
                if training and tiles is not None:
                    chunks = last - first <= SIMD_WIDTH, start + SIMD_WIDTH >= last
                    _update_full_w2(structure, s, offsets, weights, scratch, tiles, plan, factor, step, chunks, team)
            if training:
                _update_subnetwork(structure, s, offsets, weights, scratch, plan, factor, step, sums, team)
                _project(plan.weight_bound, p, offsets, n_outputs)
        wait(team)
        if worker == 0:
            loss[s] = sum_ / weight_sum if training else sum_
            weights.steps[s] = step if training else weights.steps[s]
