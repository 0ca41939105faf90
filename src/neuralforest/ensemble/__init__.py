"""TreeEnsemble: trees as flat arrays with their invariants. It depends on no tree library and no network."""

from neuralforest.ensemble._ensemble import TreeEnsemble, offsets
from neuralforest.ensemble._kinds import Aggregation, CompareDtype, Link
from neuralforest.ensemble._nodes import FlatTrees, TreeNodes
from neuralforest.ensemble._ordering import CategoryOrder, concatenated, widened
from neuralforest.ensemble._splits import rounded_down

__all__ = [
    "Aggregation",
    "CategoryOrder",
    "CompareDtype",
    "FlatTrees",
    "Link",
    "TreeEnsemble",
    "TreeNodes",
    "concatenated",
    "offsets",
    "rounded_down",
    "widened",
]
