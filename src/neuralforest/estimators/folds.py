"""Folds of the rows of a fit, of each class about the same share."""

from typing import TYPE_CHECKING

import numpy as np

from neuralforest.estimators.validation import TrainValidationSplit
from neuralforest.exceptions import InvalidParameterError

if TYPE_CHECKING:
    from neuralforest.estimators.rows import FitRows


def stratified_folds(table: "FitRows", classifier: bool, n_folds: int, seed: int) -> list[TrainValidationSplit]:
    """Return the folds, each with the rows outside of it as training rows.

    Rows of weight 0, and the only row of a class, are training rows of all: they evaluate nothing.
    """
    rows = np.arange(table.n_rows)
    order = np.random.RandomState(seed).permutation(rows[table.weight[: table.n_rows] > 0])
    group = np.unique(table.target[order], return_inverse=True)[1] if classifier else np.zeros(len(order), np.int64)
    order = order[np.argsort(group, kind="stable")]
    sizes = np.bincount(group)
    alone = np.repeat(sizes == 1, sizes)
    fold = np.full(table.n_rows, -1)
    fold[order[~alone]] = np.arange(np.count_nonzero(~alone)) % n_folds
    parts = [np.flatnonzero(fold == each) for each in range(n_folds)]
    if not all(map(len, parts)):
        kind = " of the same class" if classifier else ""
        raise InvalidParameterError(
            f"{n_folds} folds need at least {n_folds} rows{kind} of positive weight, got n_samples = {len(order)}: "
            "pass more rows, or X_val and y_val"
        )
    return [TrainValidationSplit(np.flatnonzero(fold != each), part) for each, part in enumerate(parts)]
