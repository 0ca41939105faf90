"""Softening: what a soft network, with tanh in place of steps, has beyond its trees, and its initial state."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuralforest.ensemble import TreeEnsemble
from neuralforest.exceptions import InvalidParameterError
from neuralforest.network.initial_weights import initial_parameters
from neuralforest.network.structure import Connectivity, build_structure
from neuralforest.network.subnetworks import Training, partition

FAR = 1e30
"""Scaled inputs are clipped to this range: sums of larger ones overflow in float32."""


@dataclass(frozen=True, eq=False)
class Softening:
    """What a soft network has beyond its trees.

    Parameters
    ----------
    contrast : pair of floats
        Slopes of the activations of the two hidden layers, tanh(contrast * argument).
    center, scale : float64 arrays (features,)
        The input of layer 1 is (x - center) / scale, clipped to [low, high].
    low, high : float64 arrays (features,)
        In scaled units: like trees, the network does not extrapolate.
    spread : float64 array (features,)
        Standard deviation of the features in scaled units, to compare weights of different features.
    output_center, output_scale : float64 arrays (outputs,)
        A prediction is output_center + output_scale * (output of the network).
    training : "independent" or "joint"
    connectivity : "sparse" or "full"
    first_tree : int64 array (subnetworks + 1,)
        The first tree of each subnetwork, which has parameters of its own.
    parameters : float32 array
        See `layout`.
    hard : bool array (subnetworks,)
        Subnetworks that are evaluated as the trees they came from.
    """

    contrast: tuple[float, float]
    center: NDArray[np.float64]
    scale: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    spread: NDArray[np.float64]
    output_center: NDArray[np.float64]
    output_scale: NDArray[np.float64]
    training: Training
    connectivity: Connectivity
    first_tree: NDArray[np.int64]
    parameters: NDArray[np.float32]
    hard: NDArray[np.bool_]

    def __post_init__(self) -> None:
        if not (self.low <= self.high).all():
            feature = int(np.flatnonzero(~(self.low <= self.high))[0])
            raise InvalidParameterError(
                f"low must not be above high, got {self.low[feature]} and {self.high[feature]} for feature {feature}"
            )


def softened(
    e: TreeEnsemble,
    contrast: tuple[float, float],
    *,
    center: ArrayLike,
    scale: ArrayLike,
    low: ArrayLike,
    high: ArrayLike,
    spread: ArrayLike,
    output_center: ArrayLike,
    output_scale: ArrayLike,
    training: Training,
    connectivity: Connectivity,
    first_tree: ArrayLike | None,
    fold_contrast: bool,
    split_scale: ArrayLike,
) -> Softening:
    """Return trees with tanh in place of the steps of their splits and leaves; see `ForestNetwork.soften`."""
    contrast = _check_contrast(contrast)
    _check_mode(e, training, connectivity)
    inputs = (("center", center), ("scale", scale), ("low", low), ("high", high), ("spread", spread))
    outputs = (("output_center", output_center), ("output_scale", output_scale))
    units = {name: _per_column(name, value, e.n_features) for name, value in inputs}
    units |= {name: _per_column(name, value, e.n_outputs) for name, value in outputs}
    for name in ("scale", "spread", "output_scale"):
        if not (units[name] > 0).all():
            raise InvalidParameterError(f"{name} must be positive, got {units[name]}")
    kept, fold = ((1.0, 1.0), contrast) if fold_contrast else (contrast, (1.0, 1.0))
    factor = _per_column("split_scale", split_scale, e.n_splits, "splits") * fold[0]
    if not (factor > 0).all():
        raise InvalidParameterError(f"split_scale must be positive, got {split_scale!r}")
    structure = build_structure(e, partition(e, training, first_tree), connectivity, kept)
    largest = float(np.finfo(np.float32).max) / np.maximum(factor, 1.0)
    threshold = (e.threshold - units["center"][e.feature]) / units["scale"][e.feature]
    return Softening(
        contrast=kept,
        **units,
        training=training,
        connectivity=connectivity,
        first_tree=structure.first_tree,
        parameters=initial_parameters(e, structure, np.clip(threshold, -largest, largest), units, (factor, fold[1])),
        hard=np.zeros(len(structure.first_tree) - 1, np.bool_),
    )


def _check_mode(e: TreeEnsemble, training: str, connectivity: str) -> None:
    if training not in ("independent", "joint") or connectivity not in ("sparse", "full"):
        raise InvalidParameterError(
            "training must be 'independent' or 'joint' and connectivity 'sparse' or 'full', "
            f"got {training!r} and {connectivity!r}"
        )
    if e.aggregation == "sum" and training == "independent" and e.n_trees > 1:
        raise InvalidParameterError(
            "training must be 'joint' for trees that are summed (boosting), because no tree predicts the target by "
            "itself; got 'independent'"
        )


def _check_contrast(contrast: Any) -> tuple[float, float]:
    pair = np.asarray(contrast, dtype=np.float64)
    if pair.shape != (2,) or not np.isfinite(pair).all() or (pair <= 0).any():
        raise InvalidParameterError(f"contrast must be two positive numbers, for splits and leaves, got {contrast}")
    return float(pair[0]), float(pair[1])


def _per_column(name: str, value: ArrayLike, n: int, what: str = "columns") -> NDArray[np.float64]:
    array = np.asarray(value, dtype=np.float64)
    if array.shape not in ((), (n,)) or not np.isfinite(array).all():
        raise InvalidParameterError(f"{name} must be one finite number, or one for each of {n} {what}, got {value!r}")
    return np.broadcast_to(array, (n,)).copy()
