"""Training speed: a step of one tree against C++, the modes against PyTorch, two threads against one."""

import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

from benchmarks.speed.common import BATCH, Row, best_times, complete_forest, epochs, random_rows, seconds, timer
from neuralforest.network import Connectivity, ForestNetwork, Training

_ROWS = 4096
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
        ours = timer(train, ensemble.n_trees * _ROWS / BATCH, at_least=0.12)
        best = best_times({"ours": ours, "limit": run_limit}, 5 if quick else 31)
    yield Row(what, seconds(best["ours"]), seconds(best["limit"]), best["ours"] / best["limit"], at_most=1.5)


@contextmanager
def limit() -> Iterator[Callable[[], float] | None]:
    """Yield a function that runs limit.cpp and returns its seconds per step; None where it cannot be compiled."""
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
    cases: list[tuple[str, Mode, bool, float]] = [
        ("joint sparse: dense with masks, as in the paper", ("joint", "sparse"), True, 100),
        ("independent full: batched products, fused Adam", ("independent", "full"), False, 3),
        ("joint full: dense, fused Adam", ("joint", "full"), False, 1),
    ]
    for threads in (1, 2):
        torch.set_num_threads(threads)
        for what, mode, masked, factor in cases:
            ours, theirs = _against(mode, masked, threads, 3 if quick else 21)
            label = f"step of 30 trees, {threads} thread{'s' if threads > 1 else ''}, {what}"
            yield Row(label, seconds(ours), seconds(theirs), theirs / ours, at_least=factor)


def _against(mode: Mode, masked: bool, threads: int, rounds: int) -> tuple[float, float]:
    from benchmarks.speed.pytorch import steps

    ensemble = complete_forest()
    start = ForestNetwork(ensemble).soften(training=mode[0], connectivity="full")
    step = steps(start, *random_rows(_ROWS), masked=masked)
    n_rows = 4 * BATCH if mode == ("joint", "full") else _ROWS
    n_steps = 4 if mode[0] == "joint" else 30
    with epochs(ensemble, *mode, n_rows, threads) as train:
        ours = timer(train, n_rows / BATCH)
        best = best_times({"ours": ours, "theirs": timer(lambda: step(n_steps), n_steps)}, rounds)
    return best["ours"], best["theirs"]


def two_threads(quick: bool) -> Iterator[Row]:
    """Two threads against one, with the speedup of a hash function on the same machine for comparison."""
    modes: list[tuple[Mode, float]] = [
        (("independent", "sparse"), 1.7),
        (("independent", "full"), 1.7),
        (("joint", "sparse"), 1.4),
        (("joint", "full"), 1.4),
    ]
    for mode, factor in modes:
        n_rows = 4 * BATCH if mode == ("joint", "full") else _ROWS
        timers = {f"hashing {n}": _hashing(n) for n in (1, 2)}
        with ExitStack() as stack:
            for n in (1, 2):
                train = stack.enter_context(epochs(complete_forest(), *mode, n_rows, n))
                timers[f"ours {n}"] = timer(train, n_rows / BATCH)
            best = best_times(timers, 5 if quick else 31)
        note = f"two threads of hashing: {best['hashing 1'] / best['hashing 2']:.2f}"
        label, ratio = f"2 threads against 1: {' '.join(mode)}", best["ours 1"] / best["ours 2"]
        yield Row(label, seconds(best["ours 2"]), seconds(best["ours 1"]), ratio, at_least=factor, note=note)


def _hashing(threads: int) -> Callable[[], float]:
    """Return a timer of the same work for any number of threads, with nothing shared between them."""
    data = bytes(1 << 20)

    def work() -> None:
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(lambda _: [hashlib.sha256(data).digest() for _ in range(32 // threads)], range(threads)))

    return timer(work, 1)
