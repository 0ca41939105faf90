"""Statistics of columns: centre, spread and range, for features and targets with missing values."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

ROUNDING = 1e-12
"""A column whose relative variation is below this is constant."""


class ColumnMoments(NamedTuple):
    """Mean and standard deviation of columns, (columns,) each, that can be merged with those of other rows."""

    n_values: NDArray[np.int64]  # that are not NaN
    unit: NDArray[np.float64]  # the largest absolute value: squares of large numbers would be infinite, of small ones 0
    mean: NDArray[np.float64]  # in this unit
    deviation: NDArray[np.float64]  # in this unit

    @classmethod
    def of(cls, columns: NDArray[np.floating], weight: NDArray[np.float64] | None = None) -> "ColumnMoments":
        """Measure the rows of positive weight, or all, (rows, columns), without NaN."""
        used = slice(None) if weight is None else weight > 0
        n = columns.shape[1]
        moments = cls(np.zeros(n, np.int64), np.zeros(n), np.zeros(n), np.zeros(n))
        for number in range(n):  # one at a time: no second table in memory
            column = columns[used, number].astype(np.float64)
            column = column[~np.isnan(column)]
            moments.n_values[number], moments.unit[number] = len(column), np.abs(column).max(initial=0.0)
            if moments.unit[number] > 0:
                scaled = column / moments.unit[number]
                moments.mean[number], moments.deviation[number] = scaled.mean(), scaled.std()
        return moments

    @classmethod
    def merged(cls, parts: Sequence["ColumnMoments"]) -> "ColumnMoments":
        """Return the moments of the rows of all parts together; those of a single part bit for bit.

        Examples
        --------
        >>> import numpy as np
        >>> x = np.arange(10.0)[:, None]
        >>> merged = ColumnMoments.merged([ColumnMoments.of(x[:3]), ColumnMoments.of(x[3:])])
        >>> [float(each[0].round(9)) for each in merged.center_and_spread()]
        [4.5, 2.872281323]
        """
        if len(parts) == 1:
            return parts[0]
        counts, units, means, deviations = (np.stack(each) for each in zip(*parts, strict=True))  # (parts, columns)
        count, unit = counts.sum(axis=0), units.max(axis=0)
        factor = units / np.where(unit > 0, unit, 1.0)
        share = counts / np.maximum(count, 1)
        mean = (share * means * factor).sum(axis=0)
        variance = (share * ((deviations * factor) ** 2 + (means * factor - mean) ** 2)).sum(axis=0)
        return cls(count, unit, mean, np.sqrt(variance))

    def center_and_spread(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return mean and standard deviation, in the units of the columns; see the function of the same name."""
        varies = self.deviation > ROUNDING * np.abs(self.mean)
        spread = np.where(varies, self.deviation * self.unit, self.unit)
        return self.mean * self.unit, np.where(self.unit > 0, spread, 1.0)


def center_and_spread(
    columns: NDArray[np.floating], weight: NDArray[np.float64] | None = None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return mean and standard deviation of each column, over the rows of positive weight, or all, and without NaN.

    A column that does not vary has its size as its spread, or 1.
    """
    return ColumnMoments.of(columns, weight).center_and_spread()


def value_ranges(
    columns: NDArray[np.floating], default: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the smallest and the largest value of each column, ignoring NaN; the default where there is none.

    Examples
    --------
    >>> import numpy as np
    >>> value_ranges(np.array([[1.0, np.nan], [3.0, np.nan], [np.nan, np.nan]]), np.array([0.0, 7.0]))
    (array([1., 7.]), array([3., 7.]))
    """
    low, high = (extreme.reduce(columns, axis=0, initial=np.nan) for extreme in (np.fmin, np.fmax))
    none = np.isnan(low)
    return np.where(none, default, low), np.where(none, default, high)
