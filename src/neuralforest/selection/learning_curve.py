"""The learning curve of a given model: how much better it is on all rows than its copies, which each lack a fold.

The copies evaluate the model out of sample, and are trained on fewer rows than it. By their error, the model looks
worse than it is, and what it is compared and stacked with looks better. Copies that lack two folds measure what one
fold is worth. From there to all rows, the error is assumed to fall in inverse proportion to the number of rows.
"""

import numpy as np
from numpy.typing import NDArray

from neuralforest.selection.predictions import OutOfSamplePredictions

# Part of the squared error that the last fold takes away: mean and standard deviation of five kinds of models on 17
# data sets.
_EXPECTED, _SPREAD = 0.05, 0.1
_LARGEST = 0.5


def as_of_all_rows(
    predictions: OutOfSamplePredictions,  # of copies that lack a fold
    of_fewer_rows: OutOfSamplePredictions | None,  # of copies that lack two folds; None where there are too few rows
    y: NDArray[np.float64],  # (rows of the fit, outputs)
    n_folds: int,
) -> OutOfSamplePredictions:
    """Return predictions with the excess variance that the model, fitted on all rows, does not have."""
    assert y.shape[1] == predictions.prediction.shape[1]
    target, weight = y[predictions.row], predictions.weight / predictions.weight.sum()
    squares = (target - predictions.prediction) ** 2
    mean = np.maximum(weight @ (squares - predictions.excess_variance), 0.0)  # (outputs,)
    share, error = _EXPECTED, np.inf
    if of_fewer_rows is not None and (mean > 0).any():
        used = mean > 0
        both = np.isin(predictions.row, of_fewer_rows.row)
        fewer = (target[both] - of_fewer_rows.restrict(predictions.row).prediction) ** 2
        gain = ((fewer - squares[both])[:, used] / mean[used]).mean(axis=1) * (n_folds - 2) / n_folds
        part = weight[both] / weight[both].sum()
        share = float(part @ gain)
        error = float(np.sqrt((part**2) @ (gain - share) ** 2))
    precision = 1 / max(error, np.finfo(float).tiny) ** 2 if np.isfinite(error) else 0.0
    expected = (precision * share + _EXPECTED / _SPREAD**2) / (precision + 1 / _SPREAD**2)
    excess = np.clip(expected, 0.0, _LARGEST) * mean
    return predictions._replace(excess_variance=predictions.excess_variance + excess)
