"""Units: the spread of features and targets, so that one contrast and one learning rate suit all of them."""

import numpy as np
from numpy.typing import NDArray

from neuralforest.exceptions import InvalidParameterError

_SMALLEST, _LARGEST = 1e-6, 1e100  # spreads of a target that the squared errors of trees can tell from 0 and infinity
_FAR = 1e15  # of a target in the units of training, whose squares are taken in float32
_ROUNDING = 1e-12  # what varies by less than this part of its size does not vary


def center_and_spread(
    columns: NDArray[np.floating], weight: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return mean and standard deviation of each column, over the rows of positive weight and without NaN.

    A column that does not vary has its size as its spread, or 1.

    Examples
    --------
    >>> import numpy as np
    >>> center_and_spread(np.array([[1.0, 5.0], [3.0, 5.0], [9.0, 9.0]]), np.array([1.0, 1.0, 0.0]))
    (array([2., 5.]), array([1., 5.]))
    """
    used = weight > 0
    center, spread = np.zeros(columns.shape[1]), np.ones(columns.shape[1])
    for number in range(columns.shape[1]):  # one at a time: no second table in memory
        column = columns[used, number].astype(np.float64)
        column = column[~np.isnan(column)]
        unit = np.abs(column).max(initial=0.0)  # squares of large numbers would be infinite, of small ones 0
        if unit > 0:
            mean, deviation = (column / unit).mean(), (column / unit).std()
            center[number] = mean * unit
            spread[number] = deviation * unit if deviation > _ROUNDING * abs(mean) else unit
    return center, spread


def check_target(y: NDArray[np.float64], check_range: bool) -> None:
    """Refuse a target (rows, outputs) whose squares a forest cannot handle: it would be silently wrong."""
    largest = np.abs(y).max(axis=0)
    spread = np.ptp(y / np.where(largest > 0, largest, 1.0), axis=0) * largest
    bad = (largest > _LARGEST) | (check_range & (spread > _ROUNDING * largest) & (spread < _SMALLEST))
    for column in np.flatnonzero(bad):
        raise InvalidParameterError(
            f"y must have a range of at least {_SMALLEST:g} and no value beyond {_LARGEST:g}, because trees square it, "
            f"got a range of {spread[column]:.3g} and a largest value of {largest[column]:.3g}: multiply y by a "
            "constant, and the predictions by its inverse"
        )


def check_scaled_target(y: NDArray[np.float64]) -> None:
    """Refuse a target that, in the units of training, is too large for float32 to square."""
    largest = np.abs(y).max()
    if largest > _FAR:
        raise InvalidParameterError(
            f"y must lie within {_FAR:g} spreads of the y that the network was made for, or within {_FAR:g} of 0 with "
            f"standardize=False, got {largest:.3g}: standardize, or leave such rows out"
        )
