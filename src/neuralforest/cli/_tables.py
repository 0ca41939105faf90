"""Reading tables from CSV and Parquet files. Texts stay texts: what a column holds is decided in `tabular`."""

import argparse
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuralforest.exceptions import TableError, TableWarning
from neuralforest.tables import listed

if TYPE_CHECKING:
    import pandas

_PARQUET = (".parquet", ".pq")


def add_table_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what every command needs that reads a table."""
    parser.add_argument("data", help="CSV file with a row of names at the top, or Parquet file (.parquet)")
    parser.add_argument(
        "--separator", default=",", metavar="S", help="what separates the values of a CSV file (default: ,)"
    )


def read_table(path: str, separator: str = ",") -> "pandas.DataFrame":
    """Read a file whose columns have different names and that has at least one row."""
    try:
        import pandas
    except ImportError as error:
        raise TableError("reading tables needs pandas: pip install 'neuralforest[cli]'") from error
    read = _read_parquet if Path(path).suffix.lower() in _PARQUET else _read_csv
    table = read(pandas, path, separator)
    table.columns = [str(name).strip() for name in table.columns]
    table.index = pandas.RangeIndex(1, len(table) + 1)  # messages name rows by it
    if not len(table):
        raise TableError(f"{path!r} holds names of columns but no rows: add rows below the names")
    nameless = [name for name in table.columns if name.startswith("Unnamed: ")]
    if nameless:
        warnings.warn(
            f"{listed(nameless)} has no name in {path!r}: if it numbers the rows, fit with --drop {nameless[0]!r}",
            TableWarning,
            stacklevel=2,
        )
    return table


def _read_parquet(pandas: Any, path: str, _: str) -> "pandas.DataFrame":
    with open(path, "rb") as file:  # what the system says about a path is clearer than what Parquet's reader says
        try:
            return pandas.read_parquet(file)
        except ImportError as error:
            raise TableError("reading Parquet files needs pyarrow: pip install 'neuralforest[cli]'") from error
        except (ValueError, OSError) as error:
            raise TableError(f"{path!r} is not a Parquet file: name a CSV file so that it ends in .csv") from error


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
        raise TableError(f"{path!r} is empty: it needs a row of names, and rows of values") from error
    except UnicodeDecodeError as error:
        raise TableError(f"{path!r} is not a text in UTF-8: save it as CSV in UTF-8, or as Parquet") from error
    except (pandas.errors.ParserError, pandas.errors.ParserWarning) as error:
        raise TableError(
            f"{path!r} has rows with more values than there are names ({error}): correct them, or set --separator"
        ) from error
    twice = names[names.duplicated() & names.notna()]
    if len(twice):
        raise TableError(f"{path!r} has more than one column {twice.iloc[0]!r}: give every column a name of its own")
    if len(table.columns) == 1 and any(mark in str(table.columns[0]) for mark in ";\t|"):
        raise TableError(
            f"{path!r} has one column, {str(table.columns[0])!r:.60}: set --separator to what separates its values"
        )
    return table
