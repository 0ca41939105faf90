"""Traversal of trees by the kernel, against a naive traversal of one row at a time."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import training_twins
import twins
from neuralforest._kernels.trees import traverse
from neuralforest.network import ForestNetwork


def rows_for(ensemble, n, seed):
    """Return rows with values on thresholds, just above them, missing, and anywhere."""
    rng = np.random.default_rng(seed)
    codes = [-1.0, -0.5, *range(9)]  # categories, and others
    special = [ensemble.threshold, np.nextafter(ensemble.threshold, np.inf), [np.nan, 0.0, -1e30, 1e30], codes]
    special = np.concatenate(special)
    X = rng.normal(size=(n, ensemble.n_features))
    mask = rng.random(X.shape) < 0.5
    X[mask] = rng.choice(special, size=mask.sum())
    return X.astype(ensemble.compare_dtype)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    st.lists(st.integers(1, 12), min_size=1, max_size=4).map(tuple),
    st.integers(1, 40),
    st.sampled_from(["float32", "float64"]),
    st.sampled_from([None, {0: 1}, {1: 6}, {0: 3, 1: 2, 2: 7}]),
    st.integers(0, 10**6),
)
def test_rows_reach_the_leaves_of_a_naive_traversal(sizes, n_rows, dtype, categories, seed):
    ensemble = training_twins.random_ensemble(sizes, n_outputs=2, seed=seed, compare_dtype=dtype, categories=categories)
    X = rows_for(ensemble, n_rows, seed)
    expected = twins.leaves(ensemble, X)
    nodes, lists = ForestNetwork(ensemble).hard_trees.nodes
    assert (lists is None) == (not ensemble.is_categorical.any())
    found = np.full((n_rows, len(sizes)), -1, np.int32)
    traverse.leaves_of_rows(nodes, lists, ensemble.first_split, ensemble.first_leaf, X, found)
    np.testing.assert_array_equal(found, expected)
    trees = np.flatnonzero(np.arange(len(sizes)) % 2 == 0)
    out = np.ones((n_rows, 2))
    traverse.add_leaf_values(nodes, lists, ensemble.first_split, ensemble.first_leaf, ensemble.value, trees, X, out)
    sums = np.ones((n_rows, 2))
    for tree in trees:
        sums += ensemble.value[ensemble.first_leaf[tree] + expected[:, tree]]
    np.testing.assert_array_equal(out, sums)


@pytest.mark.parametrize("categories", [None, {0: 3}], ids=["numbers", "categories"])
@pytest.mark.parametrize("n_rows", [7, 9, 16383, 16384, 16385])
def test_batches_of_rows_leave_no_gap(n_rows, categories):
    assert (traverse._UNROLL, traverse._BATCH) == (8, 16384)  # the numbers of rows are just below and above
    ensemble = training_twins.random_ensemble((3, 2), categories=categories)
    X = rows_for(ensemble, n_rows, 0)
    out = np.zeros((n_rows, 1))
    network = ForestNetwork(ensemble)
    traverse.add_leaf_values(
        *network.hard_trees.nodes,
        ensemble.first_split,
        ensemble.first_leaf,
        ensemble.value,
        np.arange(2),
        X,
        out,
    )
    leaves = network.apply(X)
    np.testing.assert_array_equal(out[:, 0], ensemble.value[leaves[:, 0], 0] + ensemble.value[3 + leaves[:, 1], 0])
