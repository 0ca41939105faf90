"""Training: losses, the epoch loop with its guard, history and checkpoints."""

from neuralforest.training.checkpoint import Checkpoint
from neuralforest.training.data import BlockRows, TrainingData
from neuralforest.training.history import History
from neuralforest.training.loop import Trained, train
from neuralforest.training.progress import ProgressBar
from neuralforest.training.settings import Settings

__all__ = ["BlockRows", "Checkpoint", "History", "ProgressBar", "Settings", "Trained", "TrainingData", "train"]
