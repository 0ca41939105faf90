"""Thresholds that lower a loss while the values of all leaves and the other splits stay as they are.

The loss of a row is a quadratic function of its raw prediction: exactly so for a squared error, an upper bound for a
log loss. Splits are changed one by one, each tree from its leaves to its root, and the derivatives of the loss follow.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuralforest._kernels.jit import kernel, part
from neuralforest._kernels.trees.traverse import CategoryLists, category_goes_left, goes_left


class Trees(NamedTuple):
    """The arrays of an ensemble that the search reads."""

    feature: NDArray[np.int32]  # (splits,)
    missing_left: NDArray[np.bool_]  # (splits,)
    begin: NDArray[np.int32]  # (splits,)
    middle: NDArray[np.int32]  # (splits,)
    end: NDArray[np.int32]  # (splits,)
    first_split: NDArray[np.int64]  # (trees + 1,)
    first_leaf: NDArray[np.int64]  # (trees + 1,)
    lists: CategoryLists


class Cuts(NamedTuple):
    """Thresholds to choose from, and where the rows lie between them."""

    first: NDArray[np.int64]  # (features + 1,): where the thresholds of each feature begin
    threshold: NDArray[np.float64]  # ascending for each feature
    code: NDArray[np.int16]  # (rows, features): how many thresholds of the feature are below the value


class Quadratic(NamedTuple):
    """The loss of each row as a function of the change of its raw prediction."""

    gradient: NDArray[np.float64]  # (rows, outputs)
    hessian: NDArray[np.float64]  # (rows, outputs): the diagonal


@part
def _leaf_below(X, row, trees, threshold, split, begin, end):  # type: ignore[no-untyped-def]
    """Return the leaf that a row reaches from a node with the leaves [begin, end), whose split it is."""
    while end - begin > 1:
        x, k = X[row, trees.feature[split]], split
        if trees.lists.first[k + 1] > trees.lists.first[k]:
            left = category_goes_left(x, trees.lists, k, trees.missing_left[k])
        else:
            left = goes_left(x, threshold[k], trees.missing_left[k])
        middle = trees.middle[k]
        split = k + 1 if left else k + middle - begin
        begin, end = (begin, middle) if left else (middle, end)
    return begin


@part
def _change(loss, row, value, now, then, column):  # type: ignore[no-untyped-def]
    """Return how much the loss of a row changes when it moves from a leaf to another."""
    change = 0.0
    first, last = (column, column + 1) if column >= 0 else (0, value.shape[1])
    for o in range(first, last):
        step = value[then, o] - value[now, o]
        change += (loss.gradient[row, o] + 0.5 * loss.hessian[row, o] * step) * step
    return change


@part
def _move(loss, row, value, now, then, column):  # type: ignore[no-untyped-def]
    """Update the gradient of a row that moves from a leaf to another."""
    first, last = (column, column + 1) if column >= 0 else (0, value.shape[1])
    for o in range(first, last):
        loss.gradient[row, o] += loss.hessian[row, o] * (value[then, o] - value[now, o])


@kernel
def move_splits(X, trees, cuts, value, column, fewest, loss, leaf, threshold):  # type: ignore[no-untyped-def]
    """Move each threshold to where the loss is lowest; return how many were moved.

    `value` (leaves, outputs) is what each leaf adds to the raw prediction, `column` (trees,) the output of each tree,
    -1 for all. `leaf` (trees, rows), the leaf of each row counted inside its tree, `threshold` and the gradient of the
    loss are updated. A threshold has `fewest` rows on either side. Rows with a missing value stay on their side.
    """
    n_rows, n_moved = len(X), 0
    most = np.diff(cuts.first).max() + 1
    total, count = np.empty(most), np.empty(most, np.int64)  # of the rows between two thresholds
    member, other = np.empty(n_rows, np.int64), np.empty(n_rows, np.int32)
    for tree in range(len(trees.first_split) - 1):
        at, shift, o = leaf[tree], trees.first_leaf[tree], column[tree]
        for split in range(trees.first_split[tree + 1] - 1, trees.first_split[tree] - 1, -1):
            feature, begin, middle, end = (
                trees.feature[split],
                trees.begin[split],
                trees.middle[split],
                trees.end[split],
            )
            if trees.lists.first[split + 1] > trees.lists.first[split]:
                continue
            n, low, high = 0, most, -1
            for row in range(n_rows):
                if (at[row] >= begin) & (at[row] < end) and X[row, feature] == X[row, feature]:
                    member[n] = row
                    n += 1
                    low, high = min(low, cuts.code[row, feature]), max(high, cuts.code[row, feature])
            if low >= high:
                continue
            total[low : high + 1] = 0.0
            count[low : high + 1] = 0
            now = 0.0  # loss of the threshold as it is, relative to all rows on the right, as all sums below
            for i in range(n):
                row = member[i]
                is_left = at[row] < middle
                child, first, last = (split + middle - begin, middle, end) if is_left else (split + 1, begin, middle)
                other[i] = _leaf_below(X, row, trees, threshold, child, first, last)
                change = _change(loss, row, value, shift + at[row], shift + other[i], o)
                place = cuts.code[row, feature]
                total[place] += -change if is_left else change
                count[place] += 1
                now -= change if is_left else 0.0
            best, cut, sum_, below = now - 1e-9 * abs(now), -1, 0.0, 0
            for place in range(low, high):
                sum_ += total[place]
                below += count[place]
                if count[place] > 0 and below >= fewest and n - below >= fewest and sum_ < best:
                    best, cut = sum_, place
            if cut < 0:
                continue
            threshold[split] = cuts.threshold[cuts.first[feature] + cut]
            n_moved += 1
            for i in range(n):
                row = member[i]
                if (cuts.code[row, feature] <= cut) != (at[row] < middle):
                    _move(loss, row, value, shift + at[row], shift + other[i], o)
                    at[row] = other[i]
    return n_moved
