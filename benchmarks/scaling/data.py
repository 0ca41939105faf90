"""Generated rows: Friedman's function with 20 features, in blocks that depend on a seed and their number alone."""

from pathlib import Path

import dask.array as da
import numpy as np
from numpy.typing import NDArray

N_FEATURES = 20


def block(seed: int, number: int, n_rows: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return X (rows, 20), uniform, and y with noise of standard deviation 1."""
    random = np.random.default_rng([seed, number])
    X = random.uniform(size=(n_rows, N_FEATURES))
    y = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + 5 * X[:, 4]
    return X, y + random.normal(size=n_rows)


def lazy(seed: int, n_blocks: int, n_rows: int) -> tuple[da.Array, da.Array]:
    """Return dask arrays of blocks that the workers generate."""
    import dask

    X, y = [], []
    for number in range(n_blocks):
        pair = dask.delayed(block, nout=2)(seed, number, n_rows)
        X.append(da.from_delayed(pair[0], (n_rows, N_FEATURES), float))
        y.append(da.from_delayed(pair[1], (n_rows,), float))
    return da.concatenate(X), da.concatenate(y)


def in_memory(seed: int, n_blocks: int, n_rows: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the same rows as arrays."""
    X, y = zip(*(block(seed, number, n_rows) for number in range(n_blocks)), strict=True)
    return np.concatenate(X), np.concatenate(y)


def write_parquet(folder: Path, n_files: int, n_rows: int, seed: int = 0) -> None:
    """Write blocks as Parquet files, which do not compress."""
    import pandas

    folder.mkdir(parents=True, exist_ok=True)
    for number in range(n_files):
        path = folder / f"part-{number:05}.parquet"
        if not path.exists():
            X, y = block(seed, number, n_rows)
            table = pandas.DataFrame(X, columns=[f"x{i}" for i in range(N_FEATURES)]).assign(y=y)
            table.to_parquet(path.with_suffix(".tmp"), compression=None)
            path.with_suffix(".tmp").rename(path)
