"""Shared by all benchmarks: the folder of results, CSV files of finished runs, Markdown tables, library versions."""

import csv
from collections.abc import Iterable, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import log_loss

RESULTS = Path(__file__).with_name("results")


def append_rows(path: Path, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Append rows to a CSV file; a new file starts with the header."""
    path.parent.mkdir(parents=True, exist_ok=True)
    is_new = not path.exists()
    with path.open("a", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([header, *rows] if is_new else rows)


def read_rows(path: Path) -> list[dict[str, str]]:
    """Return the rows of a CSV file; none of one that does not exist yet."""
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def markdown_row(cells: Iterable[object]) -> str:
    """Return one row of a Markdown table."""
    return f"| {' | '.join(map(str, cells))} |"


def markdown_table(header: Sequence[object], rows: Iterable[Iterable[object]] = ()) -> str:
    """Return a Markdown table; without rows, its head."""
    return "\n".join(map(markdown_row, [header, ["---"] * len(header), *rows]))


def rmse(prediction: NDArray[np.float64], y: NDArray[np.float64]) -> float:
    """Return the root mean squared error."""
    return float(np.sqrt(np.mean((prediction - y) ** 2)))


def error_of(model: Any, X: NDArray[np.float64], y: NDArray[Any], labels: NDArray[Any] | None) -> float:
    """Return the RMSE of a regressor, or the log loss of a classifier of these labels."""
    if labels is None:
        return rmse(model.predict(X), y)
    return float(log_loss(y, np.clip(model.predict_proba(X), 1e-15, None), labels=labels))


def versions(*libraries: str) -> str:
    """Return the names of libraries with their versions."""
    return ", ".join(f"{library} {_version(library)}" for library in libraries)


def _version(library: str) -> str:
    if library == "neuralforest":  # may be imported from a source tree that is not installed
        import neuralforest

        return neuralforest.__version__
    try:
        return version(library)
    except PackageNotFoundError:
        return "(not installed)"
