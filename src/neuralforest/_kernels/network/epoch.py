"""One pass over the training rows: shuffle, then forward, loss, backward and Adam for every minibatch.

A minibatch is handled in chunks of 32 rows; the lanes of a last, shorter chunk repeat its last row with weight 0.
Threads may share a subnetwork (joint training): each has its own trees, or in the hidden layers of a full network its own
groups of units, and meets the others in `meet`. How a number is computed does not depend on how many threads there are,
so the result does not either.

Numba counts the references to an array when a part is entered and left, unless it can see that the counts cancel: a
part needs one way out (no early return, no power or tuple index that may raise, no range whose step may be 0), and no
array that only one of its branches uses. Otherwise a step pays for a hundred atomic operations, on counters that all
threads share; `NRT_incref` in `part.overloads[...].library.get_llvm_str()` gives it away.
"""

import numpy as np

from neuralforest._kernels import dense, output, sparse
from neuralforest._kernels.jit import absent, kernel, part
from neuralforest._kernels.network.adam import adam, column_sum, project
from neuralforest._kernels.network.arguments import compiled_offsets
from neuralforest._kernels.barrier import meet
from neuralforest._kernels.simd import SIMD_WIDTH, load, total
from neuralforest._kernels.network.losses import batch_loss
from neuralforest._kernels.network.shuffle import shuffle

EVALUATE = -1
"""In place of the number of an epoch: measure the loss and learn nothing."""


@part
def _share(n, worker, workers, multiple):  # type: ignore[no-untyped-def]
    """Return the first and the last + 1 of a worker's units, out of n; units are handed out in groups of `multiple`."""
    groups = (n + multiple - 1) // multiple
    first, last = groups * worker // workers * multiple, groups * (worker + 1) // workers * multiple
    return first, last if last < n else n


@part
def _entries(order, begin, learning, seed, epoch, subnetwork):  # type: ignore[no-untyped-def]
    """Fill `order` with the entries of a subnetwork, which start at `begin`: shuffled, or as they are."""
    if learning:
        shuffle(order, seed, epoch, subnetwork)
    for i in range(len(order)):
        order[i] = begin + (order[i] if learning else i)


@part
def fill_batch(rows, entries, first, last, batch, weight, target):  # type: ignore[no-untyped-def]
    """Take rows entries[first:last] (at most 32) into the lanes; the lanes beyond repeat the last with weight 0."""
    for lane in range(len(batch)):
        entry = entries[min(first + lane, last - 1)]
        batch[lane] = rows.row[entry]
        weight[lane] = rows.weight[entry] if first + lane < last else np.float32(0.0)
        for o in range(len(target)):
            target[o, lane] = rows.y[batch[lane], o]


@part
def forward_subnetwork(structure, subnetwork, offsets, p, X, batch, scratch, tiles, runs, half, worker, workers, counters):  # type: ignore[no-untyped-def]
    """Fill the scores of this worker's trees."""
    first_tree, last_tree = structure.first_tree_of[subnetwork], structure.first_tree_of[subnetwork + 1]
    if tiles is not None:
        n_splits = structure.first_split[last_tree] - structure.first_split[first_tree]
        n_leaves = structure.first_leaf[last_tree] - structure.first_leaf[first_tree]
        x0 = worker * 2 * structure.n_features
        meet(counters, workers)  # until now others may have moved w1, or read u
        dense.gather(X, batch, scratch.x, x0, structure.n_features)
        first, last = _share(n_splits, worker, workers, dense.UNROLL)
        dense.first_layer(structure, first_tree, first, last, offsets, p, scratch.x, x0, scratch.u)
        meet(counters, workers)
        first, last = _share(n_leaves, worker, workers, dense.rows_per_step(n_splits))
        dense.second_layer(structure, n_splits, first, last, offsets, p, scratch.u, scratch.h)
        meet(counters, workers)
    begin, end = _share(last_tree - first_tree, worker, workers, 1)
    for tree in range(first_tree + begin, first_tree + end):
        if runs is not None:
            sparse.forward(structure, first_tree, tree, offsets, p, X, batch, scratch)
        output.forward(structure, first_tree, tree, offsets, p, scratch.h, scratch.score, half)


