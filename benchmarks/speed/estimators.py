"""Time and memory of `fit` on synthetic rows: `python -m benchmarks.speed.estimators`.

Three tables: the defaults on 1,000 rows of 10 features; time against the number of rows, up to 100,000, with few trees
and epochs; peak memory against the number of epochs. CPU time is summed over threads, because the machine may have
other load; wall time is shown next to it.
"""

import argparse
import time
import tracemalloc
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestRegressor

import neuralforest as nf
from benchmarks.common import markdown_row, markdown_table

ROWS = (1_000, 3_000, 10_000, 30_000, 100_000)
FEATURES = 10


class Cost(NamedTuple):
    cpu: float  # seconds, summed over threads
    wall: float  # seconds


def rows(n: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return synthetic rows; four features are informative, the others are noise."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, FEATURES))
    return X, X[:, 0] * X[:, 1] + np.sin(3 * X[:, 2]) + (X[:, 3] > 0) + 0.1 * rng.normal(size=n)


def cost_of(work: Callable[[], Any]) -> Cost:
    """Return CPU and wall time of a call."""
    cpu, wall = time.process_time(), time.perf_counter()
    work()
    return Cost(time.process_time() - cpu, time.perf_counter() - wall)


def small(connectivity: str, n_jobs: int | None, **parameters: Any) -> nf.NeuralForestRegressor:
    """Return an estimator of 10 trees with 64 leaves, trained for 2 epochs."""
    forest = RandomForestRegressor(10, max_leaf_nodes=64, max_features=1 / 3)
    chosen: dict[str, Any] = {"contrast": (3.0, 1.0), "max_epochs": 2, "random_state": 0} | parameters
    return nf.NeuralForestRegressor(forest, connectivity=connectivity, n_jobs=n_jobs, **chosen)


def print_defaults(n_jobs: int | None) -> None:
    """Fit both estimators with their defaults."""
    X, y = rows(1_000)
    print(f"defaults, 1,000 rows x {FEATURES} features\n")
    print(markdown_table(["estimator", "CPU s", "wall s"]))
    for kind, target in ((nf.NeuralForestRegressor, y), (nf.NeuralForestClassifier, (y > 0.5).astype(int))):
        kind(max_epochs=1, n_jobs=n_jobs).fit(X, target)  # compiles
        cost = cost_of(partial(kind(n_jobs=n_jobs, random_state=0).fit, X, target))
        print(markdown_row([kind.__name__, f"{cost.cpu:.1f}", f"{cost.wall:.1f}"]), flush=True)


def print_growth(sizes: Sequence[int], n_jobs: int | None) -> None:
    """Fit increasing numbers of rows; the last column is constant where time is linear."""
    print("\nrows, 10 trees of 64 leaves, 2 epochs\n")
    print(markdown_table(["connectivity", "rows", "CPU s", "wall s", "microseconds per row"]))
    for connectivity in ("sparse", "full"):
        small(connectivity, n_jobs).fit(*rows(500))
        each = []
        for n in sizes:
            cost = cost_of(partial(small(connectivity, n_jobs).fit, *rows(n)))
            each.append(1e6 * cost.cpu / n)
            cells = connectivity, f"{n:,}", f"{cost.cpu:.2f}", f"{cost.wall:.2f}", f"{each[-1]:.0f}"
            print(markdown_row(cells), flush=True)
        print(markdown_row([connectivity, "last / first", "", "", f"{each[-1] / each[0]:.2f}"]))


def peak_memory(work: Callable[[], Any]) -> float:
    """Return the peak of the memory that a call allocates, in megabytes."""
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        work()
        return (tracemalloc.get_traced_memory()[1] - before) / 1e6
    finally:
        tracemalloc.stop()


def print_memory(n: int, n_jobs: int | None) -> None:
    """Train for ten times as many epochs: the peak must not change."""
    print(f"\nmemory, {n:,} rows, 10 trees of 64 leaves\n")
    print(markdown_table(["connectivity", "peak MB, 10 epochs", "peak MB, 100 epochs", "ratio"]))
    data = rows(n)
    for connectivity in ("sparse", "full"):
        few, many = (
            peak_memory(partial(small(connectivity, n_jobs, max_epochs=epochs).fit, *data)) for epochs in (10, 100)
        )
        print(markdown_row([connectivity, f"{few:.2f}", f"{many:.2f}", f"{many / few:.3f}"]), flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the three tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed.estimators", description=__doc__)
    parser.add_argument("--threads", type=int, default=None)
    parser.add_argument("--max-rows", type=int, default=ROWS[-1], help="skip larger numbers of rows")
    parser.add_argument("--memory-rows", type=int, default=2_000)
    options = parser.parse_args(arguments)
    print_defaults(options.threads)
    print_growth([n for n in ROWS if n <= options.max_rows], options.threads)
    print_memory(options.memory_rows, options.threads)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
