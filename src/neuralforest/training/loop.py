"""The epoch loop: shuffle, train, evaluate, keep the best epoch of every subnetwork."""

import time
import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuralforest.exceptions import ConvergenceWarning
from neuralforest.network import ForestNetwork
from neuralforest.training.checkpoint import Checkpoint
from neuralforest.training.data import TrainingData
from neuralforest.training.evaluation import all_hard, subnetwork_losses
from neuralforest.training.history import History
from neuralforest.training.losses import Loss
from neuralforest.training.settings import Settings
from neuralforest.training.state import State
from neuralforest.training.trainer import trainer

Callback = Callable[[int, History], bool | None]
"""Called after every epoch with its number and the history so far; training stops when it returns True."""


class TrainingResult(NamedTuple):
    """The best parameters of every subnetwork, and how training went."""

    parameters: NDArray[np.float32]
    losses: NDArray[np.float64]  # (subnetworks,), validation losses of these parameters
    half_parameters: NDArray[np.float32]  # (2, parameters): the best on each half of the validation rows; or (0, ...)
    half_losses: NDArray[np.float64]  # (2, subnetworks), or (0, subnetworks)
    history: History  # its forest_loss holds the validation losses of the trees
    interrupted: bool  # by the callback, or by Ctrl-C


def train(
    network: ForestNetwork,  # soft; training starts from its parameters and does not change them
    data: TrainingData,
    settings: Settings,
    loss: Loss,
    *,
    n_jobs: int | None = None,  # threads; the result does not depend on it
    callback: Callback | None = None,
    checkpoint: Checkpoint | None = None,  # where to write the state, and to resume from if the file exists
    keep_last: bool = False,  # return the last epoch instead of the best one
) -> TrainingResult:
    """Train a soft network."""
    forest_losses = subnetwork_losses(all_hard(network), data, loss)
    state = State(network, settings, by_halves=not (keep_last or data.validation.are_shared))
    if checkpoint is not None:
        checkpoint.open(network, data, settings, loss)
        checkpoint.load(state)

    def after_epoch() -> bool | None:
        if checkpoint is not None:
            checkpoint.save(state)
        return None if callback is None else callback(state.epoch, state.history(forest_losses))

    advance(network, data, settings, loss, state, settings.max_epochs, n_jobs=n_jobs, after_epoch=after_epoch)
    diverged = state.diverged | state.lost
    if diverged.any():
        warnings.warn(
            f"{diverged.sum()} of {len(diverged)} networks diverged: their loss became infinite, NaN or more than ten "
            "times that of the start, and their best earlier state is kept; lower learning_rate",
            ConvergenceWarning,
            stacklevel=4,
        )
    if keep_last:
        state.keep_last()
    best = state.best, state.best_loss, state.best_of_half, state.best_loss_of_half
    return TrainingResult(*best, state.history(forest_losses), state.interrupted)


def advance(
    network: ForestNetwork,
    data: TrainingData,
    settings: Settings,
    loss: Loss,
    state: State,  # changed in place
    last_epoch: int,
    *,
    n_jobs: int | None = None,
    after_epoch: Callable[[], bool | None] | None = None,  # interrupts training when it returns True
) -> None:
    """Continue training up to an epoch, or to where all subnetworks have stopped."""
    with trainer(network, data, settings, loss, n_jobs) as work:
        if state.epoch == 0:
            state.record_start(work.validation_losses(state))
        while state.epoch < last_epoch and not (state.stopped.all() or state.interrupted):
            try:
                started = time.perf_counter()
                training = work.train_epoch(state)
                state.record(training, work.validation_losses(state), time.perf_counter() - started)
                if after_epoch is not None:
                    state.interrupted = bool(after_epoch())
            except KeyboardInterrupt:
                warnings.warn(
                    f"training was interrupted after epoch {state.epoch} of {settings.max_epochs}; the best state so "
                    "far is kept",
                    ConvergenceWarning,
                    stacklevel=6,
                )
                state.interrupted = True
