"""An extra tree: of a few random features the best one, split at a random threshold; grown until its leaves are pure.

scikit-learn's extra trees are as accurate; bagged, they take three to nine times as long on a few thousand rows.
"""

import numpy as np

from neuralforest._kernels.jit import invert_none, kernel, part
from neuralforest._kernels.random import STEP, integer, mix, uniform
from neuralforest._kernels.trees.partition import append_right, assign_row
from neuralforest._kernels.trees.traverse import goes_left

_U = np.uint64  # unsigned indices in inner loops: a signed index is checked for being negative
_PURE = 1e-12  # the relative impurity of a pure leaf that rounding may leave


@part
def _find_range(x, feature, rows, first, last, limits, numbers):  # type: ignore[no-untyped-def]
    """Copy the numbers of some rows, write minimum and maximum to `limits`, and return whether some are missing."""
    low, high, missing = limits[2], -limits[2], False  # infinity, of the dtype of x
    for i in range(_U(first), _U(last)):
        number = x[_U(feature), _U(rows[i])]
        numbers[i - _U(first)] = number
        low = number if number < low else low
        high = number if number > high else high
        missing |= number != number
    limits[0], limits[1] = low, high
    return missing


@part
def _gain(numbers, threshold, missing_left, rows, first, last, value, weight, column, n_rows, total, left):  # type: ignore[no-untyped-def]
    """Return the gain of a split, the sum of G^2 / n over both children; G is the sum of values, n that of weights.

    Without branches on the rows, which would be mispredicted half the time.
    """
    n_left, sum_ = 0.0, 0.0
    for k in range(len(left)):
        left[k] = 0.0
    for i in range(_U(first), _U(last)):
        row = _U(rows[i])
        is_left = 1.0 if goes_left(numbers[i - _U(first)], threshold, missing_left) else 0.0
        n_left += is_left * (weight[row] if weight is not None else 1.0)
        if column is not None:
            left[column[row]] += is_left * value[row]
        else:
            sum_ += is_left * value[row]
    if invert_none(column) is not None:
        left[0] = sum_
    gain = 0.0
    for k in range(len(left)):
        right = total[k] - left[k]
        gain += left[k] * left[k] / n_left + right * right / (n_rows - n_left)
    return gain


@part
def _partition(x, feature, threshold, missing_left, rows, first, last, right_rows):  # type: ignore[no-untyped-def]
    """Move the rows that go left before those that go right; return the first of the latter."""
    middle, n_right = first, 0
    for i in range(first, last):
        row = rows[i]
        left = goes_left(x[feature, row], threshold, missing_left)
        middle, n_right = assign_row(row, left, rows, middle, right_rows, n_right)
    append_right(rows, middle, right_rows, n_right)
    return middle


@part
def _impurity(rows, first, last, value, weight, column, total):  # type: ignore[no-untyped-def]
    """Fill the sums of some rows by column; return their weight, the sum of their squares, and what the means leave."""
    squares, explained, sum_, n_rows = 0.0, 0.0, 0.0, 0.0
    for k in range(len(total)):
        total[k] = 0.0
    for i in range(_U(first), _U(last)):
        row = _U(rows[i])
        one = weight[row] if weight is not None else 1.0
        n_rows += one
        squares += value[row] ** 2 / one
        if column is not None:
            total[column[row]] += value[row]
        else:
            sum_ += value[row]
    if invert_none(column) is not None:
        total[0] = sum_
    for k in range(len(total)):
        explained += total[k] * total[k] / n_rows
    return n_rows, squares, squares - explained


