"""The losses by name. A new loss is an entry here and a branch in `_kernels/network/losses.py`."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neuralforest._kernels.network import losses as kernels
from neuralforest.ensemble import TreeEnsemble
from neuralforest.exceptions import InvalidParameterError


@dataclass(frozen=True)
class Loss:
    """A loss of predictions, in the units that the network is trained in."""

    name: str
    code: int
    parameter: float | None = None  # None for the squared error

    def mean(self, prediction: NDArray[np.float64], target: NDArray[np.float64], weight: NDArray[np.floating]) -> float:
        """Return the weighted mean loss of predictions (rows, outputs); infinite where it is not a number."""
        if not len(weight):
            return np.inf
        if self.parameter is None:
            counts = weight > 0
            value = np.average(np.mean((prediction - target)[counts] ** 2, axis=1), weights=weight[counts])
        else:
            rows, targets = (np.ascontiguousarray(array.T, dtype=np.float64) for array in (prediction, target))
            weight = np.ascontiguousarray(weight, np.float64)  # for other layouts, the kernel would be compiled anew
            value = kernels.mean_loss(self.code, self.parameter, rows, targets, weight)
        return float(value) if np.isfinite(value) else np.inf


_REGRESSION = {"squared_error": kernels.SQUARED_ERROR, "huber": kernels.HUBER, "quantile": kernels.QUANTILE}
_CLASSIFICATION = {"identity": kernels.LOG_PROBABILITY, "logit": kernels.LOG_LOGISTIC, "softmax": kernels.LOG_SOFTMAX}

LOG_LOSS = Loss("log_loss", _CLASSIFICATION["identity"], 0.0)
"""The log loss of probabilities."""


def resolve_loss(name: str, parameter: float | None, ensemble: TreeEnsemble) -> Loss:
    """Return the loss with this name for the outputs of an ensemble.

    Parameters
    ----------
    name : "auto", "squared_error", "huber", "quantile" or "log_loss"
        "auto" is "squared_error" for regression and "log_loss" for classification.
    parameter : float, optional
        Where the Huber loss becomes linear, in units of the target's spread (default 1.35); which quantile, between 0
        and 1, without a default.
    """
    if name == "auto":
        name = "squared_error" if ensemble.classes is None else "log_loss"
    if ensemble.classes is not None:
        if name != "log_loss" or ensemble.link not in _CLASSIFICATION:
            raise InvalidParameterError(
                f"loss must be 'log_loss' for a classifier with an identity, logit or softmax link, got {name!r} for a "
                f"{ensemble.link} link"
            )
        return Loss(name, _CLASSIFICATION[ensemble.link], 0.0)
    if name not in _REGRESSION:
        raise InvalidParameterError(f"loss must be one of {sorted(_REGRESSION)} for a regressor, got {name!r}")
    if ensemble.link != "identity":
        raise InvalidParameterError(
            f"training needs trees that predict the target itself, and these predict its {ensemble.link}: refit the "
            "source with a squared error"
        )
    if name == "squared_error":
        return Loss(name, _REGRESSION[name])
    if parameter is None and name == "huber":
        parameter = 1.35
    if parameter is None or not 0 < parameter < (1 if name == "quantile" else np.inf):
        raise InvalidParameterError(
            f"loss_parameter must be positive for 'huber', in (0, 1) for 'quantile', got {parameter}"
        )
    return Loss(name, _REGRESSION[name], float(parameter))
