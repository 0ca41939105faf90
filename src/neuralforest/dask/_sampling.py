"""The sample of each tree: how many rows of each class every partition sends, and which ones.

Samples are drawn without replacement, and every row of a class has the same chance. The rows that a partition sends
depend on the seed, the tree and the partition alone, never on the workers.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.random import sample_without_replacement

from neuralforest.dask._partitions import Rows, read_partition
from neuralforest.estimators._base import NeuralForest
from neuralforest.estimators.rows import FitRows

FEWEST_OF_A_CLASS = 10
"""Rows of a rare class that each tree gets, if there are as many: it must know all classes."""


class Weighting(NamedTuple):
    """From the weights of a user to those of training."""

    by_class: NDArray[np.float64] | None  # (classes,): class weights, if any
    mean: float  # of all weights
    is_weighted: bool  # whether they differ, so that the forest takes them

    def applied(self, rows: Rows, classes: NDArray[Any] | None) -> NDArray[np.float64]:
        """Return the weights of rows in the user's units, with class weights."""
        if self.by_class is None or classes is None:
            return rows.weight
        of_rows: NDArray[np.float64] = self.by_class[np.searchsorted(classes, rows.target)]
        return np.multiply(rows.weight, of_rows)


class Sample(NamedTuple):
    """Rows of a tree, of one partition or of all."""

    number: NDArray[np.int64]  # (rows,): the number of each row among all rows of the fit
    X: NDArray[np.float32]
    target: NDArray[Any]
    weight: NDArray[np.float64]  # (rows,), in the user's units, with class weights

    def table(self, weighting: Weighting) -> FitRows:
        """Return the rows as a fit takes them."""
        forest_weight = self.weight if weighting.is_weighted else None
        return FitRows(self.X, self.target, self.weight / weighting.mean, forest_weight, len(self.X))


def sample_sizes(counts: NDArray[np.int64], max_rows: int | None) -> NDArray[np.int64]:
    """Return how many rows of each class a tree gets, given how many there are, (classes,).

    Examples
    --------
    >>> import numpy as np
    >>> sample_sizes(np.array([9_000, 1_000]), 100), sample_sizes(np.array([9_997, 3]), 100)
    (array([90, 10]), array([97,  3]))
    """
    total = int(counts.sum())
    if max_rows is None or max_rows >= total:
        return counts.copy()
    least = np.minimum(counts, FEWEST_OF_A_CLASS)
    free = max(max_rows - int(least.sum()), 0)
    above = [max(max_rows * int(n) // total - int(m), 0) for n, m in zip(counts, least, strict=True)]
    wanted = sum(above)
    extra = np.array([each if wanted <= free else each * free // wanted for each in above], np.int64)
    return np.minimum(least + extra, counts)


def quotas(counts: NDArray[np.int64], sizes: NDArray[np.int64], seed: int, tree: int) -> NDArray[np.int64]:
    """Return how many rows of each class each partition sends to a tree, (partitions, classes).

    In proportion to the rows that it has, rounded at random but so that the sum is exact: systematic sampling.

    Examples
    --------
    >>> import numpy as np
    >>> quotas(np.array([[600], [300], [100]]), np.array([10]), seed=0, tree=0).ravel()
    array([6, 3, 1])
    """
    random = _random(seed, tree)
    result = np.empty_like(counts)
    for number in range(counts.shape[1]):
        total, size = int(counts[:, number].sum()), int(sizes[number])
        start = int(random.randint(total, dtype=np.int64)) if total else 0
        ends = [0, *np.cumsum(counts[:, number]).tolist()]
        places = [(size * end + start) // max(total, 1) for end in ends]  # exact: whole numbers of any size
        result[:, number] = np.diff(np.array(places, np.int64))
    return result


def draw(
    rows: Rows, quota: NDArray[np.int64], classes: NDArray[Any] | None, place: tuple[int, int, int]
) -> NDArray[np.int64]:
    """Return the rows of a partition that a tree gets, in their order. The place is seed, tree and partition."""
    random, chosen = _random(*place), []
    groups = [np.arange(len(rows.X))]
    if classes is not None:
        code = np.searchsorted(classes, rows.target)
        groups = [np.flatnonzero(code == number) for number in range(len(classes))]
    for group, n in zip(groups, quota, strict=True):
        if n < len(group):
            group = group[sample_without_replacement(len(group), int(n), random_state=random)]
        chosen.append(group)
    return np.sort(np.concatenate(chosen))


def _random(*place: int) -> np.random.RandomState:
    return np.random.RandomState(np.random.SeedSequence(place).generate_state(4))


# Tasks.


def weight_sum_and_range(
    classes: NDArray[Any], y: Any, weight: Any, by_class: NDArray[np.float64]
) -> tuple[float, float, float]:
    """Return the sum of the weights of a partition, with class weights, the smallest and the largest."""
    labels = np.asarray(y).reshape(-1)
    own = np.ones(len(labels)) if weight is None else np.asarray(weight, np.float64)
    weights = own * by_class[np.searchsorted(classes, labels)]
    return float(weights.sum()), float(weights.min(initial=np.inf)), float(weights.max(initial=0.0))


def draw_samples(
    estimator: NeuralForest,
    partition: tuple[int, int],  # its number, and the number of its first row
    blocks: tuple[Any, Any, Any],  # X, y and weights
    quota: NDArray[np.int64],  # (trees, classes)
    seed: int,
    weighting: Weighting,
) -> list[Sample | None]:
    """Return what a partition sends to each tree; None where that is nothing."""
    number, first_row = partition
    rows, classes = read_partition(estimator, number, *blocks, reset=False), getattr(estimator, "classes_", None)
    if rows is None:
        return [None] * len(quota)
    weight, samples = weighting.applied(rows, classes), []
    for tree, own in enumerate(quota):
        chosen = draw(rows, own, classes, (seed, tree, number))
        sample = Sample(first_row + chosen, rows.X[chosen], rows.target[chosen], weight[chosen])
        samples.append(sample if len(chosen) else None)
    return samples


def collected(parts: Sequence[list[Sample | None]]) -> list[Sample | None]:
    """Return what several partitions send to each tree together."""
    return [joined(own) for own in zip(*parts, strict=True)]


def of_tree(samples: list[Sample | None], tree: int) -> Sample | None:
    """Return the part of one tree."""
    return samples[tree]


def joined(samples: Sequence[Sample | None]) -> Sample | None:
    """Return the rows of a tree from several partitions, in their order."""
    some = [sample for sample in samples if sample is not None]
    if len(some) < 2:
        return some[0] if some else None
    return Sample(*map(np.concatenate, zip(*some, strict=True)))
