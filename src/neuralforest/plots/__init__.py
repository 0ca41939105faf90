"""Pictures as Displays in the manner of scikit-learn: `from_estimator`, `plot(ax=)`, the data on attributes.

They need matplotlib, which the extra ``neuralforest[plots]`` installs; it is imported when something is drawn.
"""

from neuralforest.plots.importance import ImportanceDisplay
from neuralforest.plots.network import NetworkDisplay
from neuralforest.plots.surface import SurfaceDisplay
from neuralforest.plots.training import TrainingDisplay
from neuralforest.plots.tree import TreeDisplay

__all__ = ["ImportanceDisplay", "NetworkDisplay", "SurfaceDisplay", "TrainingDisplay", "TreeDisplay"]
