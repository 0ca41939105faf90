"""The learning curve of a given model: how much better it is on all rows than its copies, which each lack a fold.

The copies evaluate the model out of sample, and are trained on fewer rows than it. By their error, the model looks
worse than it is, and what it is compared and stacked with looks better. Copies that lack two folds measure what one
fold is worth. From there to all rows, the error is assumed to fall in inverse proportion to the number of rows. For
classification, the usual part is subtracted: few rows hold most of a log loss, and what a fold is worth is measured no
better than it is known.
"""

import numpy as np
from numpy.typing import NDArray

from neuralforest.selection.expected_loss import expected_loss
from neuralforest.selection.predictions import OutOfSamplePredictions
from neuralforest.training.losses import LOG_LOSS

# Part of the loss that the last fold takes away: mean and standard deviation of five kinds of models on 17 data sets of
# regression; the mean for classification (boosters, 8 data sets) is the same.
_EXPECTED, _SPREAD = 0.05, 0.1
_LARGEST = 0.5
_SIZES = 0.001 * 1.3 ** np.arange(24)  # of an excess variance, in units of p * (1 - p): up to 0.4


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
    if of_fewer_rows is not None and (mean > 0).any() and of_fewer_rows.weight.any():
        used = mean > 0
        both = np.isin(predictions.row, of_fewer_rows.row)
        fewer = (target[both] - of_fewer_rows.restrict(predictions.row).prediction) ** 2
        gain = ((fewer - squares[both])[:, used] / mean[used]).mean(axis=1) * (n_folds - 2) / n_folds
        part = weight[both] / weight[both].sum()
        share = float(part @ gain)
        error = float(np.sqrt((part**2) @ (gain - share) ** 2))
    trust = _SPREAD**2 / (_SPREAD**2 + error**2)  # in what was measured
    expected = trust * share + (1 - trust) * _EXPECTED
    excess = np.clip(expected, 0.0, _LARGEST) * mean
    return predictions._replace(excess_variance=predictions.excess_variance + excess)


def probabilities_as_of_all_rows(
    predictions: OutOfSamplePredictions,  # of copies that lack a fold
    y: NDArray[np.float64],  # (rows of the fit, classes)
) -> OutOfSamplePredictions:
    """Return probabilities p with an excess variance in proportion to p * (1 - p), like that of frequencies.

    It is the smallest with which the expected log loss is lower by the part that the last fold takes away. Where none
    is large enough, because hardly a row has a small probability of its own class, it is that of the lowest loss.
    """
    assert y.shape[1] == predictions.prediction.shape[1]
    p, target, weight = np.clip(predictions.prediction, 0.0, 1.0), y[predictions.row], predictions.weight

    def expected(size: float) -> float:
        excess = predictions.excess_variance + size * p * (1 - p)
        return expected_loss(LOG_LOSS, "identity", predictions.prediction, target, weight, excess)

    sizes, losses = [0.0], [expected(0.0)]
    wanted = (1 - _EXPECTED) * losses[0]
    while losses[-1] > wanted and len(sizes) <= len(_SIZES):
        sizes.append(float(_SIZES[len(sizes) - 1]))
        losses.append(expected(sizes[-1]))
    reached = losses[-1] < wanted
    size = float(np.interp(wanted, losses[:-3:-1], sizes[:-3:-1])) if reached else sizes[int(np.argmin(losses))]
    return predictions._replace(excess_variance=predictions.excess_variance + size * p * (1 - p))
