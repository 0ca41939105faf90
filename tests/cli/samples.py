"""A table of trees for sale, options for fast fits, and the output of `predict` as a table."""

import io

import numpy as np
import pytest

pandas = pytest.importorskip("pandas")

FAST = ["--trees", "3", "--epochs", "1", "--connectivity", "sparse", "--jobs", "1"]


def rows(n=60):
    rng = np.random.default_rng(0)
    size = rng.normal(size=n).round(2)
    kind = np.array(["oak", "ash", "elm"])[rng.integers(3, size=n)]
    return pandas.DataFrame(
        {
            "size": np.where(np.arange(n) % 9 == 0, np.nan, size),
            "kind": kind,
            "price": (size**2 + (kind == "oak")).round(3),
            "sold": np.where(size > 0, "yes", "no"),
        }
    )


def parsed(text):
    return pandas.read_csv(io.StringIO(text))
