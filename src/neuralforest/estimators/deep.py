"""Deep trees beside a network: thresholds at random, leaves that are pure, each judged on rows that it has not seen."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuralforest import _parallel
from neuralforest._kernels import deep
from neuralforest.ensemble import FlatTrees, TreeEnsemble
from neuralforest.estimators import forests
from neuralforest.estimators.folds import MOST_ROWS, Candidate, Task
from neuralforest.network import ForestNetwork
from neuralforest.training import BlockRows, TrainingData, guard

_MANY_ROWS = 2_000  # of which a twentieth is enough to judge a tree; log loss needs more trees that judge a row
_FIRST_TREES = 10  # that tell whether there is hope
_FEWEST_ROWS = 10  # of which a part can be left out


def deep_trees(task: Task) -> Candidate | None:
    """Grow trees with random thresholds until their leaves are pure; return None where the first give no hope."""
    rows, n_rows = task.split.fit, task.table.n_rows
    if len(rows) < _FEWEST_ROWS:
        return None
    target, x = _Target.of(task), np.ascontiguousarray(task.data.X.T)
    n_tried = max(1, int(np.sqrt(len(x)))) if task.classifier else len(x)
    n_trees = int(np.clip(400_000 / n_rows, 50, 200))
    share = 0.95 if n_rows > _MANY_ROWS and not task.classifier else forests.share_of_rows(n_rows)
    bags = list(_bags(rows, share, n_trees, task.seed))
    trees: list[FlatTrees | None] = [None] * n_trees

    def grow(number: int) -> None:
        trees[number] = _tree(x, target, bags[number].seen, n_tried, task.seed + number)

    with _parallel.team(_parallel.effective_n_jobs(task.n_jobs)) as run:
        for first, last in ((0, _FIRST_TREES), (_FIRST_TREES, n_trees)):
            run(grow, range(first, last))
            ensemble = _ensemble([tree for tree in trees if tree is not None], target, task.data)
            judges = _judges([bag.unseen for bag in bags[:last]], task)
            judged = guard.validation_output(ForestNetwork(ensemble), replace(task.data, validation=judges))
            if not task.hopeful(judged):
                return None
    return Candidate(ensemble, judged)


class _Bag(NamedTuple):
    """Rows that a tree is grown on, and rows that judge it."""

    seen: NDArray[np.int64]
    unseen: NDArray[np.int64]


def _bags(rows: NDArray[np.int64], share: float, n_trees: int, seed: int) -> Iterator[_Bag]:
    """Leave another part of the rows out for every two trees, so that all rows are judged by about as many trees.

    By two, because what one tree says does not tell how much of it is noise.
    """
    random, n_parts = np.random.RandomState(seed), round(1 / (1 - share))
    for number in range(n_trees):
        left_out = number // 2 % n_parts
        if number % (2 * n_parts) == 0:
            parts = np.array_split(random.permutation(rows), n_parts)
        seen = np.concatenate(parts[:left_out] + parts[left_out + 1 :])
        yield _Bag(random.permutation(seen)[:MOST_ROWS] if len(seen) > MOST_ROWS else seen, parts[left_out])


def _judges(unseen: list[NDArray[np.int64]], task: Task) -> BlockRows:
    """Return the rows that judge each tree: those that it has not seen, or those that were held out."""
    weight, held_out = task.table.weight, task.split.validation
    if task.split.out_of_bag:
        return BlockRows.own(unseen, [weight[rows] for rows in unseen])
    return BlockRows.shared(held_out, weight[held_out], len(unseen))


class _Target(NamedTuple):
    """What trees are grown for."""

    value: NDArray[np.float64]  # (rows,): numbers in units of their spread, or 1
    column: NDArray[np.int64] | None  # (rows,): the place of a row's class; None for numbers
    center: float  # of the numbers
    scale: float
    classes: NDArray[Any] | None

    @classmethod
    def of(cls, task: Task) -> "_Target":
        if task.classifier:
            labels = task.table.target
            classes = np.unique(labels[task.split.fit])
            return cls(np.ones(len(labels)), np.searchsorted(classes, labels), 0.0, 1.0, classes)
        y, center, scale = task.numbers()
        return cls(y, None, center, scale, None)


def _tree(x: NDArray[np.floating], target: _Target, seen: NDArray[np.int64], n_tried: int, seed: int) -> FlatTrees:
    """Grow one tree."""
    n, n_outputs = len(seen), 1 if target.classes is None else len(target.classes)
    room = FlatTrees.room_for(n, n, n_outputs)
    n_splits = deep.grow(x, target.value, target.column, seen.astype(np.uint32), n_tried, seed, room)
    return room.filled(n_splits, n_splits + 1)


def _ensemble(trees: list[FlatTrees], target: _Target, data: TrainingData) -> TreeEnsemble:
    """Return the mean of trees, for the target in its own units."""
    flat = FlatTrees(*(np.concatenate(arrays) for arrays in zip(*trees, strict=True)))
    first_split = np.concatenate([[0], np.cumsum([len(tree.feature) for tree in trees])])
    return TreeEnsemble(
        **flat._replace(value=target.center + target.scale * flat.value)._asdict(),
        first_split=first_split,
        first_leaf=first_split + np.arange(len(trees) + 1),
        n_features=data.X.shape[1],
        compare_dtype=data.X.dtype.name,  # type: ignore[arg-type]
        classes=target.classes,
    )
