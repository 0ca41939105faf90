"""Statistics of columns: centre, spread and range, for features and targets with missing values."""

import numpy as np
from numpy.typing import NDArray

ROUNDING = 1e-12
"""A column whose relative variation is below this is constant."""


def center_and_spread(
    columns: NDArray[np.floating], weight: NDArray[np.float64] | None = None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return mean and standard deviation of each column, over the rows of positive weight, or all, and without NaN.

    A column that does not vary has its size as its spread, or 1.
    """
    used = slice(None) if weight is None else weight > 0
    center, spread = np.zeros(columns.shape[1]), np.ones(columns.shape[1])
    for number in range(columns.shape[1]):  # one at a time: no second table in memory
        column = columns[used, number].astype(np.float64)
        column = column[~np.isnan(column)]
        unit = np.abs(column).max(initial=0.0)  # squares of large numbers would be infinite, of small ones 0
        if unit > 0:
            mean, deviation = (column / unit).mean(), (column / unit).std()
            center[number] = mean * unit
            spread[number] = deviation * unit if deviation > ROUNDING * abs(mean) else unit
    return center, spread


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
    low, high = np.fmin.reduce(columns, axis=0), np.fmax.reduce(columns, axis=0)
    none = np.isnan(low)
    return np.where(none, default, low), np.where(none, default, high)
