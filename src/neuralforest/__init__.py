"""Tree ensembles as trainable neural networks: exact at first, then better."""

from neuralforest.convert import convert
from neuralforest.ensemble import TreeEnsemble
from neuralforest.estimators import (
    PAPER_SETTINGS,
    BARTRegressor,
    NeuralForestClassifier,
    NeuralForestRegressor,
    warmup,
)
from neuralforest.network import ForestNetwork
from neuralforest.persistence import load, save
from neuralforest.tables import TableModel
from neuralforest.training import Checkpoint, History, ProgressBar

__version__ = "0.2.0"

__all__ = [
    "PAPER_SETTINGS",
    "BARTRegressor",
    "Checkpoint",
    "ForestNetwork",
    "History",
    "NeuralForestClassifier",
    "NeuralForestRegressor",
    "ProgressBar",
    "TableModel",
    "TreeEnsemble",
    "__version__",
    "convert",
    "load",
    "save",
    "warmup",
]
