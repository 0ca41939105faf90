"""Shuffles: permutations that depend on seed, epoch and subnetwork alone."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuralforest._kernels.network.shuffle import shuffle


def order_of(n, seed=0, epoch=0, subnetwork=0):
    order = np.full(n, -1, np.int64)
    shuffle(order, seed, epoch, subnetwork)
    return order


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.integers(0, 300), st.integers(0, 2**63 - 1), st.integers(0, 10**6), st.integers(0, 10**6))
def test_every_order_is_a_permutation(n, seed, epoch, subnetwork):
    order = order_of(n, seed, epoch, subnetwork)
    np.testing.assert_array_equal(np.sort(order), np.arange(n))
    np.testing.assert_array_equal(order, order_of(n, seed, epoch, subnetwork))


@pytest.mark.parametrize("name", ["seed", "epoch", "subnetwork"])
def test_seed_epoch_and_subnetwork_each_change_the_order(name):
    orders = {tuple(order_of(30, **{name: value})) for value in range(50)}
    assert len(orders) == 50


def test_seed_epoch_and_subnetwork_are_not_interchangeable():
    triples = list(product(range(4), repeat=3))
    assert len({tuple(order_of(30, *triple)) for triple in triples}) == len(triples)


def test_every_row_comes_to_every_place_equally_often():
    n, repeats = 8, 4000
    places = np.zeros((n, n))
    for epoch in range(repeats):
        places[np.arange(n), order_of(n, epoch=epoch)] += 1
    expected = repeats / n
    chi_squared = ((places - expected) ** 2 / expected).sum()
    assert chi_squared < 85  # 49 degrees of freedom: exceeded once in 1,000
    pairs = {tuple(order_of(3, epoch=epoch)) for epoch in range(100)}
    assert len(pairs) == 6
