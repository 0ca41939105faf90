"""Gradient boosting of small trees on binned features: one call adds rounds to one model.

scikit-learn's boosting spends a millisecond of interpreter time on every tree, which is most of its time below ten
thousand rows; here a tree on a thousand rows takes a twentieth of that.

While it grows, a tree has the layout of a `TreeEnsemble`: splits depth-first, leaves from left to right. The rows of a
leaf are adjacent, in the order of the leaves.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuralforest._kernels.jit import kernel, part
from neuralforest._kernels.network.losses import squared_error
from neuralforest._kernels.random import HALF, STEP, integer, mix
from neuralforest._kernels.trees.best_bins import COPIES, UNROLL
from neuralforest._kernels.trees.histogram import N_BINS, fill_histograms, find_split, goes_left
from neuralforest._kernels.trees.partition import append_right, assign_row

SQUARED, LOGISTIC, SOFTMAX = 0, 1, 2

_MIDDLE, _BEGIN = 0, 1  # of a split: the first leaf of its right child, and of its left one
_FIRST, _FIRST_OTHER = 0, 1  # of a leaf: its first row, among the rows that the tree is grown on and among the others
_FEATURE, _BIN, _LEFT = 2, 3, 4  # of a split, and of a leaf's best split; missing values go left where the last is 1
_GAIN, _LEFT_GRADIENT, _LEFT_HESSIAN = 0, 1, 2  # of a leaf's best split: its gain, and the sums of its left child
_GRADIENT, _HESSIAN = 3, 4  # of a leaf: sums over its rows

_TINY = 1e-15  # the lower bound of a probability, so that its logarithm is finite


class BinnedRows(NamedTuple):
    """Binned features and targets of all rows, and which rows are for training."""

    bins: NDArray[np.uint8]  # (features, rows)
    n_bins: NDArray[np.int64]  # (features,), without that of missing values
    y: NDArray[np.float64]  # (rows,): numbers, or positions of classes
    weight: NDArray[np.float64]  # (rows,)
    training_rows: NDArray[np.uint32]  # unsigned: a signed index is checked for being negative
    held_out_rows: NDArray[np.uint32]


class BoostedTrees(NamedTuple):
    """A boosted model: one tree per score and round, and the scores of all rows."""

    score: NDArray[np.float64]  # (rows, scores): raw predictions
    n_splits: NDArray[np.int64]  # (trees,)
    feature: NDArray[np.int32]  # (trees, max_leaves - 1)
    bin: NDArray[np.uint8]  # (trees, max_leaves - 1): the last one that goes left
    missing_left: NDArray[np.bool_]  # (trees, max_leaves - 1)
    middle: NDArray[np.int32]  # (trees, max_leaves - 1)
    value: NDArray[np.float64]  # (trees, max_leaves)
    weight: NDArray[np.float64]  # (trees, max_leaves): rows
    error: NDArray[np.float64]  # (rounds,): summed loss of the held-out rows


class BoostingPlan(NamedTuple):
    """The settings of boosting."""

    loss: int
    learning_rate: float
    subsample: float  # the fraction of the training rows that a tree is grown on
    max_features: int  # features considered at a split
    min_child_weight: float  # minimal hessian of a leaf, in units of the mean hessian of a row
    l2_regularization: float  # lambda
    seed: int


class Scratch(NamedTuple):
    """Buffers of a growing tree."""

    rows: NDArray[np.uint32]  # that it is grown on, those of a leaf adjacent
    others: NDArray[np.uint32]  # all other rows, likewise
    right_rows: NDArray[np.uint32]  # of the leaf that is split
    gradient: NDArray[np.float32]  # (all rows, 2): negative gradient and hessian of the loss
    features: NDArray[np.int64]  # in random order
    histogram: NDArray[np.float64]  # (bins, COPIES, UNROLL, 2): sums of gradients and hessians, of every other row
    left: NDArray[np.float64]  # (bins, UNROLL, 2): the same sums, left of every split
    missing: NDArray[np.float64]  # (UNROLL, 2): the same sums, of missing values
    n_places: NDArray[np.int64]  # (UNROLL,): bins that a feature may be split at
    gain: NDArray[np.float64]  # (UNROLL,): of the best split of a feature
    place: NDArray[np.int64]  # (UNROLL,): its bin
    splits: NDArray[np.int64]  # (5, splits): the constants above number the rows of these three arrays
    leaves: NDArray[np.int64]  # (5, leaves + 1)
    sums: NDArray[np.float64]  # (5, leaves)


@part
def _predict(loss, score, rows, n, prediction):  # type: ignore[no-untyped-def]
    """Fill the predictions of n rows: numbers, or probabilities of classes, of two classes that of the second."""
    for i in range(n):
        row = rows[i]
        if loss == SQUARED:
            prediction[row, 0] = score[row, 0]
        elif loss == LOGISTIC:
            prediction[row, 0] = 1.0 / (1.0 + np.exp(-score[row, 0]))
        else:
            highest, sum_ = score[row, 0], 0.0
            for column in range(1, score.shape[1]):
                highest = max(highest, score[row, column])
            for column in range(score.shape[1]):
                prediction[row, column] = np.exp(score[row, column] - highest)
                sum_ += prediction[row, column]
            for column in range(score.shape[1]):
                prediction[row, column] /= sum_


@part
def _fill_gradients(loss, y, weight, prediction, column, n, scratch):  # type: ignore[no-untyped-def]
    """Fill negative gradient and hessian of the loss of n rows (of half the squared error); return their sums."""
    own = 1 if loss == LOGISTIC else column  # the class of this probability
    gradient, gradient_sum, hessian_sum = scratch.gradient, 0.0, 0.0
    for i in range(n):
        row = scratch.rows[i]
        p = prediction[row, column]
        if loss == SQUARED:
            gradient[row, 0], gradient[row, 1] = weight[row] * (y[row] - p), weight[row]
        else:
            gradient[row, 0] = weight[row] * ((1.0 if y[row] == own else 0.0) - p)
            gradient[row, 1] = weight[row] * p * (1.0 - p)
        gradient_sum += np.float64(gradient[row, 0])
        hessian_sum += np.float64(gradient[row, 1])
    return gradient_sum, hessian_sum


@part
def _sum_loss(loss, y, weight, prediction, rows):  # type: ignore[no-untyped-def]
    """Return the weighted sum of the losses of some rows."""
    sum_ = 0.0
    for row in rows:
        if loss == SQUARED:
            sum_ += weight[row] * squared_error(y[row] - prediction[row, 0], 1.0, 2.0)[0]
        elif loss == LOGISTIC:
            own = prediction[row, 0] if y[row] == 1 else 1.0 - prediction[row, 0]
            sum_ -= weight[row] * np.log(max(own, _TINY))
        else:
            sum_ -= weight[row] * np.log(max(prediction[row, np.int64(y[row])], _TINY))
    return sum_


@part
def _sample(data, subsample, state, rows, others):  # type: ignore[no-untyped-def]
    """Draw the rows that a tree is grown on; `others` are the remaining training rows and the held-out rows."""
    n, n_others, limit = 0, 0, np.uint64(subsample * 2.0**32)
    for row in data.training_rows:
        state += STEP
        n, n_others = assign_row(row, (mix(state) >> HALF) < limit, rows, n, others, n_others)
    for row in data.held_out_rows:
        others[n_others] = row
        n_others += 1
    return n, n_others, state


@part
def _best_split(data, plan, min_hessian, scratch, state, leaf):  # type: ignore[no-untyped-def]
    """Find the best split of a leaf among random features; its gain is 0 if there is none."""
    features, leaves, sums = scratch.features, scratch.leaves, scratch.sums
    gradient, hessian, l2_regularization = sums[_GRADIENT, leaf], sums[_HESSIAN, leaf], plan.l2_regularization
    max_features = plan.max_features if hessian >= 2.0 * min_hessian else 0
    for tried in range(max_features):
        state += STEP
        place = tried + integer(state, len(features) - tried)
        features[tried], features[place] = features[place], features[tried]
    unsplit = gradient * gradient / (hessian + l2_regularization)
    best = unsplit
    for tried in range(0, max_features, UNROLL):
        n, first, last = min(UNROLL, max_features - tried), leaves[_FIRST, leaf], leaves[_FIRST, leaf + 1]
        fill_histograms(data.bins, data.n_bins, scratch, tried, n, first, last)
        best, feature, bin_, missing_left, left_gradient, left_hessian = find_split(
            scratch, data.n_bins, tried, n, min_hessian, l2_regularization, gradient, hessian, best
        )
        if feature >= 0:
            leaves[_FEATURE, leaf], leaves[_BIN, leaf], leaves[_LEFT, leaf] = feature, bin_, missing_left
            sums[_LEFT_GRADIENT, leaf], sums[_LEFT_HESSIAN, leaf] = left_gradient, left_hessian
    sums[_GAIN, leaf] = best - unsplit
    return state


@part
def _partition(bins, leaf, leaves, which, rows, right_rows):  # type: ignore[no-untyped-def]
    """Move a leaf's rows that go left before those that go right, stably; return the first of the latter."""
    feature, last, missing_left = leaves[_FEATURE, leaf], leaves[_BIN, leaf], leaves[_LEFT, leaf] == 1
    middle, n_right = leaves[which, leaf], 0
    for i in range(leaves[which, leaf], leaves[which, leaf + 1]):
        row = rows[i]
        left = goes_left(bins[feature, row], last, missing_left)
        middle, n_right = assign_row(row, left, rows, middle, right_rows, n_right)
    append_right(rows, middle, right_rows, n_right)
    return middle


