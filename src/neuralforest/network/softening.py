"""Softening: what a soft network, with tanh in place of steps, has beyond its trees, and its initial state."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuralforest.ensemble import TreeEnsemble
from neuralforest.exceptions import InvalidParameterError
from neuralforest.network.columns import InputColumns
from neuralforest.network.initial_weights import initial_parameters
from neuralforest.network.structure import Connectivity, build_structure
from neuralforest.network.subnetworks import Training, partition

_OF_CATEGORIES = {"center": 0.0, "scale": 1.0, "low": 0.0, "high": 1.0, "spread": 0.5}  # units of the inputs
FAR = 1e30
"""Scaled inputs are clipped to this range: sums of larger ones overflow in float32."""
_NUMBERS_OF_BLOCK = 65_536  # of inputs that are scaled together, in the cache


@dataclass(frozen=True, eq=False)
class Softening:
    """What a soft network has beyond its trees.

    The input of layer 1 is (x - center) / scale, clipped to [low, high]: like trees, the network does not extrapolate.
    A prediction is output_center + output_scale * (output of the network).
    """

    contrast: tuple[float, float]  # slopes of the activations of the two hidden layers, tanh(contrast * argument)
    center: NDArray[np.float64]  # (columns,)
    scale: NDArray[np.float64]  # (columns,)
    low: NDArray[np.float64]  # (columns,), in scaled units
    high: NDArray[np.float64]  # (columns,), in scaled units
    spread: NDArray[np.float64]  # (columns,): standard deviation in scaled units, to compare weights of features
    output_center: NDArray[np.float64]  # (outputs,)
    output_scale: NDArray[np.float64]  # (outputs,)
    training: Training
    connectivity: Connectivity
    first_tree: NDArray[np.int64]  # (subnetworks + 1,): the first tree of each subnetwork
    parameters: NDArray[np.float32]  # see `layout`
    hard: NDArray[np.bool_]  # (subnetworks,): those that are evaluated as the trees they came from

    def __post_init__(self) -> None:
        if not (self.low <= self.high).all():
            feature = int(np.flatnonzero(~(self.low <= self.high))[0])
            raise InvalidParameterError(
                f"low must not be above high, got {self.low[feature]} and {self.high[feature]} for feature {feature}"
            )


def softened(
    e: TreeEnsemble,
    contrast: tuple[float, float],
    units: dict[str, ArrayLike],
    training: Training,
    connectivity: Connectivity,
    first_tree: ArrayLike | None,
    fold_contrast: bool,
) -> Softening:
    """Return trees with tanh in place of the steps of their splits and leaves; see `ForestNetwork.soften`."""
    contrast = _check_contrast(contrast)
    _check_mode(e, training, connectivity)
    arrays = {name: _check_unit(name, value, e) for name, value in units.items()}
    kept, fold = ((1.0, 1.0), contrast) if fold_contrast else (contrast, (1.0, 1.0))
    factor = arrays.pop("split_scale") * fold[0]
    structure = build_structure(e, partition(e, training, first_tree), connectivity, kept)
    largest = float(np.finfo(np.float32).max) / np.maximum(factor, 1.0)
    column = structure.column
    threshold = (e.threshold - arrays["center"][column]) / arrays["scale"][column]
    threshold = np.where(e.is_categorical, 0.0, np.clip(threshold, -largest, largest))
    return Softening(
        contrast=kept,
        **arrays,
        training=training,
        connectivity=connectivity,
        first_tree=structure.first_tree,
        parameters=initial_parameters(e, structure, threshold, arrays, (factor, fold[1])),
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


def _check_unit(name: str, value: ArrayLike, e: TreeEnsemble) -> NDArray[np.float64]:
    """Return a number for every input column, every output, or every split.

    Given for features, units are those of numbers: the columns of categories are 0 or 1, whatever the feature's unit.
    """
    columns, of_inputs = InputColumns(e), name in _OF_CATEGORIES
    n = columns.n_columns if of_inputs else e.n_outputs if name.startswith("output") else e.n_splits
    array = np.asarray(value, dtype=np.float64)
    if of_inputs and array.shape in ((), (e.n_features,)) and columns.is_category.any():
        of_features = np.broadcast_to(array, e.n_features)[columns.feature]
        array = np.where(columns.is_category, _OF_CATEGORIES[name], of_features)
    if array.shape not in ((), (n,)) or not np.isfinite(array).all():
        what = "splits" if name == "split_scale" else "columns"
        raise InvalidParameterError(f"{name} must be one finite number, or one for each of {n} {what}, got {value!r}")
    if name.endswith(("scale", "spread")) and not (array > 0).all():
        raise InvalidParameterError(f"{name} must be positive, got {value!r}")
    return np.broadcast_to(array, (n,)).copy()


def scaled_inputs(soft: Softening, columns: NDArray[np.floating]) -> NDArray[np.float32]:
    """Return input columns, (rows, columns), as the first layer takes them: scaled, and clipped to a range."""
    result = np.empty(columns.shape, np.float32)
    step = max(1, _NUMBERS_OF_BLOCK // max(1, columns.shape[1]))
    with np.errstate(over="ignore"):
        for start in range(0, len(columns), step):
            scaled = columns[start : start + step] - soft.center
            scaled /= soft.scale
            np.clip(scaled, soft.low, soft.high, out=result[start : start + step], casting="same_kind")
    return result
