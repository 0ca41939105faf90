"""Extra trees: random thresholds, fully grown, each evaluated on rows that it was not grown on."""

import warnings
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuralforest import _parallel
from neuralforest._kernels.trees import extra_tree
from neuralforest.base_models.cross_fitting import MOST_ROWS, Stages, Task
from neuralforest.ensemble import CategoryOrder, FlatTrees, TreeEnsemble, concatenated, offsets
from neuralforest.exceptions import CostWarning
from neuralforest.network import ForestNetwork
from neuralforest.selection import Candidate, validation_predictions
from neuralforest.training import SubnetworkRows, TrainingData

_MANY_ROWS = 2_000  # of which a twentieth is enough to evaluate a tree; log loss needs more trees per row
_EARLY_STAGES = 10, 20, 50  # trees, few of which show whether the rest is worthwhile
_MOST_NUMBERS = 50_000_000  # in the leaves of all trees, with a number for each class
_FEWEST_ROWS = 10  # of which a part can be left out


def max_samples(n_rows: int) -> float:
    """Return the fraction of the rows that a tree is grown on; of few rows, more must be left to evaluate it."""
    return 0.8 if n_rows <= 500 else 0.9


def extra_trees(task: Task) -> Stages:
    """Grow trees with random thresholds until their leaves are pure: a few, then more, then all of them."""
    rows, n_rows = task.training, task.n_rows
    if len(rows) < _FEWEST_ROWS:
        return
    target, n_features = _Target.of(task), task.data.X.shape[1]
    max_features = max(1, int(np.sqrt(n_features))) if task.classifier else n_features
    n_trees = int(np.clip(400_000 / n_rows, 50, 200))
    if task.classifier and n_trees * min(len(rows), MOST_ROWS) * task.data.y.shape[1] > _MOST_NUMBERS:
        warnings.warn(
            f"{n_trees} extra trees with probabilities of {task.data.y.shape[1]} classes in every leaf would take more "
            f"than {8 * _MOST_NUMBERS // 10**6} MB: they are not stacked with the network",
            CostWarning,
            stacklevel=2,
        )
        return
    fraction = 0.95 if n_rows > _MANY_ROWS and not task.classifier else max_samples(n_rows)
    samples = list(_samples(rows, fraction, n_trees, task.seed))
    trees: list[FlatTrees | None] = [None] * n_trees
    orders = [task.order(sample.training) for sample in samples]
    are_few = len(samples[0].training) < len(rows) // 2  # of many rows, which are then not copied for all trees
    x = None if are_few else np.ascontiguousarray(task.data.X.T)

    def grow(number: int) -> None:
        X, own, rows, order = task.data.X, target, samples[number].training, orders[number]
        if are_few:
            X, own, rows = X[rows], target.restrict(rows), np.arange(len(rows))
        columns = x if order is None else order.transform(X).T
        columns = np.ascontiguousarray(X.T if columns is None else columns)
        trees[number] = _tree(columns, own, rows, max_features, task.seed + number)

    with _parallel.team(_parallel.effective_n_jobs(task.n_jobs)) as run:
        for first, last in pairwise((0, *(stage for stage in _EARLY_STAGES if stage < n_trees), n_trees)):
            run(grow, range(first, last))
            ensemble = _ensemble([tree for tree in trees if tree is not None], target, task.data)
            model = ForestNetwork(_with_categories(ensemble, orders))
            validation = _validation([sample.left_out for sample in samples[:last]], task)
            predictions = validation_predictions(model, replace(task.data, validation=validation))
            # a squared error is corrected for the number of trees, and shows what all of them would gain
            is_part = last in _EARLY_STAGES[1:] and last < n_trees and not task.classifier
            stage = Candidate("extra_trees", model, predictions, is_complete=False, is_part=is_part)
            yield stage
    yield stage._replace(is_complete=True)  # all trees had to be promising, too


