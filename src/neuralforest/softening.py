"""Softening: what a network with tanh in place of steps has beyond its trees, and what it starts with."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuralforest._kernels.arguments import SOFTMAX, Structure
from neuralforest.ensemble import TreeEnsemble
from neuralforest.exceptions import InvalidParameterError
from neuralforest.structure import Connectivity, Training, build_structure, initial_parameters, leaf_targets

FAR = 1e30
"""Scaled inputs beyond it are taken as it: sums of larger ones overflow in float32."""


@dataclass(frozen=True, eq=False)
class Softening:
    """What a soft network has beyond its trees.

    Parameters
    ----------
    contrast : pair of floats
        Slopes of the two layers' activations, tanh(contrast * argument).
    center, scale : float64 arrays (features,)
        Layer 1 sees (x - center) / scale, or the nearer of low and high where that is outside of them.
    low, high : float64 arrays (features,)
        In these units. Trees do not extrapolate, and between them a network does not either.
    spread : float64 array (features,)
        How much features vary in these units; who compares weights of different features needs it.
    output_center, output_scale : float64 arrays (outputs,)
        A prediction is output_center + output_scale * (what the network says).
    training : "independent" or "joint"
        Whether a block, with parameters of its own, is one tree or all of them.
    connectivity : "sparse" or "full"
    parameters : float32 array
        Blocks end to end, each [w1 | b1 | w2 | b2 | w_out | b_out]; see `_kernels.arguments`.
    hard : bool array (blocks,)
        Blocks that are evaluated as the trees they came from.
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
    folded: bool,
    sharpness: ArrayLike,
) -> Softening:
    """Return trees with tanh in place of the steps of their splits and leaves; see `ForestNetwork.soften`."""
    contrast = _check_contrast(contrast)
    _check_mode(e, training, connectivity)
    inputs = (("center", center), ("scale", scale), ("low", low), ("high", high), ("spread", spread))
    outputs = (("output_center", output_center), ("output_scale", output_scale))
    units = {name: _per_column(name, value, e.n_features) for name, value in inputs}
    units |= {name: _per_column(name, value, e.n_outputs) for name, value in outputs}
    for name, value in (("scale", scale), ("spread", spread), ("output_scale", output_scale)):
        if not (units[name] > 0).all():
            raise InvalidParameterError(f"{name} must be positive, got {value!r}")
    kept, fold = ((1.0, 1.0), contrast) if folded else (contrast, (1.0, 1.0))
    sharp = _per_column("sharpness", sharpness, e.n_splits, "splits") * fold[0]
    if not (sharp > 0).all():
        raise InvalidParameterError(f"sharpness must be positive, got {sharpness!r}")
    structure = build_structure(e, training, connectivity, kept)
    parameters = _start(e, structure, units, (sharp, fold[1]))
    hard = np.zeros(len(structure.block_tree) - 1, np.bool_)
    return Softening(
        contrast=kept, **units, training=training, connectivity=connectivity, parameters=parameters, hard=hard
    )


def _start(
    e: TreeEnsemble,
    structure: Structure,
    units: dict[str, NDArray[np.float64]],
    factors: tuple[NDArray[np.float64], float],
) -> NDArray[np.float32]:
    """Return the weights that the trees give, those of splits and of leaves multiplied by factors."""
    leaf = leaf_targets(e, units["output_center"], units["output_scale"])
    if e.aggregation == "mean" and len(structure.block_tree) == 2 and structure.head != SOFTMAX:
        leaf = leaf / e.n_trees  # one block holds all trees
    base = np.zeros(e.n_outputs)
    if e.aggregation == "sum":
        base = (e.base_score - units["output_center"]) / units["output_scale"]
    largest = float(np.finfo(np.float32).max) / np.maximum(factors[0], 1.0)
    threshold = (e.threshold - units["center"][e.feature]) / units["scale"][e.feature]
    return initial_parameters(e, structure, np.clip(threshold, -largest, largest), leaf, base, factors)


def _check_mode(e: TreeEnsemble, training: str, connectivity: str) -> None:
    if training not in ("independent", "joint") or connectivity not in ("sparse", "full"):
        raise InvalidParameterError(
            "training must be 'independent' or 'joint' and connectivity 'sparse' or 'full', "
            f"got {training!r} and {connectivity!r}"
        )
    if e.aggregation == "sum" and training == "independent" and e.n_trees > 1:
        raise InvalidParameterError(
            "training must be 'joint' for trees that are added up (boosting), because no tree predicts the target "
            "by itself; got 'independent'"
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
