"""ForestNetwork: a tree ensemble as a neural network, hard or soft, and the base models that are stacked with it."""

from neuralforest.network.forest_network import ForestNetwork
from neuralforest.network.importance import feature_importances
from neuralforest.network.layers import Layers
from neuralforest.network.layout import LayerParameters, ParameterLayout
from neuralforest.network.linear import LinearModel
from neuralforest.network.softening import FAR, Softening
from neuralforest.network.stacking import BaseModel, StackedModel
from neuralforest.network.structure import Connectivity
from neuralforest.network.subnetworks import Training

__all__ = [
    "FAR",
    "BaseModel",
    "Connectivity",
    "ForestNetwork",
    "LayerParameters",
    "Layers",
    "LinearModel",
    "ParameterLayout",
    "Softening",
    "StackedModel",
    "Training",
    "feature_importances",
]
