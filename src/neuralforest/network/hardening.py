"""From a soft network back to trees: thresholds from the first layer, leaf values from the output layer."""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import scipy.special
from numpy.typing import NDArray

from neuralforest.ensemble import TreeEnsemble
from neuralforest.exceptions import InvalidParameterError
from neuralforest.network.structure import averages_probabilities

if TYPE_CHECKING:
    from neuralforest.network.forest_network import ForestNetwork

_ROUNDING = 1e-6  # of weights in float32, and of their quotient


def hardened(network: "ForestNetwork") -> TreeEnsemble:
    """Return the trees of a network: thresholds from the weights of layer 1, leaf values from the output layer.

    The weights between splits and leaves (layer 2) become those of trees again, and every unit a step, so that the
    trees predict what the network does only where its units are close to -1 or 1, and layer 2 is as the trees gave it.
    Subnetworks that are evaluated as trees stay as they are. The temperature of a classifier is left out, because trees
    have none. Needs sparse connectivity.

    Examples
    --------
    >>> import neuralforest as nf
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.ensemble import RandomForestRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> network = nf.convert(RandomForestRegressor(10, max_depth=4, random_state=0).fit(X, y))
    >>> trees = network.soften(contrast=(100, 1), scale=X.std(axis=0)).harden()
    >>> bool(abs(nf.convert(trees).predict(X) - network.predict(X)).max() < 1e-3)
    True
    """
    if network.base_models:
        raise InvalidParameterError(
            "a stack is more than trees, and this network is stacked with "
            f"{', '.join(each.name for each in network.base_models)}: call with_base_models() first, or fit with "
            "stacking=None"
        )
    if network.soft is None or network.hard.all():
        return network.ensemble
    if network.soft.connectivity != "sparse":
        raise InvalidParameterError(
            "harden needs connectivity='sparse': with full connectivity a split depends on all features, which no "
            "tree can express"
        )
    value, base_score = _leaf_values(network)
    return replace(network.ensemble, threshold=trained_thresholds(network), value=value, base_score=base_score)


def trained_thresholds(network: "ForestNetwork") -> NDArray[np.float64]:
    """Return where the split units of a sparse network are 0, (splits,), within the range of the training rows.

    Thresholds of categorical splits, of subnetworks that are evaluated as trees, of units that training has turned
    around (their weight is not positive), and those that moved by no more than the rounding of the weights, are those
    of the ensemble.
    """
    e, soft = network.ensemble, network.soft
    assert soft is not None
    threshold = e.threshold.copy()
    for subnetwork in np.flatnonzero(~network.hard).tolist():
        layer, splits = network.layout.views(soft.parameters, subnetwork), network.subnetworks.splits(subnetwork)
        column, own = network.structure.column[splits], np.arange(splits.start, splits.stop)
        first = network.columns.first_weight[own] - network.columns.first_weight[splits.start]
        weight, bias = layer.w1[first].astype(np.float64), layer.b1.astype(np.float64)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            zero = np.clip(-bias / weight, soft.low[column], soft.high[column])
            moved = zero * soft.scale[column] + soft.center[column]
            before = (threshold[own] - soft.center[column]) / soft.scale[column]
            same = np.abs(zero - before) <= _ROUNDING * (1 + np.abs(zero))
        kept = ~((weight > 0) & np.isfinite(moved)) | same | e.is_categorical[own] | np.isinf(threshold[own])
        threshold[own] = np.where(kept, threshold[own], moved)
    return threshold


def _leaf_values(network: "ForestNetwork") -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return what the output layer predicts where one leaf of each tree is active, (leaves, outputs), and the base."""
    e, soft = network.ensemble, network.soft
    assert soft is not None
    value, base = e.value.copy(), np.zeros((len(network.hard), e.n_outputs))
    for subnetwork in range(len(network.hard)):
        trees = network.subnetworks.trees(subnetwork)
        if network.hard[subnetwork]:
            base[subnetwork] = e.base_score
            continue
        layer = network.layout.views(soft.parameters.astype(np.float64), subnetwork)
        leaves = network.subnetworks.leaves(subnetwork)
        tree = np.repeat(np.arange(len(trees)), np.diff(e.first_leaf[trees.start : trees.stop + 1]))
        output = 2 * layer.w_out
        if averages_probabilities(e):
            value[leaves] = scipy.special.softmax(output + layer.b_out[tree], axis=1)
        elif e.aggregation == "mean":
            value[leaves] = soft.output_center + soft.output_scale * len(trees) * (output + layer.b_out[tree])
        else:
            value[leaves] = soft.output_scale * output
            base[subnetwork] = soft.output_center + soft.output_scale * layer.b_out.sum(axis=0)
    if e.aggregation == "mean":
        return value, e.base_score
    mean = base.mean(axis=0)  # of the groups, whose predictions are averaged
    for group, tree in enumerate(e.groups[:-1]):
        value[e.first_leaf[tree] : e.first_leaf[tree + 1]] += base[group] - mean
    return value, mean
