"""Gradient boosting of small trees on features that were cut into bins: one call adds rounds to one model.

scikit-learn's boosting spends a millisecond of interpreter time on every tree, which is most of its time below ten
thousand rows; here a tree of a thousand rows takes a twentieth of that.

A tree stands as it will in a `TreeEnsemble`, at every moment of its growth: splits depth-first, leaves from left to
right. The rows of a leaf are neighbours, in the same order as the leaves.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuralforest._kernels.jit import kernel, part
from neuralforest._kernels.trees.histogram import UNROLL, MISSING, N_BINS, compare_splits, fill_histograms
from neuralforest._kernels.trees.partition import append_waiting, part_row
from neuralforest._kernels.network.shuffle import STEP, mix

SQUARED, LOGISTIC, SOFTMAX = 0, 1, 2

_MIDDLE, _BEGIN = 0, 1  # of a split: the first leaf of its right child, and of its left one
_FIRST, _FIRST_OTHER = 0, 1  # of a leaf: where its rows begin, those that the tree is grown on and others
_FEATURE, _BIN, _LEFT = 2, 3, 4  # of a split, and of a leaf's best one; missing values go left where the last is 1
_GAIN, _LEFT_SLOPE, _LEFT_CURVATURE = 0, 1, 2  # of a leaf's best split: what it gains, and the sums of its left side
_SLOPE, _CURVATURE = 3, 4  # of a leaf: sums over its rows

_HALF = np.uint64(32)
_TINY = 1e-15  # the least probability whose logarithm is taken


class Table(NamedTuple):
    """Rows that are learnt from, and rows that judge: places in all arrays over rows."""

    bins: NDArray[np.uint8]  # (features, rows)
    n_bins: NDArray[np.int64]  # (features,), of numbers
    y: NDArray[np.float64]  # (rows,): numbers, or places among the classes
    learnt: NDArray[np.uint32]  # without a sign, which would have to be looked at whenever they are used
    unseen: NDArray[np.uint32]


class Model(NamedTuple):
    """What is boosted: trees, one for every score and round, and what they say together.

    A tree has no more leaves than there is room for.
    """

    score: NDArray[np.float64]  # (rows, scores)
    n_splits: NDArray[np.int64]  # (trees,)
    feature: NDArray[np.int32]  # (trees, most leaves - 1)
    bin: NDArray[np.uint8]  # (trees, most leaves - 1): the last one that goes left
    missing_left: NDArray[np.bool_]  # (trees, most leaves - 1)
    middle: NDArray[np.int32]  # (trees, most leaves - 1)
    value: NDArray[np.float64]  # (trees, most leaves)
    weight: NDArray[np.float64]  # (trees, most leaves): rows
    error: NDArray[np.float64]  # (rounds,): sums of the loss of unseen rows


class Plan(NamedTuple):
    """How trees are boosted."""

    loss: int
    rate: float
    subsample: float  # that a tree is grown on
    max_features: int  # features at a split
    min_child_weight: float  # of a leaf, counted by their curvature: a row of the mean curvature is one
    l2_regularization: float  # on the squares of a tree's values
    seed: int


class Scratch(NamedTuple):
    """What is used while a tree grows."""

    rows: NDArray[np.uint32]  # that it is grown on, those of a leaf side by side
    others: NDArray[np.uint32]  # the same of all others
    waiting: NDArray[np.uint32]  # rows that go right, while those that go left are gathered
    gradient: NDArray[np.float32]  # (all rows, 2): slope and curvature of the loss
    features: NDArray[np.int64]  # in an order that is drawn
    histogram: NDArray[np.float64]  # (features abreast, bins, 2): sums of slopes and of curvatures
    left: NDArray[np.float64]  # (2, bins): the same on the left of every split
    kept: NDArray[np.float64]  # (bins,): what a split there would keep
    splits: NDArray[np.int64]  # (5, splits): what stands in each row is said above
    leaves: NDArray[np.int64]  # (5, leaves + 1)
    sums: NDArray[np.float64]  # (5, leaves): the same


@part
def _outputs(loss, score, rows, n, output):  # type: ignore[no-untyped-def]
    """Fill what the scores of n rows mean: numbers, or probabilities of classes, of two those of the second."""
    for i in range(n):
        row = rows[i]
        if loss == SQUARED:
            output[row, 0] = score[row, 0]
        elif loss == LOGISTIC:
            output[row, 0] = 1.0 / (1.0 + np.exp(-score[row, 0]))
        else:
            highest, sum_ = score[row, 0], 0.0
            for column in range(score.shape[1]):
                highest = max(highest, score[row, column])
            for column in range(score.shape[1]):
                output[row, column] = np.exp(score[row, column] - highest)
                sum_ += output[row, column]
            for column in range(score.shape[1]):
                output[row, column] /= sum_


@part
def _gradients(loss, y, output, column, n, scratch):  # type: ignore[no-untyped-def]
    """Fill slope and curvature of the loss of n rows, in the direction of less loss; return the sums of both."""
    own = 1 if loss == LOGISTIC else column  # the class whose probability this is
    gradient, slope_sum, curvature_sum = scratch.gradient, 0.0, 0.0
    for i in range(n):
        row = scratch.rows[i]
        said = output[row, column]
        if loss == SQUARED:
            gradient[row, 0], gradient[row, 1] = y[row] - said, 1.0
        else:
            gradient[row, 0], gradient[row, 1] = (1.0 if y[row] == own else 0.0) - said, said * (1.0 - said)
        slope_sum += np.float64(gradient[row, 0])
        curvature_sum += np.float64(gradient[row, 1])
    return slope_sum, curvature_sum


@part
def _error(loss, y, output, rows):  # type: ignore[no-untyped-def]
    """Return the summed loss of some rows."""
    sum_ = 0.0
    for row in rows:
        if loss == SQUARED:
            sum_ += (y[row] - output[row, 0]) ** 2
        elif loss == LOGISTIC:
            sum_ -= np.log(max(output[row, 0] if y[row] == 1 else 1.0 - output[row, 0], _TINY))
        else:
            sum_ -= np.log(max(output[row, np.int64(y[row])], _TINY))
    return sum_


@part
def _sample(table, share, state, rows, others):  # type: ignore[no-untyped-def]
    """Draw the rows that a tree is grown on; the others, and the unseen ones, follow it nevertheless."""
    n, n_others, limit = 0, 0, np.uint64(share * 2.0**32)
    for row in table.learnt:
        state += STEP
        n, n_others = part_row(row, (mix(state) >> _HALF) < limit, rows, n, others, n_others)
    for row in table.unseen:
        others[n_others] = row
        n_others += 1
    return n, n_others, state


@part
def _best_split(table, plan, least, scratch, state, leaf):  # type: ignore[no-untyped-def]
    """Search the best split of a leaf, of features drawn at random; its gain is 0 where there is none."""
    features, leaves, sums = scratch.features, scratch.leaves, scratch.sums
    slope, curvature, l2_regularization = sums[_SLOPE, leaf], sums[_CURVATURE, leaf], plan.l2_regularization
    max_features = plan.max_features if curvature >= 2.0 * least else 0
    for tried in range(max_features):
        state += STEP
        place = tried + np.int64(((mix(state) >> _HALF) * np.uint64(len(features) - tried)) >> _HALF)
        features[tried], features[place] = features[place], features[tried]
    nothing = slope * slope / (curvature + l2_regularization)  # is what one leaf keeps
    best = nothing
    for tried in range(0, max_features, UNROLL):
        n, first, last = min(UNROLL, max_features - tried), leaves[_FIRST, leaf], leaves[_FIRST, leaf + 1]
        fill_histograms(table.bins, table.n_bins, scratch, tried, n, first, last)
        for slot in range(n):
            feature = features[tried + slot]
            best, bin_, missing_left, left_slope, left_curvature = compare_splits(
                scratch, slot, table.n_bins[feature], least, l2_regularization, slope, curvature, best
            )
            if bin_ >= 0:
                leaves[_FEATURE, leaf], leaves[_BIN, leaf], leaves[_LEFT, leaf] = feature, bin_, missing_left
                sums[_LEFT_SLOPE, leaf], sums[_LEFT_CURVATURE, leaf] = left_slope, left_curvature
    sums[_GAIN, leaf] = best - nothing
    return state


@part
def _part_rows(bins, leaf, leaves, which, rows, waiting):  # type: ignore[no-untyped-def]
    """Put a leaf's rows that go left before those that go right, both in their order; return where the latter begin."""
    feature, last, missing_left = leaves[_FEATURE, leaf], leaves[_BIN, leaf], leaves[_LEFT, leaf] == 1
    middle, n_right = leaves[which, leaf], 0
    for i in range(leaves[which, leaf], leaves[which, leaf + 1]):
        row = rows[i]
        b = bins[feature, row]
        left = (b <= last) | ((b == MISSING) & missing_left)
        middle, n_right = part_row(row, left, rows, middle, waiting, n_right)
    append_waiting(rows, middle, waiting, n_right)
    return middle


