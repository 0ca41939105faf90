"""History: what training did, epoch by epoch, as plain arrays."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True, eq=False)
class History:
    """Losses of every block (a tree, or in joint training all trees) in every epoch.

    Losses are in the units that the network is trained in: a squared error of 1 is the variance of the target.

    Parameters
    ----------
    training_loss : float64 array (epochs, blocks)
        Mean over the epoch, taken as it went on. NaN once a block has stopped.
    validation_loss : float64 array (epochs + 1, blocks)
        Row 0 is the softened start, row e the end of epoch e.
    forest_loss : float64 array (blocks,)
        Validation loss of the trees themselves.
    best_epoch : int64 array (blocks,)
        The epoch whose parameters were kept; 0 for the softened start, -1 for the trees themselves.
    seconds : float64 array (epochs,)
    """

    training_loss: NDArray[np.float64]
    validation_loss: NDArray[np.float64]
    forest_loss: NDArray[np.float64]
    best_epoch: NDArray[np.int64]
    seconds: NDArray[np.float64]

    def __repr__(self) -> str:
        return f"History({self.n_epochs} epochs, {len(self.best_epoch)} blocks, {self.seconds.sum():.1f} s)"

    @property
    def n_epochs(self) -> int:
        return len(self.training_loss)

    def to_frame(self) -> "pandas.DataFrame":
        """Return the mean losses over the blocks, one row an epoch; needs pandas.

        A block that has stopped counts with the last loss that it had.
        """
        import pandas

        validation = _filled(self.validation_loss)
        training = np.vstack([np.full(len(self.best_epoch), np.nan), self.training_loss])
        return pandas.DataFrame(
            {
                "epoch": np.arange(self.n_epochs + 1),
                "training_loss": _filled(training).mean(axis=1),
                "validation_loss": validation.mean(axis=1),
                "forest_loss": self.forest_loss.mean(),
            }
        )


def _filled(losses: NDArray[np.float64]) -> NDArray[np.float64]:
    filled = losses.copy()
    for epoch in range(1, len(filled)):
        missing = np.isnan(filled[epoch])
        filled[epoch, missing] = filled[epoch - 1, missing]
    return filled
