"""The weights that the trees give a soft network: the paper's construction, in the units of training."""

import numpy as np
from numpy.typing import NDArray

from neuralforest._kernels.network.arguments import Structure
from neuralforest.ensemble import TreeEnsemble
from neuralforest.network.columns import InputColumns
from neuralforest.network.layout import ParameterLayout
from neuralforest.network.structure import averages_probabilities, connection_signs, connection_units
from neuralforest.network.subnetworks import Subnetworks


def leaf_targets(
    ensemble: TreeEnsemble, center: NDArray[np.float64], scale: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the predictions of the leaves, (leaves, outputs), in the units that the network is trained in.

    Values are centred and scaled; values that are summed are scaled only. Probabilities become logarithms (softmax
    is the inverse), after adding one row that is spread evenly over the classes, so that none is 0.
    """
    value = ensemble.value
    if averages_probabilities(ensemble):
        rows = ensemble.weight[:, None]
        log = np.log((rows * value + 1.0 / ensemble.n_outputs) / (rows + 1.0))
        return log - log.mean(axis=1, keepdims=True)
    if ensemble.aggregation == "sum":
        return value / scale
    return (value - center) / scale


def initial_parameters(
    e: TreeEnsemble,
    structure: Structure,
    threshold: NDArray[np.float64],  # (splits,), in scaled units
    units: dict[str, NDArray[np.float64]],  # with output_center and output_scale
    factors: tuple[NDArray[np.float64], float],  # of the weights of the hidden layers: of each split, and of all leaves
) -> NDArray[np.float32]:
    """Return the weights that the trees give to every subnetwork, end to end."""
    leaf, base = _output_layer(e, structure, units["output_center"], units["output_scale"])
    (factor1, factor2), signs = factors, connection_signs(e)
    layout, subnetworks, columns = ParameterLayout(structure), Subnetworks(e, structure.first_tree), InputColumns(e)
    weight1 = columns.weight * np.repeat(factor1, np.diff(columns.first_weight))
    parameters = np.zeros(layout.size, np.float32)
    for number in range(len(subnetworks)):
        p, splits, leaves = layout.views(parameters, number), subnetworks.splits(number), subnetworks.leaves(number)
        connections = signs[e.first_connection[splits.start] : e.first_connection[splits.stop]] * factor2
        weights = weight1[columns.first_weight[splits.start] : columns.first_weight[splits.stop]]
        if structure.full:
            p.w1[columns.connections(splits)] = weights
            trees = subnetworks.trees(number)
            p.w2[connection_units(e, trees.start, trees.stop)] = connections
        else:
            p.w1[:] = weights
            p.w2[:] = connections
        p.b1[:] = -threshold[splits] * factor1[splits]
        p.b2[:] = (0.5 - e.depth[leaves]) * factor2
        p.w_out[:] = leaf[leaves] / 2
        p.b_out[0] = base
    return parameters


def _output_layer(
    e: TreeEnsemble, structure: Structure, center: NDArray[np.float64], scale: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the values of the leaves, (leaves, outputs), and the prediction where no leaf is active, (outputs,)."""
    leaf = leaf_targets(e, center, scale)
    if e.aggregation == "sum":
        return leaf, (e.base_score - center) / scale
    if not averages_probabilities(e):  # the trees of a subnetwork are summed
        n_trees = np.diff(structure.first_tree)
        leaf = leaf / np.repeat(n_trees, np.diff(e.first_leaf[structure.first_tree]))[:, None]
    return leaf, np.zeros(e.n_outputs)
