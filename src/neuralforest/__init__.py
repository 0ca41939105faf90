"""Tree ensembles as trainable neural networks: exact at first, then better."""

from neuralforest.convert import convert
from neuralforest.ensemble import TreeEnsemble
from neuralforest.network import ForestNetwork

__version__ = "0.1.0"

__all__ = ["ForestNetwork", "TreeEnsemble", "__version__", "convert"]
