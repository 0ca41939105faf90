"""Training: losses, rows, settings, the epoch loop, history and checkpoints. It trains, and decides nothing."""

from neuralforest.training.checkpoint import Checkpoint
from neuralforest.training.data import SubnetworkRows, TrainingData
from neuralforest.training.history import History
from neuralforest.training.loop import Callback, TrainingResult, train
from neuralforest.training.losses import Loss, resolve_loss
from neuralforest.training.progress import ProgressBar
from neuralforest.training.settings import Settings

__all__ = [
    "Callback",
    "Checkpoint",
    "History",
    "Loss",
    "ProgressBar",
    "Settings",
    "SubnetworkRows",
    "TrainingData",
    "TrainingResult",
    "resolve_loss",
    "train",
]
