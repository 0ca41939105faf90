"""State: where training stands between two epochs. Everything that a checkpoint has to hold."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuralforest._kernels.network.arguments import Weights
from neuralforest.network import ForestNetwork
from neuralforest.training.history import History
from neuralforest.training.settings import Settings
from neuralforest.training.stopping import ends_after


class State:
    """Parameters, the optimiser's moments, the best parameters so far, and the losses on record.

    Arrays are changed in place. `by_halves` keeps what is best on each half of the validation rows, too. Without
    `ends_together`, the schedule does not end training early: the caller decides that, by `stopping`.
    """

    def __init__(
        self, network: ForestNetwork, settings: Settings, by_halves: bool = False, ends_together: bool = True
    ) -> None:
        assert network.soft is not None
        start, n, epochs = network.soft.parameters, network.n_subnetworks, settings.max_epochs
        halves = 2 if by_halves else 0
        self.settings, self.epoch, self.interrupted = settings, 0, False
        self.ends_together = ends_together
        self.parameters = start.copy()
        self.first_moment = np.zeros_like(start)
        self.second_moment = np.zeros_like(start)
        # What weight decay pulls towards; a copy, for it may be read-only.
        self.start = np.array(start if settings.weight_decay > 0 else start[:0])
        self.best = start.copy()
        self.best_of_half = np.tile(start, (halves, 1))
        self.first_parameter: NDArray[np.int64] = network.structure.first_parameter  # (subnetworks + 1,)
        self.steps = np.zeros(n, np.int64)
        self.best_loss = np.full(n, np.inf)
        self.best_loss_of_half = np.full((halves, n), np.inf)
        self.best_epoch = np.zeros(n, np.int64)
        self.stopped = np.zeros(n, np.bool_)
        self.diverged = np.zeros(n, np.bool_)
        self.training_loss = np.full((epochs, n), np.nan)  # NaN where not trained
        self.validation_loss = np.full((epochs + 1, n), np.nan)
        self.seconds = np.zeros(epochs)

    @property
    def arrays(self) -> dict[str, NDArray[Any]]:
        """All arrays by name: what a checkpoint holds in addition to the epoch."""
        return {name: value for name, value in vars(self).items() if isinstance(value, np.ndarray)}

    @property
    def weights(self) -> Weights:
        """The arrays that the kernels change."""
        return Weights(self.parameters, self.first_moment, self.second_moment, self.start, self.steps)

    def record_start(self, validation: NDArray[np.float64]) -> None:
        """Note the losses of the softened start; a subnetwork that has no validation rows (NaN) is not trained.

        Validation losses are those of all rows and of their halves, (3, subnetworks).
        """
        self.validation_loss[0] = validation[0]
        self.stopped |= np.isnan(validation[0])
        finite = np.where(np.isfinite(validation), validation, np.inf)
        self.best_loss[:], self.best_loss_of_half[:] = finite[0], finite[1 : 1 + len(self.best_of_half)]

    def record(self, training: NDArray[np.float64], validation: NDArray[np.float64], seconds: float) -> None:
        """Note the losses of one more epoch, keep what is the best so far, and stop what cannot improve."""
        active, (validation, *halves) = ~self.stopped, validation
        self.training_loss[self.epoch, active] = training[active]
        self.seconds[self.epoch] = seconds
        self.epoch += 1
        self.validation_loss[self.epoch, active] = validation[active]
        self.best_epoch[active & (validation < self.best_loss)] = self.epoch
        self._keep(active & (validation < self.best_loss), validation, self.best_loss, self.best)
        for loss, best_loss, best in zip(halves, self.best_loss_of_half, self.best_of_half, strict=False):
            self._keep(active & (loss < best_loss), loss, best_loss, best)
        broken = active & ~(np.isfinite(training) & np.isfinite(validation))
        self.diverged |= broken
        self.stopped |= broken
        if self.settings.n_iter_no_change:
            self.stopped |= self.epoch - self.best_epoch >= self.settings.n_iter_no_change
        if self.ends_together:
            losses = self.training_loss, self.validation_loss
            self.stopped |= ends_after(self.settings, self.epoch, *losses, self.stopped)

    def _keep(
        self,
        kept: NDArray[np.bool_],
        loss: NDArray[np.float64],
        best_loss: NDArray[np.float64],
        best: NDArray[np.float32],
    ) -> None:
        """Count the parameters of some subnetworks, and their losses, as their best."""
        best_loss[kept] = loss[kept]
        for subnetwork in np.flatnonzero(kept):
            own = slice(self.first_parameter[subnetwork], self.first_parameter[subnetwork + 1])
            best[own] = self.parameters[own]

    @property
    def lost(self) -> NDArray[np.bool_]:
        """Subnetworks that no epoch made better and that ended with a finite loss ten times that of the start."""
        start, end = self.validation_loss[0], self.validation_loss[self.epoch]
        return (self.best_epoch <= 0) & (end > 10 * start + 0.1)  # 0.1: a perfect start has no size of its own

    def keep_last(self) -> None:
        """Count the last state of every subnetwork that has not diverged as its best."""
        self._keep(~self.diverged, self.validation_loss[self.epoch], self.best_loss, self.best)
        self.best_epoch[~self.diverged] = self.epoch

    def history(self, forest_loss: NDArray[np.float64]) -> History:
        """Return the losses so far."""
        return History(
            training_loss=self.training_loss[: self.epoch].copy(),
            validation_loss=self.validation_loss[: self.epoch + 1].copy(),
            forest_loss=forest_loss,
            best_epoch=self.best_epoch.copy(),
            seconds=self.seconds[: self.epoch].copy(),
        )