def _with_categories(e: TreeEnsemble, orders: list[CategoryOrder | None]) -> TreeEnsemble:
    """Return trees that were grown on ranks of categories, each in an order of its own, with splits by category."""
    own = [order for order in orders[: e.n_trees] if order is not None]
    return concatenated([order.sets_of(e[i : i + 1]) for i, order in enumerate(own)]) if own else e


class _Sample(NamedTuple):
    """Rows that a tree is grown on, and rows that evaluate it."""

    training: NDArray[np.int64]
    left_out: NDArray[np.int64]


def _samples(rows: NDArray[np.int64], fraction: float, n_trees: int, seed: int) -> Iterator[_Sample]:
    """Leave another part of the rows out for every two trees, so that all rows are predicted by about as many trees.

    By two, because one tree does not show how large its variance is.
    """
    random, n_parts = np.random.RandomState(seed), round(1 / (1 - fraction))
    for number in range(n_trees):
        left_out = number // 2 % n_parts
        if number % (2 * n_parts) == 0:
            parts = np.array_split(random.permutation(rows), n_parts)
        training = np.concatenate(parts[:left_out] + parts[left_out + 1 :])
        if len(training) > MOST_ROWS:
            training = random.permutation(training)[:MOST_ROWS].copy()  # a view would keep all of them
        yield _Sample(training, parts[left_out])


def _validation(left_out: list[NDArray[np.int64]], task: Task) -> SubnetworkRows:
    """Return the rows that evaluate each tree: those that it was not grown on, or those that were held out."""
    if len(task.held_out):
        return SubnetworkRows.shared(task.held_out, task.weight[task.held_out], len(left_out))
    parts = [task.evaluated(rows) for rows in left_out]
    return SubnetworkRows.own(parts, [task.weight[rows] for rows in parts])


class _Target(NamedTuple):
    """What trees are grown for."""

    value: NDArray[np.float64]  # (rows,): numbers in units of their spread, or 1; times the weight
    weight: NDArray[np.float64] | None  # (rows,); None where all are equal
    column: NDArray[np.int64] | None  # (rows,): the place of a row's class; None for regression
    center: float  # of the numbers
    scale: float
    classes: NDArray[Any] | None

    @classmethod
    def of(cls, task: Task) -> "_Target":
        if task.classifier:
            classes = np.unique(task.target[task.training])
            value = np.ones(len(task.target)) if task.row_weight is None else task.row_weight
            return cls(value, task.row_weight, np.searchsorted(classes, task.target), 0.0, 1.0, classes)
        y, center, scale = task.standardized()
        return cls(y if task.row_weight is None else y * task.row_weight, task.row_weight, None, center, scale, None)

    def restrict(self, rows: NDArray[np.int64]) -> "_Target":
        """Return the same for some of the rows."""
        weight = None if self.weight is None else self.weight[rows]
        column = None if self.column is None else self.column[rows]
        return self._replace(value=self.value[rows], weight=weight, column=column)


def _tree(x: NDArray[np.floating], target: _Target, rows: NDArray[np.int64], max_features: int, seed: int) -> FlatTrees:
    """Grow one tree."""
    n, n_outputs = len(rows), 1 if target.classes is None else len(target.classes)
    room = FlatTrees.room_for(n, n, n_outputs)
    n_splits = extra_tree.grow(
        x, target.value, target.weight, target.column, rows.astype(np.uint32), max_features, seed, room
    )
    return room.filled(n_splits, n_splits + 1)


def _ensemble(trees: list[FlatTrees], target: _Target, data: TrainingData) -> TreeEnsemble:
    """Return the mean of trees, for the target in its own units."""
    flat = FlatTrees(*(np.concatenate(arrays) for arrays in zip(*trees, strict=True)))
    first_split = offsets([len(tree.feature) for tree in trees])
    return TreeEnsemble(
        **flat._replace(value=target.center + target.scale * flat.value)._asdict(),
        first_split=first_split,
        first_leaf=first_split + np.arange(len(trees) + 1),
        n_features=data.X.shape[1],
        compare_dtype=data.X.dtype.name,  # type: ignore[arg-type]
        classes=target.classes,
    )
