"""Rows and comparisons for models of other libraries: same leaf for every row and tree, same predictions."""

import numpy as np

from neuralforest.network import ForestNetwork


def table(rng, n_rows=120, missing=True):
    """Return features, the third and fourth of which are codes of categories, and targets."""
    X = rng.normal(size=(n_rows, 4))
    X[:, 2], X[:, 3] = rng.integers(0, rng.integers(2, 40), n_rows), rng.integers(0, 3, n_rows)
    y = X[:, 0] + np.abs(X[:, 1]) + X[:, 2] % 3 + X[:, 3] * X[:, 0] + 0.1 * rng.normal(size=n_rows)
    if missing:
        X[rng.random(X.shape) < 0.1] = np.nan
    X[rng.random(X.shape) < 0.1] = 0.0
    return X, y


def rows_of(e, rng, n_rows=200, missing=True, unseen=True):
    """Return rows on thresholds and next to them, far outside, with missing values and categories never seen."""
    dtype = np.dtype(e.compare_dtype)
    X = (rng.normal(size=(n_rows, e.n_features)) * 10.0 ** rng.integers(-1, 8, (n_rows, e.n_features))).astype(dtype)
    for row in X if e.n_splits else X[:0]:
        split = rng.integers(e.n_splits)
        on = dtype.type(np.clip(e.threshold[split], -1e30, 1e30))
        beside = rng.choice([on, np.nextafter(on, dtype.type(np.inf)), np.nextafter(on, dtype.type(-np.inf))])
        row[e.feature[split]] = beside
    X[rng.random(X.shape) < 0.05] = 0.0
    for feature in np.unique(e.feature[e.is_categorical]):
        n = max(np.diff(e.first_category)[e.feature == feature]) - 1
        X[:, feature] = rng.integers(0, n + (3 if unseen else 0), n_rows)
    if missing:
        X[rng.random(X.shape) < 0.1] = np.nan
    return X.astype(np.float64)


def assert_same_leaves(e, X, leaves):
    """Compare which rows share a leaf, tree by tree."""
    ours = ForestNetwork(e).apply(X)
    leaves = np.asarray(leaves).reshape(len(X), -1)
    assert ours.shape == leaves.shape
    for tree in range(e.n_trees):
        pairs = set(zip(ours[:, tree].tolist(), leaves[:, tree].tolist(), strict=True))
        assert len(pairs) == len(set(ours[:, tree])) == len(set(leaves[:, tree])), f"tree {tree}"


def assert_same_predictions(e, X, theirs, rounding):
    """Compare predictions, or probabilities, relative to the largest score."""
    network = ForestNetwork(e)
    ours = network.predict(X) if e.classes is None else network.predict_proba(X)
    largest = max(1.0, np.abs(network.output(X)).max())
    np.testing.assert_allclose(ours, theirs, rtol=rounding * largest, atol=rounding * largest * np.abs(theirs).max())


def assert_one_leaf_is_active(e, X):
    """Layer 2 has exactly one +1 per tree and row: the leaf of the row."""
    network = ForestNetwork(e)
    rows = network.check_X(X)
    columns, leaves = network.columns.expand(rows), network.apply(X)
    for tree in range(e.n_trees):
        layers, splits = network.layers(tree), slice(*e.first_split[tree : tree + 2])
        u = np.where(np.nan_to_num(columns) @ layers.W1.T.toarray() + layers.b1 > 0, 1.0, -1.0)
        missing = np.isnan(rows[:, e.feature[splits]])
        u = np.where(missing, np.where(e.missing_left[splits], -1.0, 1.0), u)
        v = u @ layers.W2.T.toarray() + layers.b2
        np.testing.assert_array_equal((v > 0).sum(axis=1), 1)
        np.testing.assert_array_equal(v.argmax(axis=1), leaves[:, tree])
