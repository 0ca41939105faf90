"""Screening: of a wide table, trees and base models get the features that explain most of the target by themselves.

Trees choose their splits by what a feature explains by itself, too. Among thousands of features without a signal, some
explain as much by chance, and the time for a fit grows with their number.
"""

import warnings
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from scipy.stats import chi2

from neuralforest.ensemble import TreeEnsemble
from neuralforest.estimators.modes import MOST_FEATURES
from neuralforest.estimators.rows import FitRows
from neuralforest.exceptions import CostWarning

_BINS = 8
_FEWEST, _MOST = 50, 500  # features that are kept
_LEVEL = 0.001  # of the test whether a feature explains more than chance
_BLOCK = 200  # features that are made dense together
_ENOUGH_ROWS = 50_000


def relevant_features(table: FitRows, classifier: bool) -> NDArray[np.int64] | None:
    """Return the features that a default model uses; None for all of them, unless there are many."""
    n_features = table.X.shape[1]
    if n_features <= MOST_FEATURES:
        return None
    rows = np.flatnonzero(table.weight[: table.n_rows] > 0)
    rows = np.random.RandomState(0).permutation(rows)[:_ENOUGH_ROWS]
    explained, chance = explained_by_features(table.X[rows], _targets(table.target[rows], classifier))
    n_kept = int(np.clip(np.count_nonzero(explained > chance), _FEWEST, _MOST))
    kept = np.sort(np.argsort(-explained, kind="stable")[:n_kept])
    warnings.warn(
        f"X has {n_features} features, and a fit on more than {MOST_FEATURES} would take long: the model uses the "
        f"{n_kept} that explain most of the target by themselves; select features before fit to choose others",
        CostWarning,
        stacklevel=5,
    )
    return kept


def used_features(e: TreeEnsemble) -> NDArray[np.int64] | None:
    """Return the features that trees of a wide table split by, for base models; None for all of them."""
    return np.unique(e.feature).astype(np.int64) if e.n_features > MOST_FEATURES else None


def explained_by_features(X: Any, y: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
    """Return the share of the variance of targets (rows, outputs) that the bins of each feature explain, (features,).

    And the share that a feature without a signal exceeds in one of a thousand cases.
    """
    n_rows, n_features = X.shape
    y = (y - y.mean(axis=0)) / np.where(y.std(axis=0) > 0, y.std(axis=0), 1.0)
    explained = np.zeros(n_features)
    for first in range(0, n_features, _BLOCK):
        block = X[:, first : first + _BLOCK]
        dense = block.toarray() if scipy.sparse.issparse(block) else block
        for feature, column in enumerate(dense.T, first):
            explained[feature] = _explained(column, y)
    n_outputs = max(np.count_nonzero(y.any(axis=0)), 1)
    return explained / n_outputs, float(chi2.isf(_LEVEL, _BINS - 1)) / n_rows


def _explained(column: NDArray[np.floating], y: NDArray[np.float64]) -> float:
    """Return the sum over the outputs of the share of their variance between the bins of a feature."""
    known = column[~np.isnan(column)]
    if not len(known):
        return 0.0
    edges = np.unique(np.partition(known, places := _places(len(known)))[places])
    bins = np.searchsorted(edges, column)
    bins[np.isnan(column)] = len(edges) + 1
    order = scipy.sparse.csr_array((np.ones(len(bins)), bins, np.arange(len(bins) + 1)), (len(bins), len(edges) + 2))
    sums, counts = order.T @ y, np.bincount(bins, minlength=len(edges) + 2)
    return float((sums**2 / np.maximum(counts, 1)[:, None]).sum() / len(y))


def _places(n: int) -> NDArray[np.int64]:
    """Return the places of the edges of bins among n sorted numbers."""
    return np.unique(np.arange(1, _BINS) * n // _BINS)


def _targets(target: NDArray[Any], classifier: bool) -> NDArray[np.float64]:
    """Return numbers, (rows, outputs), that features may explain: a column for each class, at most the 20 largest."""
    if not classifier:
        return np.asarray(target, np.float64).reshape(len(target), -1)
    classes, counts = np.unique(target, return_counts=True)
    largest = classes[np.argsort(-counts, kind="stable")[:20]]
    return np.asarray(target[:, None] == largest, np.float64)
