"""The data sets of the benchmarks: their folder, how they are loaded, encoded, subsampled and split."""

import os
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.data.tables import DataError, Expected, Task, check, load_expected, read_table


class Dataset(NamedTuple):
    """A data set in memory."""

    name: str
    X: pd.DataFrame  # float64 columns and string columns
    y: NDArray[np.generic]  # (rows,): float64 for regression, labels for classification
    task: Task


class Split(NamedTuple):
    """Row indices of one repetition."""

    train: NDArray[np.int64]
    validation: NDArray[np.int64]
    test: NDArray[np.int64]


def data_dir() -> Path:
    """Return the folder of the data: NEURALFOREST_DATA, or `../shared/data` relative to the repository."""
    configured = os.environ.get("NEURALFOREST_DATA")
    return Path(configured).expanduser() if configured else Path(__file__).resolve().parents[3] / "shared" / "data"


def names(folder: str = "") -> list[str]:
    """Return the names of the data sets, or of those in a folder: "paper", "regression" or "classification"."""
    found = [e.name for e in load_expected().values() if not folder or e.path.rpartition("/")[0] == folder]
    if not found:
        raise DataError(f"folder must be paper, paper/variants, regression or classification, got {folder!r}")
    return found


def load(name: str) -> Dataset:
    """Read a data set and check its shape and values."""
    expected = expected_of(name)
    path = path_of(expected)
    if not path.is_file():
        raise DataError(
            f"{path} does not exist; download it with `python -m benchmarks.data {name}`, or set NEURALFOREST_DATA to "
            "the folder that holds it"
        )
    frame = read_table(path)
    check(frame, expected)
    y = frame["target"].to_numpy()
    if expected.task == "classification" and y.dtype == np.float64:
        y = y.astype(np.int64)
    return Dataset(name, frame.drop(columns="target"), y, expected.task)


def subsample(dataset: Dataset, max_rows: int) -> Dataset:
    """Return a data set of at most `max_rows` rows, drawn at random without replacement."""
    if len(dataset.y) <= max_rows:
        return dataset
    kept = np.random.default_rng(0).permutation(len(dataset.y))[:max_rows]
    return dataset._replace(X=dataset.X.iloc[kept].reset_index(drop=True), y=dataset.y[kept])


def encode(X: pd.DataFrame) -> NDArray[np.float64]:
    """Return the features as float64 (rows, features); strings are ordinal-encoded in sorted order."""
    columns = [X[name].to_numpy() for name in X.columns]
    coded = [c if c.dtype == np.float64 else np.unique(c, return_inverse=True)[1] for c in columns]
    return np.column_stack(coded).astype(np.float64)


def split(n: int, r: int) -> Split:
    """Return the rows of repetition r: n // 2 for training, n // 4 for validation, the rest for testing.

    The order is that of `numpy.random.default_rng(r).permutation(n)`.
    """
    order = np.random.default_rng(r).permutation(n)
    return Split(*np.split(order, [n // 2, n // 2 + n // 4]))


def path_of(expected: Expected) -> Path:
    """Return the file of a data set."""
    return data_dir() / f"{expected.path}.csv"


def expected_of(name: str) -> Expected:
    """Return shape and digest of a data set."""
    known = load_expected()
    if name not in known:
        raise DataError(f"there is no data set {name!r}; there are {', '.join(known)}")
    return known[name]
