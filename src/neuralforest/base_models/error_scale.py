"""How large errors are, as a function of the features: a boosted model of the errors of validation rows, cross-fitted.

It predicts the root of an absolute error: errors of noise have heavy tails, which would determine the fit, and
logarithms of the smallest errors would do the same.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from neuralforest.base_models.cross_fitting import Task
from neuralforest.base_models.gradient_boosting import scale_boosting
from neuralforest.base_models.several_targets import MOST_TARGETS
from neuralforest.network import ForestNetwork
from neuralforest.selection import OutOfSamplePredictions, Residuals, Selected
from neuralforest.selection.intervals import expected_errors
from neuralforest.training import SubnetworkRows, TrainingData

_FEWEST_ROWS = 100  # of which a scale can be learned
_MOST_FEATURES = 500  # of wider tables, boosting would take longer than all else
_MOST_ROWS = 10_000  # errors are noise: more rows take time, and show little more


def with_error_scale(
    residuals: Residuals,
    data: TrainingData,
    trained: Selected,
    seed: int,
    n_jobs: int | None,
    n_categories: NDArray[np.int64],
) -> Residuals:
    """Return errors in units of a learned scale, where that makes intervals better; otherwise those that are given.

    Where base models were evaluated on few of the rows, the scale is learned from the errors of the network without
    them, which are large in the same places, and evaluated on the errors of the stack.
    """
    if data.X.shape[1] > _MOST_FEATURES or data.y.shape[1] > MOST_TARGETS:
        return residuals
    own, known = trained.predictions, trained.of_network
    known = own if known is None or len(known.row) <= len(own.row) else known
    order = np.random.RandomState(seed).permutation(len(known.row))
    own_first = order[np.argsort(~np.isin(known.row[order], own.row), kind="stable")]
    known = known.restrict(known.row[own_first[:_MOST_ROWS]])
    own = own.restrict(known.row)
    errors = expected_errors(data, known)
    if len(own.row) < _FEWEST_ROWS or not (np.abs(errors).max(axis=0) > 0).all():
        return residuals
    units = residuals.units(trained.network, data, own)
    for scale in scale_boosting(_task(data, known, errors, seed, n_jobs, n_categories)):
        assert isinstance(scale.model, ForestNetwork)  # the mean over the folds
        roots = scale.predictions.restrict(own.row).prediction
        residuals, units = residuals.or_scaled(data, own, units, roots, scale.model)
    return residuals


def _task(
    data: TrainingData,
    predictions: OutOfSamplePredictions,
    errors: NDArray[np.float64],
    seed: int,
    n_jobs: int | None,
    n_categories: NDArray[np.int64],
) -> Task:
    """Return the task of predicting roots of absolute errors of validation rows."""
    y: NDArray[np.float64] = np.zeros_like(data.y)
    rows, weight = predictions.row, np.ones(len(y))
    y[rows], weight[rows] = np.sqrt(np.abs(errors)), predictions.weight
    own = SubnetworkRows.shared(rows, predictions.weight, 1)
    data = replace(data, y=y, fit=own, validation=own)
    target = y[:, 0] if y.shape[1] == 1 else y
    return Task(False, data, target, weight, rows, rows[:0], len(rows), seed, n_jobs, n_categories)
