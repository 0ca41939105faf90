"""Speed of training and of the exact network, as ratios measured in one run: `python -m benchmarks.speed [--quick]`.

Ours against the limit (a C++ program, compiled here), against PyTorch, against the forests that networks are made from,
and against itself with other sizes. Contestants take turns, and the best of several turns counts: other work on the
machine only makes a turn slower. The table is written to results/speed.md.
"""

import argparse
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

from benchmarks import speed_growth, speed_torch
from neuralforest.ensemble import TreeEnsemble
from neuralforest.network import ForestNetwork
from neuralforest.training import BlockRows, Settings, TrainingData
from neuralforest.training.losses import resolve_loss
from neuralforest.training.state import State
from neuralforest.training.trainer import trainer

RESULT = Path(__file__).parent / "results" / "speed.md"
ANCHORS = Path(os.environ.get("NEURALFOREST_ANCHORS", Path(__file__).resolve().parents[2] / "shared" / "anchors"))
FEATURES, ROWS, DEPTH, TREES = 8, 1024, 6, 30
_OPEN = ExitStack()  # the threads of all contestants; those that do not run cost nothing


class Line(NamedTuple):
    """A row of the table."""

    what: str
    ours: str
    theirs: str
    ratio: float
    target: str
    met: bool


def complete_forest(n_trees: int, depth: int = DEPTH, n_features: int = FEATURES) -> ForestNetwork:
    """Return the hard network of complete trees with random thresholds and values."""
    rng = np.random.default_rng(0)
    leaves = 2**depth

    def middles(begin: int, end: int) -> list[int]:
        if end - begin == 1:
            return []
        middle = (begin + end) // 2
        return [middle, *middles(begin, middle), *middles(middle, end)]

    splits = n_trees * (leaves - 1)
    return ForestNetwork(
        TreeEnsemble(
            feature=rng.integers(n_features, size=splits),
            threshold=rng.random(splits),
            missing_left=np.ones(splits, bool),
            middle=np.tile(middles(0, leaves), n_trees),
            value=rng.normal(size=(n_trees * leaves, 1)),
            weight=np.ones(n_trees * leaves),
            first_split=np.arange(n_trees + 1) * (leaves - 1),
            first_leaf=np.arange(n_trees + 1) * leaves,
            n_features=n_features,
        )
    )


def made_up_rows(n: int, n_features: int = FEATURES) -> tuple[np.ndarray, np.ndarray]:
    """Return features in [0, 1] and a target."""
    rng = np.random.default_rng(1)
    return rng.random((n, n_features), dtype=np.float32), rng.normal(size=(n, 1))


def epochs_of(network: ForestNetwork, X: np.ndarray, y: np.ndarray, threads: int) -> Callable[[], float]:
    """Return a function that trains for one epoch and says how long it took, without what Python does around it."""
    rows = BlockRows.shared(np.arange(len(X)), np.ones(len(X)), network.n_blocks)
    data = TrainingData(X, y, rows, rows)
    settings = Settings(max_epochs=1)
    loss = resolve_loss("auto", None, network.ensemble)
    work = _OPEN.enter_context(trainer(network, data, settings, loss, threads))
    state = State.start_of(network, settings)

    def epoch() -> float:
        started = time.perf_counter()
        work.train_epoch(state)
        return time.perf_counter() - started

    epoch()  # compiles
    return epoch


def best_of(turns: int, *contestants: Callable[[], float]) -> list[float]:
    """Let the contestants take turns; return the shortest time of each."""
    times = [[contestant() for contestant in contestants] for _ in range(turns)]
    return list(np.min(times, axis=0))


