"""What is fitted beside a network, and how: by five models, each judged on the fifth of the rows it has not seen."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold, StratifiedKFold

from neuralforest.companion import Linear
from neuralforest.ensemble import TreeEnsemble
from neuralforest.estimators.scaling import center_and_spread
from neuralforest.estimators.table import Table
from neuralforest.estimators.validation import Split
from neuralforest.network import said_by
from neuralforest.training import TrainingData
from neuralforest.training.guard import Judged

N_FOLDS = 5
MOST_ROWS = 50_000
"""Rows that one tree or one line is fitted on: enough, and a deep tree has a leaf for nearly every one."""


class Task(NamedTuple):
    """A fit whose network may have others beside it."""

    classifier: bool
    data: TrainingData
    table: Table
    split: Split
    seed: int
    n_jobs: int | None
    hopeful: Callable[[Judged], bool]  # whether a candidate that has said this on unseen rows may be worth having

    def numbers(self) -> tuple[NDArray[np.float64], float, float]:
        """Return numbers to predict in units of their spread, (rows,), their centre and their spread."""
        (center,), (scale,) = center_and_spread(self.data.y[self.split.fit])
        return (self.data.y[:, 0] - center) / scale, center, scale


class Candidate(NamedTuple):
    """What may stand beside a network, and what it says on validation rows."""

    source: TreeEnsemble | Linear
    judged: Judged


class Folds(NamedTuple):
    """Rows in five parts. A model of each four is judged on the fifth; the mean of all models is what is kept."""

    X: NDArray[np.floating]  # (rows, features), of all rows of the fit
    y: NDArray[Any]  # (rows,): labels, or numbers in units of their spread
    center: float  # of the numbers
    scale: float
    weight: NDArray[np.float64]  # (rows,): how much a row counts when it judges
    learnt: list[NDArray[np.int64]]
    unseen: list[NDArray[np.int64]]
    held_out: NDArray[np.int64]  # rows that no part holds; empty when the parts judge

    @classmethod
    def of(cls, task: Task) -> "Folds":
        rows, labels = task.split.fit, task.table.target
        kind = StratifiedKFold if task.classifier else KFold
        parts = kind(N_FOLDS, shuffle=True, random_state=task.seed).split(rows, labels[rows])
        random = np.random.RandomState(task.seed)
        folds = [(random.permutation(rows[most])[:MOST_ROWS], rows[rest]) for most, rest in parts]
        learnt, unseen = ([fold[i] for fold in folds] for i in (0, 1))
        y, center, scale = (labels, 0.0, 1.0) if task.classifier else task.numbers()
        return cls(task.data.X, y, center, scale, task.table.weight, learnt, unseen, task.split.validation)

    def judged(self, sources: list[Any], mean: Any) -> Judged:
        """Return what the models say on rows that they have not seen; or where rows are held out, the mean on these."""
        if len(self.held_out):
            return self._said([mean], [self.held_out])
        return self._said(sources, self.unseen)

    def _said(self, sources: list[Any], parts: list[NDArray[np.int64]]) -> Judged:
        rows = np.concatenate(parts)
        output = np.concatenate([said_by(source, self.X[part]) for source, part in zip(sources, parts, strict=True)])
        order = np.argsort(rows)
        return Judged(rows[order], output[order], self.weight[rows[order]], np.zeros_like(output))
