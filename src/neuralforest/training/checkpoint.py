"""Checkpoints: the state of a long fit in a file, so that an interrupted fit can be resumed with the same result."""

import hashlib
import os
import warnings
from dataclasses import dataclass, field, fields
from pathlib import Path

import numpy as np
import safetensors.numpy
from safetensors import SafetensorError, safe_open

from neuralforest._atomic import write_atomically
from neuralforest.exceptions import CheckpointError, ConvergenceWarning, InvalidParameterError
from neuralforest.network import ForestNetwork
from neuralforest.training.data import TrainingData
from neuralforest.training.losses import Loss
from neuralforest.training.settings import Settings
from neuralforest.training.state import State


@dataclass
class Checkpoint:
    """Where a fit writes its state, and from where it resumes.

    Parameters
    ----------
    path : path of a file
        Written every few epochs, atomically. When it exists at the start of the same fit (same network, rows and
        settings), the fit resumes from there; the result equals that of an uninterrupted fit, bit for bit.
    every : int
        Epochs between two writes; after the last epoch it is always written.

    Examples
    --------
    >>> import neuralforest as nf
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> checkpoint = nf.Checkpoint(getfixture("tmp_path") / "fit.ckpt", every=5)
    >>> options = {"checkpoint": checkpoint, "max_epochs": 10, "contrast": (3, 1), "random_state": 0}
    >>> model = nf.NeuralForestRegressor(**options).fit(X, y)
    >>> again = nf.NeuralForestRegressor(**options).fit(X, y)  # after an interruption: resumes from the file
    >>> bool((again.predict(X) == model.predict(X)).all())
    True
    """

    path: str | os.PathLike[str]
    every: int = 10
    _fingerprint: str = field(default="", init=False, repr=False)
    _last_epoch: int = field(default=0, init=False, repr=False)
    _has_failed: bool = field(default=False, init=False, repr=False)  # in this fit, which has warned of it

    def __post_init__(self) -> None:
        if self.every < 1:
            raise InvalidParameterError(f"every must be at least 1 epoch, got {self.every}")

    def open(self, network: ForestNetwork, data: TrainingData, settings: Settings, loss: Loss) -> None:
        """Identify the fit by its network, rows and settings."""
        assert network.soft is not None
        parts = network.structure._asdict()
        numbers = {name: part for name, part in parts.items() if not isinstance(part, np.ndarray)}
        digest = hashlib.sha256(repr((settings, loss, list(parts), numbers)).encode())
        for array in (
            *(part for part in parts.values() if isinstance(part, np.ndarray)),
            network.soft.parameters,
            network.scaled(data.X),
            data.scaled_y(network),
            *(getattr(rows, item.name) for rows in (data.fit, data.validation) for item in fields(rows)),
        ):
            digest.update(np.ascontiguousarray(array).tobytes())
        self._fingerprint = digest.hexdigest()
        self._last_epoch = settings.max_epochs
        self._has_failed = False

    def save(self, state: State) -> None:
        """Write the state, where it is due. A file that cannot be written is no reason to lose the fit."""
        if state.epoch % self.every and state.epoch != self._last_epoch and not state.stopped.all():
            return
        arrays = {name: np.ascontiguousarray(array) for name, array in state.arrays.items()}
        epoch = str(state.epoch)
        metadata = {"fingerprint": self._fingerprint, "epoch": epoch, "digest": _digest(arrays, epoch)}
        try:
            write_atomically(self.path, [safetensors.numpy.save(arrays, metadata)])
        except OSError as error:
            if not self._has_failed:
                warnings.warn(
                    f"the checkpoint of epoch {epoch} cannot be written ({error}): the fit goes on without it; "
                    "further failures are not reported",
                    ConvergenceWarning,
                    stacklevel=2,
                )
            self._has_failed = True

    def load(self, state: State) -> None:
        """Replace the given state by the one on file, if there is a file."""
        if not Path(self.path).exists():
            return
        try:
            with safe_open(self.path, "numpy") as file:
                metadata = file.metadata() or {}
                arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        except (OSError, SafetensorError) as error:
            raise CheckpointError(
                f"{self.path} is not a checkpoint or is damaged ({error}); delete it to start anew"
            ) from error
        if metadata.get("fingerprint") != self._fingerprint:
            raise CheckpointError(
                f"{self.path} belongs to another fit (other rows, settings or trees); delete it or choose another path"
            )
        if metadata.get("digest") != _digest(arrays, metadata.get("epoch", "")):
            raise CheckpointError(f"{self.path} is damaged: its checksum does not fit; delete it to start anew")
        if arrays.keys() != state.arrays.keys():
            raise CheckpointError(f"{self.path} was written by another version; delete it to start anew")
        for name, array in arrays.items():
            if name != "start":  # it is there already
                setattr(state, name, array)
        state.epoch = int(metadata["epoch"])


def _digest(arrays: dict[str, np.ndarray], epoch: str) -> str:
    digest = hashlib.sha256(epoch.encode())
    for name in sorted(arrays):
        digest.update(name.encode() + str((arrays[name].dtype, arrays[name].shape)).encode())
        digest.update(arrays[name].tobytes())
    return digest.hexdigest()
