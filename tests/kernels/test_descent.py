"""Descent of blocks of rows through large trees gives the bits of traversal."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import neuralforest as nf
from hard_twins import by_traversal, rows_on_thresholds
from neuralforest._kernels.trees import descent
from neuralforest.network import ForestNetwork, hard_trees
from neuralforest.network.large_trees import _depths, large_trees
from training_twins import random_ensemble


def by_descent(network, X):
    out = np.zeros((len(X), network.n_outputs))
    descent.add_leaf_values(large_trees(network.ensemble), np.arange(network.ensemble.n_trees), X, out)
    return out


@settings(max_examples=40, deadline=None)
@given(
    sizes=st.lists(st.sampled_from([1, 2, 3, 65, 200]), min_size=1, max_size=4),
    outputs=st.integers(1, 2),
    n=st.sampled_from([1, 63, 64, 65, 300]),
    seed=st.integers(0, 1000),
)
def test_the_bits_of_traversal(sizes, outputs, n, seed):
    e = random_ensemble((2, *sizes), n_outputs=outputs, seed=seed, compare_dtype="float32")
    network = ForestNetwork(e)
    X = rows_on_thresholds(e, np.random.default_rng(seed), n)
    np.testing.assert_array_equal(by_descent(network, X), by_traversal(network, X))


def test_more_rows_than_pass_through_a_tree_at_once():
    e = random_ensemble((1, 150), seed=4, compare_dtype="float32")
    network = ForestNetwork(e)
    X = np.resize(rows_on_thresholds(e, np.random.default_rng(0), 500), (descent._BATCH + 70, e.n_features))
    np.testing.assert_array_equal(by_descent(network, X), by_traversal(network, X))


def test_infinite_thresholds_do_not_lead_beyond_a_leaf():
    e = random_ensemble((9, 70), seed=3, compare_dtype="float32")
    threshold = np.where(np.arange(e.n_splits) % 3 == 0, np.inf, e.threshold)
    network = ForestNetwork(type(e)(**{**vars_of(e), "threshold": threshold}))
    X = rows_on_thresholds(e, np.random.default_rng(0), 200)
    np.testing.assert_array_equal(by_descent(network, X), by_traversal(network, X))


def vars_of(e):
    names = ("feature", "missing_left", "middle", "value", "weight", "first_split", "first_leaf", "n_features")
    return {name: getattr(e, name) for name in (*names, "compare_dtype")}


def test_depths_are_the_numbers_of_splits_above():
    e = random_ensemble((1, 2, 40, 7), seed=1)
    splits, leaves = _depths(e)
    for tree in range(e.n_trees):
        own = slice(e.first_split[tree], e.first_split[tree + 1])
        for leaf in range(e.first_leaf[tree + 1] - e.first_leaf[tree]):
            above = (e.begin[own] <= leaf) & (leaf < e.end[own])
            assert leaves[e.first_leaf[tree] + leaf] == above.sum()
        for split in range(own.start, own.stop):
            above = (e.begin[own] <= e.begin[split]) & (e.end[split] <= e.end[own])
            assert splits[split] == above.sum() - 1


def test_what_does_not_fit_into_a_node_is_traversed():
    assert large_trees(random_ensemble((65,), compare_dtype="float64")) is None
    assert large_trees(random_ensemble((65,), n_features=2**11 + 1, compare_dtype="float32")) is None
    assert large_trees(random_ensemble((5,), categories={0: 3, 1: 3, 2: 3}, compare_dtype="float32")) is None


@pytest.mark.parametrize("n", [10, 100, 3000])
def test_a_network_predicts_the_same_for_any_number_of_rows(n, monkeypatch):
    e = random_ensemble((70, 100), seed=2, compare_dtype="float32")
    network, X = ForestNetwork(e), rows_on_thresholds(e, np.random.default_rng(1), 3000)
    ways = []
    for module in (hard_trees.descent, hard_trees.traverse):
        monkeypatch.setattr(module, "add_leaf_values", called(module.add_leaf_values, module.__name__, ways))
    expected = network.predict(X)
    np.testing.assert_array_equal(ForestNetwork(e).predict(X[:n]), expected[:n])
    assert [name.rpartition(".")[2] for name in ways] == ["descent", "descent" if n == 3000 else "traverse"]


def called(function, name, ways):
    def call(*arguments):
        ways.append(name)
        return function(*arguments)

    return call


BEFORE_A_GUARD_PAGE = """
import ctypes, mmap
import numpy as np
from neuralforest._kernels.trees import descent
from neuralforest.network.large_trees import large_trees
from training_twins import random_ensemble
trees = large_trees(random_ensemble((2, 150), n_features=20, seed=0, compare_dtype="float32"))
n = descent._BATCH + 1
size = n * 20 * 4
end = -(-size // mmap.PAGESIZE) * mmap.PAGESIZE
memory = mmap.mmap(-1, end + n * 20 * 4)
X = np.frombuffer(memory, np.uint8)[end - size : end].view(np.float32).reshape(n, 20)
X[:] = np.random.default_rng(0).normal(size=X.shape)
libc = ctypes.CDLL(None)
libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
assert libc.mprotect(X.ctypes.data + size, n * 20 * 4 // mmap.PAGESIZE * mmap.PAGESIZE, 0) == 0
descent.add_leaf_values(trees, np.arange(2), X, np.zeros((n, 1)))
print("passed")
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="mprotect")
def test_no_number_beyond_the_last_row_is_read():
    """Behind the rows lies memory that cannot be read, and the last batch is a single row."""
    folders = [Path(nf.__file__).parents[1], Path(__file__).parents[1]]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, folders))}
    command = [sys.executable, "-c", BEFORE_A_GUARD_PAGE]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout) == (0, "passed\n"), done.stderr
