"""What a fit prints: a summary, a line per epoch, and the callback that training takes."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from neuralforest.estimators.scores import validation_scores, validation_standard_error
from neuralforest.network import ForestNetwork
from neuralforest.training import Callback, History

if TYPE_CHECKING:
    from neuralforest.estimators._steps import FitSteps


def write(text: str) -> None:
    """Write a line to the standard output."""
    sys.stdout.write(text + "\n")


def summary(estimator: "FitSteps", seconds: float) -> str:
    """Return what happened in a fit, in plain words."""
    name, forest, model = validation_scores(estimator)
    change = f" ({100 * (model / forest - 1):+.1f}%)" if forest > 0 else ""
    error = validation_standard_error(estimator)
    spread = "" if error is None else f" ± {error:.2g}"
    return "\n".join(
        [
            f"{estimator.network_!r}, contrast {estimator.contrast_}: {seconds:.1f} s",
            f"validation {name} (used for model selection): forest {forest:.4g}, model {model:.4g}{spread}{change}",
            "; ".join([_improvement(estimator), *stacking_text(estimator.network_)]),
        ]
    )


def _improvement(estimator: "FitSteps") -> str:
    if estimator.tune == "all":
        return trees_improved(estimator.history_)
    if (estimator.history_.best_epoch < 0).all():
        return "no tuned trees were better than the forest: the model falls back to the forest"
    return f"{estimator.network_.ensemble.n_trees} trees tuned"


def trees_improved(history: History) -> str:
    """Return how many trees were replaced by their networks, and at which epochs those were best."""
    best, n_epochs = history.best_epoch, history.n_epochs
    improved = best[best >= 0]
    if not len(improved):
        return "no network was better than the forest: the model falls back to the forest"
    if len(best) == 1:
        return f"best epoch: {best[0]} of {n_epochs}"
    when = f"epoch {improved[0]}" if len(set(improved)) == 1 else f"epochs {improved.min()} to {improved.max()}"
    median = int(np.median(improved))
    return f"{len(improved)} of {len(best)} trees improved, best at {when} of {n_epochs} (median {median})"


def stacking_text(network: ForestNetwork) -> list[str]:
    """Return the stacking weights in words, where there are base models, and the temperature of probabilities."""
    weights = ", ".join(f"{name.replace('_', ' ')} {weight:.2f}" for name, weight in network.stacking_weights.items())
    text = [f"stacking weights: {weights}"] if network.base_models else []
    return (
        text if network.temperature == 1.0 else [*text, f"temperature of the probabilities: {network.temperature:.2f}"]
    )


def stacking_words(network: ForestNetwork) -> str:
    """Return what a model consists of, as a sentence for readers who do not know stacking."""
    own = "the forest, because no network was better on validation rows"
    own = own if network.hard.all() else "the network of the forest"
    if not network.base_models:
        return f"The model is {own}. No other model is stacked with it."
    parts = [(name.replace("_", " "), weight) for name, weight in network.stacking_weights.items()]
    parts[0] = ("the forest" if network.hard.all() else "the network", parts[0][1])
    listed = ", ".join(f"{100 * weight:.0f}% from {name}" for name, weight in parts)
    return f"The model is a stack: each prediction is a weighted mean, {listed}."


def epoch_line(epoch: int, history: History) -> str:
    """Return the losses of an epoch."""
    training, validation, forest = history.means()
    return (
        f"epoch {epoch}: training loss {training[-1]:.5f}, validation loss {validation[-1]:.5f} (forest {forest:.5f})"
    )


@contextmanager
def reporting(callback: Callback | None, verbose: int, n_epochs: int) -> Iterator[Callback | None]:
    """Give the callback for a fit of at most this many epochs: it prints, if it should, and calls the user's.

    A callback with methods `begin(n_epochs)` and `end()`, such as `ProgressBar`, is told when the fit begins and ends.
    """

    def report(epoch: int, history: History) -> bool | None:
        write(epoch_line(epoch, history))
        return callback(epoch, history) if callback is not None else None

    getattr(callback, "begin", lambda _: None)(n_epochs)
    try:
        yield report if verbose > 1 else callback
    finally:
        getattr(callback, "end", lambda: None)()