def limit_line(turns: int) -> Line | None:
    """Compare one tree step of the sparse kernel with the C++ program."""
    source, compiler = ANCHORS / "limit.cpp", shutil.which("g++")
    if compiler is None or not source.exists():
        print("no g++ or no limit.cpp: that comparison is left out", file=sys.stderr)
        return None
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "limit"
        subprocess.run([compiler, "-O3", "-march=native", "-ffast-math", source, "-o", program], check=True)

        def limit() -> float:
            return float(subprocess.run([program], capture_output=True, text=True, check=True).stdout) / 1e6

        network = complete_forest(1).soften()
        epoch = epochs_of(network, *made_up_rows(ROWS), threads=1)
        n = 500  # epochs a turn; the C++ program does 1,000, and both give their mean
        ours, theirs = best_of(turns, lambda: sum(epoch() for _ in range(n)) / (n * ROWS // 32), limit)
    return _line("sparse: one tree step, 1 thread, against C++", ours, theirs, ours / theirs, "<= 1.5")


def torch_line(what: str, training: str, connectivity: str, threads: int, turns: int, target: str) -> Line:
    """Compare an epoch of 30 trees with the same number of steps in PyTorch."""
    X, y = made_up_rows(ROWS)
    hard = complete_forest(TREES)
    ours = epochs_of(hard.soften(training=training, connectivity=connectivity), X, y, threads)  # type: ignore[arg-type]
    torch.set_num_threads(threads)
    full = hard.soften(training=training, connectivity="full")  # type: ignore[arg-type]
    steps = speed_torch.steps(full, X, y, masked=connectivity == "sparse")
    n_steps = 8 if training == "joint" else ROWS // 32

    def theirs() -> float:
        started = time.perf_counter()
        steps(n_steps)
        return (time.perf_counter() - started) / n_steps

    theirs()
    ours_s, theirs_s = best_of(turns, lambda: ours() / (ROWS // 32), theirs)
    return _line(f"{what}, {threads} thread{'s' * (threads > 1)}", ours_s, theirs_s, theirs_s / ours_s, target)


def thread_line(training: str, connectivity: str, turns: int, target: str) -> Line:
    """Compare two threads with one."""
    X, y = made_up_rows(ROWS)
    network = complete_forest(TREES).soften(training=training, connectivity=connectivity)  # type: ignore[arg-type]
    one, two = (epochs_of(network, X, y, threads) for threads in (1, 2))
    alone, together = best_of(turns, one, two)
    return _line(f"{training} {connectivity}: 2 threads against 1", together, alone, alone / together, target)


def _line(what: str, ours: float, theirs: float, ratio: float, target: str) -> Line:
    sign, number = target.split()
    met = ratio <= float(number) if sign == "<=" else ratio >= float(number)
    return Line(what, _duration(ours), _duration(theirs), ratio, target, met)


def _duration(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e6:.3g} us"


def lines(turns: int, quick: bool) -> list[Line]:
    """Measure everything."""
    found = [limit_line(turns)]
    for threads in (1, 2):
        found += [
            torch_line("joint sparse: step against dense masked torch", "joint", "sparse", threads, turns, ">= 100"),
            torch_line("independent full: step against torch bmm", "independent", "full", threads, turns, ">= 3"),
            torch_line("joint full: step against torch, fused Adam", "joint", "full", threads, turns, ">= 1"),
        ]
    for training, connectivity, target in (
        ("independent", "sparse", ">= 1.7"),
        ("independent", "full", ">= 1.7"),
        ("joint", "sparse", ">= 1.4"),
        ("joint", "full", ">= 1.4"),
    ):
        found.append(thread_line(training, connectivity, turns, target))
    found += [_line(*numbers) for numbers in speed_growth.measurements(turns, quick)]
    return [line for line in found if line is not None]


def report(found: Sequence[Line], command: str) -> str:
    """Return the table, with what it was measured on."""
    versions = ", ".join(f"{name} {version(name)}" for name in ("numba", "numpy", "scikit-learn", "torch"))
    rows = [
        f"| {x.what} | {x.ours} | {x.theirs} | {x.ratio:.3g} | {x.target} | {'yes' if x.met else 'no'} |" for x in found
    ]
    return "\n".join(
        [
            "# Speed",
            "",
            f"Made by `{command}`; Python {platform.python_version()}, {versions};",
            f"{_processor()}, {os.cpu_count()} cores.",
            f"Unless said otherwise: {TREES} trees of depth {DEPTH}, {FEATURES} features, minibatches of 32, forward,",
            "backward and Adam.",
            "",
            "| what | ours | theirs | ratio | target | met |",
            "| --- | --- | --- | --- | --- | --- |",
            *rows,
            "",
        ]
    )


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    names = [line.partition(":")[2].strip() for line in info.read_text().splitlines() if line.startswith("model name")]
    return names[0] if names else platform.processor()


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print the table and write it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer turns, smaller sizes")
    options = parser.parse_args(arguments)
    command = "python -m benchmarks.speed" + (" --quick" if options.quick else "")
    with _OPEN:
        text = report(lines(3 if options.quick else 7, options.quick), command)
    RESULT.parent.mkdir(exist_ok=True)
    RESULT.write_text(text)
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
