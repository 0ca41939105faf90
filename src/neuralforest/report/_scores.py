"""Scores of a report, each with a 95% interval from resampled rows."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuralforest.plots.text import number

_RESAMPLES = 400
_BINS = 10  # of the calibration error

Sums = NDArray[np.float64]
"""Means of the columns that a score is computed from."""


class Score(NamedTuple):
    """A score and its 95% interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{number(self.value)} ({number(self.low, 3)} to {number(self.high, 3)})"


def regression_scores(y: NDArray[np.float64], prediction: NDArray[np.float64]) -> dict[str, Score]:
    """Return RMSE, mean absolute error and, for more than one row, R²; y and predictions are (rows, outputs)."""
    error = y - prediction
    columns = np.column_stack([(error**2).mean(axis=1), np.abs(error).mean(axis=1)])
    n = y.shape[1]
    columns = np.hstack([columns, error**2, y - y.mean(axis=0), (y - y.mean(axis=0)) ** 2])

    def r2(means: Sums) -> float:
        squares, mean, square = means[2 : 2 + n], means[2 + n : 2 + 2 * n], means[2 + 2 * n :]
        variance = square - mean**2
        explained = np.where(variance > 0, 1 - squares / np.where(variance > 0, variance, 1), squares == 0)
        return float(explained.mean())

    scores: dict[str, Callable[[Sums], float]] = {
        "RMSE": lambda means: float(np.sqrt(means[0])),
        "mean absolute error": lambda means: float(means[1]),
    }
    return _with_intervals(columns, scores if len(y) == 1 else {**scores, "R²": r2})


def classification_scores(target: NDArray[np.int64], probabilities: NDArray[np.float64]) -> dict[str, Score]:
    """Return log loss, accuracy, Brier score and expected calibration error; the target holds positions of classes.

    The last is the mean distance between the probability of the predicted class and how often it is right, in bins of
    equal width.
    """
    own = probabilities[np.arange(len(target)), target]
    loss = -np.log(np.maximum(own, np.finfo(np.float64).eps))
    brier = (probabilities**2).sum(axis=1) - 2 * own + 1
    confidence, right = probabilities.max(axis=1), probabilities.argmax(axis=1) == target
    in_bin = np.minimum((confidence * _BINS).astype(int), _BINS - 1)[:, None] == np.arange(_BINS)
    columns = np.column_stack([loss, right, brier, in_bin * (confidence - right)[:, None]])
    scores = {name: _column(i) for i, name in enumerate(("log loss", "accuracy", "Brier score"))}
    scores["expected calibration error"] = lambda means: float(np.abs(means[3:]).sum())
    return _with_intervals(columns, scores)


def _column(i: int) -> Callable[[Sums], float]:
    return lambda means: float(means[i])


def _with_intervals(columns: NDArray[np.float64], scores: dict[str, Callable[[Sums], float]]) -> dict[str, Score]:
    """Return each score with the middle 95% of its values on rows that are drawn with replacement."""
    random, n = np.random.default_rng(0), len(columns)
    means = [np.bincount(random.integers(0, n, n), minlength=n) @ columns / n for _ in range(_RESAMPLES)]
    found = {}
    for name, score in scores.items():
        low, high = np.quantile([score(each) for each in means], (0.025, 0.975))
        found[name] = Score(score(columns.mean(axis=0)), float(low), float(high))
    return found