@part
def _draw_split(x, rows, first, last, what, features, buffers, max_features, enough, state, flat, split):  # type: ignore[no-untyped-def]
    """Write the best of some random splits into `flat`; return its gain, negative if there is none.

    A split with a gain of `enough` has pure children: no other is better.
    """
    limits, numbers = buffers
    best, best_feature, best_threshold, best_left, tried, place = -1.0, 0, limits[2], False, 0, 0
    while tried < max_features and place < len(features) and best < enough:
        state += STEP
        other = place + integer(state, len(features) - place)
        feature = features[other]
        features[place], features[other] = feature, features[place]
        place += 1
        missing = _find_range(x, feature, rows, first, last, limits, numbers)
        varies = (limits[0] < limits[1]) | (missing & (limits[0] == limits[1]))
        if not varies:
            continue
        tried += 1
        state += STEP
        limits[3] = limits[0] + uniform(state) * (np.float64(limits[1]) - np.float64(limits[0]))
        threshold = limits[3] if limits[3] < limits[1] else limits[0]  # rounding may exceed the maximum
        missing_left = False
        if missing:
            state += STEP
            missing_left = (uniform(state) < 0.5) & (limits[0] < limits[1])
        gain = _gain(numbers, threshold, missing_left, rows, first, last, *what)
        if gain > best:
            best, best_feature, best_threshold, best_left = gain, feature, threshold, missing_left
    flat.feature[split], flat.threshold[split], flat.missing_left[split] = best_feature, best_threshold, best_left
    return best, state


@kernel
def grow(x, value, weight, column, rows, max_features, seed, flat):  # type: ignore[no-untyped-def]
    """Write a tree into `flat`, splits and leaves depth-first, and return the number of its splits.

    Parameters
    ----------
    x : float array (features, all rows)
    value : float64 array (all rows,)
        The target, or 1 for classification; times the weight of the row.
    weight : float64 array (all rows,), or None
        Positive; None where all rows count alike.
    column : int64 array (all rows,), or None
        The position of a row's class; None for regression.
    rows : uint32 array
        Training rows of the tree; they are reordered.
    max_features : int
        Features considered at a split, of those that vary between its rows.
    flat : FlatTrees
        With room for one split and one leaf per row. A leaf holds the mean of its rows, or their class frequencies.
    """
    n_columns, right_rows, features = flat.value.shape[1], np.empty_like(rows), np.arange(len(x))
    total, left = np.empty(n_columns), np.empty(n_columns)
    numbers = np.empty(len(rows), x.dtype)
    limits = np.array([0.0, 0.0, np.inf, 0.0]).astype(x.dtype)  # of a feature; infinity and a threshold in its dtype
    stack = np.empty((len(rows) + 1, 3), np.int64)  # of nodes: rows first to last - 1, the split it is right child of
    stack[0, 0], stack[0, 1], stack[0, 2], size = 0, len(rows), -1, 1
    n_splits, n_leaves, state = 0, 0, mix(np.uint64(seed) + STEP)
    while size > 0:
        size -= 1
        first, last = stack[size, 0], stack[size, 1]
        if stack[size, 2] >= 0:
            flat.middle[stack[size, 2]] = n_leaves
        n_rows, squares, rest = _impurity(rows, first, last, value, weight, column, total)
        n, enough = max_features if rest > _PURE * squares else 0, (1.0 - _PURE) * squares
        what, buffers = (value, weight, column, n_rows, total, left), (limits, numbers)
        best, state = _draw_split(x, rows, first, last, what, features, buffers, n, enough, state, flat, n_splits)
        if best >= 0.0:
            limits[3] = flat.threshold[n_splits]
            feature, missing_left = flat.feature[n_splits], flat.missing_left[n_splits]
            middle = _partition(x, feature, limits[3], missing_left, rows, first, last, right_rows)
            stack[size, 0], stack[size, 1], stack[size, 2] = middle, last, n_splits
            stack[size + 1, 0], stack[size + 1, 1], stack[size + 1, 2] = first, middle, -1
            size, n_splits = size + 2, n_splits + 1
        else:
            for k in range(n_columns):
                flat.value[n_leaves, k] = total[k] / n_rows
            flat.weight[n_leaves] = n_rows
            n_leaves += 1
    return n_splits
