"""Cross-fitting: a base model is fitted on four fifths of the rows, five times, and predicts the fifth left out."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold, StratifiedKFold

from neuralforest._statistics import center_and_spread
from neuralforest.ensemble import CategoryOrder
from neuralforest.network import BaseModel
from neuralforest.selection import Candidate, OutOfSamplePredictions
from neuralforest.training import TrainingData
from neuralforest.training.data import MOST_VALIDATION_ROWS

N_FOLDS = 5
_MOST_CLASSES = 20
MOST_ROWS = 50_000
"""Rows that one tree or one linear function is fitted on; a fully grown tree has a leaf for nearly every one."""


class Task(NamedTuple):
    """The rows that base models are fitted on, and those that evaluate them."""

    classifier: bool
    data: TrainingData
    target: NDArray[Any]  # (rows,): numbers or labels
    weight: NDArray[np.float64]  # (rows,)
    training: NDArray[np.int64]  # rows that models are fitted on
    held_out: NDArray[np.int64]  # validation rows; empty where models are evaluated by cross-fitting
    n_rows: int  # rows of fit(X, y)
    seed: int
    n_jobs: int | None
    n_categories: NDArray[np.int64]  # (features,): 0 for numbers; categories are codes 0, 1, ...

    @property
    def row_weight(self) -> NDArray[np.float64] | None:
        """The weights of the rows; None where those of all training rows are equal."""
        own = self.weight[self.training]
        return None if (own == own[:1]).all() else self.weight

    @property
    def unit(self) -> NDArray[np.float64]:
        """The unit of each output, in which errors are compared, (outputs,): the spread of a target."""
        n_outputs = self.data.y.shape[1]
        return np.ones(n_outputs) if self.classifier else center_and_spread(self.data.y[self.training])[1]

    def restrict(self, features: NDArray[np.int64]) -> "Task":
        """Return the task of some features."""
        X = np.ascontiguousarray(self.data.X[:, features])
        return self._replace(data=replace(self.data, X=X), n_categories=self.n_categories[features])

    def evaluated(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return those of the rows left out that the network is evaluated on, too, where rows are many."""
        if len(self.training) <= MOST_VALIDATION_ROWS or len(self.held_out):
            return rows
        return rows[np.isin(rows, self.data.validation.row)]

    def ordering_target(self) -> NDArray[np.float64]:
        """Return what categories are ordered by, (rows,): the target, or the most frequent class."""
        if not self.classifier:
            return self.data.y[:, 0]
        classes, counts = np.unique(self.target[self.training], return_counts=True)
        return np.asarray(self.target == classes[counts.argmax()], np.float64)

    def order(self, rows: NDArray[np.int64]) -> CategoryOrder | None:
        """Return the order of the categories among some rows; None where there are only numbers."""
        if not self.n_categories.any():
            return None
        weight = None if self.row_weight is None else self.row_weight[rows]
        return CategoryOrder.of(self.data.X[rows], self.ordering_target()[rows], self.n_categories, weight)

    def standardized(self) -> tuple[NDArray[np.float64], float, float]:
        """Return the target of a regression in units of its spread, (rows,), its centre and its spread."""
        (center,), (scale,) = center_and_spread(self.data.y[self.training])
        return (self.data.y[:, 0] - center) / scale, center, scale


Stages = Iterator[Candidate]
"""A base model in growing stages, the last one complete. The caller stops at a stage that is not promising."""


class Folds(NamedTuple):
    """Training rows in five folds, or in two where a half is as much as a model is fitted on."""

    X: NDArray[np.floating]  # (rows, features), of all rows of the fit
    y: NDArray[Any]  # (rows,): labels, or numbers in units of their spread
    center: float  # of the numbers
    scale: float
    weight: NDArray[np.float64]  # (rows,)
    is_weighted: bool  # whether weights of training rows differ
    training: list[NDArray[np.int64]]
    left_out: list[NDArray[np.int64]]
    held_out: NDArray[np.int64]  # validation rows outside of all folds; empty where the folds left out are used

    @classmethod
    def of(cls, task: Task) -> "Folds":
        rows, labels = task.training, task.target
        kind = StratifiedKFold if task.classifier else KFold
        n_folds = N_FOLDS if len(rows) < 2 * MOST_ROWS else 2
        parts = kind(n_folds, shuffle=True, random_state=task.seed).split(rows, labels[rows])
        random = np.random.RandomState(task.seed)
        folds = [(random.permutation(rows[most])[:MOST_ROWS], task.evaluated(rows[rest])) for most, rest in parts]
        training, left_out = ([fold[i] for fold in folds] for i in (0, 1))
        left_out = [each if len(each) <= MOST_ROWS else random.permutation(each)[:MOST_ROWS] for each in left_out]
        y, center, scale = (labels, 0.0, 1.0) if task.classifier else task.standardized()
        return cls(
            task.data.X, y, center, scale, task.weight, task.row_weight is not None, training, left_out, task.held_out
        )

    @staticmethod
    def possible(task: Task) -> bool:
        """Return whether there are enough rows for five folds, of every class, and not too many classes."""
        target = task.target[task.training]
        counts = np.unique(target, return_counts=True)[1] if task.classifier else np.array([len(target)])
        return bool(counts.min() >= 2 * N_FOLDS and len(counts) <= _MOST_CLASSES)

    def first(self, n: int) -> "Folds":
        """Return the first n folds alone."""
        return self._replace(training=self.training[:n], left_out=self.left_out[:n])

    def enough(self, n_rows: float) -> "Folds":
        """Return as many of the folds as predict so many rows."""
        predicted = np.cumsum([len(rows) for rows in self.left_out])
        return self.first(int(np.searchsorted(predicted, n_rows)) + 1)

    def candidate(
        self,
        name: str,
        models: Sequence[BaseModel],
        mean: BaseModel,
        is_complete: bool = True,
        refit: Callable[[], BaseModel] | None = None,
    ) -> Candidate:
        """Return the mean of the models, with the predictions of each for the rows that it was not fitted on."""
        parts = self.left_out
        if len(self.held_out):
            models, parts = [mean], [self.held_out]
        rows = np.concatenate(parts)
        prediction = np.concatenate([model.prediction(self.X[part]) for model, part in zip(models, parts, strict=True)])
        order = np.argsort(rows)
        predictions = OutOfSamplePredictions.of_all(rows[order], prediction[order], self.weight[rows[order]])
        return Candidate(name, mean, predictions, is_complete, refit)