@part
def _make_room(columns, place, n):  # type: ignore[no-untyped-def]
    """Move columns place to n - 1 one further."""
    for i in range(n, place, -1):
        for j in range(len(columns)):
            columns[j, i] = columns[j, i - 1]


@part
def _split_leaf(splits, leaves, sums, leaf, n, first, first_other):  # type: ignore[no-untyped-def]
    """Make the best split of a leaf one of the tree's, which has n so far; its right child becomes leaf + 1."""
    place = 0
    for split in range(n):  # splits that begin further left, and those around this one, stand before it
        place += splits[_BEGIN, split] <= leaf
        splits[_BEGIN, split] += splits[_BEGIN, split] > leaf
        splits[_MIDDLE, split] += splits[_MIDDLE, split] > leaf
    _make_room(splits, place, n)
    for j in range(_FEATURE, len(splits)):
        splits[j, place] = leaves[j, leaf]
    splits[_BEGIN, place], splits[_MIDDLE, place] = leaf, leaf + 1
    _make_room(leaves, leaf + 1, n + 2)  # after the last leaf stands where its rows end
    leaves[_FIRST, leaf + 1], leaves[_FIRST_OTHER, leaf + 1] = first, first_other
    _make_room(sums, leaf + 1, n + 1)
    for whole, left in ((_SLOPE, _LEFT_SLOPE), (_CURVATURE, _LEFT_CURVATURE)):
        sums[whole, leaf + 1] = sums[whole, leaf] - sums[left, leaf]
        sums[whole, leaf] = sums[left, leaf]


