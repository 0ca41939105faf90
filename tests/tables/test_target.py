"""The target column: the task that it implies, and its values."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from neuralforest.exceptions import TableError
from neuralforest.tables import guess_task, read_target

pandas = pytest.importorskip("pandas")


def column(values):
    return pandas.Series(values, name="c")


@pytest.mark.parametrize(
    ("values", "task", "reason"),
    [
        (["a", "b"], "classification", "the target holds strings"),
        ([True, False], "classification", "the target holds booleans"),
        ([1, 2, 2, None], "classification", "the target holds 2 distinct integers"),
        ([str(number) for number in range(10)], "classification", "the target holds 10 distinct integers"),
        (range(11), "regression", "the target holds 11 distinct integers"),
        ([0.5, 1], "regression", "the target holds fractions"),
    ],
)
def test_the_target_implies_the_task(values, task, reason):
    assert guess_task(column(values)) == (task, reason)


@pytest.mark.parametrize(
    ("values", "labels"),
    [
        (["no", "yes "], np.array(["no", "yes"])),
        (["1", "2"], np.array([1, 2])),
        ([1.0, 2.0], np.array([1, 2])),
        ([True, False], np.array([True, False])),
        (["1", "x"], np.array(["1", "x"])),
    ],
)
def test_labels_are_strings_integers_or_booleans(values, labels):
    read = read_target(column(values), "classification")
    assert read.dtype == labels.dtype
    assert_array_equal(read, labels)


def test_a_regression_target_is_numeric():
    assert_array_equal(read_target(column(["1", " 2.5"]), "regression"), [1.0, 2.5])


@pytest.mark.parametrize(
    ("values", "task", "message"),
    [
        (
            [1.5, None, None],
            "regression",
            r"is the target and must not have missing values, got nan in row 1 and in 1 more: fill or drop such rows",
        ),
        (
            ["1", "a"],
            "regression",
            "must hold numbers for regression, got 'a' in row 1: correct it, or choose the task classification",
        ),
        ([1.0, np.inf], "regression", "must hold finite numbers, got inf in row 1: correct it"),
        (
            [1.0, 2.5],
            "classification",
            "must hold strings or integers for classification, got 2.5 in row 1: choose the task regression",
        ),
        (["a", "a"], "classification", "must hold at least two classes, got only a: add rows of another"),
        ([], "regression", "must have at least one row"),
    ],
)
def test_other_targets_are_refused_with_what_to_do(values, task, message):
    with pytest.raises(TableError, match=message):
        read_target(column(values), task)
