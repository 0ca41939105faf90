"""What may stand beside a network: deep trees, boosted trees, a linear function; each judged on rows it has not seen.

A network smooths. Where near neighbours say more than a smooth function does, deep trees know what it cannot; boosted
trees find steps and few features among many; of few noisy rows a line says more than a tree.
"""

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import RidgeCV
from threadpoolctl import threadpool_limits  # which scikit-learn depends on

from neuralforest.companion import Linear
from neuralforest.estimators.boosting import boosted_trees
from neuralforest.estimators.deep import deep_trees
from neuralforest.estimators.folds import N_FOLDS, Candidate, Folds, Task
from neuralforest.estimators.scaling import center_and_spread, ends

_MOST_CLASSES = 20
_MOST_PRODUCTS = 2e9  # rows x features x the fewer of both: what a ridge regression takes, a few seconds
_RIDGES = np.logspace(-1, 4, 11)
_ONE_THREAD = threading.Lock()  # limits of threads hold for the whole process


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
        yield linear_function(folds)


def _can_be_folded(classifier: bool, target: NDArray[Any]) -> bool:
    """Return whether there are enough rows for five folds, of every class, and not too many classes."""
    counts = np.unique(target, return_counts=True)[1] if classifier else np.array([len(target)])
    return bool(counts.min() >= 2 * N_FOLDS and len(counts) <= _MOST_CLASSES)


def linear_function(folds: Folds) -> Candidate:
    """Fit ridge regressions on standardised features; a missing value counts as the mean."""
    rows = np.concatenate(folds.unseen)
    center, scale = center_and_spread(folds.X[rows], np.ones(len(rows)))
    low, high = ends(folds.X[rows], center)
    slopes, intercepts = [], []
    with _ONE_THREAD, threadpool_limits(1, "blas"):  # so that the digits do not depend on the number of threads
        for learnt in folds.learnt:
            seen = np.nan_to_num((folds.X[learnt].astype(np.float64) - center) / scale)
            model = RidgeCV(_RIDGES).fit(seen, folds.y[learnt])
            slopes.append(folds.scale * model.coef_[:, None])
            intercepts.append(np.array([folds.center + folds.scale * model.intercept_]))
    pairs = zip([*slopes, np.mean(slopes, axis=0)], [*intercepts, np.mean(intercepts, axis=0)], strict=True)
    *functions, mean = (Linear(low, high, center, scale, slope, intercept) for slope, intercept in pairs)
    return Candidate(mean, folds.judged(functions, mean))
