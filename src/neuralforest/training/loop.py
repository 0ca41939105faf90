"""The epoch loop: shuffle, train, judge, keep the best; then the guard has the last word."""

import time
import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuralforest.exceptions import ConvergenceWarning
from neuralforest.network import ForestNetwork
from neuralforest.training import guard, shrinking
from neuralforest.training.checkpoint import Checkpoint
from neuralforest.training.data import TrainingData
from neuralforest.training.guard import Judged, Judges
from neuralforest.training.history import History
from neuralforest.training.losses import Loss, resolve_loss
from neuralforest.training.settings import Settings
from neuralforest.training.state import State
from neuralforest.training.trainer import trainer

Callback = Callable[[int, History], bool | None]
"""Called after every epoch with its number and the history so far; training stops when it returns True."""


class Trained(NamedTuple):
    """What a fit gives back."""

    network: ForestNetwork
    history: History
    forest_loss: float  # of the trees as a whole, on the validation rows
    validation_loss: float  # of the network as a whole, on the same rows
    judged: Judged  # what it says on them
    interrupted: bool = False  # by the callback, or by Ctrl-C


def train(
    network: ForestNetwork,
    data: TrainingData,
    settings: Settings,
    *,
    loss: str = "auto",
    loss_parameter: float | None = None,
    n_jobs: int | None = None,
    callback: Callback | None = None,
    checkpoint: Checkpoint | None = None,
    keep_last: bool = False,
    shrink: bool = False,
) -> Trained:
    """Train a soft network; never return one that is worse than its trees on the validation rows.

    Parameters
    ----------
    network : ForestNetwork
        Soft; its parameters are the start and stay as they are.
    data : TrainingData
    settings : Settings
    loss, loss_parameter
        See `losses.resolve_loss`.
    n_jobs : int, optional
        Threads; the result does not depend on it.
    callback : callable, optional
    checkpoint : Checkpoint, optional
        Where to keep the state every few epochs, and to go on from if there is one.
    keep_last : bool
        Keep the last epoch instead of the best one; then the guard only decides whether blocks that were hard stay so.
    shrink : bool
        Pull the predictions of a regression towards the mean of the target where they say too much; see `shrinking`.
    """
    resolved = resolve_loss(loss, loss_parameter, network.ensemble)
    forest_losses = guard.block_losses(guard.all_hard(network), data, resolved)
    by_halves = not (keep_last or data.validation.are_shared)
    state = State.start_of(network, settings, by_halves)
    _train_blocks(network, data, settings, resolved, n_jobs, callback, checkpoint, forest_losses, state)
    hard = forest_losses <= state.best_loss
    if keep_last:
        state.keep_last()
        hard = network.hard & (forest_losses <= state.best_loss)
    trained = network.with_parameters(state.best, hard)
    judges: Judges = ((trained, data.validation),)
    if by_halves:
        judges = guard.honest_judges(network, state.best_of_half, state.best_loss_of_half, data, resolved)
    kept = _guarded(trained, judges, data, resolved, n_jobs, keep_last, shrink and resolved.name == "squared_error")
    state.best_epoch[kept.network.hard] = -1
    validation_loss = guard.judged_loss(kept.network, kept.judged, data, resolved)
    history = state.history(forest_losses)
    return Trained(kept.network, history, kept.forest_loss, validation_loss, kept.judged, state.interrupted)


class _Kept(NamedTuple):
    """What the guard hands out, what it says on validation rows, and the loss of the forest there."""

    network: ForestNetwork
    judged: Judged
    forest_loss: float


def _guarded(
    trained: ForestNetwork,
    judges: Judges,
    data: TrainingData,
    loss: Loss,
    n_jobs: int | None,
    in_any_case: bool,
    shrink: bool,
) -> _Kept:
    """Keep the trained network, shrunk where it says too much, or the forest if that is better.

    Rows that had no part in choosing the network must find it better, as measured; and so must all rows, with and
    without the noise of a row's few trees. What is shrunk must only be better as measured.
    """
    trees = guard.all_hard(trained)
    judged = guard.output_of(judges, data, n_jobs)
    plain = judged if len(judges) == 1 else guard.validation_output(trained, data, n_jobs)
    of_trees = guard.validation_output(trees, data, n_jobs)
    forest, whole, honest = (guard.whole_loss(trained, said, data, loss) for said in (of_trees, plain, judged))
    better = in_any_case or (
        max(honest.measured, whole.measured) < forest.measured and whole.expected < forest.expected
    )
    shrunk = shrinking.shrink(trained, judges, judged, data, loss, forest.measured, n_jobs) if shrink else None
    if shrunk is not None:
        trained, judged, better = *shrunk, True
    return _Kept(*((trained, judged) if better else (trees, of_trees)), forest.measured)


def _train_blocks(
    network: ForestNetwork,
    data: TrainingData,
    settings: Settings,
    loss: Loss,
    n_jobs: int | None,
    callback: Callback | None,
    checkpoint: Checkpoint | None,
    forest_losses: NDArray[np.float64],
    state: State,
) -> None:
    """Run the epochs; afterwards the state holds the best parameters of every block."""
    if checkpoint is not None:
        checkpoint.open(network, data, settings, loss)
        checkpoint.load(state)
    with trainer(network, data, settings, loss, n_jobs) as work:
        if state.epoch == 0:
            state.record_start(work.validation_losses(state))
        while state.epoch < settings.max_epochs and not (state.stopped.all() or state.interrupted):
            try:
                started = time.perf_counter()
                training = work.train_epoch(state)
                state.record(training, work.validation_losses(state), time.perf_counter() - started)
                if checkpoint is not None:
                    checkpoint.save(state)
                if callback is not None:
                    state.interrupted = bool(callback(state.epoch, state.history(forest_losses)))
            except KeyboardInterrupt:
                warnings.warn(
                    f"training was interrupted after epoch {state.epoch} of {settings.max_epochs}; the best state up "
                    "to there is kept",
                    ConvergenceWarning,
                    stacklevel=5,
                )
                state.interrupted = True
    diverged = state.diverged | state.lost
    if diverged.any():
        warnings.warn(
            f"{diverged.sum()} of {len(diverged)} networks diverged: their loss became infinite, NaN or more than ten "
            "times what it was at the start, and their best earlier state is kept; lower learning_rate",
            ConvergenceWarning,
            stacklevel=4,
        )
