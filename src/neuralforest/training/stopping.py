"""Early stopping of all subnetworks together, decided on their mean losses."""

import numpy as np
from numpy.typing import NDArray

from neuralforest.training.settings import Settings

_EARLIEST = 0.4  # of all epochs: before, the learning rate is high, and losses may still fall with it
_LARGE_RATIO = 1.3  # times the best loss: later epochs were better by 0.01% then, in the mean of 73 sets
_RECENT = 0.1  # of all epochs


def ends_after(
    settings: Settings,
    epoch: int,  # the number of epochs so far
    training: NDArray[np.float64],  # losses (epochs or more, subnetworks)
    validation: NDArray[np.float64],  # losses (epochs + 1 or more, subnetworks)
    stopped: NDArray[np.bool_],  # (subnetworks,): those that are not trained any more
) -> bool:
    """Return whether the schedule of the settings ends training after an epoch."""
    if epoch in settings.cycle_ends[2:] and not _last_two_cycles_helped(settings, epoch, validation, stopped):
        return True
    late = settings.schedule == "one_cycle" and epoch >= _EARLIEST * settings.max_epochs
    return late and _overfits(settings, epoch, training, validation, stopped)


def decision_epochs(settings: Settings) -> tuple[int, ...]:
    """Return epochs to pause at, the last one among them: training ends at one of them, or between the last two.

    Examples
    --------
    >>> from neuralforest.training import Settings
    >>> decision_epochs(Settings(max_epochs=100, schedule="cyclic")), decision_epochs(Settings(max_epochs=100))
    ((15, 32, 100), (100,))
    """
    if settings.schedule == "one_cycle":
        first = int(np.ceil(_EARLIEST * settings.max_epochs))
        return tuple(sorted({first, settings.max_epochs}))
    return settings.cycle_ends[2:] or (settings.max_epochs,)


def _last_two_cycles_helped(
    settings: Settings, epoch: int, validation: NDArray[np.float64], stopped: NDArray[np.bool_]
) -> bool:
    """Return whether the best epochs of the two cycles that end here are better, in the mean, than all before."""
    ends = settings.cycle_ends
    begin = ends[ends.index(epoch) - 2]
    losses = validation[: epoch + 1, ~stopped]
    return bool(losses[begin + 1 :].min(axis=0).sum() < losses[: begin + 1].min(axis=0).sum())


def _overfits(
    settings: Settings,
    epoch: int,
    training: NDArray[np.float64],
    validation: NDArray[np.float64],
    stopped: NDArray[np.bool_],
) -> bool:
    """Return whether the training loss has stayed below the best validation loss while the validation loss rose.

    In the mean over subnetworks. Steps that are too large raise both losses, which fall with the learning rate.
    """
    recent = max(2, int(_RECENT * settings.max_epochs))
    of_training = training[:epoch, ~stopped].sum(axis=1)[-recent:]
    of_validation = validation[: epoch + 1, ~stopped].sum(axis=1)
    best = of_validation.min()
    return bool(of_validation[-recent:].min() > _LARGE_RATIO * best and of_training.max() < best)
