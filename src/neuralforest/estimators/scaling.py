"""Units of training: the spread of features and targets, so that one contrast and one learning rate suit all."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuralforest._statistics import ROUNDING, center_and_spread, value_ranges
from neuralforest.estimators.relevance import relevance
from neuralforest.exceptions import InvalidParameterError
from neuralforest.network import FAR, ForestNetwork
from neuralforest.training import TrainingData

_SMALLEST, _LARGEST = 1e-100, 1e100  # ranges of a target whose squares can be told from 0 and infinity
_ENOUGH_ROWS = 200_000  # to measure the spread of features in the nodes of a tree
_MOST = 1e15  # of a target in the units of training, whose squares are taken in float32


def measured_units(
    network: ForestNetwork,
    data: TrainingData,
    weight: NDArray[np.float64],
    rows: NDArray[np.int64],
    standardize: bool,  # take the spread of features and target as units, instead of the raw ones
    by_node: bool,  # scale each split by the spread of its feature in its node; see `node_split_scale`
    full: bool,  # connectivity
) -> dict[str, NDArray[np.float64]]:
    """Return the units for `ForestNetwork.soften`, measured on the training rows.

    A standardised network with full connectivity, of a mean of trees for regression, scales features by their
    relevance, which is measured on validation rows.
    """
    rows = rows[weight[rows] > 0]
    X, y, weight = data.X[rows], data.y[rows], weight[rows]
    center, spread = center_and_spread(X, weight)
    ranges = value_ranges(X, np.full(X.shape[1], np.nan))
    columns, share = network.columns, np.zeros(network.columns.n_columns)
    if columns.is_category.any():
        share = np.where(columns.is_category, np.nan_to_num(columns.expand(X)), 0.0).mean(axis=0, dtype=np.float64)
    measured = Measurements(center, spread, *ranges, *center_and_spread(y, weight), share)
    relevances = np.ones(X.shape[1])
    if uses_relevance(network, standardize, full):
        relevances = relevance(network, data, measured.output_center, measured.output_scale)
    elif network.classes is None and not standardize:
        check_scaled_target(data.y)
    split_scale = np.ones(network.ensemble.n_splits)
    if by_node:
        split_scale = node_split_scale(network, X, **measured.of_features(standardize))
    return units_of(network, measured, relevances, split_scale, standardize)


class Measurements(NamedTuple):
    """What is measured of the training rows of positive weight."""

    center: NDArray[np.float64]  # (features,)
    spread: NDArray[np.float64]  # (features,)
    low: NDArray[np.floating]  # (features,): the smallest value; NaN where there is none
    high: NDArray[np.floating]  # (features,)
    output_center: NDArray[np.float64]  # (outputs,)
    output_scale: NDArray[np.float64]  # (outputs,)
    share: NDArray[np.float64]  # (columns,): share of the rows that have a category; 0 for numbers

    def of_features(self, standardize: bool) -> dict[str, NDArray[np.float64]]:
        """Return center and scale of the features, before their relevance."""
        if standardize:
            return {"center": self.center, "scale": self.spread}
        return {"center": np.zeros_like(self.center), "scale": np.ones_like(self.spread)}


def uses_relevance(network: ForestNetwork, standardize: bool, full: bool) -> bool:
    """Return whether features are scaled by their relevance."""
    return network.classes is None and standardize and full and network.ensemble.aggregation == "mean"


def units_of(
    network: ForestNetwork,
    measured: Measurements,
    relevances: NDArray[np.float64],  # (features,); 1 where they are not used
    split_scale: NDArray[np.float64],  # (splits,): see `node_split_scale`
    standardize: bool,
) -> dict[str, NDArray[np.float64]]:
    """Return the units for `ForestNetwork.soften`, given what was measured."""
    units = measured.of_features(standardize)
    units["scale"] = units["scale"] / relevances
    if network.classes is None and standardize:
        units |= {"output_center": measured.output_center, "output_scale": measured.output_scale}
    for name, end in (("low", measured.low), ("high", measured.high)):
        known = np.where(np.isnan(end), units["center"], end)
        units[name] = np.clip((known - units["center"]) / units["scale"], -FAR, FAR)
    units |= {"spread": measured.spread / units["scale"]}
    if network.columns.is_category.any():
        units |= _units_of_columns(network, measured.share, units, relevances)
        split_scale = np.where(network.ensemble.is_categorical, 1.0, split_scale)
    return units | {"split_scale": split_scale / relevances[network.ensemble.feature]}  # the same initial network


def _units_of_columns(
    network: ForestNetwork,
    share: NDArray[np.float64],
    units: dict[str, NDArray[np.float64]],
    relevances: NDArray[np.float64],
) -> dict[str, NDArray[np.float64]]:
    """Return units of the input columns, given those of the features: a category is 0 or 1, times its relevance."""
    columns = network.columns
    factor = relevances[columns.feature]
    of_categories = {
        "center": np.zeros(columns.n_columns),
        "scale": 1.0 / factor,
        "low": np.zeros(columns.n_columns),
        "high": factor,
        "spread": np.maximum(np.sqrt(np.maximum(share * (1.0 - share), 0.0)), 1e-3) * factor,
    }
    return {
        name: np.where(columns.is_category, of_categories[name], units[name][columns.feature]) for name in of_categories
    }


def node_split_scale(
    network: ForestNetwork, X: NDArray[np.floating], center: NDArray[np.float64], scale: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return 1 / spread of each split's feature among the rows that reach the split, in units of `scale`, (splits,).

    Deep in a tree, nodes are narrow: scaled by the spread of all rows, their soft splits would overlap. NaN is
    ignored; no spread is taken as less than a fiftieth.
    """
    e, X = network.ensemble, X[:: -(-len(X) // _ENOUGH_ROWS)]
    used = np.unique(e.feature)
    scaled = (X[:, used] - center[used]) / scale[used]
    known = np.isfinite(scaled)
    scaled[~known] = 0.0
    columns = known, scaled, scaled**2
    spread = np.empty(e.n_splits)
    leaves = network.apply_checked(X)
    for tree in range(e.n_trees):
        order = np.argsort(leaves[:, tree], kind="stable")
        splits = slice(e.first_split[tree], e.first_split[tree + 1])
        bounds = np.searchsorted(leaves[order, tree], np.stack([e.begin[splits], e.end[splits]]))
        feature = np.searchsorted(used, e.feature[splits])
        count, sum_, squares = (_sums(column[order], bounds, feature) for column in columns)
        count = np.maximum(count, 1)
        spread[splits] = np.sqrt(np.maximum(squares / count - (sum_ / count) ** 2, 0.0))
    return 1.0 / np.maximum(spread, 0.02)


def _sums(rows: NDArray[Any], bounds: NDArray[np.int64], column: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the sum of one column of rows[begin:end], for each pair of bounds, (2, pairs)."""
    sums = np.concatenate([np.zeros((1, rows.shape[1])), np.cumsum(rows, axis=0, dtype=np.float64)])
    return np.asarray(sums[bounds[1], column] - sums[bounds[0], column])


def check_target(y: NDArray[np.float64], check_range: bool) -> None:
    """Refuse a target (rows, outputs) whose squares a forest cannot handle: it would be silently wrong."""
    largest = np.abs(y).max(axis=0)
    spread = np.ptp(y / np.where(largest > 0, largest, 1.0), axis=0) * largest
    bad = (largest > _LARGEST) | (check_range & (spread > ROUNDING * largest) & (spread < _SMALLEST))
    for column in np.flatnonzero(bad):
        raise InvalidParameterError(
            f"y must have a range of at least {_SMALLEST:g} and no value beyond {_LARGEST:g}, because it is squared, "
            f"got a range of {spread[column]:.3g} and a largest value of {largest[column]:.3g}: multiply y by a "
            "constant, and the predictions by its inverse"
        )


def check_scaled_target(y: NDArray[np.float64]) -> None:
    """Refuse a target that, in the units of training, is too large for float32 to square."""
    largest = np.abs(y).max()
    if largest > _MOST:
        raise InvalidParameterError(
            f"y must lie within {_MOST:g} spreads of the y that the network was made for, or within {_MOST:g} of 0 "
            f"with standardize=False, got {largest:.3g}: standardize, or leave such rows out"
        )
