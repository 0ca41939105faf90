"""Input columns of a network: a number is one column, a category one column for each value of its feature.

A split that compares with a threshold is a unit on one column. A split that tests a category is a unit on all columns
of its feature, with weight -1 for categories that go left and +1 for those that go right, and no offset: the paper's
construction for one-hot inputs. The last column of a feature is that of all categories that no split names.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from neuralforest.ensemble import TreeEnsemble, offsets
from neuralforest.exceptions import InvalidEnsembleError


@dataclass(frozen=True, eq=False)
class InputColumns:
    """Where the columns of each feature stand, and which columns a split is connected to."""

    ensemble: TreeEnsemble

    @cached_property
    def first(self) -> NDArray[np.int64]:
        """The first column of each feature, and the number of columns, (features + 1,)."""
        e = self.ensemble
        sizes = np.ones(e.n_features, np.int64)
        lengths = np.diff(e.first_category)
        np.maximum.at(sizes, e.feature, lengths)
        mixed = np.unique(e.feature[(lengths == 0) & (sizes[e.feature] > 1)])
        if len(mixed):
            raise InvalidEnsembleError(f"features {mixed.tolist()} are compared with thresholds and as categories")
        for feature, labels in enumerate(e.categories or ()):
            if labels is not None and sizes[feature] > 1:
                sizes[feature] = max(sizes[feature], len(labels) + 1)
        return offsets(sizes)

    @property
    def n_columns(self) -> int:
        return int(self.first[-1])

    @cached_property
    def is_category(self) -> NDArray[np.bool_]:
        """Whether a column stands for a category, (columns,)."""
        return np.repeat(np.diff(self.first) > 1, np.diff(self.first))

    @property
    def feature(self) -> NDArray[np.int64]:
        """The feature of each column, (columns,)."""
        return np.repeat(np.arange(self.ensemble.n_features), np.diff(self.first))

    @cached_property
    def first_weight(self) -> NDArray[np.int64]:
        """Where the columns of each split begin, when those of all splits stand end to end, (splits + 1,)."""
        return offsets(np.diff(self.first)[self.ensemble.feature])

    @cached_property
    def weight(self) -> NDArray[np.float64]:
        """The weight of each column of each split: 1 for a number, -1 or +1 for a category."""
        e = self.ensemble
        weight = np.ones(self.first_weight[-1])
        for split in np.flatnonzero(e.is_categorical):
            left = e.category_left[e.first_category[split] : e.first_category[split + 1]]
            own = weight[self.first_weight[split] : self.first_weight[split + 1]]
            own[:] = -1.0 if left[-1] else 1.0
            own[: len(left) - 1] = np.where(left[:-1], -1.0, 1.0)
        return weight

    def connections(self, splits: slice) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the split and the column of each weight of a range of splits, splits counted from its first."""
        sizes = np.diff(self.first_weight)[splits]
        unit = np.repeat(np.arange(len(sizes)), sizes)
        place = np.arange(len(unit)) - np.repeat(offsets(sizes)[:-1], sizes)
        return unit, self.first[self.ensemble.feature[splits]][unit] + place

    def expand(self, X: NDArray[np.floating]) -> NDArray[np.floating]:
        """Return rows with one column for every category; where it is missing, NaN in the first and 0 in the others."""
        if not self.is_category.any():
            return X
        columns = np.zeros((len(X), self.n_columns), X.dtype)
        for feature, (first, last) in enumerate(zip(self.first[:-1], self.first[1:], strict=True)):
            x = X[:, feature]
            if last - first == 1:
                columns[:, first] = x
            else:
                known = (x >= 0) & (x < last - first - 1)
                code = np.where(known, np.nan_to_num(x), last - first - 1).astype(np.int64)
                columns[np.arange(len(X)), first + code] = 1.0
                columns[np.isnan(x), first:last] = 0.0
                columns[np.isnan(x), first] = np.nan
        return columns
