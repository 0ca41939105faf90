"""The data sets of the benchmarks: where they lie, how they are read and split.

`python -m benchmarks.data` fetches every set from its public source, prepares it by code and checks it; sets that are
there already are kept. `python -m benchmarks.data concrete housing` does it for some, `--check` only looks.
"""

import argparse
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.download import UnreachableError
from benchmarks.sources import SOURCES
from benchmarks.tables import DataError, Expected, Task, check, load_expected, parse, read_table, write_table


class Dataset(NamedTuple):
    """A data set in memory."""

    name: str
    X: pd.DataFrame  # float64 columns and string columns
    y: NDArray[np.generic]  # (rows,): float64 for regression, labels for classification
    task: Task


class Split(NamedTuple):
    """Row numbers of one repetition."""

    train: NDArray[np.int64]
    validation: NDArray[np.int64]
    test: NDArray[np.int64]


def data_dir() -> Path:
    """Return the folder of the data: NEURALFOREST_DATA, or `../shared/data` seen from the repository."""
    configured = os.environ.get("NEURALFOREST_DATA")
    return Path(configured).expanduser() if configured else Path(__file__).resolve().parents[2] / "shared" / "data"


def names(folder: str = "") -> list[str]:
    """Return the names of the data sets, or of those in a folder: "paper", "regression" or "classification"."""
    found = [e.name for e in load_expected().values() if not folder or e.path.rpartition("/")[0] == folder]
    if not found:
        raise DataError(f"folder must be paper, paper/variants, regression or classification, got {folder!r}")
    return found


def load(name: str) -> Dataset:
    """Read a data set and check that it is what it should be."""
    expected = _expected(name)
    path = _path(expected)
    if not path.is_file():
        raise DataError(
            f"{path} does not exist; fetch it with `python -m benchmarks.data {name}`, or set NEURALFOREST_DATA to the "
            "folder that holds it"
        )
    frame = read_table(path)
    check(frame, expected)
    y = frame["target"].to_numpy()
    if expected.task == "classification" and y.dtype == np.float64:
        y = y.astype(np.int64)
    return Dataset(name, frame.drop(columns="target"), y, expected.task)


def cut(dataset: Dataset, most_rows: int) -> Dataset:
    """Return a data set with no more rows than this, drawn at random."""
    if len(dataset.y) <= most_rows:
        return dataset
    kept = np.random.default_rng(0).permutation(len(dataset.y))[:most_rows]
    return dataset._replace(X=dataset.X.iloc[kept].reset_index(drop=True), y=dataset.y[kept])


def encode(X: pd.DataFrame) -> NDArray[np.float64]:
    """Return the features as float64 (rows, features); strings become their places in sorted order."""
    columns = [X[name].to_numpy() for name in X.columns]
    coded = [c if c.dtype == np.float64 else np.unique(c, return_inverse=True)[1] for c in columns]
    return np.column_stack(coded).astype(np.float64)


def split(n: int, r: int) -> Split:
    """Return the rows of repetition r: n // 2 for training, n // 4 for validation, the rest for the test.

    The order is that of `numpy.random.default_rng(r).permutation(n)`.
    """
    order = np.random.default_rng(r).permutation(n)
    return Split(*np.split(order, [n // 2, n // 2 + n // 4]))


def fetch(name: str, unreachable: set[str] | None = None) -> None:
    """Bring one data set from the first of its sources that has it, check it and write it.

    Hosts in `unreachable` are not tried; a host that turns out to be so is added.
    """
    expected = _expected(name)
    unreachable = set() if unreachable is None else unreachable
    problems: list[str] = []
    for source in SOURCES[name]:
        if source.host in unreachable:
            problems.append(f"{source.host} could not be reached")
            continue
        try:
            frame = parse(source.read())
            check(frame, expected)
        except UnreachableError as error:
            unreachable.add(error.host)
            problems.append(str(error))
        except (DataError, KeyError, ValueError) as error:  # pandas speaks of a changed file with the latter two
            problems.append(f"{source.host}: {error}")
        else:
            write_table(frame, _path(expected), source.floats)
            return
    raise DataError("; then ".join(problems))


def _path(expected: Expected) -> Path:
    return data_dir() / f"{expected.path}.csv"


def _expected(name: str) -> Expected:
    known = load_expected()
    if name not in known:
        raise DataError(f"there is no data set {name!r}; there are {', '.join(known)}")
    return known[name]


def _is_good(name: str) -> bool:
    """Say whether a set is there and right, and print what is wrong with one that is there."""
    expected = _expected(name)
    try:
        check(read_table(_path(expected)), expected)
    except FileNotFoundError:
        return False
    except (DataError, OSError) as error:
        print(f"{name}: the file at hand is not usable: {error}")
        return False
    return True


def main(arguments: Sequence[str] | None = None) -> int:
    """Fetch what is missing; return 0 when every set asked for is there and right."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.data", description="Fetch and check the data sets.")
    parser.add_argument("names", nargs="*", help="some of them; all without")
    parser.add_argument("--check", action="store_true", help="check the files at hand, fetch nothing")
    options = parser.parse_args(arguments)
    try:
        wanted = [_expected(name).name for name in options.names] or names()
    except DataError as error:
        parser.error(str(error))
    print(f"data folder: {data_dir()}", flush=True)
    unreachable: set[str] = set()
    missing = [name for name in wanted if not _bring(name, unreachable, look_only=options.check)]
    if not missing:
        print(f"all {len(wanted)} data sets are there and right")
        return 0
    print(f"{len(missing)} of {len(wanted)} data sets are missing: {', '.join(missing)}", file=sys.stderr)
    if unreachable:
        print(
            f"No answer from {', '.join(sorted(unreachable))}. Is there a network? Run the same command again when "
            "there is: what has been fetched is kept.",
            file=sys.stderr,
        )
    return 1


def _bring(name: str, unreachable: set[str], look_only: bool) -> bool:
    expected = _expected(name)
    shape = f"{expected.rows} x {expected.features}"
    if _is_good(name):
        print(f"{name}: {shape}, there", flush=True)
        return True
    if look_only:
        return False
    start = time.perf_counter()
    try:
        fetch(name, unreachable)
    except DataError as error:
        print(f"{name}: failed: {error}", flush=True)
        return False
    except OSError as error:
        print(f"{name}: could not be written: {error}; set NEURALFOREST_DATA to a folder that can be", flush=True)
        return False
    print(f"{name}: {shape}, fetched in {time.perf_counter() - start:.1f} s", flush=True)
    return True


if __name__ == "__main__":
    sys.exit(main())
