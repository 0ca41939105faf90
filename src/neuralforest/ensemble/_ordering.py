"""Categories in the order of their mean target: with it, trees that compare numbers grow splits by category.

For a squared error or two classes, the best split of categories into two sets is one of those that cut them in the
order of their mean target (Fisher, 1958). So categories are replaced by their ranks, a tree is grown on the ranks, and
its thresholds become sets. Means of rare categories are shrunk towards the mean of all rows; a category that was not
there, or that is new at prediction, goes where a category of average target goes.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from neuralforest.ensemble._ensemble import TreeEnsemble, offsets

_PRIOR = 10.0  # rows that the mean of all rows counts for in the mean of a category


@dataclass(frozen=True, eq=False)
class CategoryOrder:
    """The ranks of the categories of each categorical feature; the last rank is that of all other categories."""

    features: NDArray[np.int64]
    ranks: tuple[NDArray[np.float64], ...]

    @classmethod
    def of(
        cls,
        X: NDArray[np.floating],
        target: NDArray[np.float64],
        n_categories: NDArray[np.int64],
        weight: NDArray[np.float64] | None = None,
    ) -> "CategoryOrder":
        """Order categories by a target (rows,); `n_categories` is 0 for a feature of numbers, (features,)."""
        weight = np.ones(len(X)) if weight is None else weight
        mean = np.average(target, weights=weight)
        features, ranks = np.flatnonzero(n_categories), []
        for feature in features:
            n = int(n_categories[feature])
            x, known = X[:, feature], ~np.isnan(X[:, feature])
            code = np.where((x >= 0) & (x < n), np.nan_to_num(x), n).astype(np.int64)
            sums = np.bincount(code[known], (weight * (target - mean))[known], n + 1)
            shrunk = sums / (np.bincount(code[known], weight[known], n + 1) + _PRIOR)
            ranks.append(np.unique(shrunk, return_inverse=True)[1].astype(np.float64))
        return cls(features, tuple(ranks))

    def transform(self, X: NDArray[np.floating]) -> NDArray[np.floating]:
        """Return rows with ranks in place of categories; NaN stays NaN."""
        ranked = X.copy()
        for feature, ranks in zip(self.features, self.ranks, strict=True):
            x, last = X[:, feature], len(ranks) - 1
            code = np.where((x >= 0) & (x < last), np.nan_to_num(x), last).astype(np.int64)
            ranked[:, feature] = np.where(np.isnan(x), np.nan, ranks[code])
        return ranked

    def sets_of(self, e: TreeEnsemble) -> TreeEnsemble:
        """Return an ensemble that was grown on ranks with splits by category in place of their thresholds."""
        place = np.full(e.n_features, -1)
        place[self.features] = np.arange(len(self.features))
        order = place[e.feature]
        lists = [
            self.ranks[order[split]] <= e.threshold[split] if order[split] >= 0 else np.zeros(0, np.bool_)
            for split in range(e.n_splits)
        ]
        sizes = [len(each) for each in lists]
        return replace(
            e,
            threshold=np.where(order >= 0, 0.0, e.threshold),
            first_category=offsets(sizes),
            category_left=np.concatenate([np.zeros(0, np.bool_), *lists]),
        )


def concatenated(ensembles: Sequence[TreeEnsemble]) -> TreeEnsemble:
    """Return the trees of several ensembles of the same kind as one group."""
    names = ("feature", "threshold", "missing_left", "middle", "weight", "value", "category_left")
    fields = {name: np.concatenate([getattr(e, name) for e in ensembles]) for name in names}
    for name in ("first_split", "first_leaf", "first_category"):
        fields[name] = offsets(np.concatenate([np.diff(getattr(e, name)) for e in ensembles]))
    return replace(ensembles[0], **fields, groups=None)  # type: ignore[arg-type]


def widened(e: TreeEnsemble, features: NDArray[np.int64], n_features: int) -> TreeEnsemble:
    """Return trees that were grown on some features of a table, given their numbers, as trees of the whole table."""
    names = {"missing_range": None, "categories": None, "feature_names": None}  # of fewer features
    return replace(e, feature=features[e.feature], n_features=n_features, **names)  # type: ignore[arg-type]
