"""Columns of a table become numbers, at prediction time with the encoding of the fit."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from neuralforest.exceptions import TableError, TableWarning
from neuralforest.tables import Column

pandas = pytest.importorskip("pandas")


def column(values):
    return pandas.Series(values, name="c")


@pytest.mark.parametrize(
    ("values", "categories", "codes"),
    [
        ([1, 2, 3], None, [1, 2, 3]),
        ([True, False], None, [1, 0]),
        (["1", " 2.5 ", None, "1e3"], None, [1, 2.5, np.nan, 1000]),
        (["b", "a", None, "b "], ("a", "b"), [1, 0, np.nan, 1]),
        (["1", "x"], ("1", "x"), [0, 1]),
        ([None, None], None, [np.nan, np.nan]),
        (pandas.Categorical(["z", "y"]), ("y", "z"), [1, 0]),
        (pandas.array([1, None], "Int64"), None, [1, np.nan]),
        (pandas.array([True, None], "boolean"), None, [1, np.nan]),
    ],
)
def test_numbers_stay_numbers_and_categories_become_their_alphabetical_positions(values, categories, codes):
    fitted = Column.learn(column(values))
    assert fitted == Column("c", categories)
    assert_array_equal(fitted.encode(column(values)), codes)


def test_dates_are_refused():
    message = "column 'c' must hold numbers or strings, got dates or times: convert them to numbers, such as days, or"
    with pytest.raises(TableError, match=message):
        Column.learn(column(pandas.to_datetime(["2020-01-01"])))


@pytest.mark.parametrize("value", ["inf", "1e39", -np.inf])
def test_infinite_and_very_large_numbers_are_refused(value):
    with pytest.raises(TableError, match=r"column 'c' must hold numbers below 3.4e\+38, got .* in row 1: correct it"):
        Column("c").encode(column([0, value]))


def test_a_string_in_a_numeric_column_is_refused():
    with pytest.raises(TableError, match=r"column 'c' must hold numbers, got 'big' in row 1 and in 1 more: correct it"):
        Column("c").encode(column(["1", "big", "bigger"]))


def test_new_categories_become_missing_with_a_warning():
    message = r"column 'c' holds the new categories 'new', 'newer': 2 of 4 rows are treated as missing"
    with pytest.warns(TableWarning, match=message):
        codes = Column("c", ("a", "b")).encode(column(["a", "new", "newer", None]))
    assert_array_equal(codes, [0, np.nan, np.nan, np.nan])
