"""Rows on thresholds, and sums of trees by traversal: what faster evaluations are compared with."""

import numpy as np

from neuralforest._kernels.trees import traverse


def by_traversal(network, X):
    e, out = network.ensemble, np.zeros((len(X), network.n_outputs))
    trees = np.arange(e.n_trees)
    traverse.add_leaf_values(*network.hard_trees.nodes, e.first_split, e.first_leaf, e.value, trees, X, out)
    return out


def rows_on_thresholds(e, rng, n):
    X = rng.normal(size=(n, e.n_features)).astype(e.compare_dtype)
    for row in X:
        split = rng.integers(e.n_splits)
        on = X.dtype.type(e.threshold[split])
        row[e.feature[split]] = rng.choice([on, np.nextafter(on, X.dtype.type(9)), np.nextafter(on, X.dtype.type(-9))])
    X[rng.random(X.shape) < 0.2] = np.nan
    return X
