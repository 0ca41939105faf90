"""One pass over the training rows: shuffle, then forward, loss, backward and Adam for every minibatch.

A minibatch is handled in chunks of 32 rows; the lanes of a last, shorter chunk repeat its last row with weight 0.
Threads may share a block (joint training): each has its own trees and meets the others in `meet`. What a thread
computes does not depend on how many there are, so the result does not either.
"""

import numpy as np

from neuralforest._kernels import dense, output, sparse
from neuralforest._kernels._jit import kernel, part
from neuralforest._kernels.adam import adam, column_sums, project
from neuralforest._kernels.arguments import layer_offsets
from neuralforest._kernels.barrier import meet
from neuralforest._kernels.lanes import LANES
from neuralforest._kernels.losses import batch_loss
from neuralforest._kernels.shuffle import shuffle


@part
def fill_batch(rows, entries, first, last, batch, weight, target):  # type: ignore[no-untyped-def]
    """Take rows entries[first:last] (at most 32) into the lanes; the lanes beyond repeat the last with weight 0."""
    for lane in range(LANES):
        entry = entries[min(first + lane, last - 1)]
        batch[lane] = rows.row[entry]
        weight[lane] = rows.weight[entry] if first + lane < last else np.float32(0.0)
        for o in range(len(target)):
            target[o, lane] = rows.y[batch[lane], o]


@part
def forward_block(structure, block, offsets, p, X, batch, scratch, tiles, half, worker, workers, counters):  # type: ignore[no-untyped-def]
    """Fill the scores of this worker's trees."""
    first_tree, last_tree = structure.block_tree[block], structure.block_tree[block + 1]
    begin = first_tree + (last_tree - first_tree) * worker // workers
    end = first_tree + (last_tree - first_tree) * (worker + 1) // workers
    if tiles is not None:
        split0, leaf0 = structure.first_split[first_tree], structure.first_leaf[first_tree]
        x0 = worker * 2 * structure.n_features
        dense.gather(X, batch, scratch.x, x0, structure.n_features)
        splits = structure.first_split[begin] - split0, structure.first_split[end] - split0
        dense.first_layer(structure, first_tree, splits[0], splits[1], offsets, p, scratch.x, x0, scratch.u)
        meet(counters, workers)
        leaves = structure.first_leaf[begin] - leaf0, structure.first_leaf[end] - leaf0
        n_splits = structure.first_split[last_tree] - split0
        dense.second_layer(structure, n_splits, leaves[0], leaves[1], offsets, p, scratch.u, scratch.h)
    for tree in range(begin, end):
        if tiles is None:
            sparse.forward(structure, first_tree, tree, offsets, p, X, batch, scratch)
        output.forward(structure, first_tree, tree, offsets, p, scratch.h, scratch.score, half)


@part
def backward_block(structure, block, offsets, p, scratch, tiles, half, slope, own_slope, worker, workers, counters):  # type: ignore[no-untyped-def]
    """Add the gradients of this worker's trees, given the slopes of the prediction."""
    first_tree, last_tree = structure.block_tree[block], structure.block_tree[block + 1]
    n_trees = last_tree - first_tree
    begin, end = first_tree + n_trees * worker // workers, first_tree + n_trees * (worker + 1) // workers
    for tree in range(begin, end):
        output.score_slopes(structure, n_trees, tree - first_tree, scratch.score, half, slope, own_slope)
        output.backward(structure, first_tree, tree, offsets, p, scratch.h, own_slope, scratch.gradient)
        if tiles is None:
            sparse.backward(structure, first_tree, tree, offsets, p, scratch)
    if tiles is not None:
        meet(counters, workers)
        _backward_dense(structure, first_tree, last_tree, begin, end, offsets, p, scratch, tiles, worker)
        meet(counters, workers)


@part
def _backward_dense(structure, first_tree, last_tree, begin, end, offsets, p, scratch, tiles, worker):  # type: ignore[no-untyped-def]
    """Add the gradients of w1, b1 and w2 of the splits and leaves of trees begin to end - 1."""
    split0, leaf0 = structure.first_split[first_tree], structure.first_leaf[first_tree]
    n_splits, n_leaves = structure.first_split[last_tree] - split0, structure.first_leaf[last_tree] - leaf0
    first, last = structure.first_split[begin] - split0, structure.first_split[end] - split0
    n_features = structure.n_features
    t0 = worker * (max(n_splits, n_features) + 2 * LANES)  # each worker has tiles of its own
    dense.pull_back(p, offsets[2], n_splits, first, last, scratch.h, n_leaves, tiles.du)
    dense.layer_one_slopes(structure, first, last, offsets, scratch.u, tiles.du, scratch.gradient)
    dense.transpose(scratch.x, (2 * worker + 1) * n_features, n_features, tiles.transposed, t0)
    dense.add_outer(tiles.du, first, last, tiles.transposed, t0, n_features, scratch.gradient, offsets[0])
    dense.transpose(scratch.u, np.int64(0), n_splits, tiles.transposed, t0)
    first, last = structure.first_leaf[begin] - leaf0, structure.first_leaf[end] - leaf0
    dense.add_outer(scratch.h, first, last, tiles.transposed, t0, n_splits, scratch.gradient, offsets[2])


