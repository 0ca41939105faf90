"""Slow twins: the same predictions as the package, one row at a time, in plain NumPy and with no code in common."""

from itertools import pairwise

import numpy as np
from scipy.special import expit, ndtr


def goes_left(ensemble, split, x):
    """Return whether a value goes left at a split: by its threshold, or by the entry of its category."""
    if np.isnan(x):
        return bool(ensemble.missing_left[split])
    entries = ensemble.category_left[ensemble.first_category[split] : ensemble.first_category[split + 1]].tolist()
    if not entries:
        return float(x) <= float(ensemble.threshold[split])
    others = len(entries) - 1
    return entries[int(x) if 0 <= x < others else others]


def leaf_of(ensemble, tree, row):
    """Follow one row down one tree; return the leaf's number inside the tree."""
    split = ensemble.first_split[tree]
    begin, end = 0, ensemble.first_leaf[tree + 1] - ensemble.first_leaf[tree]
    while end - begin > 1:
        assert (ensemble.begin[split], ensemble.end[split]) == (begin, end)
        middle = ensemble.middle[split]
        if goes_left(ensemble, split, row[ensemble.feature[split]]):
            split, end = split + 1, middle
        else:
            split, begin = split + middle - begin, middle
    return begin


def leaves(ensemble, X):
    """Return the number of every row's leaf inside every tree, (rows, trees)."""
    X = np.array(X).astype(ensemble.compare_dtype)
    for feature, (low, high) in enumerate(ensemble.missing_range):
        X[(low <= X[:, feature]) & (X[:, feature] <= high), feature] = np.nan
    return np.array([[leaf_of(ensemble, tree, row) for tree in range(ensemble.n_trees)] for row in X])


def scores(ensemble, X):
    """Return the raw prediction before the link, (rows, outputs), summed tree by tree."""
    first = ensemble.n_groups * ensemble.base_score if ensemble.aggregation == "sum" else np.zeros(ensemble.n_outputs)
    total = np.tile(first, (len(X), 1))
    for tree, leaf in enumerate(leaves(ensemble, X).T):
        total += ensemble.value[ensemble.first_leaf[tree] + leaf]
    return total / ensemble.n_groups if ensemble.aggregation == "sum" else total / ensemble.n_trees


def predict(ensemble, X):
    """Return probabilities of classes, or predictions for a regression: (rows,) when there is one output."""
    raw = scores(ensemble, X)
    if ensemble.link == "probit" and ensemble.n_groups > 1:  # probabilities of groups are averaged
        groups = [ensemble[first:last] for first, last in pairwise(ensemble.groups.tolist())]
        return np.mean([predict(group, X) for group in groups], axis=0)
    if ensemble.link == "softmax":
        power = np.exp(raw - raw.max(axis=1, keepdims=True))
        return power / power.sum(axis=1, keepdims=True)
    prediction = {"identity": np.array, "log": np.exp, "logit": expit, "probit": ndtr}[ensemble.link](raw)
    if ensemble.classes is None:
        return prediction[:, 0] if ensemble.n_outputs == 1 else prediction
    return np.hstack([1 - prediction, prediction]) if ensemble.link in ("logit", "probit") else prediction


def leaf_nodes(left, right):
    """Return the numbers of the leaves of a tree with child pointers, from left to right."""
    found, waiting = [], [0]
    while waiting:
        node = waiting.pop()
        if left[node] < 0:
            found.append(node)
        else:
            waiting += [right[node], left[node]]
    return np.array(found)
