"""A tree whose thresholds are drawn at random, of a few features tried the best one, grown until its leaves are pure.

scikit-learn's extra trees are as good; bagged, they take three to nine times as long on a few thousand rows.
"""

import numpy as np

from neuralforest._kernels.jit import absent, kernel, part
from neuralforest._kernels.trees.partition import append_waiting, part_row
from neuralforest._kernels.network.shuffle import STEP, mix

_U = np.uint64  # of an index in an inner loop: a signed one is checked for being negative
_PURE = 1e-12  # the share of the squares that rounding may leave in a leaf whose rows are all the same


@part
def _uniform(state):  # type: ignore[no-untyped-def]
    """Return a number from 0 up to, but not including, 1."""
    return np.float64(mix(state) >> np.uint64(11)) * 2.0**-53


@part
def _range_of(x, feature, rows, first, last, ends):  # type: ignore[no-untyped-def]
    """Write the least and the largest number of some rows into `ends`; return whether some are missing."""
    low, high, missing = ends[2], -ends[2], False  # infinity, of the dtype of x
    for i in range(_U(first), _U(last)):
        number = x[_U(feature), _U(rows[i])]
        low = number if number < low else low
        high = number if number > high else high
        missing |= number != number
    ends[0], ends[1] = low, high
    return missing


@part
def _kept(x, feature, threshold, missing_left, rows, first, last, value, column, total, left):  # type: ignore[no-untyped-def]
    """Return how much of the sum of squares the means of both sides of a split explain.

    Without branches, which would be taken at random.
    """
    n_left, sum_, missing = 0.0, 0.0, 1.0 if missing_left else 0.0
    for k in range(len(left)):
        left[k] = 0.0
    for i in range(_U(first), _U(last)):
        row = _U(rows[i])
        number = x[_U(feature), row]
        goes = (1.0 if number <= threshold else 0.0) + (missing if number != number else 0.0)
        n_left += goes
        if column is not None:
            left[column[row]] += goes * value[row]
        else:
            sum_ += goes * value[row]
    if absent(column) is not None:
        left[0] = sum_
    kept = 0.0
    for k in range(len(left)):
        right = total[k] - left[k]
        kept += left[k] * left[k] / n_left + right * right / (last - first - n_left)
    return kept


@part
def _part_rows(x, feature, threshold, missing_left, rows, first, last, waiting):  # type: ignore[no-untyped-def]
    """Put the rows that go left before those that go right; return where the latter begin."""
    middle, n_right = first, 0
    for i in range(first, last):
        row = rows[i]
        number = x[feature, row]
        left = (number <= threshold) | (missing_left & (number != number))
        middle, n_right = part_row(row, left, rows, middle, waiting, n_right)
    append_waiting(rows, middle, waiting, n_right)
    return middle


@part
def _unexplained(rows, first, last, value, column, total):  # type: ignore[no-untyped-def]
    """Fill the sums of some rows by column; return the share of their squares that the means leave unexplained."""
    squares, together, sum_ = 0.0, 0.0, 0.0
    for k in range(len(total)):
        total[k] = 0.0
    for i in range(_U(first), _U(last)):
        row = _U(rows[i])
        squares += value[row] ** 2
        if column is not None:
            total[column[row]] += value[row]
        else:
            sum_ += value[row]
    if absent(column) is not None:
        total[0] = sum_
    for k in range(len(total)):
        together += total[k] * total[k] / (last - first)
    return (squares - together) / squares if squares > 0.0 else 0.0


@part
def _draw_split(x, rows, first, last, value, column, total, left, features, ends, max_features, state, flat, split):  # type: ignore[no-untyped-def]
    """Write the best of some random splits into `flat`; return what it explains, below 0 if there is none.

    A feature that is the same for all rows is not skipped, but asked what it explains of no rows: an array that only a
    branch uses has its references counted at every turn.
    """
    best, best_feature, best_threshold, best_left, tried, place = -1.0, 0, ends[2], False, 0, 0
    while tried < max_features and place < len(features):
        state += STEP
        other = place + np.int64(_uniform(state) * (len(features) - place))
        feature = features[other]
        features[place], features[other] = feature, features[place]
        place += 1
        missing = _range_of(x, feature, rows, first, last, ends)
        differ = (ends[0] < ends[1]) | (missing & (ends[0] == ends[1]))
        tried += differ
        ends[3] = ends[0] + _uniform(state + STEP) * (np.float64(ends[1]) - np.float64(ends[0]))
        threshold = ends[3] if ends[3] < ends[1] else ends[0]  # rounding may lead beyond the largest
        missing_left = (_uniform(state + STEP + STEP) < 0.5) & (ends[0] < ends[1])
        state += STEP + STEP
        end = last if differ else first
        kept = _kept(x, feature, threshold, missing_left, rows, first, end, value, column, total, left)
        better = differ & (kept > best)
        best, best_feature = (kept if better else best), (feature if better else best_feature)
        best_threshold = threshold if better else best_threshold
        best_left = missing_left if better else best_left
    flat.feature[split], flat.threshold[split], flat.missing_left[split] = best_feature, best_threshold, best_left
    return best, state


@kernel
def grow(x, value, column, rows, max_features, seed, flat):  # type: ignore[no-untyped-def]
    """Write a tree into `flat`, splits and leaves depth-first, and return how many splits it has.

    Parameters
    ----------
    x : float array (features, all rows)
    value : float64 array (all rows,)
        Numbers, or 1 for every row of a class.
    column : int64 array (all rows,), or None
        The place of a row's class; None for numbers.
    rows : uint32 array
        Rows that the tree is grown on; their order changes.
    max_features : int
        Features that differ between rows, and are tried at a split.
    seed : int
    flat : FlatTrees
        With room for as many splits, and as many leaves, as there are rows. A leaf holds the mean of its rows, or
        their shares of classes.
    """
    n_columns = flat.value.shape[1]
    features, waiting, total, left = np.arange(len(x)), np.empty_like(rows), np.empty(n_columns), np.empty(n_columns)
    ends = np.array([0.0, 0.0, np.inf, 0.0]).astype(x.dtype)  # of a feature; infinity, and a threshold, in its dtype
    stack = np.empty((len(rows) + 1, 3), np.int64)  # first and last + 1 of a node's rows, the split that it is right of
    stack[0, 0], stack[0, 1], stack[0, 2], size = 0, len(rows), -1, 1
    n_splits, n_leaves, state = 0, 0, mix(np.uint64(seed) + STEP)
    while size > 0:
        size -= 1
        first, last = stack[size, 0], stack[size, 1]
        if stack[size, 2] >= 0:
            flat.middle[stack[size, 2]] = n_leaves
        n = max_features if _unexplained(rows, first, last, value, column, total) > _PURE else 0
        best, state = _draw_split(
            x, rows, first, last, value, column, total, left, features, ends, n, state, flat, n_splits
        )
        if best >= 0.0:
            feature, missing_left = flat.feature[n_splits], flat.missing_left[n_splits]
            ends[3] = flat.threshold[n_splits]
            middle = _part_rows(x, feature, ends[3], missing_left, rows, first, last, waiting)
            stack[size, 0], stack[size, 1], stack[size, 2] = middle, last, n_splits
            stack[size + 1, 0], stack[size + 1, 1], stack[size + 1, 2] = first, middle, -1
            size += 2
            n_splits += 1
        else:
            for k in range(n_columns):
                flat.value[n_leaves, k] = total[k] / (last - first)
            flat.weight[n_leaves] = last - first
            n_leaves += 1
    return n_splits
