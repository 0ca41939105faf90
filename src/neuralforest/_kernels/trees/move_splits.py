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


@part
def _rows_of_split(X, trees, cuts, at, split, member):  # type: ignore[no-untyped-def]
    """Fill `member` with the rows of a split whose value is known; return how many, and their range of codes."""
    feature, begin, end = trees.feature[split], trees.begin[split], trees.end[split]
    n, low, high = 0, np.int64(32767), np.int64(-1)
    for row in range(len(X)):
        if (at[row] >= begin) & (at[row] < end) and X[row, feature] == X[row, feature]:
            member[n] = row
            n += 1
            code = np.int64(cuts.code[row, feature])
            low, high = min(low, code), max(high, code)
    return n, low, high


@part
def _add_changes(X, trees, threshold, cuts, loss, value, shift, column, at, split, member, other, total, count):  # type: ignore[no-untyped-def]
    """Add up, for each code, how much the loss of its rows is lower on the left; return the sum of those on the left.

    `other` becomes the leaf that each row would reach on the other side.
    """
    feature, begin, middle, end = trees.feature[split], trees.begin[split], trees.middle[split], trees.end[split]
    now = 0.0
    for i in range(len(member)):
        row = member[i]
        is_left = at[row] < middle
        child, first, last = (split + middle - begin, middle, end) if is_left else (split + 1, begin, middle)
        other[i] = _leaf_below(X, row, trees, threshold, child, first, last)
        change = _change(loss, row, value, shift + at[row], shift + other[i], column)
        place = cuts.code[row, feature]
        total[place] += -change if is_left else change
        count[place] += 1
        now -= change if is_left else 0.0
    return now


@part
def _best_cut(total, count, n, fewest, now):  # type: ignore[no-untyped-def]
    """Return the last code on the left, for the lowest sum of the rows on the left; -1 where none is lower than now."""
    best, cut, sum_, below = now - 1e-9 * abs(now), -1, 0.0, 0
    for place in range(len(total) - 1):
        sum_ += total[place]
        below += count[place]
        if count[place] > 0 and below >= fewest and n - below >= fewest and sum_ < best:
            best, cut = sum_, place
    return cut


@kernel
def move_splits(X, trees, cuts, value, column, fewest, loss, leaf, threshold):  # type: ignore[no-untyped-def]
    """Move each threshold to where the loss is lowest; return how many were moved.

    `value` (leaves, outputs) is what each leaf adds to the raw prediction, `column` (trees,) the output of each tree,
    -1 for all. `leaf` (trees, rows), the leaf of each row counted inside its tree, `threshold` and the gradient of the
    loss are updated. A threshold has `fewest` rows on either side. Rows with a missing value stay on their side.
    """
    n_moved, most = 0, np.diff(cuts.first).max() + 1
    total, count = np.empty(most), np.empty(most, np.int64)  # of the rows between two thresholds
    member, other = np.empty(len(X), np.int64), np.empty(len(X), np.int32)
    for tree in range(len(trees.first_split) - 1):
        at, shift, o = leaf[tree], trees.first_leaf[tree], column[tree]
        for split in range(trees.first_split[tree + 1] - 1, trees.first_split[tree] - 1, -1):
            if trees.lists.first[split + 1] > trees.lists.first[split]:
                continue
            n, low, high = _rows_of_split(X, trees, cuts, at, split, member)
            if low >= high:
                continue
            total[low : high + 1] = 0.0
            count[low : high + 1] = 0
            now = _add_changes(
                X, trees, threshold, cuts, loss, value, shift, o, at, split, member[:n], other, total, count
            )
            cut = _best_cut(total[low : high + 1], count[low : high + 1], n, fewest, now)
            if cut < 0:
                continue
            cut += low
            feature = trees.feature[split]
            threshold[split] = cuts.threshold[cuts.first[feature] + cut]
            n_moved += 1
            for i in range(n):
                row = member[i]
                if (cuts.code[row, feature] <= cut) != (at[row] < trees.middle[split]):
                    _move(loss, row, value, shift + at[row], shift + other[i], o)
                    at[row] = other[i]
    return n_moved
