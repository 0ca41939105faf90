"""Mergeable statistics of partitions: one pass over the rows computes everything that all trees share."""

from collections.abc import Sequence
from copy import copy
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuralforest._frames import MOST_CATEGORIES, Column, TableEncoder
from neuralforest._statistics import ColumnMoments, value_ranges
from neuralforest.dask._partitions import read_partition
from neuralforest.estimators._base import NeuralForest
from neuralforest.exceptions import InvalidParameterError


class Categories(NamedTuple):
    """The categories of a column, in order, and how many rows of positive weight have each."""

    labels: NDArray[np.str_]
    counts: NDArray[np.int64]


class Statistics(NamedTuple):
    """What is known of partitions; spreads and ranges are of the rows of positive weight."""

    n_rows: NDArray[np.int64]  # (partitions,)
    classes: NDArray[Any] | None  # labels in order; None for regression
    class_counts: NDArray[np.int64]  # (partitions, classes), or (partitions, 1) for regression
    weight: float  # sum of the sample weights
    weight_range: tuple[float, float]  # the smallest and the largest sample weight
    n_positive: int  # rows of positive weight
    features: ColumnMoments
    low: NDArray[np.float64]  # (features,); NaN where there is no value
    high: NDArray[np.float64]
    targets: ColumnMoments  # of the columns of y; of a classification, none
    target_low: NDArray[np.float64]  # (outputs,), of all rows
    target_high: NDArray[np.float64]
    target_mean: NDArray[np.float64]  # (outputs,), of all rows
    categories: tuple[Categories | None, ...] | None  # of each column; None where all are numbers
    names: tuple[str, ...] | None  # of the columns
    target_shape: tuple[int, ...]  # of the target of one row: () or (outputs,)

    @property
    def encoder(self) -> TableEncoder | None:
        """The encoder of the categories of all partitions."""
        if self.categories is None:
            return None
        names = self.names or tuple(str(i) for i in range(len(self.categories)))
        columns = zip(names, self.categories, strict=True)
        return TableEncoder(tuple(Column(name, None if each is None else each.labels) for name, each in columns))


def partition_statistics(estimator: NeuralForest, partition: int, X: Any, y: Any, weight: Any) -> Statistics | None:
    """Measure a partition; None for one without rows. The estimator has parameters only, and is not changed."""
    estimator = copy(estimator)
    rows = read_partition(estimator, partition, X, y, weight, reset=True)
    if rows is None:
        return None
    positive = (rows.weight > 0) & _of_weighted_class(estimator, rows.target)
    used = rows.X[positive]
    low, high = value_ranges(used, np.full(used.shape[1], np.nan))
    labels, counts, values = None, np.array([len(rows.X)]), np.zeros((len(rows.X), 0))
    if estimator._classifier:
        labels, counts = np.unique(rows.target, return_counts=True)
    else:
        values = rows.target.reshape(len(rows.X), -1)
    names = getattr(estimator, "feature_names_in_", None)
    return Statistics(
        n_rows=np.array([len(rows.X)]),
        classes=labels,
        class_counts=counts[None, :],
        weight=float(rows.weight.sum()),
        weight_range=(float(rows.weight.min()), float(rows.weight.max())),
        n_positive=int(positive.sum()),
        features=ColumnMoments.of(used),
        low=low,
        high=high,
        targets=ColumnMoments.of(values[positive]),
        target_low=values.min(axis=0),
        target_high=values.max(axis=0),
        target_mean=values.mean(axis=0),
        categories=None if estimator._encoder is None else _categories(estimator._encoder, used),
        names=None if names is None else tuple(map(str, names)),
        target_shape=rows.target.shape[1:],
    )


