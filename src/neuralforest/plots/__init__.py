"""Visualization: Displays as in scikit-learn, with `from_estimator`, `plot(ax=)` and the data as attributes.

They need matplotlib, from the extra ``neuralforest[plots]``; it is imported when a figure is drawn.
"""

from neuralforest.plots.importance import ImportanceDisplay
from neuralforest.plots.network import NetworkDisplay
from neuralforest.plots.reliability import ReliabilityDisplay
from neuralforest.plots.surface import SurfaceDisplay
from neuralforest.plots.training import TrainingDisplay
from neuralforest.plots.tree import TreeDisplay

__all__ = [
    "ImportanceDisplay",
    "NetworkDisplay",
    "ReliabilityDisplay",
    "SurfaceDisplay",
    "TrainingDisplay",
    "TreeDisplay",
]
