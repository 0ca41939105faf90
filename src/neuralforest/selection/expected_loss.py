"""The loss that new rows would show: that of all subnetworks together, estimated from rows that few of them predict.

Out-of-bag, a row is predicted by k of m subnetworks. Their mean has a larger variance than the mean of all, by a known
excess (see `predictions.averaged`), and so a larger loss, the more so for hard trees, whose variance is large. For a
squared error, the difference is the excess itself. Nothing here depends on networks.
"""

import numpy as np
from numpy.typing import NDArray

from neuralforest.training.losses import Loss

FLOOR = 1e-7
"""The lower bound of a probability in the log loss."""

_LARGEST = 0.9  # part of a loss that is corrected for: what remains of noise-free targets would be of any sign
_FEWEST_TRIALS = 0.3  # that a mean probability of few trees counts for
_BINS = 200  # of probabilities
_ITERATIONS = 100
_LOGITS = np.linspace(np.log(FLOOR), -np.log(FLOOR), 129)
_GRID = 1.0 / (1.0 + np.exp(-_LOGITS))


def expected_loss(
    loss: Loss,
    link: str,
    prediction: NDArray[np.float64],  # (rows, outputs), as all other arrays in units of training
    target: NDArray[np.float64],  # (rows, outputs)
    weight: NDArray[np.float64],  # (rows,)
    excess: NDArray[np.float64],  # (rows, outputs): excess variance
) -> float:
    """Return the mean loss of predictions, without what their excess variance adds to it."""
    measured = loss.mean(prediction, target, weight)
    if not (excess > 0).any() or not np.isfinite(measured) or not measured > 0:
        return measured
    if loss.name != "log_loss":
        return loss.mean(target + _shrunk(prediction - target, weight, excess), target, weight)
    if link == "identity":
        own = (np.clip(prediction, 0.0, 1.0) * target).sum(axis=1)
        correction = _log_correction(own, (excess * target).sum(axis=1), weight)
    else:
        correction = float(np.average(_half_curvature(prediction, link, excess), weights=weight))
    return max(measured - correction, (1.0 - _LARGEST) * measured)


def _shrunk(
    residual: NDArray[np.float64], weight: NDArray[np.float64], excess: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return residuals with a mean square that is smaller by the excess variance, for each output.

    For a squared error this is exact. Other losses of residuals depend on the whole distribution, which keeps its
    shape.
    """
    squares = np.average(residual**2, axis=0, weights=weight)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(squares > 0, np.average(excess, axis=0, weights=weight) / squares, 0.0)
    result: NDArray[np.float64] = residual * np.sqrt(1.0 - np.minimum(share, _LARGEST))
    return result


def _half_curvature(score: NDArray[np.float64], link: str, excess: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return half the second derivative of the log loss of log-odds or scores, times the excess variance, (rows,)."""
    shifted = np.exp(score - score.max(axis=1, keepdims=True))
    p = 1.0 / (1.0 + np.exp(-score)) if link == "logit" else shifted / shifted.sum(axis=1, keepdims=True)
    result: NDArray[np.float64] = 0.5 * (p * (1.0 - p) * excess).sum(axis=1)
    return result


def _log_correction(own: NDArray[np.float64], excess: NDArray[np.float64], weight: NDArray[np.float64]) -> float:
    """Return how much larger the log loss of means over few trees is than that over all trees.

    `own` are the probabilities of the rows' own classes, (rows,). The logarithm of a mean of two or three trees, which
    may all predict 0, is far from linear, and no expansion holds. Instead, the distribution over the rows of the
    probability that all trees would predict is estimated by maximum likelihood, as in empirical Bayes methods: on a
    grid, by the EM algorithm, with the observed probabilities as parts of so many trials that their variance is the
    excess variance. It begins with the observed distribution, so that nothing changes where there is no excess.
    """
    part = weight / weight.sum()
    mean_excess = float((part * excess).sum())
    if not mean_excess > 0:  # where rows that do not agree have no weight
        return 0.0
    trials = max(float((part * own * (1.0 - own)).sum()) / mean_excess, _FEWEST_TRIALS)
    own, part = _binned(own, part)
    likelihood = trials * (own[:, None] * np.log(_GRID) + (1.0 - own)[:, None] * np.log1p(-_GRID))  # (bins, grid)
    likelihood = np.exp(likelihood - likelihood.max(axis=1, keepdims=True))
    start = np.bincount(_nearest((trials * own + 0.5) / (trials + 1.0)), part, len(_GRID))
    density = np.convolve(start, (0.25, 0.5, 0.25), "same").astype(np.float64) + 1e-6
    density /= density.sum()
    for _ in range(_ITERATIONS):  # not products of matrices, whose rounding varies with the number of threads
        total = np.einsum("ij,j->i", likelihood, density)
        density *= np.einsum("ij,i->j", likelihood, part / total)
    observed = np.bincount(_nearest(own), part, len(_GRID))
    return float(((observed - density) * -np.log(_GRID)).sum())


def _binned(own: NDArray[np.float64], part: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return means and weights of bins of probabilities, narrow ones near 0 and 1: many rows take no more time."""
    place = np.rint(np.arcsin(np.sqrt(own)) * (2 / np.pi) * _BINS).astype(np.int64)
    weights = np.bincount(place, part).astype(np.float64)
    used = weights > 0
    return np.clip(np.bincount(place, part * own)[used] / weights[used], 0.0, 1.0), weights[used]


def _nearest(own: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the places of probabilities in the grid."""
    inside = np.clip(own, _GRID[0], _GRID[-1])
    logit = np.log(inside) - np.log1p(-inside)
    return np.rint((logit - _LOGITS[0]) / (_LOGITS[1] - _LOGITS[0])).astype(np.int64)
