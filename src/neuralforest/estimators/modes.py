"""What "auto" means for training and connectivity, by how the trees of a source are combined."""

from typing import cast

from neuralforest.ensemble import TreeEnsemble
from neuralforest.network.structure import Connectivity
from neuralforest.network.subnetworks import Training

MOST_FEATURES = 1_000
"""Features that each split of a network may be connected with, and that trees may choose from without a screening."""


def training_of(training: str, ensemble: TreeEnsemble) -> Training:
    """Return how a network is trained: "auto" is jointly where trees are summed, else independently."""
    if training != "auto":
        return cast(Training, training)
    return "joint" if ensemble.aggregation == "sum" else "independent"


def connectivity_of(connectivity: str, ensemble: TreeEnsemble) -> Connectivity:
    """Return the connectivity of a network: "auto" is sparse where trees are summed or features are many, else full."""
    if connectivity != "auto":
        return cast(Connectivity, connectivity)
    return "sparse" if ensemble.aggregation == "sum" or ensemble.n_features > MOST_FEATURES else "full"