@part
def _insert_column(columns, place, n):  # type: ignore[no-untyped-def]
    """Move columns place to n - 1 to the right by one."""
    for i in range(n, place, -1):
        for j in range(len(columns)):
            columns[j, i] = columns[j, i - 1]


@part
def _split_leaf(splits, leaves, sums, leaf, n, first, first_other):  # type: ignore[no-untyped-def]
    """Add the best split of a leaf to a tree of n splits; its right child becomes leaf + 1."""
    place = 0
    for split in range(n):  # splits that begin further left, and ancestors, come before it
        place += splits[_BEGIN, split] <= leaf
        splits[_BEGIN, split] += splits[_BEGIN, split] > leaf
        splits[_MIDDLE, split] += splits[_MIDDLE, split] > leaf
    _insert_column(splits, place, n)
    for j in range(_FEATURE, len(splits)):
        splits[j, place] = leaves[j, leaf]
    splits[_BEGIN, place], splits[_MIDDLE, place] = leaf, leaf + 1
    _insert_column(leaves, leaf + 1, n + 2)  # the column after the last leaf holds the end of its rows
    leaves[_FIRST, leaf + 1], leaves[_FIRST_OTHER, leaf + 1] = first, first_other
    _insert_column(sums, leaf + 1, n + 1)
    for whole, left in ((_GRADIENT, _LEFT_GRADIENT), (_HESSIAN, _LEFT_HESSIAN)):
        sums[whole, leaf + 1] = sums[whole, leaf] - sums[left, leaf]
        sums[whole, leaf] = sums[left, leaf]


