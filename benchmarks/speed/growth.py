"""Time and memory of sparse training against rows, trees, depth and features."""

import tracemalloc
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import pairwise

import numpy as np

from benchmarks.speed.common import FEATURES, Row, best_times, complete_forest, epochs, seconds, timer, training_data
from neuralforest.ensemble import TreeEnsemble
from neuralforest.network import ForestNetwork, Training
from neuralforest.network.structure import build_scratch
from neuralforest.training import Settings, resolve_loss, train


def rows(quick: bool) -> Iterator[Row]:
    rounds = 3 if quick else 9
    largest = 32_000 if quick else 100_000
    trainings: tuple[Training, ...] = ("independent", "joint")
    for training in trainings:
        cases = {n: (complete_forest(10), n) for n in (1_000, 10_000, largest)}
        yield from _growth(f"{training}: rows", training, cases, rounds, bound=1.15)
        cases = {n: (complete_forest(n), 1_000) for n in (10, 100, 300)}
        yield from _growth(f"{training}: trees", training, cases, rounds, bound=1.15)
    # Not only connections cost time: every split and leaf has a tanh, and a deep tree has more connections per leaf.
    cases = {n: (complete_forest(10, depth=n), 1_000) for n in (4, 6, 8, 10)}
    yield from _growth("independent: depth", "independent", cases, rounds)
    cases = {n: (complete_forest(10, n_features=n), 1_000) for n in (FEATURES, 100, 1_000)}
    yield from _growth("independent: features", "independent", cases, rounds)
    for training in trainings:
        yield _memory(training)


def _growth(
    what: str,
    training: Training,
    cases: dict[int, tuple[TreeEnsemble, int]],
    rounds: int,
    bound: float | None = None,
) -> Iterator[Row]:
    """Compare the time per row and connection of each case with the previous case."""
    with ExitStack() as stack:
        timers = {}
        for n, (ensemble, n_rows) in cases.items():
            epoch = stack.enter_context(epochs(ensemble, training, "sparse", n_rows, 1))
            timers[str(n)] = timer(epoch, n_rows * int(ensemble.first_connection[-1]), at_least=0.02)
        best = best_times(timers, rounds)
    for before, after in pairwise(cases):
        ours, theirs = best[str(after)], best[str(before)]
        label = f"time per row and connection, {what} {after} against {before}"
        yield Row(label, seconds(ours), seconds(theirs), ours / theirs, at_most=bound)


def _memory(training: Training) -> Row:
    """Compare the peak memory of a fit with six float32 numbers per parameter plus the minibatch buffers."""
    ensemble = complete_forest(100, depth=8)
    network = ForestNetwork(ensemble).soften(training=training, connectivity="sparse")
    data = training_data(network, 256)
    settings, loss = Settings(max_epochs=2, learning_rate=1e-5), resolve_loss("auto", None, ensemble)
    train(network, data, settings, loss, n_jobs=1)  # compiles; one-time allocations do not count
    scratch, _ = build_scratch(network.structure)
    buffers = sum(np.asarray(part).nbytes for part in scratch)
    tracemalloc.start()
    train(network, data, settings, loss, n_jobs=1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    allowed = 6 * 4 * network.n_parameters + buffers
    label = f"peak memory of a fit, {training} sparse: 6 floats a parameter + minibatch buffers"
    return Row(label, f"{peak / 1e6:.1f} MB", f"{allowed / 1e6:.1f} MB", peak / allowed, at_most=1.0)
