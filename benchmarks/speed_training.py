"""Training speed: one tree step against C++, the modes against PyTorch, two threads against one."""

import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

from benchmarks.speed_common import (
    BATCH,
    Row,
    clocked,
    complete_forest,
    contest,
    epochs,
    random_rows,
    seconds,
)
from neuralforest.network import ForestNetwork
from neuralforest.structure import Connectivity, Training

_ROWS = 1024
_FLAGS = ["-O3", "-march=native", "-ffast-math"]
Mode = tuple[Training, Connectivity]


def rows(quick: bool) -> Iterator[Row]:
    yield from tree_step(quick)
    yield from against_torch(quick)
    yield from two_threads(quick)


def tree_step(quick: bool) -> Iterator[Row]:
    """One step of one sparse tree against the same loops in C++."""
    what = "step of one sparse tree, 1 thread: C++ at full optimisation"
    with limit() as run_limit, ExitStack() as stack:
        if run_limit is None:
            yield Row(what, "", "skipped: no compiler, or no limit.cpp", None)
            return
        ensemble = complete_forest()
        train = stack.enter_context(epochs(ensemble, "independent", "sparse", _ROWS, 1))
        ours = clocked(train, ensemble.n_trees * _ROWS / BATCH, at_least=0.12)
        best = contest({"ours": ours, "limit": run_limit}, 5 if quick else 15)
    yield Row(what, seconds(best["ours"]), seconds(best["limit"]), best["ours"] / best["limit"], at_most=1.5)


@contextmanager
def limit() -> Iterator[Callable[[], float] | None]:
    """Give a function that runs limit.cpp and returns its seconds per step; None where it cannot be compiled."""
    source = Path(os.environ.get("NEURALFOREST_ANCHORS", "../shared/anchors")) / "limit.cpp"
    compiler = shutil.which("g++")
    if compiler is None or not source.exists():
        yield None
        return
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "limit"
        subprocess.run([compiler, *_FLAGS, str(source), "-o", str(program)], check=True)
        yield lambda: float(subprocess.run([str(program)], check=True, capture_output=True).stdout) * 1e-6


def against_torch(quick: bool) -> Iterator[Row]:
    """The modes that dense tensors can express, with the same threads."""
    try:
        import torch
    except ImportError:
        yield Row("training steps: PyTorch", "", "skipped: torch is not installed", None)
        return
    contests: list[tuple[str, Mode, bool, float]] = [
        ("joint sparse: dense with masks, as in the paper", ("joint", "sparse"), True, 100),
        ("independent full: batched products, fused Adam", ("independent", "full"), False, 3),
        ("joint full: dense, fused Adam", ("joint", "full"), False, 1),
    ]
    for threads in (1, 2):
        torch.set_num_threads(threads)
        for what, mode, masked, factor in contests:
            ours, theirs = _against(mode, masked, threads, 3 if quick else 7)
            label = f"step of 30 trees, {threads} thread{'s' if threads > 1 else ''}, {what}"
            yield Row(label, seconds(ours), seconds(theirs), theirs / ours, at_least=factor)


def _against(mode: Mode, masked: bool, threads: int, rounds: int) -> tuple[float, float]:
    from benchmarks.speed_torch import steps

    ensemble = complete_forest()
    start = ForestNetwork(ensemble).soften(training=mode[0], connectivity="full")
    step = steps(start, *random_rows(_ROWS), masked=masked)
    n_rows = 4 * BATCH if mode == ("joint", "full") else _ROWS
    n_steps = 4 if mode[0] == "joint" else 30
    with epochs(ensemble, *mode, n_rows, threads) as train:
        ours = clocked(train, n_rows / BATCH)
        best = contest({"ours": ours, "theirs": clocked(lambda: step(n_steps), n_steps)}, rounds)
    return best["ours"], best["theirs"]


def two_threads(quick: bool) -> Iterator[Row]:
    """Two threads against one, after what the machine itself gives to two threads at this moment."""
    rounds = 5 if quick else 11
    best = contest({str(threads): _hashing(threads) for threads in (1, 2)}, rounds)
    given = best["1"] / best["2"]
    yield Row("2 threads against 1: hashing, the yardstick", seconds(best["2"]), seconds(best["1"]), given)
    modes: list[tuple[Mode, float]] = [
        (("independent", "sparse"), 1.7),
        (("independent", "full"), 1.7),
        (("joint", "sparse"), 1.4),
        (("joint", "full"), 1.4),
    ]
    for mode, factor in modes:
        n_rows = 4 * BATCH if mode == ("joint", "full") else _ROWS
        with ExitStack() as stack:
            trains = {n: stack.enter_context(epochs(complete_forest(), *mode, n_rows, n)) for n in (1, 2)}
            best = contest({str(n): clocked(train, n_rows / BATCH) for n, train in trains.items()}, rounds)
        note = f"the machine gave {given:.2f}" if given < 1.9 else ""
        label = f"2 threads against 1: {' '.join(mode)}"
        yield Row(label, seconds(best["2"]), seconds(best["1"]), best["1"] / best["2"], at_least=factor, note=note)


def _hashing(threads: int) -> Callable[[], float]:
    """Return a contestant that does the same work whatever the number of threads, and shares nothing between them."""
    data = bytes(1 << 20)

    def work() -> None:
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(lambda _: [hashlib.sha256(data).digest() for _ in range(32 // threads)], range(threads)))

    return clocked(work, 1)
