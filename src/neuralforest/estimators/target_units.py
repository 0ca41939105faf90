"""Targets that trees cannot square as they are, of a tiny range or far from 0: trees grow on the standardised target.

scikit-learn's trees take a variance below the machine epsilon as 0, and compute it as a difference of two means of
squares, which loses its digits far from 0. The trees of a standardised target are the same ones in other units, and the
values of their leaves are converted back.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import BaggingRegressor, ExtraTreesRegressor, RandomForestRegressor
from sklearn.tree import DecisionTreeRegressor, ExtraTreeRegressor

from neuralforest._statistics import ROUNDING, center_and_spread
from neuralforest.estimators.categorical_forest import CategoricalForest
from neuralforest.exceptions import InvalidParameterError

_SMALLEST = 1e-6  # range of a target that trees can grow on as it is
_FARTHEST = 1e5  # from 0, in ranges of the target
_TREES = DecisionTreeRegressor, ExtraTreeRegressor
_FORESTS = (*_TREES, RandomForestRegressor, ExtraTreesRegressor)
_IN_UNITS = "min_impurity_decrease", "ccp_alpha"  # parameters in units of the squared target

Units = tuple[NDArray[np.float64], NDArray[np.float64]]
"""Center and scale of each target, (outputs,)."""


def growing_units(forest: Any, target: NDArray[np.float64]) -> Units | None:
    """Return the units in which a forest is grown on a target (rows,) or (rows, outputs); None for those of the target.

    The default forest of several targets is grown on standardised ones, so that all of them count alike.
    """
    y = target.reshape(len(target), -1)
    largest = np.abs(y).max(axis=0)
    range_ = np.ptp(y / np.where(largest > 0, largest, 1.0), axis=0) * largest
    varies = range_ > ROUNDING * largest
    is_tiny, is_far = varies & (range_ < _SMALLEST), varies & (range_ * _FARTHEST < largest)
    several = isinstance(forest, CategoricalForest) and y.shape[1] > 1
    if not (several or is_tiny.any() or is_far.any()):
        return None
    if _can_be_rescaled(forest):
        return center_and_spread(y)
    for column in np.flatnonzero(is_tiny):
        raise InvalidParameterError(
            f"y must have a range of at least {_SMALLEST:g} for {type(forest).__name__}, because trees square it, got "
            f"a range of {range_[column]:.3g}: multiply y by a constant, and the predictions by its inverse"
        )
    return None


def _can_be_rescaled(forest: Any) -> bool:
    if isinstance(forest, CategoricalForest):
        return True
    is_known = type(forest) in _FORESTS
    if type(forest) is BaggingRegressor:
        is_known = forest.estimator is None or type(forest.estimator) in _TREES
    parameters = {name.rpartition("__")[2]: value for name, value in forest.get_params().items()}
    return is_known and parameters.get("criterion") != "poisson" and not any(parameters.get(name) for name in _IN_UNITS)


def scaled(target: NDArray[np.float64], units: Units) -> NDArray[np.float64]:
    """Return a target in the units that a forest is grown in."""
    center, scale = units
    return ((target.reshape(len(target), -1) - center) / scale).reshape(target.shape)


def restore_units(forest: Any, units: Units) -> None:
    """Convert the leaves of a forest that was grown in other units to those of the target."""
    center, scale = units
    if isinstance(forest, CategoricalForest):
        forest.ensemble_ = replace(forest.ensemble_, value=center + scale * forest.ensemble_.value)
        return
    for tree in getattr(forest, "estimators_", [forest]):
        tree.tree_.value[:] = center[:, None] + scale[:, None] * tree.tree_.value  # (nodes, outputs, 1)
