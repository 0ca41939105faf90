"""How time and memory grow, the first call, and the exact network against its forest: numbers for benchmarks.speed."""

import os
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Iterator

import numpy as np
from sklearn.datasets import make_friedman1
from sklearn.ensemble import RandomForestRegressor

import neuralforest as nf
from neuralforest.readers import read_ensemble
from neuralforest.training import BlockRows, Settings, TrainingData, train

Numbers = tuple[str, float, float, float, str]  # what, ours, theirs, ratio, target

_FIRST_CALL = """
import time
started = time.perf_counter()
import neuralforest as nf
imported = time.perf_counter()
from sklearn.datasets import make_friedman1
X, y = make_friedman1(100, random_state=0)
nf.NeuralForestRegressor(max_epochs=1, connectivity={connectivity!r}, random_state=0).fit(X, y).predict(X)
print(imported - started, time.perf_counter() - imported)
"""


def measurements(turns: int, quick: bool) -> Iterator[Numbers]:
    """Yield all of them."""
    yield from _growth(turns, quick)
    yield _memory()
    yield from _first_call()
    yield from _exact(quick)


def _growth(turns: int, quick: bool) -> Iterator[Numbers]:
    """Yield time per row, and per connection, of large fits against small ones; 1 is linear."""
    from benchmarks.speed import best_of, complete_forest, epochs_of, made_up_rows

    many = 30_000 if quick else 100_000
    network = complete_forest(10).soften()
    few_rows, many_rows = (epochs_of(network, *made_up_rows(n), threads=1) for n in (1_000, many))
    small, large = best_of(turns, lambda: min(few_rows() for _ in range(5)) / 1_000, lambda: many_rows() / many)
    yield f"sparse: seconds per row, {many:,} rows against 1,000", large, small, large / small, "<= 1.15"
    for what, few, lots in (
        ("300 trees against 10", complete_forest(10), complete_forest(300)),
        ("depth 10 against 6", complete_forest(10), complete_forest(10, depth=10)),
        ("100 features against 8", complete_forest(10), complete_forest(10, n_features=100)),
    ):
        times = []
        for hard in (few, lots):
            epoch = epochs_of(hard.soften(), *made_up_rows(1_000, hard.ensemble.n_features), threads=1)
            connections = hard.ensemble.first_connection[-1]
            times.append(best_of(turns, epoch)[0] / connections)
        yield f"sparse: seconds per connection, {what}", times[1], times[0], times[1] / times[0], "<= 1.15"


def _memory() -> Numbers:
    """Return the peak of what a sparse fit allocates, in bytes per parameter."""
    from benchmarks.speed import complete_forest, made_up_rows

    network = complete_forest(100, depth=10).soften()
    X, y = made_up_rows(256)
    rows = BlockRows.shared(np.arange(len(X)), np.ones(len(X)), network.n_blocks)
    data, settings = TrainingData(X, y, rows, rows), Settings(max_epochs=2)
    train(network, data, settings)
    tracemalloc.start()
    train(network, data, settings)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert network.soft is not None
    share = peak / network.soft.parameters.nbytes
    return "sparse: peak extra memory, in copies of the parameters (seconds mean copies)", share, 1.0, share, "<= 6"


def _first_call() -> Iterator[Numbers]:
    """Yield the seconds of a first small fit in a new process with an empty cache, and of the import."""
    for connectivity in ("sparse", "full"):
        with tempfile.TemporaryDirectory() as folder:
            environment = os.environ | {"NUMBA_CACHE_DIR": folder}
            command = [sys.executable, "-c", _FIRST_CALL.format(connectivity=connectivity)]
            output = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
        imported, fitted = map(float, output.split())
        yield f"{connectivity}: first fit, cold cache, with compilation", fitted, imported, fitted, "<= 10"


def _exact(quick: bool) -> Iterator[Numbers]:
    """Yield conversion and prediction of the exact network against its forest."""
    X, y = make_friedman1(20_000, n_features=10, noise=1.0, random_state=0)
    n_trees = 50 if quick else 200
    started = time.perf_counter()
    forest = RandomForestRegressor(n_trees, n_jobs=2, random_state=0).fit(X, y)
    fit = time.perf_counter() - started
    read_ensemble(forest)  # compiles
    started = time.perf_counter()
    ensemble = read_ensemble(forest)
    reading = time.perf_counter() - started
    yield f"reading {n_trees} fully grown trees, share of fit time", reading, fit, reading / fit, "<= 0.05"
    arrays = [value for value in vars(ensemble).values() if isinstance(value, np.ndarray)]
    size = sum(array.nbytes for array in arrays) / (4 * ensemble.first_connection[-1])
    yield "their memory / (4 bytes x sum of leaf depths) (seconds mean ratios)", size, 1.0, size, "<= 2"
    network = nf.ForestNetwork(ensemble)
    rows = np.random.default_rng(0).random((100_000, 10))
    for threads in (1, 2):
        forest.n_jobs = threads
        times = []
        for predict in (lambda: network.predict(rows, n_jobs=threads), lambda: forest.predict(rows)):  # noqa: B023
            predict()
            started = time.perf_counter()
            predict()
            times.append(time.perf_counter() - started)
        yield f"hard predict, 100,000 rows, {threads} threads", times[0], times[1], times[1] / times[0], ">= 1"
    times = []
    for single in (lambda: network.predict(rows[:1]), lambda: forest.predict(rows[:1])):
        started = time.perf_counter()
        for _ in range(20):
            single()
        times.append((time.perf_counter() - started) / 20)
    yield "hard predict, one row", times[0], times[1], times[1] / times[0], ">= 10"
