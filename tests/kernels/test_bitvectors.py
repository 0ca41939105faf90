"""Bit vectors: small trees evaluated for blocks of rows give the bits of traversal."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hard_twins import by_traversal, rows_on_thresholds
from neuralforest._kernels.trees import bitvectors
from neuralforest.ensemble import TreeEnsemble
from neuralforest.network import ForestNetwork
from neuralforest.network.small_trees import small_trees
from training_twins import random_ensemble


def by_bits(network, X):
    out = np.zeros((len(X), network.n_outputs))
    bitvectors.add_leaf_values(*small_trees(network.ensemble), np.arange(network.ensemble.n_trees), X, out)
    return out


@settings(max_examples=60, deadline=None)
@given(
    sizes=st.lists(st.sampled_from([1, 2, 3, 16, 17, 32, 33, 64]), min_size=1, max_size=4),
    outputs=st.integers(1, 2),
    dtype=st.sampled_from(["float32", "float64"]),
    n=st.sampled_from([1, 63, 64, 65, 300]),
    seed=st.integers(0, 1000),
)
def test_the_bits_of_traversal(sizes, outputs, dtype, n, seed):
    e = random_ensemble((2, *sizes), n_outputs=outputs, seed=seed, compare_dtype=dtype)
    network = ForestNetwork(e)
    X = rows_on_thresholds(e, np.random.default_rng(seed), n)
    np.testing.assert_array_equal(by_bits(network, X), by_traversal(network, X))


def symmetric_ensemble(rng, depths, n_features=3):
    """Return complete trees whose levels have one split each."""
    middle, feature, threshold, missing_left = [], [], [], []
    for depth in depths:
        levels = rng.integers(n_features, size=depth), rng.normal(size=depth), rng.random(depth) < 0.5

        def grow(level, begin, depth=depth, levels=levels):
            if level < depth:
                half = 2 ** (depth - level - 1)
                middle.append(begin + half)
                for array, values in zip((feature, threshold, missing_left), levels, strict=True):
                    array.append(values[level])
                grow(level + 1, begin)
                grow(level + 1, begin + half)

        grow(0, 0)
    leaves = [2**depth for depth in depths]
    n_leaves = sum(leaves)
    return TreeEnsemble(
        feature=feature,
        threshold=threshold,
        missing_left=missing_left,
        middle=middle,
        value=rng.normal(size=(n_leaves, 1)),
        weight=np.ones(n_leaves),
        first_split=np.cumsum([0, *(n - 1 for n in leaves)]),
        first_leaf=np.cumsum([0, *leaves]),
        n_features=n_features,
    )


@pytest.mark.parametrize("depths", [(1,), (3, 2), (7,), (2, 0, 4)], ids=str)
def test_symmetric_trees_have_one_comparison_a_level(depths):
    rng = np.random.default_rng(len(depths))
    network = ForestNetwork(symmetric_ensemble(rng, depths))
    small = small_trees(network.ensemble)
    assert small.trees is None
    assert len(small.symmetric.column) == sum(depths)
    X = rows_on_thresholds(network.ensemble, rng, 300)
    np.testing.assert_array_equal(by_bits(network, X), by_traversal(network, X))


def test_large_trees_and_categories_are_traversed():
    assert small_trees(random_ensemble((65,))) is None
    assert small_trees(random_ensemble((5,), categories={0: 3, 1: 3, 2: 3})) is None
    assert small_trees(random_ensemble((5, 33))).symmetric is None