@part
def _grow(data, plan, min_hessian, max_splits, scratch, state):  # type: ignore[no-untyped-def]
    """Grow one tree, the split with the largest gain first; return its number of splits."""
    leaves, sums = scratch.leaves, scratch.sums
    n, new, end = 0, 0, 1  # splits, and the leaves whose best split is not yet known
    while new < end:
        for leaf in range(new, end):
            state = _best_split(data, plan, min_hessian, scratch, state, leaf)
        new = 0
        for leaf in range(1, n + 1):
            new = leaf if sums[_GAIN, leaf] > sums[_GAIN, new] else new
        end = new
        if sums[_GAIN, new] > 0.0:
            first = _partition(data.bins, new, leaves, _FIRST, scratch.rows, scratch.right_rows)
            first_other = _partition(data.bins, new, leaves, _FIRST_OTHER, scratch.others, scratch.right_rows)
            _split_leaf(scratch.splits, leaves, sums, new, n, first, first_other)
            n += 1
            end = new + 2 if n < max_splits else new
    return n, state


@part
def _add_tree(model, plan, tree, column, n, scratch):  # type: ignore[no-untyped-def]
    """Write a tree of n splits into the model, compute the values of its leaves, and add them to the scores."""
    rows, splits, leaves, sums = scratch.rows, scratch.splits, scratch.leaves, scratch.sums
    model.n_splits[tree] = n
    for i in range(n):
        model.feature[tree, i], model.bin[tree, i] = splits[_FEATURE, i], splits[_BIN, i]
        model.missing_left[tree, i], model.middle[tree, i] = splits[_LEFT, i] == 1, splits[_MIDDLE, i]
    for leaf in range(n + 1):
        first, last = leaves[_FIRST, leaf], leaves[_FIRST, leaf + 1]
        value = plan.learning_rate * sums[_GRADIENT, leaf] / (sums[_HESSIAN, leaf] + plan.l2_regularization)
        model.value[tree, leaf], model.weight[tree, leaf] = value, last - first
        for i in range(first, last):
            model.score[rows[i], column] += value
        for i in range(leaves[_FIRST_OTHER, leaf], leaves[_FIRST_OTHER, leaf + 1]):
            model.score[scratch.others[i], column] += value


