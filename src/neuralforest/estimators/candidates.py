"""What may stand beside a network: deep trees, boosted trees, a linear function; each judged on rows it has not seen.

A network smooths. Where near neighbours say more than a smooth function does, deep trees know what it cannot; boosted
trees find steps and few features among many; of few noisy rows a line says more than a tree.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuralforest.estimators.boosting import boosted_trees
from neuralforest.estimators.deep import deep_trees
from neuralforest.estimators.folds import N_FOLDS, Candidate, Folds, Task
from neuralforest.estimators.lines import ridge_regression

_MOST_CLASSES = 20
_MOST_PRODUCTS = 2e9  # rows x features x the fewer of both: what a ridge regression takes, a few seconds


def candidates(task: Task) -> Iterator[Candidate]:
    """Fit all that may stand beside a network of one target, one after the other; what gives no hope is given up."""
    deep = deep_trees(task)
    if deep is not None:
        yield deep
    if not _can_be_folded(task.classifier, task.table.target[task.split.fit]):
        return
    folds = Folds.of(task)
    yield from boosted_trees(task.classifier, folds, task.seed, task.n_jobs, task.hopeful)
    if not task.classifier and len(folds.learnt[0]) * folds.X.shape[1] * min(folds.X.shape) <= _MOST_PRODUCTS:
        yield ridge_regression(folds)


def _can_be_folded(classifier: bool, target: NDArray[Any]) -> bool:
    """Return whether there are enough rows for five folds, of every class, and not too many classes."""
    counts = np.unique(target, return_counts=True)[1] if classifier else np.array([len(target)])
    return bool(counts.min() >= 2 * N_FOLDS and len(counts) <= _MOST_CLASSES)