@part
def _grow(table, plan, least, most_splits, scratch, state):  # type: ignore[no-untyped-def]
    """Grow one tree, the split with the largest gain first; return how many splits it has."""
    leaves, sums = scratch.leaves, scratch.sums
    n, new, end = 0, 0, 1  # splits, and the leaves whose best split is to be searched
    while new < end:
        for leaf in range(new, end):
            state = _best_split(table, plan, least, scratch, state, leaf)
        new = 0
        for leaf in range(1, n + 1):
            new = leaf if sums[_GAIN, leaf] > sums[_GAIN, new] else new
        end = new
        if sums[_GAIN, new] > 0.0:
            first = _part_rows(table.bins, new, leaves, _FIRST, scratch.rows, scratch.waiting)
            first_other = _part_rows(table.bins, new, leaves, _FIRST_OTHER, scratch.others, scratch.waiting)
            _split_leaf(scratch.splits, leaves, sums, new, n, first, first_other)
            n += 1
            end = new + 2 if n < most_splits else new
    return n, state


@part
def _keep(model, plan, tree, column, n, scratch):  # type: ignore[no-untyped-def]
    """Write a tree of n splits into the model, give its leaves their values, and add these to the scores of rows."""
    rows, splits, leaves, sums = scratch.rows, scratch.splits, scratch.leaves, scratch.sums
    model.n_splits[tree] = n
    for i in range(n):
        model.feature[tree, i], model.bin[tree, i] = splits[_FEATURE, i], splits[_BIN, i]
        model.missing_left[tree, i], model.middle[tree, i] = splits[_LEFT, i] == 1, splits[_MIDDLE, i]
    for leaf in range(n + 1):
        first, last = leaves[_FIRST, leaf], leaves[_FIRST, leaf + 1]
        value = plan.rate * sums[_SLOPE, leaf] / (sums[_CURVATURE, leaf] + plan.l2_regularization)
        model.value[tree, leaf], model.weight[tree, leaf] = value, last - first
        for i in range(first, last):
            model.score[rows[i], column] += value
        for i in range(leaves[_FIRST_OTHER, leaf], leaves[_FIRST_OTHER, leaf + 1]):
            model.score[scratch.others[i], column] += value


@kernel
def boost(table, plan, model, begin, end):  # type: ignore[no-untyped-def]
    """Add rounds begin to end - 1 to a model."""
    n_rows, n_scores = model.score.shape
    most_leaves = model.value.shape[1]
    scratch = Scratch(
        rows=np.empty(n_rows, np.uint32),
        others=np.empty(n_rows, np.uint32),
        waiting=np.empty(n_rows, np.uint32),
        gradient=np.empty((n_rows, 2), np.float32),
        features=np.empty(len(table.bins), np.int64),
        histogram=np.empty((UNROLL, N_BINS, 2)),
        left=np.empty((2, N_BINS)),
        kept=np.empty(N_BINS),
        splits=np.zeros((5, most_leaves), np.int64),
        leaves=np.zeros((5, most_leaves + 1), np.int64),
        sums=np.zeros((5, most_leaves)),
    )
    rows, leaves, sums, output = scratch.rows, scratch.leaves, scratch.sums, np.empty((n_rows, n_scores))
    for round_ in range(begin, end):
        state = mix(mix(np.uint64(plan.seed) + STEP) + np.uint64(round_))
        n, n_others, state = _sample(table, plan.subsample, state, rows, scratch.others)
        _outputs(plan.loss, model.score, rows, n, output)
        for feature in range(len(scratch.features)):
            scratch.features[feature] = feature
        for column in range(n_scores):
            sums[_SLOPE, 0], sums[_CURVATURE, 0] = _gradients(plan.loss, table.y, output, column, n, scratch)
            least = plan.min_child_weight * sums[_CURVATURE, 0] / max(n, 1)  # of rows that have the mean curvature
            leaves[_FIRST, 0], leaves[_FIRST, 1] = 0, n
            leaves[_FIRST_OTHER, 0], leaves[_FIRST_OTHER, 1] = 0, n_others
            n_splits, state = _grow(table, plan, least, most_leaves - 1, scratch, state)
            _keep(model, plan, round_ * n_scores + column, column, n_splits, scratch)
        _outputs(plan.loss, model.score, table.unseen, len(table.unseen), output)
        model.error[round_] = _error(plan.loss, table.y, output, table.unseen)
