"""Accuracy of ours and the peers, each with its defaults, on every data set.

`python -m benchmarks.accuracy` runs what is missing and writes the report; `--report` only writes it. All models get
the same rows in `fit`: training and validation rows together (75%), ours makes its own validation. Results are appended
to results/accuracy.csv as runs finish, and a finished run is never repeated. Sets of more than 6,000 rows are cut to
6,000, and get three splits.
"""

import argparse
import csv
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.metrics import accuracy_score, log_loss

from benchmarks import data
from benchmarks.accuracy_report import MOST_ROWS
from benchmarks.peers import PEERS, fit_arguments, table_for
from benchmarks.tables import load_expected

RESULTS = Path(__file__).parent / "results" / "accuracy.csv"
_SPLITS_OF_CUT_SETS = 3
COLUMNS = (
    "data",
    "task",
    "rows",
    "split",
    "model",
    "error",
    "accuracy",
    "forest_error",
    "fit_seconds",
    "predict_seconds",
)


class Run(NamedTuple):
    """One model on one split of one data set."""

    data: str
    split: int
    model: str
    whole: bool  # all rows, however many


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what is missing, then write the report."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.accuracy", description=__doc__)
    parser.add_argument("--sets", nargs="*", help="data sets; all without")
    parser.add_argument("--models", nargs="*", choices=list(PEERS), help="models; all without")
    parser.add_argument("--splits", nargs="*", type=int, default=list(range(100, 110)), help="default: 100 to 109")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--report", action="store_true", help="only write the report of what is there")
    options = parser.parse_args(arguments)
    if not options.report:
        done = finished(options.results)
        runs = [run for run in planned(options.sets, options.models, options.splits) if run not in done]
        for number, run in enumerate(runs):
            print(f"[{number + 1}/{len(runs)}] {run.data}, split {run.split}, {run.model}", flush=True)
            append(options.results, measure(run, options.threads))
    from benchmarks.accuracy_report import write_report

    write_report(options.results)
    return 0


def planned(sets: Sequence[str] | None, models: Sequence[str] | None, splits: Sequence[int]) -> Iterator[Run]:
    """Yield every run, split by split; three splits of the sets that are cut; Protein once more with all its rows."""
    expected = load_expected()
    names = sets or [name for folder in ("paper", "regression", "classification") for name in data.names(folder)]
    for number, split in enumerate(splits):
        for name in names:
            if number >= _SPLITS_OF_CUT_SETS and expected[name].rows > MOST_ROWS:
                continue
            for model in models or PEERS:
                yield Run(name, split, model, whole=False)
    if "protein" in names:
        for model in models or PEERS:
            yield Run("protein", splits[0], model, whole=True)


def finished(path: Path) -> set[Run]:
    """Return the runs that the results hold."""
    if not path.exists():
        return set()
    with path.open(newline="") as file:
        return {
            Run(row["data"], int(row["split"]), row["model"], int(row["rows"]) > MOST_ROWS)
            for row in csv.DictReader(file)
        }


def append(path: Path, row: dict[str, object] | None) -> None:
    """Add a finished run to the results."""
    if row is None:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    new = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        if new:
            writer.writeheader()
        writer.writerow(row)


def measure(run: Run, threads: int) -> dict[str, object] | None:
    """Fit and test one model; None where it is not made for the task."""
    dataset = data.load(run.data)
    return measure_on(dataset if run.whole else data.cut(dataset, MOST_ROWS), run.split, run.model, threads)


def measure_on(dataset: data.Dataset, number: int, name: str, threads: int) -> dict[str, object] | None:
    """Fit and test one model on one split of a data set; None where it is not made for the task."""
    if name.startswith("BART") and dataset.task == "classification":
        return None
    X, y = dataset.X, dataset.y
    split = data.split(len(y), number)
    rows, test = np.concatenate([split.train, split.validation]), split.test
    peer = PEERS[name]
    table = table_for(peer, X, data.encode(X))
    pick = (lambda part: table.iloc[part]) if hasattr(table, "iloc") else (lambda part: table[part])
    model = peer.make(dataset.task, number, threads)
    codes = np.unique(y, return_inverse=True)[1] if dataset.task == "classification" else y
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        started = time.perf_counter()
        model.fit(pick(rows), codes[rows], **fit_arguments(peer, X))
        fitted = time.perf_counter()
        answer = model.predict(pick(test)) if dataset.task == "regression" else model.predict_proba(pick(test))
        done = time.perf_counter()
        forest = _forest_answer(model, pick(test), dataset.task)
    row = {"data": dataset.name, "task": dataset.task, "rows": len(y), "split": number, "model": name}
    error = _error(dataset.task, codes[test], answer, int(codes.max()))
    accuracy = accuracy_score(codes[test], answer.argmax(axis=1)) if dataset.task == "classification" else ""
    forest_error = _error(dataset.task, codes[test], forest, int(codes.max())) if forest is not None else ""
    return row | {
        "error": error,
        "accuracy": accuracy,
        "forest_error": forest_error,
        "fit_seconds": round(fitted - started, 3),
        "predict_seconds": round(done - fitted, 4),
    }


def _forest_answer(model, X, task):  # type: ignore[no-untyped-def]
    """Return what the forest under one of our estimators says; None for the peers."""
    if not hasattr(model, "forest_"):
        return None
    return model.forest_.predict(X) if task == "regression" else model.forest_.predict_proba(X)


def _error(task: str, y: np.ndarray, answer: np.ndarray, last_class: int) -> float:
    """Return the root mean squared error, or the log loss."""
    if task == "regression":
        return float(np.sqrt(np.mean((answer - y) ** 2)))
    return float(log_loss(y, np.clip(answer, 1e-15, None), labels=np.arange(last_class + 1)))


if __name__ == "__main__":
    sys.exit(main())
