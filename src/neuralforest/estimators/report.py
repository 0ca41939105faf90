"""What an estimator prints: a summary of a fit, or a line an epoch."""

import sys
from typing import TYPE_CHECKING

import numpy as np

from neuralforest.training import History, Trained
from neuralforest.training.loop import Callback

if TYPE_CHECKING:
    from neuralforest.estimators._base import NeuralForest


def summary(estimator: "NeuralForest", trained: Trained, seconds: float) -> str:
    """Return what happened in a fit, in plain words."""
    name, error = ("log loss", 1.0) if estimator._classifier else ("error (RMSE / spread of y)", 0.5)
    forest, network = trained.forest_loss**error, trained.validation_loss**error
    best = trained.history.best_epoch
    kept = int((best < 0).sum())
    lines = [
        f"{estimator.network_.ensemble.n_trees} trees, {estimator.training} training, {estimator.connectivity} "
        f"connectivity, contrast {estimator.contrast_}: {seconds:.1f} s",
        f"validation {name}: forest {forest:.4f}, network {network:.4f} ({100 * (network / forest - 1):+.1f}%)"
        if forest > 0
        else f"validation {name}: forest {forest:.4f}, network {network:.4f}",
    ]
    if kept == len(best):
        lines.append("no network was better than the forest: the forest's own predictions are kept")
    else:
        epochs = best[best >= 0]
        when = f"epoch {epochs[0]}" if len(epochs) == 1 else f"epochs {epochs.min()} to {epochs.max()}"
        lines.append(
            f"best at {when} (median {int(np.median(epochs))}) of {trained.history.n_epochs}; {kept} of {len(best)} "
            "networks were no better than their trees, which stay as they were"
        )
    return "\n".join(lines)


def epoch_lines(callback: Callback | None) -> Callback:
    """Return a callback that prints a line an epoch, then calls the user's."""

    def report(epoch: int, history: History) -> bool | None:
        training, validation = (np.nanmean(losses[-1]) for losses in (history.training_loss, history.validation_loss))
        print(f"epoch {epoch}: training loss {training:.5f}, validation loss {validation:.5f}", file=sys.stdout)
        return callback(epoch, history) if callback is not None else None

    return report
