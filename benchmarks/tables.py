"""What a data set must be, and tables as files: parse, check against `expected.csv`, read, write. Knows no source."""

import hashlib
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Task = Literal["regression", "classification"]


class DataError(Exception):
    """A data set that is missing, cannot be fetched, or is not what it should be."""


@dataclass(frozen=True)
class Expected:
    """What is known of a data set."""

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
    """Return what is known of every data set, by name."""
    table = pd.read_csv(Path(__file__).with_name("expected.csv"), dtype=str)
    sets = [
        Expected(row.path, int(row.rows), int(row.features), float(row.target_mean), row.sha256)
        for row in table.itertuples(index=False)
    ]
    return {expected.name: expected for expected in sets}


def parse(frame: pd.DataFrame) -> pd.DataFrame:
    """Return `frame` with every column as float64 where all of it is numbers, and as strings elsewhere."""
    return pd.DataFrame({str(name): _parse_column(frame[name]) for name in frame.columns})


def _parse_column(column: pd.Series) -> NDArray[np.generic]:
    values = column.astype(object).to_numpy()
    known = ~pd.isna(values)
    numbers = np.full(len(values), np.nan)
    try:
        # Python's float rounds correctly; readers of CSV files trade the last bit for speed, and hashes see it.
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
    """Return the mean of the target; of labels, the mean of their places in sorted order."""
    target = frame["target"].to_numpy()
    return float((target if target.dtype == np.float64 else np.unique(target, return_inverse=True)[1]).mean())


def check(frame: pd.DataFrame, expected: Expected) -> None:
    """Raise a DataError where a parsed table is not the expected one, naming the first thing that differs."""
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
    """Write a parsed table to `path`, all of it or nothing.

    Whole numbers are written as such, except in the columns `floats` (None for all), which keep a decimal point.
    """
    frame = frame.copy()
    floats = tuple(frame.columns) if floats is None else floats
    for name in frame.columns:
        column = frame[name].to_numpy()
        if name not in floats and column.dtype == np.float64 and (column % 1 == 0).all():
            frame[name] = column.astype(np.int64)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem}-", suffix=".tmp")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            frame.to_csv(file, index=False, lineterminator="\n")
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
