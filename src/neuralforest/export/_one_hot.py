"""The input columns of a soft network with categories, in a form that runtimes compute by comparisons."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuralforest.ensemble import offsets
from neuralforest.network import ForestNetwork


class OneHot(NamedTuple):
    """The input columns; see `InputColumns.expand`.

    A column of a category is 1 where low <= x < high, of all other categories where this is not so. Where x is
    missing, the column is `missing`: NaN for the first of a feature, 0 for the others.
    """

    feature: NDArray[np.int64]  # (columns,)
    is_category: NDArray[np.bool_]  # (columns,); the other columns are the numbers themselves
    is_other: NDArray[np.bool_]  # (columns,)
    low: NDArray[np.float64]  # (columns,)
    high: NDArray[np.float64]  # (columns,)
    missing: NDArray[np.float64]  # (columns,)

    @classmethod
    def of(cls, network: ForestNetwork) -> "OneHot | None":
        """Return the columns of a network, or None where they are its features."""
        columns = network.columns
        if not columns.is_category.any():
            return None
        place = np.arange(columns.n_columns) - columns.first[columns.feature]
        n_known = (np.diff(columns.first) - 1)[columns.feature]
        is_other = columns.is_category & (place == n_known)
        low, high = np.where(is_other, 0, place), np.where(is_other, n_known, place + 1)
        missing = np.where(place == 0, np.nan, 0.0)
        return cls(columns.feature, columns.is_category, is_other, low * 1.0, high * 1.0, missing)


class SparseWeights(NamedTuple):
    """Which of the weights of some sparse splits, end to end, belong to numbers, and which to categories."""

    number: NDArray[np.int64]  # (splits on numbers,): position of the weight
    unit_of_number: NDArray[np.int64]  # (splits on numbers,)
    category: NDArray[np.int64]  # (weights of categories,): position of the weight
    unit_of_category: NDArray[np.int64]  # (weights of categories,)
    place: NDArray[np.int64]  # (weights of categories,): the column, counted among those of categories

    @classmethod
    def of(cls, network: ForestNetwork, splits: NDArray[np.int64]) -> "SparseWeights":
        columns, is_categorical = network.columns, network.ensemble.is_categorical[splits]
        size = np.diff(columns.first_weight)[splits]
        unit = np.repeat(np.arange(len(splits)), size)
        column = columns.first[network.ensemble.feature[splits]][unit] + np.arange(len(unit)) - offsets(size)[unit]
        number, category = np.flatnonzero(~is_categorical[unit]), np.flatnonzero(is_categorical[unit])
        place = np.cumsum(columns.is_category) - 1
        return cls(number, unit[number], category, unit[category], place[column[category]])