@part
def backward_subnetwork(  # type: ignore[no-untyped-def]
    structure, subnetwork, offsets, p, scratch, tiles, runs, half, slope, own, worker, workers, counters
):
    """Add the gradients of this worker's trees, given the slopes of the prediction; but not those of a full w2."""
    first_tree, last_tree = structure.first_tree_of[subnetwork], structure.first_tree_of[subnetwork + 1]
    n_trees = last_tree - first_tree
    begin, end = _share(n_trees, worker, workers, 1)
    for tree in range(first_tree + begin, first_tree + end):
        output.score_gradient(structure, n_trees, tree - first_tree, scratch.score, half, slope, own)
        output.backward(structure, first_tree, tree, offsets, p, scratch.h, own, scratch.gradient)
        if runs is not None:
            sparse.backward(structure, first_tree, tree, offsets, p, scratch)
    if tiles is not None:
        meet(counters, workers)
        n_splits = structure.first_split[last_tree] - structure.first_split[first_tree]
        n_leaves = structure.first_leaf[last_tree] - structure.first_leaf[first_tree]
        first, last = _share(n_splits, worker, workers, dense.UNROLL)
        dense.input_gradient(p, offsets[2], n_splits, first, last, scratch.h, n_leaves, tiles.du)
        dense.first_layer_gradient(structure, first, last, offsets, scratch.u, tiles.du, scratch.gradient)
        n, x0 = structure.n_features, (2 * worker + 1) * structure.n_features
        t0 = dense.first_tile(structure, n_splits, worker)
        dense.transpose(scratch.x, x0, n, tiles.transposed, t0)
        w1 = offsets[0] + first * n
        dense.add_weight_gradient(tiles.du, first, last, scratch.x, x0, tiles.transposed, t0, n, scratch.gradient, w1)
        dense.transpose(scratch.u, np.int64(0), n_splits, tiles.transposed, t0)
        meet(counters, workers)


@part
def add_loss(kind, parameter, prediction, target, weight, rows, slope):  # type: ignore[no-untyped-def]
    """Return the summed loss of 32 lanes; fill the slopes of weight * loss / rows."""
    if parameter is not None:
        sum_ = batch_loss(kind, parameter, prediction, target, weight, rows, slope)
    else:
        sum_ = output.squared_error(prediction, target, weight, rows, slope)
    return sum_


@part
def step_of_full_w2(structure, subnetwork, offsets, weights, scratch, tiles, plan, rate, step, chunks, worker, workers):  # type: ignore[no-untyped-def]
    """Add the gradients of this worker's rows of a full w2, and move these when the minibatch is complete.

    A few rows at a time: the matrix is too large for the cache, and so is its gradient. `chunks` says whether this is
    the only chunk of its minibatch, and whether it is the last. The gradient of an only chunk is never written to
    memory: the next rows take the place of those that are done.
    """
    first_tree, last_tree = structure.first_tree_of[subnetwork], structure.first_tree_of[subnetwork + 1]
    n_splits = structure.first_split[last_tree] - structure.first_split[first_tree]
    n_leaves = structure.first_leaf[last_tree] - structure.first_leaf[first_tree]
    (alone, complete), abreast = chunks, dense.rows_per_step(n_splits)
    first, last = _share(n_leaves, worker, workers, abreast)
    t0 = dense.first_tile(structure, n_splits, worker)
    rate2, shift = plan.rates[1] * rate, structure.first_parameter[subnetwork]
    r = first
    while r < last:
        end = r + abreast if r + abreast < last else last
        start = offsets[2] + (first if alone else r) * n_splits
        stop = start + (end - r) * n_splits
        dense.add_weight_gradient(
            scratch.h, r, end, scratch.u, np.int64(0), tiles.transposed, t0, n_splits, scratch.gradient, start
        )
        moved = shift + (r - first if alone else 0) * n_splits
        adam(weights, scratch.gradient, moved, start, stop if complete else start, rate2, step, plan, plan.weight_decay)
        r = end


