"""History: what training did, epoch by epoch, as plain arrays."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True, eq=False)
class History:
    """Losses of every subnetwork (a tree, or in joint training all trees) in every epoch.

    Losses are in the units that the network is trained in: a squared error of 1 is the variance of the target.

    Parameters
    ----------
    training_loss : float64 array (epochs, subnetworks)
        Mean over the epoch, taken as it went on. NaN once a subnetwork has stopped.
    validation_loss : float64 array (epochs + 1, subnetworks)
        Row 0 is the softened start, row e the end of epoch e.
    forest_loss : float64 array (subnetworks,)
        Validation loss of the trees themselves.
    best_epoch : int64 array (subnetworks,)
        The epoch whose parameters were kept; 0 for the softened start, -1 for the trees themselves.
    seconds : float64 array (epochs,)
        Time of each epoch.

    Examples
    --------
    >>> import neuralforest as nf
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = nf.NeuralForestRegressor(max_epochs=20, contrast=(3, 1), random_state=0).fit(X, y)
    >>> model.history_.n_epochs, model.history_.validation_loss.shape  # epochs, trees
    (20, (21, 22))
    """

    training_loss: NDArray[np.float64]
    validation_loss: NDArray[np.float64]
    forest_loss: NDArray[np.float64]
    best_epoch: NDArray[np.int64]
    seconds: NDArray[np.float64]

    def __repr__(self) -> str:
        return f"History({self.n_epochs} epochs, {len(self.best_epoch)} subnetworks, {self.seconds.sum():.1f} s)"

    @property
    def n_epochs(self) -> int:
        return len(self.training_loss)

    def followed_by(self, more: "History") -> "History":
        """Return the history of a training that went on from where this one ended, on the same rows."""
        # Where the trees were kept, the best state of their network went on all the same.
        before = np.where(np.isnan(self.validation_loss), np.inf, self.validation_loss).argmin(axis=0)
        later = np.where(more.best_epoch < 0, more.best_epoch, self.n_epochs + more.best_epoch)
        return History(
            training_loss=np.vstack([self.training_loss, more.training_loss]),
            validation_loss=np.vstack([self.validation_loss, more.validation_loss[1:]]),
            forest_loss=more.forest_loss,
            best_epoch=np.where(more.best_epoch == 0, before, later),
            seconds=np.concatenate([self.seconds, more.seconds]),
        )

    def means(self) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
        """Return the means over subnetworks of training and validation loss, (epochs + 1,) each, and of forest loss.

        A subnetwork that has stopped counts with the last loss that it had; one without validation rows does not count.
        """
        validated = np.isfinite(self.forest_loss)
        if not validated.any():
            validated = np.ones_like(validated)
        training = np.vstack([np.full(len(validated), np.nan), self.training_loss])
        columns = (_filled(losses[:, validated]).mean(axis=1) for losses in (training, self.validation_loss))
        return *columns, float(self.forest_loss[validated].mean())

    def to_frame(self) -> "pandas.DataFrame":
        """Return the mean losses over the subnetworks, one row an epoch; see `means`. Needs pandas."""
        import pandas

        training, validation, forest = self.means()
        return pandas.DataFrame(
            {
                "epoch": np.arange(self.n_epochs + 1),
                "training_loss": training,
                "validation_loss": validation,
                "forest_loss": forest,
            }
        )


def _filled(losses: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the losses with every NaN replaced by the number before it in its column."""
    filled = losses.copy()
    for epoch in range(1, len(filled)):
        missing = np.isnan(filled[epoch])
        filled[epoch, missing] = filled[epoch - 1, missing]
    return filled
