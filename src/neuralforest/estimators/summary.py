"""What an estimator says: a summary of a fit, a line an epoch, and the callback that training takes."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from neuralforest.training import History, Trained
from neuralforest.training.loop import Callback

if TYPE_CHECKING:
    from neuralforest.estimators._base import NeuralForest


def say(text: str) -> None:
    """Write a line where the user looks for it."""
    sys.stdout.write(text + "\n")


def summary(estimator: "NeuralForest", trained: Trained, seconds: float) -> str:
    """Return what happened in a fit, in plain words."""
    name, forest, network = _scores(estimator, trained)
    change = f" ({100 * (network / forest - 1):+.1f}%)" if forest > 0 else ""
    return "\n".join(
        [
            f"{trained.network!r}, contrast {estimator.contrast_}: {seconds:.1f} s",
            f"validation {name}: forest {forest:.4g}, network {network:.4g}{change}",
            _verdict(trained) + _of_companions(trained),
        ]
    )


def _scores(estimator: "NeuralForest", trained: Trained) -> tuple[str, float, float]:
    """Return the name of the validation score, that of the forest and that of the network."""
    losses = trained.forest_loss, trained.validation_loss
    soft = trained.network.soft
    if estimator._classifier or estimator.loss not in ("auto", "squared_error") or soft is None:
        return "log loss" if estimator._classifier else f"{estimator.loss} loss", *losses
    if len(soft.output_scale) > 1:
        return "RMSE (in units of each target's spread)", losses[0] ** 0.5, losses[1] ** 0.5
    return "RMSE", *(float(soft.output_scale[0]) * loss**0.5 for loss in losses)


def _verdict(trained: Trained) -> str:
    best, n_epochs = trained.history.best_epoch, trained.history.n_epochs
    improved = best[best >= 0]
    if not len(improved):
        return "no network was better than the forest, which is kept"
    if len(best) == 1:
        return f"the best epoch was {best[0]} of {n_epochs}"
    when = f"epoch {improved[0]}" if len(set(improved)) == 1 else f"epochs {improved.min()} to {improved.max()}"
    return (
        f"{len(improved)} of {len(best)} trees gave way to their networks, which were best at {when} of {n_epochs} "
        f"(median {int(np.median(improved))}); {len(best) - len(improved)} stayed as they were"
    )


def _of_companions(trained: Trained) -> str:
    shares = [f"{companion} {100 * companion.share:.0f}%" for companion in trained.network.base_models]
    return f"; of the prediction, {', '.join(shares)} stand beside them" if shares else ""


def epoch_line(epoch: int, history: History) -> str:
    """Return the losses of an epoch."""
    training, validation, forest = history.means()
    return (
        f"epoch {epoch}: training loss {training[-1]:.5f}, validation loss {validation[-1]:.5f} (forest {forest:.5f})"
    )


@contextmanager
def reporting(callback: Callback | None, verbose: int, n_epochs: int) -> Iterator[Callback | None]:
    """Give the callback for a fit of at most this many epochs: it prints, if it should, and calls the user's.

    A callback with methods `begin(n_epochs)` and `end()`, such as `ProgressBar`, hears of the fit's two ends.
    """

    def report(epoch: int, history: History) -> bool | None:
        say(epoch_line(epoch, history))
        return callback(epoch, history) if callback is not None else None

    getattr(callback, "begin", lambda _: None)(n_epochs)
    try:
        yield report if verbose > 1 else callback
    finally:
        getattr(callback, "end", lambda: None)()
