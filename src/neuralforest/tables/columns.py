"""Column: whether a column of a table holds numbers or strings, and its encoding; the checks of values."""

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from neuralforest.exceptions import TableError, TableWarning

if TYPE_CHECKING:
    import pandas

_LARGEST = float(np.finfo(np.float32).max)


@dataclass(frozen=True)
class Column:
    """A column of the table that a model was fitted on.

    Parameters
    ----------
    name : str
    categories : tuple of str, optional
        In alphabetical order, for a string column; None for a numeric one.
    """

    name: str
    categories: tuple[str, ...] | None = None

    @classmethod
    def learn(cls, values: "pandas.Series") -> "Column":
        """Determine whether a column is numeric, and if not, its categories."""
        _, not_numeric = to_numbers(values)
        return cls(str(values.name), tuple(sorted(set(to_strings(values).dropna()))) if not_numeric.any() else None)

    def encode(self, values: "pandas.Series") -> NDArray[np.float64]:
        """Return the column as numbers, (rows,)."""
        if self.categories is None:
            numbers, wrong = to_numbers(values)
            refuse(values, wrong, "must hold numbers", "correct it, or leave it empty where the value is missing")
            refuse(values, np.abs(numbers) > _LARGEST, f"must hold numbers below {_LARGEST:.2g}", "correct it")
            return numbers
        strings = to_strings(values)
        codes = strings.map({category: float(code) for code, category in enumerate(self.categories)})
        unseen = (codes.isna() & strings.notna()).to_numpy()
        if unseen.any():
            warnings.warn(
                f"column {self.name!r} holds the new categories {listed(sorted(set(strings[unseen])))}: "
                f"{unseen.sum()} of {len(strings)} rows are treated as missing",
                TableWarning,
                stacklevel=4,
            )
        return np.asarray(codes, np.float64)


def to_numbers(values: "pandas.Series") -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return a column as numbers, with NaN where a value is missing or not numeric, and a mask of the latter."""
    import pandas

    if values.dtype.kind in "Mm":
        raise TableError(
            f"column {values.name!r} must hold numbers or strings, got dates or times: convert them to numbers, such "
            "as days, or drop the column"
        )
    numbers = pandas.to_numeric(values, errors="coerce").astype("Float64").to_numpy(np.float64, na_value=np.nan)
    return numbers, np.isnan(numbers) & values.notna().to_numpy()


def to_strings(values: "pandas.Series") -> "pandas.Series":
    """Return a column as strings without surrounding whitespace; missing values stay missing."""
    return values.map(lambda value: str(value).strip(), na_action="ignore").astype(object)


def refuse(values: "pandas.Series", wrong: NDArray[np.bool_], rule: str, fix: str) -> None:
    """Raise an error that names the first wrong value, if there is one."""
    if wrong.any():
        first = int(np.argmax(wrong))
        value = values.iloc[first : first + 1].tolist()[0]
        more = f" and in {wrong.sum() - 1} more" if wrong.sum() > 1 else ""
        raise TableError(f"column {values.name!r} {rule}, got {value!r:.60} in row {values.index[first]}{more}: {fix}")


def listed(names: Iterable[Any], most: int = 5) -> str:
    """Return names in quotes, the first few of them.

    Examples
    --------
    >>> listed("abc", most=2)
    "'a', 'b' and 1 more"
    """
    quoted = [f"{str(name)!r:.60}" for name in names]
    rest = len(quoted) - most
    return ", ".join(quoted) if rest <= 0 else f"{', '.join(quoted[:most])} and {rest} more"