def _of_weighted_class(estimator: NeuralForest, labels: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which rows are of a class whose weight is not 0."""
    weights = getattr(estimator, "class_weight", None)
    if not isinstance(weights, dict):
        return np.ones(len(labels), np.bool_)
    classes, place = np.unique(labels, return_inverse=True)
    return np.array([weights.get(label, 1.0) > 0 for label in classes.tolist()])[place]


def _categories(encoder: TableEncoder, X: NDArray[np.floating]) -> tuple[Categories | None, ...]:
    found: list[Categories | None] = []
    for number, column in enumerate(encoder.columns):
        if column.categories is None:
            found.append(None)
        else:
            codes = X[:, number][~np.isnan(X[:, number])].astype(np.int64)
            found.append(Categories(column.categories, np.bincount(codes, minlength=len(column.categories))))
    return tuple(found)


def merged(parts: Sequence[Statistics | None]) -> Statistics:
    """Return the statistics of all partitions together; those of a single one bit for bit."""
    some = [part for part in parts if part is not None]
    if not some:
        raise InvalidParameterError("X must have at least one row, got none in any partition")
    for name in ("names", "target_shape"):
        found = {getattr(part, name) for part in some}
        if len(found) > 1:
            raise InvalidParameterError(f"all partitions must have the same columns, got {sorted(found, key=str)[:2]}")
    lengths = np.array([part.n_rows[0] for part in some])
    mean = some[0].target_mean
    if len(some) > 1:
        mean = np.average([part.target_mean for part in some], axis=0, weights=lengths)
    n_rows = np.array([0 if part is None else part.n_rows[0] for part in parts])
    classes, class_counts = _merged_classes(parts, some)
    together = some[0]._replace(
        n_rows=n_rows,
        classes=classes,
        class_counts=class_counts,
        weight=sum(part.weight for part in some),
        weight_range=(min(part.weight_range[0] for part in some), max(part.weight_range[1] for part in some)),
        n_positive=sum(part.n_positive for part in some),
        features=ColumnMoments.merged([part.features for part in some]),
        low=np.fmin.reduce([part.low for part in some]),
        high=np.fmax.reduce([part.high for part in some]),
        targets=ColumnMoments.merged([part.targets for part in some]),
        target_low=np.min([part.target_low for part in some], axis=0),
        target_high=np.max([part.target_high for part in some], axis=0),
        target_mean=mean,
    )
    return _with_categories(together, some)


def _merged_classes(
    parts: Sequence[Statistics | None], some: Sequence[Statistics]
) -> tuple[NDArray[Any] | None, NDArray[np.int64]]:
    """Return all labels, and how often each partition has each, (partitions, labels)."""
    known = [part.classes for part in some if part.classes is not None]
    classes = np.unique(np.concatenate(known)) if known else None
    counts = np.zeros((len(parts), 1 if classes is None else len(classes)), np.int64)
    for number, part in enumerate(parts):
        if part is not None:
            place = np.searchsorted(classes, part.classes) if classes is not None and part.classes is not None else [0]
            counts[number, place] = part.class_counts[0]
    return classes, counts


def _with_categories(together: Statistics, some: Sequence[Statistics]) -> Statistics:
    """Merge the categories of all columns; codes are positions among all of them, so their moments change."""
    if together.categories is None:
        return together
    columns: list[Categories | None] = []
    for number in range(len(together.categories)):
        own = [each for part in some if (each := (part.categories or ())[number]) is not None]
        if not own:
            columns.append(None)
            continue
        labels = np.unique(np.concatenate([each.labels for each in own]))
        counts = np.zeros(len(labels), np.int64)
        for each in own:
            counts[np.searchsorted(labels, each.labels)] += each.counts
        if len(labels) > MOST_CATEGORIES:
            raise InvalidParameterError(
                f"a column of categories must have at most {MOST_CATEGORIES} of them, got {len(labels)} in column "
                f"{number if together.names is None else together.names[number]!r}: join rare ones, or replace them by "
                "numbers, such as means of y on other rows"
            )
        columns.append(Categories(labels, counts))
        if any(len(each.labels) < len(labels) for each in own):  # codes of the partitions differ
            _set_moments(together, number, counts)
    return together._replace(categories=tuple(columns))


def _set_moments(together: Statistics, number: int, counts: NDArray[np.int64]) -> None:
    """Replace the moments of a column by those of its codes, which are new arrays of the merged statistics."""
    codes, n = np.arange(len(counts), dtype=np.float64), max(int(counts.sum()), 1)
    unit, mean = codes[-1], float((codes * counts).sum() / n)
    deviation = float(np.sqrt(((codes - mean) ** 2 * counts).sum() / n))
    used = np.flatnonzero(counts) if counts.any() else np.array([np.nan])
    together.low[number], together.high[number] = used[0], used[-1]
    moments = together.features
    moments.unit[number] = unit
    moments.mean[number], moments.deviation[number] = (mean / unit, deviation / unit) if unit > 0 else (0.0, 0.0)
