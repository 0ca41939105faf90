"""Tables as files: parse, check against `expected.csv`, read, write. Independent of the sources."""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from neuralforest._atomic import write_atomically

Task = Literal["regression", "classification"]


class DataError(Exception):
    """A data set that is missing, cannot be downloaded, or has other values than expected."""


@dataclass(frozen=True)
class Expected:
    """Path, shape and digest of a data set."""

    path: str  # folder and name, without ".csv"
    rows: int
    features: int
    target_mean: float
    sha256: str

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]

    @property
    def task(self) -> Task:
        return "classification" if self.path.startswith("classification/") else "regression"


def load_expected() -> dict[str, Expected]:
    """Return the expected shape and digest of every data set, by name."""
    table = pd.read_csv(Path(__file__).with_name("expected.csv"), dtype=str)
    sets = [
        Expected(row.path, int(row.rows), int(row.features), float(row.target_mean), row.sha256)
        for row in table.itertuples(index=False)
    ]
    return {expected.name: expected for expected in sets}


def parse(frame: pd.DataFrame) -> pd.DataFrame:
    """Return `frame` with numeric columns as float64 and all others as strings."""
    return pd.DataFrame({str(name): _parse_column(frame[name]) for name in frame.columns})


def _parse_column(column: pd.Series) -> NDArray[np.generic]:
    values = column.astype(object).to_numpy()
    known = ~pd.isna(values)
    numbers = np.full(len(values), np.nan)
    try:
        # Python's float rounds correctly; CSV readers trade the last bit for speed, which would change the digest.
        numbers[known] = [float(value) for value in values[known]]
    except ValueError:
        if not known.all():
            raise DataError(f"column {column.name!r} has strings and missing values; drop one or the other") from None
        return np.array([str(value) for value in values], dtype=object)
    return numbers + 0.0  # -0.0 becomes 0.0


def digest(frame: pd.DataFrame) -> str:
    """Return the SHA-256 of names and values: float64 in little-endian order, strings in UTF-8, column by column."""
    sha = hashlib.sha256()
    for name in frame.columns:
        sha.update(name.encode() + b"\0")
        column = frame[name].to_numpy()
        if column.dtype == np.float64:
            numbers = np.where(np.isnan(column), np.nan, column)  # one NaN for all
            sha.update(numbers.astype("<f8").tobytes())
        else:
            sha.update(b"".join(value.encode() + b"\0" for value in column))
    return sha.hexdigest()


def target_mean(frame: pd.DataFrame) -> float:
    """Return the mean of the target; of labels, the mean of their ordinal codes."""
    target = frame["target"].to_numpy()
    return float((target if target.dtype == np.float64 else np.unique(target, return_inverse=True)[1]).mean())


def check(frame: pd.DataFrame, expected: Expected) -> None:
    """Raise a DataError that names the first difference between a parsed table and the expected one."""
    shape = (expected.rows, expected.features + 1)
    if frame.columns[-1] != "target":
        raise DataError(f"{expected.path}: the last column must be 'target', got {frame.columns[-1]!r}")
    if frame.shape != shape:
        raise DataError(f"{expected.path}: expected {shape} rows and columns, got {frame.shape}")
    mean = target_mean(frame)
    if not np.isclose(mean, expected.target_mean, rtol=1e-9, atol=1e-12):
        raise DataError(f"{expected.path}: expected a target mean of {expected.target_mean:.6g}, got {mean:.6g}")
    got = digest(frame)
    if got != expected.sha256:
        raise DataError(
            f"{expected.path}: shape and target mean are right, but names, order or values differ "
            f"(SHA-256 {got[:12]}..., expected {expected.sha256[:12]}...)"
        )


def read_table(path: Path) -> pd.DataFrame:
    """Read and parse a CSV file; only an empty field is a missing value."""
    try:
        return parse(pd.read_csv(path, dtype=str, keep_default_na=False, na_values=[""]))
    except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError) as error:
        raise DataError(f"{path} is not a CSV file: {error}") from error


def write_table(frame: pd.DataFrame, path: Path, floats: tuple[str, ...] | None = ()) -> None:
    """Write a parsed table to `path` atomically.

    Whole numbers are written as such, except in the columns `floats` (None for all), which keep a decimal point.
    """
    frame = frame.copy()
    floats = tuple(frame.columns) if floats is None else floats
    for name in frame.columns:
        column = frame[name].to_numpy()
        if name not in floats and column.dtype == np.float64 and (column % 1 == 0).all():
            frame[name] = column.astype(np.int64)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, [frame.to_csv(index=False, lineterminator="\n").encode()])
