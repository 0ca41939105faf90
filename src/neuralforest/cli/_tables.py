"""Tables from CSV and Parquet files. Strings stay strings: a fit determines which columns are numbers, once."""

import argparse
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from neuralforest._extras import missing_extra
from neuralforest.exceptions import TableError, TableWarning
from neuralforest.tables import Column, listed, refuse, to_numbers, to_strings

if TYPE_CHECKING:
    import pandas

_MOSTLY = 0.9  # of the values of a column: then the others are mistakes
_MOST_NUMBERS = 0.5  # the same, where there are many different numbers
_IDENTIFIER_ROWS = 20  # with fewer rows, distinct strings may be a coincidence
_MANY_NUMBERS = 20  # more different ones are no codes of categories
_COMMA = r"[+-]?\d[\d.' ]*(?:,\d+)+(?:\.\d*)?"
_UNIT = r"[+-]?[$€£¥] ?[+-]?\d[\d.,' ]*|[+-]?\d[\d.,' ]*[%$€£¥]"
_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|"
    r"nov(?:ember)?|dec(?:ember)?)"
)
_DAY = "|".join(
    (
        r"\d{4}([-/.])\d{1,2}\1\d{1,2}",
        r"\d{1,2}([-/.])\d{1,2}\2(?:\d{4}|\d{2})",
        rf"\d{{1,2}}[-/. ]*{_MONTH}[-/., ]*(?:\d{{4}}|\d{{2}})",
        rf"{_MONTH}[-/. ]*(?:\d{{1,2}}[-, ]+)?(?:\d{{4}}|\d{{2}})",
        rf"\d{{4}}[-/. ]*{_MONTH}(?:[-/. ]*\d{{1,2}})?",
    )
)
_DATE = rf"(?:{_DAY})(?:[T ]+\d.*)?|\d{{1,2}}:\d{{2}}(?::\d{{2}}(?:\.\d+)?)?(?: ?[ap]m)?"


def add_table_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of commands that read a table."""
    parser.add_argument("data", help="CSV file with column names in its first row, or Parquet file (.parquet)")
    separator = "separator of the CSV file (default: %(default)s)"
    parser.add_argument("--separator", default=",", metavar="S", help=separator)


def read_table(path: str, separator: str) -> "pandas.DataFrame":
    """Read a table; columns must have different names, and there must be at least one row."""
    try:
        import pandas
    except ImportError as error:
        raise missing_extra("pandas", "cli") from error
    is_parquet = Path(path).suffix.lower() in (".parquet", ".pq")
    table = _read_parquet(pandas, path) if is_parquet else _read_csv(pandas, path, separator)
    table.columns = [str(name).strip() for name in table.columns]
    table.index = pandas.RangeIndex(1, len(table) + 1)  # row numbers in messages
    if not len(table):
        raise TableError(f"{path!r} has column names but no rows: add rows below the names")
    nameless = [name for name in table.columns if name.startswith("Unnamed: ")]
    if nameless:
        warnings.warn(
            f"{listed(nameless)} has no name in {path!r}: if it holds row numbers, fit with --drop {nameless[0]!r}",
            TableWarning,
            stacklevel=2,
        )
    return table


def _read_parquet(pandas: Any, path: str) -> "pandas.DataFrame":
    with open(path, "rb") as file:  # the system's errors about paths are clearer than those of pyarrow
        try:
            return pandas.read_parquet(file)
        except ImportError as error:
            raise missing_extra("pyarrow", "cli") from error
        except (ValueError, OSError) as error:
            text = f"{path!r} is not a Parquet file: a CSV file must have a name that ends in .csv"
            raise TableError(text) from error


def _read_csv(pandas: Any, path: str, separator: str) -> "pandas.DataFrame":
    options = {
        "sep": separator,
        "dtype": str,
        "na_values": ["?"],
        "skipinitialspace": True,
        "encoding": "utf-8-sig",
        "index_col": False,
    }
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pandas.errors.ParserWarning)
            names = pandas.read_csv(path, **options, header=None, nrows=1).iloc[0]
            table = pandas.read_csv(path, **options)
    except pandas.errors.EmptyDataError as error:
        raise TableError(f"{path!r} is empty: it needs a row of column names, and rows of values") from error
    except UnicodeDecodeError as error:
        raise TableError(f"{path!r} is not encoded in UTF-8: save it as CSV in UTF-8, or as Parquet") from error
    except (pandas.errors.ParserError, pandas.errors.ParserWarning) as error:
        raise TableError(
            f"{path!r} has rows with more values than there are columns ({error}): correct them, or set --separator"
        ) from error
    twice = names[names.duplicated() & names.notna()]
    if len(twice):
        raise TableError(f"{path!r} has more than one column {twice.iloc[0]!r}: column names must be unique")
    if len(table.columns) == 1 and any(mark in str(table.columns[0]) for mark in ";\t|"):
        raise TableError(
            f"{path!r} has one column, {str(table.columns[0])!r:.60}: set --separator to the separator of its values"
        )
    return table


def as_feature(values: "pandas.Series", is_category: bool) -> Any:
    """Return a column as numbers if all values are, else as strings; mixtures and dates are refused."""
    import pandas

    if not is_category and not isinstance(values.dtype, pandas.CategoricalDtype):
        refuse_mixed(values, f"set --categorical {values.name!r} if its values are categories")
        if not to_numbers(values)[1].any():
            numbers = Column(str(values.name)).read(values)
            _warn_of_row_numbers(numbers, str(values.name))
            return numbers
    strings = to_strings(values)
    if strings.nunique() > max(_MOSTLY * strings.count(), _IDENTIFIER_ROWS):
        text = f"column {values.name!r} has a new category in almost every row: --drop {values.name!r} if it is an"
        warnings.warn(f"{text} identifier", TableWarning, stacklevel=2)
    return strings.astype("category") if is_category else strings


def _warn_of_row_numbers(numbers: NDArray[np.float64], name: str) -> None:
    """Warn of a column that counts the rows, in any order."""
    if len(numbers) <= _IDENTIFIER_ROWS or np.isnan(numbers).any() or np.ptp(numbers) != len(numbers) - 1:
        return
    if (numbers == np.rint(numbers)).all() and len(np.unique(numbers)) == len(numbers):
        warnings.warn(
            f"column {name!r} counts the rows: --drop {name!r} if it is an identifier", TableWarning, stacklevel=3
        )


def refuse_mixed(values: "pandas.Series", otherwise: str) -> None:
    """Refuse strings among numbers, decimal commas, units and dates: as categories, they would never recur."""
    numbers, wrong = to_numbers(values)
    if not wrong.any():
        return
    strings, known = to_strings(values), values.notna().to_numpy()
    comma, unit, date = (
        strings.str.fullmatch(pattern, case=False).eq(True).to_numpy() for pattern in (_COMMA, _UNIT, _DATE)
    )
    is_number = ~wrong & known
    for found, most, rule, fix in (
        (comma, comma | is_number, "must hold numbers with a decimal point", "replace commas in numbers"),
        (unit, unit | is_number, "must hold numbers without units", "remove signs such as % and $"),
        (
            date,
            date,
            "must hold numbers or categories, not dates or times",
            "convert them to numbers, such as days, --drop them",
        ),
        (wrong, is_number, f"must hold numbers, as in {is_number.sum()} rows", "correct it, empty it"),
    ):
        are_many = most is is_number and len(np.unique(numbers[is_number])) > _MANY_NUMBERS
        if found.any() and most.sum() >= (_MOST_NUMBERS if are_many else _MOSTLY) * known.sum():
            refuse(values, found, rule, f"{fix}, or {otherwise}")
