"""The runs of the paper's table: their order, an estimate of their time, and the file of finished runs.

A run is one model on one repetition of one data set. Nothing here reads data or fits anything.
"""

import csv
import os
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.common import append_rows
from benchmarks.data.tables import load_expected

SETS = ("auto_mpg", "housing", "crime", "forest_fires", "wisconsin", "concrete", "protein")
AUTHORS_AUTO_MPG = "auto_mpg_398_authors_loader_zero_rows"  # has six rows of zeros, target included
ALL_SETS = (*SETS, AUTHORS_AUTO_MPG)
MODELS = ("NN1", "NN2", "NN3", "RF", "NRF1 full", "NRF2 full", "NRF1 sparse", "NRF2 sparse", "BART")

AUTHORS, SLOPE, TEXT = "authors", "authors, slope", "text"
VARIANTS = {  # of the forest, and of the place of the contrasts
    AUTHORS: "the authors' forest (no bootstrap, all features, depth 6), contrasts in the weights, as in their code",
    SLOPE: "the authors' forest, contrasts as slopes of the activations, as in the text",
    TEXT: "the text's forest (rows drawn without replacement, d/3 features, K leaves), contrasts as slopes",
}

_NETWORKS = ("NN1", "NN2", "NN3")
_DENSE = ("NRF2 full", "NN2", "NN3")  # a run takes minutes to hours
_REPETITIONS = 10
_DENSE_REPETITIONS = {"concrete": 3, "crime": 3, "protein": 1}  # where one takes over a minute
_SECONDS_A_ROW = {  # of training, on one core of a two-core machine
    "NN1": 0.003,
    "NN2": 0.04,
    "NN3": 0.08,
    "RF": 0.0002,
    "NRF1 full": 0.002,
    "NRF2 full": 0.036,
    "NRF1 sparse": 0.0008,
    "NRF2 sparse": 0.0008,
    "BART": 0.0014,
}


class Run(NamedTuple):
    """One model, fitted and tested once."""

    data: str
    model: str
    variant: str  # one of VARIANTS; empty for models without a forest
    repetition: int


class Measured(NamedTuple):
    """The result of a run."""

    test_rmse: float
    validation_rmse: float
    parameters: int
    seconds: float
    versions: str


Results = dict[Run, Measured]


def variants_of(model: str) -> tuple[str, ...]:
    """Return the variants of a model; those of RF differ only in the forest."""
    if model == "RF":
        return (AUTHORS, TEXT)
    return tuple(VARIANTS) if model.startswith("NRF") else ("",)


def repetitions_of(data: str, model: str) -> int:
    """Return the number of repetitions of a table cell: ten, or fewer where a dense network takes too long."""
    return _DENSE_REPETITIONS.get(data, _REPETITIONS) if model in _DENSE else _REPETITIONS


def plan(sets: Iterable[str] = ALL_SETS, models: Iterable[str] = MODELS, repetitions: int | None = None) -> list[Run]:
    """Return the runs in their order: cheap ones first, Protein's dense networks last.

    Parameters
    ----------
    sets, models
        Default: all.
    repetitions : int, optional
        For every cell; default: `repetitions_of`.
    """
    runs = [
        Run(data, model, variant, repetition)
        for data in sets
        for model in models
        for variant in variants_of(model)
        for repetition in range(repetitions or repetitions_of(data, model))
    ]
    return sorted(runs, key=_place)


def _place(run: Run) -> tuple[int, int, int, int, int]:
    dense = run.model in _DENSE or run.model in _NETWORKS
    stage = {"BART": 1, "NRF2 full": 2, **dict.fromkeys(_NETWORKS, 3)}.get(run.model, 0)
    if run.data == "protein":
        stage = 6 if dense else stage + 4
    later = int(dense and run.repetition >= 3)  # three of every cell before ten of any
    return stage, later, ALL_SETS.index(run.data), run.repetition, MODELS.index(run.model)


def read(path: Path) -> Results:
    """Return the finished runs of a file; a last line that a crash has truncated is ignored."""
    if not path.exists():
        return {}
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines() if text.endswith("\n") else text.splitlines()[:-1]
    results = {}
    for row in csv.DictReader(lines):
        run = Run(row["data"], row["model"], row["variant"], int(row["repetition"]))
        numbers = float(row["test_rmse"]), float(row["validation_rmse"]), int(row["parameters"]), float(row["seconds"])
        results[run] = Measured(*numbers, row["versions"])
    return results


def append(path: Path, run: Run, measured: Measured) -> None:
    """Add a finished run to a file."""
    if path.exists():
        _drop_truncated_line(path)
    finished = datetime.now(UTC).strftime("%Y-%m-%d %H:%M")
    numbers = f"{measured.test_rmse:.6g}", f"{measured.validation_rmse:.6g}", measured.parameters
    row = [*run, *numbers, f"{measured.seconds:.2f}", measured.versions, finished]
    append_rows(path, [*Run._fields, *Measured._fields, "finished"], [row])


def _drop_truncated_line(path: Path) -> None:
    content = path.read_bytes()
    if not content.endswith(b"\n"):
        os.truncate(path, content.rfind(b"\n") + 1)


def remaining(runs: Sequence[Run], results: Results) -> list[Run]:
    """Return the runs that are not finished."""
    return [run for run in runs if run not in results]


def seconds_left(runs: Sequence[Run], results: Results) -> float:
    """Estimate the time of runs: the mean of the finished runs of the same cell, or by the number of rows."""
    measured: dict[tuple[str, ...], list[float]] = {}
    for run, done in results.items():
        measured.setdefault(_cell(run), []).append(done.seconds)
    means = {cell: float(np.mean(seconds)) for cell, seconds in measured.items()}
    return sum(means.get(_cell(run), _SECONDS_A_ROW[run.model] * _rows()[run.data] / 2) for run in runs)


def _cell(run: Run) -> tuple[str, ...]:
    return run.data, run.model, run.variant


@cache
def _rows() -> dict[str, int]:
    return {name: expected.rows for name, expected in load_expected().items()}


def duration(seconds: float) -> str:
    """Return a time with its unit."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
