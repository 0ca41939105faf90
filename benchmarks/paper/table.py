"""The paper's table from finished runs: means, comparison with the published results, check of the first claim.

Independent of file formats; `render` writes the tables.
"""

import csv
import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.paper.plan import (
    ALL_SETS,
    AUTHORS,
    AUTHORS_AUTO_MPG,
    MODELS,
    SETS,
    TEXT,
    VARIANTS,
    Results,
    variants_of,
)

FOREST_MODELS = tuple(model for model in MODELS if "RF" in model)
WITHIN, BELOW, ABOVE = "within", "below", "above"
CLAIM = "Every NRF improves over its RF on every set"


class Published(NamedTuple):
    """A cell of the paper's table."""

    text: str  # as printed
    mean: float
    sd: float
    decimals: int


class Cell(NamedTuple):
    """A cell of our table."""

    mean: float
    sd: float | None  # None for a single repetition
    repetitions: int

    def __str__(self) -> str:
        decimals = 3 if self.mean < 1 else 2
        spread = "" if self.sd is None else f" ({self.sd:.{decimals}f})"
        return f"{self.mean:.{decimals}f}{spread}"


class Comparison(NamedTuple):
    """A forest and its network, on their common repetitions."""

    data: str
    model: str
    variant: str
    forest: float  # mean test error
    network: float

    @property
    def improves(self) -> bool:
        return self.network < self.forest


Cells = dict[tuple[str, str, str], Cell]


@cache
def published() -> dict[tuple[str, str], Published]:
    """Return the paper's table by data set and model; the second Auto MPG is compared with the same numbers."""
    with Path(__file__).with_name("published.csv").open(encoding="utf-8", newline="") as file:
        rows = {row["data"]: row for row in csv.DictReader(file)}
    table = {(data, model): _parse(rows[data][model]) for data in SETS for model in MODELS}
    return table | {(AUTHORS_AUTO_MPG, model): table["auto_mpg", model] for model in MODELS}


def labels() -> dict[str, str]:
    """Return the display names of the data sets."""
    with Path(__file__).with_name("published.csv").open(encoding="utf-8", newline="") as file:
        names = {row["data"]: row["label"] for row in csv.DictReader(file)}
    return names | {AUTHORS_AUTO_MPG: "Auto MPG, 398 rows (six of zeros, as in the authors' loader)"}


def _parse(text: str) -> Published:
    match = re.fullmatch(r"(\d+\.(\d+)) \((\d+\.\d+)\)", text)
    if match is None:
        raise ValueError(f"a published cell must look like '8.39 (0.62)', got {text!r}")
    return Published(text, float(match[1]), float(match[3]), len(match[2]))


def cells(results: Results) -> Cells:
    """Return mean and standard deviation of the test errors of every cell with runs."""
    errors: dict[tuple[str, str, str], list[float]] = {}
    for run, measured in results.items():
        errors.setdefault((run.data, run.model, run.variant), []).append(measured.test_rmse)
    return {
        key: Cell(float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else None, len(values))
        for key, values in errors.items()
    }


def find(table: Cells, data: str, model: str, variant: str) -> Cell | None:
    """Return a cell; variants with the same forest share its RF, and models without a forest have no variants."""
    own = variants_of(model)
    if model == "RF" and variant != TEXT:
        variant = AUTHORS
    return table.get((data, model, variant if variant in own else own[0]))


def verdict(cell: Cell, paper: Published) -> str:
    """Compare our mean, rounded as in the paper, with the interval of two of the paper's standard deviations."""
    difference = round(cell.mean, paper.decimals) - paper.mean
    if abs(difference) <= 2 * paper.sd + 1e-9:
        return WITHIN
    return BELOW if difference < 0 else ABOVE


def agreement(table: Cells, variant: str) -> dict[str, dict[str, str]]:
    """Return the verdicts on the RF and NRF cells of a variant, by data set and model; missing cells are left out."""
    return {
        data: {
            model: verdict(cell, published()[data, model])
            for model in FOREST_MODELS
            if (cell := find(table, data, model, variant)) is not None
        }
        for data in ALL_SETS
    }


def comparisons(results: Results) -> list[Comparison]:
    """Compare every neural forest with its forest."""
    errors: dict[tuple[str, str, str], dict[int, float]] = {}
    for run, measured in results.items():
        errors.setdefault((run.data, run.model, run.variant), {})[run.repetition] = measured.test_rmse
    found = []
    for data in ALL_SETS:
        for variant in VARIANTS:
            forest = errors.get((data, "RF", TEXT if variant == TEXT else AUTHORS), {})
            for model in FOREST_MODELS[1:]:
                network = errors.get((data, model, variant), {})
                common = sorted(forest.keys() & network.keys())
                if common:
                    means = (float(np.mean([each[r] for r in common])) for each in (forest, network))
                    found.append(Comparison(data, model, variant, *means))
    return found


def claim(results: Results, variant: str) -> tuple[str, list[Comparison]]:
    """Check the paper's first claim on its seven sets: "true", "false" or "unfinished", and the failures."""
    compared = [each for each in comparisons(results) if each.variant == variant and each.data in SETS]
    failures = [each for each in compared if not each.improves]
    if failures:
        return "false", failures
    complete = len(compared) == len(SETS) * (len(FOREST_MODELS) - 1)
    return ("true" if complete else "unfinished"), []
