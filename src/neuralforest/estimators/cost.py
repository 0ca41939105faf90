"""How long training takes, estimated before it begins: by weights, rows and epochs."""

import warnings

import numpy as np

from neuralforest import _parallel
from neuralforest.exceptions import CostWarning
from neuralforest.network import ForestNetwork
from neuralforest.training import Settings, TrainingData

_SECONDS = {"full": 1.5e-10, "sparse": 5e-10}  # of a weight, a row and an epoch, on one thread of a common processor
_SILENT = 60.0  # seconds that a fit may take without a word


def estimated_seconds(network: ForestNetwork, data: TrainingData, settings: Settings, n_jobs: int | None) -> float:
    """Return about how long the training of a soft network takes at most; it may end early."""
    rows = float(np.mean(data.fit.end - data.fit.begin))
    threads = min(_parallel.effective_n_jobs(n_jobs), network.n_subnetworks)
    assert network.soft is not None
    return _SECONDS[network.soft.connectivity] * network.n_parameters * rows * settings.max_epochs / threads


def describe(network: ForestNetwork, seconds: float) -> str:
    """Return what is trained, and about how long it takes."""
    return f"training {network.n_parameters:,} weights, about {seconds:.2g} s at most"


def warn_of_silence(network: ForestNetwork, seconds: float) -> None:
    """Warn where a fit without any output takes minutes."""
    if seconds > _SILENT:
        warnings.warn(
            f"{describe(network, seconds)}: pass callback=neuralforest.ProgressBar() to watch it; "
            "connectivity='sparse', fewer or smaller trees, or max_epochs make it shorter",
            CostWarning,
            stacklevel=6,
        )
