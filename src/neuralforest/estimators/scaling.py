"""Units: the spread of features and targets, so that one contrast and one learning rate suit all of them."""

import warnings

import numpy as np
from numpy.typing import NDArray

from neuralforest.exceptions import InvalidParameterError

_SMALLEST, _LARGEST = 1e-6, 1e100  # spreads of a target that the squared errors of trees can tell from 0 and infinity


def center_and_spread(
    columns: NDArray[np.floating], weight: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return mean and standard deviation of each column, over the rows of positive weight and without NaN.

    A column that does not vary has spread 1.
    """
    columns = np.asarray(columns[weight > 0], np.float64)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # columns of NaN only
        center = np.nanmean(columns, axis=0)
        spread = np.nanstd(columns, axis=0)
    center = np.where(np.isfinite(center), center, 0.0)
    rounding = 1e-12 * np.abs(center)
    return center, np.where(np.isfinite(spread) & (spread > rounding), spread, 1.0)


def check_target(y: NDArray[np.float64]) -> None:
    """Refuse a target whose squares a forest cannot handle: it would be silently wrong."""
    largest = np.abs(y).max(axis=0)
    spread = np.ptp(y / np.where(largest > 0, largest, 1.0), axis=0) * largest
    for column in range(y.shape[1]):
        if largest[column] > _LARGEST or 0 < spread[column] < _SMALLEST:
            raise InvalidParameterError(
                f"y must have a range of at least {_SMALLEST:g} and no value beyond {_LARGEST:g}, because trees square it; "
                f"got a range of {spread[column]:.3g} and a largest value of {largest[column]:.3g}: multiply y by a "
                "constant, and the predictions by its inverse"
            )
