"""One model, fitted and tested on one split of one data set; the file of finished runs."""

import csv
import time
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics import accuracy_score, log_loss

from benchmarks.common import append_rows, rmse
from benchmarks.data import Dataset, encode, split
from benchmarks.peers import PEERS, fit_arguments, table_for
from neuralforest import ForestNetwork

MAX_ROWS = 6_000
"""Larger data sets of `benchmarks.accuracy` are subsampled to this many rows."""


class Run(NamedTuple):
    """One model on one split of one data set."""

    data: str
    split: int
    model: str
    whole: bool  # more than MAX_ROWS rows, not subsampled


class Measured(NamedTuple):
    """The result of a run, as it is written to the file."""

    data: str
    task: str
    rows: int
    split: int
    model: str
    error: float  # RMSE or log loss
    accuracy: float | str  # empty for regression
    forest_error: float | str  # of the forest of a neural forest; empty for the peers
    fit_seconds: float
    predict_seconds: float


def finished(path: Path) -> set[Run]:
    """Return the runs that a file holds."""
    if not path.exists():
        return set()
    with path.open(newline="") as file:
        return {
            Run(row["data"], int(row["split"]), row["model"], int(row["rows"]) > MAX_ROWS)
            for row in csv.DictReader(file)
        }


def append(path: Path, measured: Measured | None) -> None:
    """Add a finished run to the file."""
    if measured is not None:
        append_rows(path, Measured._fields, [measured])


def measure(dataset: Dataset, number: int, name: str, threads: int) -> Measured | None:
    """Fit and test one model on one split of a data set; None where the model does not support the task."""
    if name.startswith("BART") and dataset.task == "classification":
        return None
    X, y = dataset.X, dataset.y
    rows = split(len(y), number)
    train, test = np.concatenate([rows.train, rows.validation]), rows.test
    peer = PEERS[name]
    table = table_for(peer, X, encode(X))
    X_train, X_test = (table.iloc[part] if hasattr(table, "iloc") else table[part] for part in (train, test))
    model = peer.make(dataset.task, number, threads)
    codes = np.unique(y, return_inverse=True)[1] if dataset.task == "classification" else y
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        started = time.perf_counter()
        model.fit(X_train, codes[train], **fit_arguments(peer, X))
        fitted = time.perf_counter()
        prediction = _predict(model, X_test, dataset.task)
        seconds = round(fitted - started, 3), round(time.perf_counter() - fitted, 4)
        forest = _predict_forest(model, X_test, dataset.task) if hasattr(model, "network_") else None
    labels = np.arange(int(codes.max()) + 1) if dataset.task == "classification" else None
    error = _error(codes[test], prediction, labels)
    accuracy = "" if labels is None else accuracy_score(codes[test], prediction.argmax(axis=1))
    forest_error = "" if forest is None else _error(codes[test], forest, labels)
    return Measured(dataset.name, dataset.task, len(y), number, name, error, accuracy, forest_error, *seconds)


def _predict(model: Any, X: Any, task: str) -> np.ndarray:
    return model.predict(X) if task == "regression" else model.predict_proba(X)


def _predict_forest(model: Any, X: Any, task: str) -> np.ndarray:
    """Return the predictions of the forest that a neural forest was made from."""
    return _predict(ForestNetwork(model.network_.ensemble), model.encode(X), task)


def _error(y: np.ndarray, prediction: np.ndarray, labels: np.ndarray | None) -> float:
    """Return the root mean squared error or, with labels, the log loss."""
    if labels is None:
        return rmse(prediction, y)
    return float(log_loss(y, np.clip(prediction, 1e-15, None), labels=labels))