@kernel
def boost(data, plan, model, begin, end):  # type: ignore[no-untyped-def]
    """Add rounds begin to end - 1 to a model."""
    n_rows, n_scores = model.score.shape
    max_leaves = model.value.shape[1]
    scratch = Scratch(
        rows=np.empty(n_rows, np.uint32),
        others=np.empty(n_rows, np.uint32),
        right_rows=np.empty(n_rows, np.uint32),
        gradient=np.empty((n_rows, 2), np.float32),
        features=np.empty(len(data.bins), np.int64),
        histogram=np.zeros((N_BINS, COPIES, UNROLL, 2)),
        left=np.empty((N_BINS, UNROLL, 2)),
        missing=np.zeros((UNROLL, 2)),
        n_places=np.empty(UNROLL, np.int64),
        gain=np.empty(UNROLL),
        place=np.empty(UNROLL, np.int64),
        splits=np.zeros((5, max_leaves), np.int64),
        leaves=np.zeros((5, max_leaves + 1), np.int64),
        sums=np.zeros((5, max_leaves)),
    )
    rows, leaves, sums, prediction = scratch.rows, scratch.leaves, scratch.sums, np.empty((n_rows, n_scores))
    for round_ in range(begin, end):
        state = mix(mix(np.uint64(plan.seed) + STEP) + np.uint64(round_))
        n, n_others, state = _sample(data, plan.subsample, state, rows, scratch.others)
        _predict(plan.loss, model.score, rows, n, prediction)
        for feature in range(len(scratch.features)):
            scratch.features[feature] = feature
        for column in range(n_scores):
            what = plan.loss, data.y, data.weight, prediction
            sums[_GRADIENT, 0], sums[_HESSIAN, 0] = _fill_gradients(*what, column, n, scratch)
            min_hessian = plan.min_child_weight * sums[_HESSIAN, 0] / max(n, 1)
            leaves[_FIRST, 0], leaves[_FIRST, 1] = 0, n
            leaves[_FIRST_OTHER, 0], leaves[_FIRST_OTHER, 1] = 0, n_others
            n_splits, state = _grow(data, plan, min_hessian, max_leaves - 1, scratch, state)
            _add_tree(model, plan, round_ * n_scores + column, column, n_splits, scratch)
        _predict(plan.loss, model.score, data.held_out_rows, len(data.held_out_rows), prediction)
        model.error[round_] = _sum_loss(plan.loss, data.y, data.weight, prediction, data.held_out_rows)