@part
def update_block(structure, subnetwork, offsets, weights, scratch, plan, rate, step, sums, worker, workers):  # type: ignore[no-untyped-def]
    """Move the parameters of this worker's trees one step of Adam; but not a full w2.

    Tree by tree: a number at the end of a stretch may be rounded differently from one in its middle, so the stretches
    must not depend on the number of workers.
    """
    first_tree, last_tree = structure.first_tree_of[subnetwork], structure.first_tree_of[subnetwork + 1]
    begin, end = _share(last_tree - first_tree, worker, workers, 1)
    w1, b1, w2, b2, w_out, b_out, _ = offsets
    split0, leaf0 = structure.first_split[first_tree], structure.first_leaf[first_tree]
    width, outputs = (structure.n_features if structure.full else 1), structure.n_outputs
    shift, p = structure.first_parameter[subnetwork], weights.parameters
    for tree in range(first_tree + begin, first_tree + end):
        s0, s1 = structure.first_split[tree] - split0, structure.first_split[tree + 1] - split0
        l0, l1 = structure.first_leaf[tree] - leaf0, structure.first_leaf[tree + 1] - leaf0
        c0 = structure.first_connection[split0 + s0] - structure.first_connection[split0]
        c1 = c0 if structure.full else structure.first_connection[split0 + s1] - structure.first_connection[split0]
        o0, o1, bias = w_out + l0 * outputs, w_out + l1 * outputs, b_out + (tree - first_tree) * outputs
        for o in range(outputs):
            sums[o] = column_sum(p, shift + o0 + o, shift + o1, outputs)
        for layer in range(6):
            if layer == 0:
                start, stop = w1 + s0 * width, w1 + s1 * width
            elif layer == 1:
                start, stop = b1 + s0, b1 + s1
            elif layer == 2:
                start, stop = w2 + c0, w2 + c1
            elif layer == 3:
                start, stop = b2 + l0, b2 + l1
            else:
                start, stop = (o0, o1) if layer == 4 else (bias, bias + outputs)
            decay = plan.weight_decay if layer < 5 else 0.0
            adam(weights, scratch.gradient, shift, start, stop, plan.rates[layer // 2] * rate, step, plan, decay)
        for o in range(outputs):  # what stands at `bias` is b_out - sum(w_out)
            p[shift + bias + o] += np.float32(sums[o] - column_sum(p, shift + o0 + o, shift + o1, outputs))


@part
def keep_bound(bound, p, offsets, n_outputs):  # type: ignore[no-untyped-def]
    """Shrink the weights of a subnetwork to the theory's bound, if there is one."""
    if bound is not None:
        project(p, offsets, n_outputs, bound * (offsets[4] - offsets[3]))


@kernel
def train_epoch(  # type: ignore[no-untyped-def]
    structure, rows, weights, plan, scratch, tiles, subnetworks, seed, epoch, rate0, rate1, loss, worker, workers, counters
):
    """Train the given subnetworks for one epoch; the step size is multiplied by rate0 at its start, rate1 at its end.

    `loss` (subnetworks of the network,) receives each subnetwork's mean training loss, taken as the epoch went on. With EVALUATE for
    an epoch, rows are taken in their order, nothing is learned, and `loss` receives sums.
    """
    learning, runs, n_outputs, X, score = epoch != EVALUATE, absent(tiles), structure.n_outputs, rows.X, scratch.score
    batch, weight, sums = np.empty(SIMD_WIDTH, np.int64), np.empty(SIMD_WIDTH, np.float32), np.empty(n_outputs)
    target, prediction = np.empty((n_outputs, SIMD_WIDTH), np.float32), np.empty((n_outputs, SIMD_WIDTH), np.float32)
    slope, own = np.empty((n_outputs, SIMD_WIDTH), np.float32), np.empty((n_outputs, SIMD_WIDTH), np.float32)
    for subnetwork in subnetworks:
        offsets, shift = compiled_offsets(structure, subnetwork), structure.first_parameter[subnetwork]
        p = weights.parameters[shift : shift + offsets[6]]
        n_trees = structure.first_tree_of[subnetwork + 1] - structure.first_tree_of[subnetwork]
        n, step, sum_, weight_sum, chunk = rows.end[subnetwork] - rows.begin[subnetwork], weights.steps[subnetwork], 0.0, 0.0, 0
        order = np.empty(n, np.int64)
        _entries(order, rows.begin[subnetwork], learning, seed, epoch, subnetwork)
        size = n if n > 0 and not learning else plan.batch_size
        for first in range(0, n, size):
            last = min(first + size, n)
            step += 1
            rate = rate0 + (rate1 - rate0) * last / n
            for start in range(first, last, SIMD_WIDTH):
                half = chunk % 2 * n_trees * n_outputs  # a fast thread writes one while a slow one reads the other
                chunk += 1
                fill_batch(rows, order, start, min(start + SIMD_WIDTH, last), batch, weight, target)
                forward_subnetwork(
                    structure, subnetwork, offsets, p, X, batch, scratch, tiles, runs, half, worker, workers, counters
                )
                meet(counters, workers)
                output.combine(structure, n_trees, score, half, prediction)
                sum_ += add_loss(plan.loss, plan.loss_parameter, prediction, target, weight, last - first, slope)
                weight_sum += total(load(weight, 0))
                if learning:
                    backward_subnetwork(
                        structure, subnetwork, offsets, p, scratch, tiles, runs, half, slope, own, worker, workers, counters
                    )
                if learning and tiles is not None:
                    chunks = last - first <= SIMD_WIDTH, start + SIMD_WIDTH >= last
                    step_of_full_w2(
                        structure, subnetwork, offsets, weights, scratch, tiles, plan, rate, step, chunks, worker, workers
                    )
            if learning:
                update_block(structure, subnetwork, offsets, weights, scratch, plan, rate, step, sums, worker, workers)
                keep_bound(plan.bound, p, offsets, n_outputs)
        meet(counters, workers)
        if worker == 0:
            loss[subnetwork] = sum_ / weight_sum if learning else sum_
            weights.steps[subnetwork] = step if learning else weights.steps[subnetwork]
