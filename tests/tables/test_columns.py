"""Columns of a table are read as the columns that a model was fitted on."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from neuralforest.exceptions import TableError, TableWarning
from neuralforest.tables import Column

pandas = pytest.importorskip("pandas")


def column(values):
    return pandas.Series(values, name="c")


@pytest.mark.parametrize(
    ("values", "numbers"),
    [
        ([1, 2, 3], [1, 2, 3]),
        ([True, False], [1, 0]),
        (["1", " 2.5 ", None, "1e3"], [1, 2.5, np.nan, 1000]),
        ([None, None], [np.nan, np.nan]),
        (pandas.array([1, None], "Int64"), [1, np.nan]),
        (pandas.array([True, None], "boolean"), [1, np.nan]),
    ],
)
def test_numbers(values, numbers):
    assert_array_equal(Column("c").read(column(values)), numbers)


@pytest.mark.parametrize(
    ("values", "categories", "codes"),
    [
        (["b", "a", None, "b "], ("a", "b"), [1, 0, np.nan, 1]),
        (["b", "a"], ("b", "a"), [0, 1]),
        (pandas.Categorical(["z", None]), ("y", "z"), [1, np.nan]),
        (["1.0", "2", None], ("1", "2"), [0, 1, np.nan]),
        (["1.0", "1"], ("1", "1.0"), [1, 0]),
        ([1.0, 2.0], ("1", "2"), [0, 1]),
        ([True, False], ("False", "True"), [1, 0]),
    ],
)
def test_categories_have_the_codes_of_their_order(values, categories, codes):
    fitted = Column("c", categories)
    assert_array_equal(fitted.encode(fitted.read(column(values)), np.nan), codes)


def test_dates_are_refused():
    message = "column 'c' must hold numbers or strings, got dates or times: convert them to numbers, such as days, or"
    with pytest.raises(TableError, match=message):
        Column("c").read(column(pandas.to_datetime(["2020-01-01"])))


@pytest.mark.parametrize("value", ["inf", "1e39", -np.inf])
def test_infinite_and_very_large_numbers_are_refused(value):
    with pytest.raises(TableError, match=r"column 'c' must hold numbers below 3.4e\+38, got .* in row 1: correct it"):
        Column("c").read(column([0, value]))


def test_a_string_in_a_numeric_column_is_refused():
    with pytest.raises(TableError, match=r"column 'c' must hold numbers, got 'big' in row 1 and in 1 more: correct it"):
        Column("c").read(column(["1", "big", "bigger"]))


def test_new_categories_are_reported():
    fitted = Column("c", ("a", "b"))
    message = r"column 'c' holds categories that the model was not fitted on, in 2 of 4 rows: 'new', 'newer'"
    with pytest.warns(TableWarning, match=message):
        strings = fitted.read(column(["a", "new", "newer", None]))
    assert_array_equal(fitted.encode(strings, -1.0), [0, -1, -1, np.nan])
