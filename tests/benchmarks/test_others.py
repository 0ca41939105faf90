"""Other data sets: what becomes of their columns and rows. The sets themselves are not needed."""

import numpy as np
import pandas as pd
import pytest

from benchmarks import made_sets, others_sets
from benchmarks.data import Dataset, cut


def test_columns_become_numbers_without_gaps():
    frame = pd.DataFrame(
        {
            "number": [1.0, np.nan, 5.0, 4.0],
            "word": ["b", "a", None, "b"],
            "flag": [True, False, True, True],
            "nothing": [np.nan] * 4,
        }
    )
    numbers = others_sets._numbers(frame)
    assert list(numbers.columns) == ["number", "word", "flag"]
    assert (numbers.dtypes == np.float64).all()
    np.testing.assert_array_equal(numbers, [[1, 1, 1], [4, 0, 0], [5, 1, 1], [4, 1, 1]])


def test_large_sets_are_cut_and_rows_stay_together():
    X = pd.DataFrame({"a": np.arange(50.0)})
    dataset = Dataset("some", X, np.arange(50.0) * 2, "regression")
    fewer = cut(dataset, 20)
    assert len(fewer.y) == len(set(fewer.y)) == 20
    np.testing.assert_array_equal(fewer.X["a"] * 2, fewer.y)
    assert cut(dataset, 50) is dataset


def test_no_set_is_there_twice():
    assert len(set(others_sets.CLASSIFICATION)) == len(others_sets.CLASSIFICATION) == 35
    assert len(others_sets.REGRESSION) == 54
    assert all(target not in dropped for target, dropped in others_sets.REGRESSION.values())


@pytest.mark.parametrize("name", [*made_sets.REGRESSION, *made_sets.CLASSIFICATION])
def test_made_sets_are_the_same_every_time(name):
    first, second = others_sets.load(f"made.{name}"), others_sets.load(f"made.{name}")
    assert first.task == ("regression" if name in made_sets.REGRESSION else "classification")
    assert first.name == f"made.{name}"
    assert len(first.X) == len(first.y) <= 3000
    assert np.isfinite(first.X.to_numpy()).all()
    pd.testing.assert_frame_equal(first.X, second.X)
    np.testing.assert_array_equal(first.y, second.y)
