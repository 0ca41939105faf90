"""Prediction intervals: the errors on validation rows, in units of how much the trees disagree."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuralforest.exceptions import InvalidParameterError
from neuralforest.network import ForestNetwork
from neuralforest.training import BlockRows, TrainingData, guard


@dataclass(frozen=True, eq=False)
class Residuals:
    """Errors of validation rows, target minus prediction, each divided by the disagreement of the trees there."""

    relative: NDArray[np.float64]  # (rows, outputs), each column sorted
    floor: NDArray[np.float64]  # (outputs,), added to the disagreement, so that unanimous trees are not taken as certain

    @classmethod
    def measure(cls, network: ForestNetwork, data: TrainingData, n_jobs: int | None) -> "Residuals":
        """Take the errors of a trained network on the rows that have judged it."""
        row, output, _ = guard.validation_output(network, data, n_jobs)
        error = data.y[row] - output
        spread = disagreement(network, data.X, None if data.validation.are_shared else data.validation)[row]
        floor = np.maximum(np.median(spread, axis=0), np.finfo(np.float64).tiny)
        return cls(np.sort(error / (spread + floor), axis=0), floor)

    def quantiles(
        self, network: ForestNetwork, X: NDArray[np.floating], prediction: NDArray[np.float64], quantiles: ArrayLike
    ) -> NDArray[np.float64]:
        """Return quantiles of the target, (rows, outputs, quantiles)."""
        levels = np.atleast_1d(np.asarray(quantiles, np.float64))
        if levels.ndim != 1 or not ((levels > 0) & (levels < 1)).all():
            raise InvalidParameterError(f"quantiles must lie between 0 and 1, got {quantiles!r}")
        n = len(self.relative)
        ranks = np.where(levels < 0.5, np.floor((n + 1) * levels), np.ceil((n + 1) * levels))  # conformal: outwards
        steps = self.relative[np.clip(ranks.astype(int) - 1, 0, n - 1)]  # (quantiles, outputs)
        spread = disagreement(network, X) + self.floor
        return prediction[:, :, None] + spread[:, :, None] * steps.T[None]


def disagreement(
    network: ForestNetwork, X: NDArray[np.floating], rows: BlockRows | None = None
) -> NDArray[np.float64]:
    """Return the standard deviation over the forest's trees of what they say, (rows, outputs).

    Of the trees themselves, because the networks of a joint training say nothing by themselves. With `rows`, a tree has a
    say only on its own (out-of-bag) rows: on others it has learnt the answer.
    """
    e = network.ensemble
    leaves = network.apply(X) + e.first_leaf[:-1]
    count = np.zeros((len(X), 1))
    mean, square = np.zeros((len(X), e.n_outputs)), np.zeros((len(X), e.n_outputs))
    for tree in range(e.n_trees):
        own = slice(None) if rows is None else rows.of(tree)[0]
        value = e.value[leaves[own, tree]]
        count[own] += 1
        step = value - mean[own]
        mean[own] += step / count[own]
        square[own] += step * (value - mean[own])
    return np.sqrt(square / np.maximum(count, 1))
