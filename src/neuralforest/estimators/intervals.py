"""Prediction intervals: the errors on validation rows, in units of how much the trees disagree."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuralforest.exceptions import InvalidParameterError
from neuralforest.network import ForestNetwork
from neuralforest.training import BlockRows, TrainingData
from neuralforest.training.guard import Judged


@dataclass(frozen=True, eq=False)
class Residuals:
    """Errors of validation rows, target minus prediction, each divided by the disagreement of the trees there.

    Parameters
    ----------
    relative : float64 array (rows, outputs)
        Each column sorted.
    floor : float64 array (outputs,)
        Added to the disagreement, so that unanimous trees are not taken as certain.
    """

    relative: NDArray[np.float64]
    floor: NDArray[np.float64]

    @classmethod
    def measure(cls, network: ForestNetwork, data: TrainingData, judged: Judged) -> "Residuals":
        """Take the errors of a trained network on the rows that have judged it."""
        row, output, *_ = judged
        if data.validation.are_shared:
            spread = disagreement(network, data.X[row])
        else:
            spread = disagreement(network, data.X, data.validation)[row]
        floor = np.median(spread, axis=0)
        floor = np.where(floor > 0, floor, spread.mean(axis=0))
        floor = np.where(floor > 0, floor, 1.0)  # a single tree: all rows are alike
        return cls(np.sort((data.y[row] - output) / (spread + floor), axis=0), floor)

    def quantiles(
        self, network: ForestNetwork, X: NDArray[np.floating], prediction: NDArray[np.float64], quantiles: ArrayLike
    ) -> NDArray[np.float64]:
        """Return quantiles of the target, (rows, outputs, quantiles)."""
        levels = _levels(quantiles)
        n = len(self.relative)
        # conformal: one row more than there are, and outwards where the level falls between two
        ranks = np.where(levels < 0.5, np.floor((n + 1) * levels), np.ceil((n + 1) * levels))
        steps = self.relative[np.clip(ranks.astype(np.int64) - 1, 0, n - 1)]  # (quantiles, outputs)
        spread = disagreement(network, X) + self.floor
        return prediction[:, :, None] + spread[:, :, None] * steps.T[None]


def _levels(quantiles: ArrayLike) -> NDArray[np.float64]:
    try:
        levels = np.atleast_1d(np.asarray(quantiles, np.float64))
    except (TypeError, ValueError):
        levels = np.array([np.nan])
    if levels.ndim != 1 or not len(levels) or not ((levels > 0) & (levels < 1)).all():
        raise InvalidParameterError(f"quantiles must be numbers between 0 and 1, like (0.05, 0.95), got {quantiles!r}")
    return levels


def disagreement(network: ForestNetwork, X: NDArray[np.floating], rows: BlockRows | None = None) -> NDArray[np.float64]:
    """Return the standard deviation over the forest's trees of what they say, (rows, outputs).

    Of the trees themselves, because the networks of a joint training say nothing by themselves. With `rows`, a tree has
    a say only on its own (out-of-bag) rows: on others it has learnt the answer.
    """
    e = network.ensemble
    leaves = network.apply(X)
    count = np.zeros((len(X), 1))
    mean, square = np.zeros((len(X), e.n_outputs)), np.zeros((len(X), e.n_outputs))
    for tree in range(e.n_trees):
        own = slice(None) if rows is None else rows.of(tree)[0]
        value = e.value[e.first_leaf[tree] + leaves[own, tree]]
        count[own] += 1
        step = value - mean[own]
        mean[own] += step / count[own]
        square[own] += step * (value - mean[own])
    return np.sqrt(square / np.maximum(count, 1))