@part
def update_block(structure, block, offsets, weights, scratch, plan, rate, step, worker, workers):  # type: ignore[no-untyped-def]
    """Move the parameters of this worker's trees one step of Adam."""
    first_tree, last_tree = structure.block_tree[block], structure.block_tree[block + 1]
    n_trees, outputs = last_tree - first_tree, structure.n_outputs
    begin, end = first_tree + n_trees * worker // workers, first_tree + n_trees * (worker + 1) // workers
    split0, leaf0 = structure.first_split[first_tree], structure.first_leaf[first_tree]
    s0, s1 = structure.first_split[begin] - split0, structure.first_split[end] - split0
    l0, l1 = structure.first_leaf[begin] - leaf0, structure.first_leaf[end] - leaf0
    if structure.full:
        width, n_splits = structure.n_features, structure.first_split[last_tree] - split0
        c0, c1 = l0 * n_splits, l1 * n_splits
    else:
        width, connection0 = 1, structure.first_connection[split0]
        c0 = structure.first_connection[split0 + s0] - connection0
        c1 = structure.first_connection[split0 + s1] - connection0
    w1, b1, w2, b2, w_out, b_out, _ = offsets
    shift, p, g = structure.first_parameter[block], weights.parameters, scratch.gradient
    rate1, rate2, rate3 = plan.rates[0] * rate, plan.rates[1] * rate, plan.rates[2] * rate
    adam(weights, g, shift, w1 + s0 * width, w1 + s1 * width, rate1, step, plan, plan.weight_decay)
    adam(weights, g, shift, b1 + s0, b1 + s1, rate1, step, plan, plan.weight_decay)
    adam(weights, g, shift, w2 + c0, w2 + c1, rate2, step, plan, plan.weight_decay)
    adam(weights, g, shift, b2 + l0, b2 + l1, rate2, step, plan, plan.weight_decay)
    before, after = np.empty(outputs), np.empty(outputs)
    for tree in range(begin, end):
        o0 = w_out + (structure.first_leaf[tree] - leaf0) * outputs
        o1 = w_out + (structure.first_leaf[tree + 1] - leaf0) * outputs
        column_sums(p, shift + o0, shift + o1, outputs, before)
        adam(weights, g, shift, o0, o1, rate3, step, plan, plan.weight_decay)
        column_sums(p, shift + o0, shift + o1, outputs, after)
        bias = b_out + (tree - first_tree) * outputs
        adam(weights, g, shift, bias, bias + outputs, rate3, step, plan, 0.0)
        for o in range(outputs):  # what stands there is b_out - sum(w_out)
            p[shift + bias + o] += np.float32(before[o] - after[o])


@kernel
def train_epoch(  # type: ignore[no-untyped-def]
    structure, rows, weights, plan, scratch, tiles, blocks, seed, epoch, rate0, rate1, loss, worker, workers, counters
):
    """Train the given blocks for one epoch; the step size is multiplied by rate0 at its start, rate1 at its end.

    `loss` (blocks of the network,) receives each block's mean training loss, taken as the epoch went on.
    """
    batch = np.empty(LANES, np.int64)
    weight = np.empty(LANES, np.float32)
    shape = structure.n_outputs, LANES
    target, prediction = np.empty(shape, np.float32), np.empty(shape, np.float32)
    slope, own_slope = np.empty(shape, np.float32), np.empty(shape, np.float32)
    for block in blocks:
        offsets = layer_offsets(structure, block)
        shift, n_parameters = structure.first_parameter[block], offsets[6]
        p = weights.parameters[shift : shift + n_parameters]
        n_trees = structure.block_tree[block + 1] - structure.block_tree[block]
        half_rows = n_trees * structure.n_outputs
        n = rows.end[block] - rows.begin[block]
        order = np.empty(n, np.int64)
        shuffle(order, seed, epoch, block)
        for i in range(n):
            order[i] += rows.begin[block]
        sum_, weight_sum, chunk = 0.0, 0.0, 0
        for first in range(0, n, plan.batch_size):
            last = min(first + plan.batch_size, n)
            for start in range(first, last, LANES):
                half = chunk % 2 * half_rows  # a fast thread writes here while a slow one still reads the other half
                chunk += 1
                fill_batch(rows, order, start, min(start + LANES, last), batch, weight, target)
                forward_block(
                    structure, block, offsets, p, rows.X, batch, scratch, tiles, half, worker, workers, counters
                )
                meet(counters, workers)
                output.combine(structure, n_trees, scratch.score, half, prediction)
                sum_ += batch_loss(plan.loss, plan.loss_parameter, prediction, target, weight, last - first, slope)
                for lane in range(LANES):
                    weight_sum += np.float64(weight[lane])
                backward_block(
                    structure, block, offsets, p, scratch, tiles, half, slope, own_slope, worker, workers, counters
                )
            rate = rate0 + (rate1 - rate0) * last / n
            step = weights.steps[block] + 1 + first // plan.batch_size
            update_block(structure, block, offsets, weights, scratch, plan, rate, step, worker, workers)
            if plan.bound > 0.0:
                n_leaves = offsets[4] - offsets[3]
                project(p, offsets, structure.n_outputs, plan.bound * n_leaves)
        meet(counters, workers)
        if worker == 0:
            loss[block] = sum_ / weight_sum
            weights.steps[block] += (n + plan.batch_size - 1) // plan.batch_size
