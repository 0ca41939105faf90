"""Shared by the speed benchmarks: rows of the table, timing in turns, synthetic forests and rows."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neuralforest.ensemble import TreeEnsemble
from neuralforest.network import Connectivity, ForestNetwork, Training
from neuralforest.training import Settings, SubnetworkRows, TrainingData
from neuralforest.training.losses import resolve_loss
from neuralforest.training.state import State
from neuralforest.training.trainer import trainer

TREES, DEPTH, FEATURES, BATCH = 30, 6, 8, 32  # the paper's setting
_REST = 0.03  # seconds: OpenMP threads spin for a while after their work, and would slow down the next measurement


@dataclass(frozen=True)
class Row:
    """One row of the table; `ratio` is compared with `at_most` or `at_least`."""

    what: str
    ours: str
    theirs: str
    ratio: float | None
    at_most: float | None = None
    at_least: float | None = None
    note: str = ""

    @property
    def cells(self) -> list[str]:
        target = f"at most {self.at_most:g}" if self.at_most else f"at least {self.at_least:g}" if self.at_least else ""
        verdict = ""
        if target and self.ratio is not None:
            met = self.ratio <= self.at_most if self.at_most else self.ratio >= (self.at_least or 0.0)
            verdict = "met" if met else "missed"
        note = f" ({self.note})" if self.note else ""
        ratio = "" if self.ratio is None else f"{self.ratio:.2f}" if self.ratio < 10 else f"{self.ratio:.0f}"
        return [self.what, self.ours, self.theirs, ratio, target, verdict + note]


def seconds(value: float) -> str:
    """Return a time with its unit, to three digits."""
    for factor, unit in ((1e9, "ns"), (1e6, "us"), (1e3, "ms")):
        if value * factor < 1000:
            return f"{value * factor:.3g} {unit}"
    return f"{value:.3g} s"


def best_times(timers: dict[str, Callable[[], float]], rounds: int) -> dict[str, float]:
    """Call timers in turns and return the lowest time of each.

    In turns, so that other load on the machine affects all of them alike; the lowest, because load only adds time.
    """
    times: dict[str, list[float]] = {name: [] for name in timers}
    for _ in range(rounds):
        for name, run in timers.items():
            time.sleep(_REST)
            times[name].append(run())
    return {name: min(values) for name, values in times.items()}


def timer(work: Callable[[], object], units: float, at_least: float = 0.05) -> Callable[[], float]:
    """Return a function that calls `work` for `at_least` seconds and returns the time per unit of work."""
    work()  # compiles and warms the caches
    started = time.perf_counter()
    work()
    repeats = max(1, round(at_least / (time.perf_counter() - started)))

    def run() -> float:
        started = time.perf_counter()
        for _ in range(repeats):
            work()
        return (time.perf_counter() - started) / repeats / units

    return run


def complete_forest(n_trees: int = TREES, depth: int = DEPTH, n_features: int = FEATURES) -> TreeEnsemble:
    """Return complete trees with random splits and values."""
    rng = np.random.default_rng(0)
    middle: list[int] = []

    def split(begin: int, end: int) -> None:
        if end - begin > 1:
            middle.append((begin + end) // 2)
            split(begin, middle[-1])
            split((begin + end) // 2, end)

    split(0, 2**depth)
    splits, leaves = n_trees * (2**depth - 1), n_trees * 2**depth
    return TreeEnsemble(
        feature=rng.integers(0, n_features, splits).astype(np.int32),
        threshold=rng.random(splits),
        missing_left=np.ones(splits, np.bool_),
        middle=np.tile(middle, n_trees).astype(np.int32),
        value=rng.random((leaves, 1)),
        weight=np.ones(leaves),
        first_split=np.arange(n_trees + 1) * (2**depth - 1),
        first_leaf=np.arange(n_trees + 1) * 2**depth,
        n_features=n_features,
    )


def random_rows(n: int, n_features: int = FEATURES) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
    rng = np.random.default_rng(1)
    return rng.random((n, n_features), dtype=np.float32), rng.random((n, 1))


def training_data(network: ForestNetwork, n_rows: int) -> TrainingData:
    """Return random rows, the same for training and validation."""
    X, y = random_rows(n_rows, network.ensemble.n_features)
    rows = SubnetworkRows.shared(np.arange(n_rows), np.ones(n_rows), network.n_subnetworks)
    return TrainingData(X, y, rows, rows)


@contextmanager
def epochs(
    ensemble: TreeEnsemble, training: Training, connectivity: Connectivity, n_rows: int, threads: int
) -> Iterator[Callable[[], None]]:
    """Yield a function that trains for one epoch: the kernels and their threads, without the epoch loop."""
    network = ForestNetwork(ensemble).soften(training=training, connectivity=connectivity)
    settings = Settings(batch_size=BATCH)
    loss = resolve_loss("auto", None, ensemble)
    with trainer(network, training_data(network, n_rows), settings, loss, threads) as work:
        state = State(network, settings)
        yield lambda: (work.train_epoch(state), None)[1]


def least_processor_seconds(
    calls: Mapping[str, Callable[[], object]], rounds: int, repeats: int = 1
) -> dict[str, float]:
    """Call functions in turns and return the least processor time of a call of each.

    Processor time is summed over threads, and other load on the machine adds little to it.
    """
    least = dict.fromkeys(calls, float("inf"))
    for work in calls.values():
        work()  # compiles and warms the caches
    for _ in range(rounds):
        for name, work in calls.items():
            started = time.process_time()
            for _ in range(repeats):
                work()
            least[name] = min(least[name], (time.process_time() - started) / repeats)
    return least
