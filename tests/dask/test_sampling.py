"""Samples of trees: without replacement, of exact size, fair, and alike whatever the order of tasks."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuralforest._statistics import ColumnMoments
from neuralforest.dask._partitions import Rows
from neuralforest.dask._sampling import draw, quotas, sample_sizes

counts = st.lists(st.lists(st.integers(0, 50), min_size=2, max_size=2), min_size=1, max_size=6)


@given(counts.filter(lambda rows: np.sum(rows) > 0), st.integers(10, 200), st.integers(0, 5), st.integers(0, 5))
def test_quotas_have_the_exact_sum_and_are_never_more_than_there_are(rows, most, seed, tree):
    table = np.array(rows)
    sizes = sample_sizes(table.sum(axis=0), most)
    found = quotas(table, sizes, seed, tree)
    np.testing.assert_array_equal(found.sum(axis=0), sizes)
    assert (found >= 0).all()
    assert (found <= table).all()
    assert (sizes >= np.minimum(table.sum(axis=0), 10)).all()
    assert sizes.sum() <= max(most, 20)


def test_every_row_has_the_same_chance():
    table, times = np.array([[30], [9], [1]]), np.zeros(40)
    first = np.array([0, 30, 39])
    for tree in range(1500):
        quota = quotas(table, np.array([8]), 0, tree)
        for p in range(3):
            rows = Rows(np.zeros((table[p, 0], 1), np.float32), np.zeros(table[p, 0]), np.ones(table[p, 0]))
            chosen = draw(rows, quota[p], None, (0, tree, p))
            assert len(set(chosen)) == quota[p, 0]
            times[first[p] + chosen] += 1
    np.testing.assert_allclose(times / 1500, 0.2, atol=4.5 * np.sqrt(0.2 * 0.8 / 1500))


def test_a_sample_is_stratified_and_depends_on_its_place_alone():
    labels = np.repeat(["a", "b"], [90, 10])
    rows = Rows(np.zeros((100, 1), np.float32), labels, np.ones(100))
    quota, classes = np.array([9, 4]), np.array(["a", "b"])
    one = draw(rows, quota, classes, (1, 2, 3))
    assert [(labels[one] == name).sum() for name in "ab"] == [9, 4]
    assert (np.diff(one) > 0).all()
    np.testing.assert_array_equal(one, draw(rows, quota, classes, (1, 2, 3)))
    others = [draw(rows, quota, classes, place) for place in ((0, 2, 3), (1, 0, 3), (1, 2, 0))]
    assert not any(np.array_equal(one, other) for other in others)


@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200])
def test_merged_moments_are_those_of_all_rows(scale):
    X = np.random.default_rng(0).normal(size=(100, 3)) * scale + 5 * scale
    X[::7, 1] = np.nan
    X[:, 2] = 3.0
    parts = [ColumnMoments.of(part) for part in np.split(X, [10, 11, 60])]
    whole, merged = (each.center_and_spread() for each in (ColumnMoments.of(X), ColumnMoments.merged(parts)))
    np.testing.assert_allclose(merged, whole, rtol=1e-12)
