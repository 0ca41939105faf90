"""Raw predictions of a network: hard subnetworks by traversal of their trees, soft ones by the kernels."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from neuralforest import _parallel
from neuralforest._kernels.network import evaluate
from neuralforest._kernels.simd import SIMD_WIDTH
from neuralforest._kernels.trees import traverse
from neuralforest.ensemble import TreeEnsemble
from neuralforest.network.structure import build_scratch

if TYPE_CHECKING:
    from neuralforest.network.forest_network import ForestNetwork

_PROBABILITIES = (1e-300, 1 - 1e-16)  # whose normal quantiles are finite
_WORTH_A_THREAD = 200_000  # pairs of row and tree below which a second thread costs more than it gains


def node_records(e: TreeEnsemble) -> NDArray[np.void]:
    """Return the splits as the traversal takes them."""
    nodes = np.empty(e.n_splits, traverse.NODE)
    nodes["threshold"], nodes["middle"] = np.where(e.is_categorical, np.nan, e.threshold), e.middle
    nodes["feature"] = np.where(e.missing_left, e.feature, ~e.feature)
    return nodes


def category_lists(e: TreeEnsemble) -> traverse.CategoryLists | None:
    """Return the categories of the splits as the traversal takes them."""
    return traverse.CategoryLists(e.first_category.copy(), e.category_left.copy()) if len(e.category_left) else None


def raw_predictions(
    network: "ForestNetwork", X: NDArray[np.floating], subnetworks: NDArray[np.int64], n_jobs: int | None = 1
) -> NDArray[np.float64]:
    """Return the raw predictions of some subnetworks together, without base models; X as the trees compare it.

    Groups are averaged: their raw predictions, or for a probit their probabilities.
    """
    first_tree = network.subnetworks.first_tree[subnetworks]
    group = np.searchsorted(network.ensemble.groups, first_tree, side="right")
    if network.link == "probit" and len(np.unique(group)) > 1:
        parts = [raw_predictions(network, X, subnetworks[group == each], n_jobs) for each in np.unique(group)]
        return np.asarray(ndtri(np.clip(np.mean([ndtr(part) for part in parts], axis=0), *_PROBABILITIES)))
    out = np.zeros((len(X), network.n_outputs))
    threads = min(_parallel.effective_n_jobs(n_jobs), 1 + len(X) * network.ensemble.n_trees // _WORTH_A_THREAD)
    with _parallel.team(threads) as run:
        run(
            lambda part: _add(network, X[slice(*part)], subnetworks, out[slice(*part)]),
            _parallel.ranges(len(X), threads, SIMD_WIDTH),
        )
    return _finish(network, out, subnetworks)


def _add(
    network: "ForestNetwork", X: NDArray[np.floating], subnetworks: NDArray[np.int64], out: NDArray[np.float64]
) -> None:
    """Add the outputs of the trees of the given subnetworks to `out`, each tree of a mean with weight 1."""
    e, soft, n_trees = network.ensemble, network.soft, network.subnetworks.n_trees[:, None]
    hard = network.hard[subnetworks]
    trees = np.flatnonzero(np.isin(network.subnetworks.of_tree, subnetworks[hard]))
    traverse.add_leaf_values(network.nodes, network.category_lists, e.first_split, e.first_leaf, e.value, trees, X, out)
    if soft is not None and not hard.all():
        weight = n_trees if e.aggregation == "mean" else np.ones_like(n_trees)
        what = network.structure, network.kernel_parameters, subnetworks[~hard], network.scaled(X)
        units, buffers = (soft.output_center * weight, soft.output_scale * weight), build_scratch(network.structure)
        evaluate.add_predictions(*what, *units, *buffers, np.zeros(3, np.int64), out)


def _finish(network: "ForestNetwork", out: NDArray[np.float64], subnetworks: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return sums over the trees of subnetworks as raw predictions."""
    e, n_soft = network.ensemble, np.count_nonzero(~network.hard[subnetworks])
    trees = np.isin(network.subnetworks.of_tree, subnetworks)
    if e.aggregation == "mean":
        out /= trees.sum()
    else:
        n_groups = len(np.unique(np.searchsorted(e.groups, np.flatnonzero(trees), side="right")))
        if n_groups > n_soft:  # soft subnetworks, of a group each, carry the base score themselves
            out += (n_groups - n_soft) * e.base_score
        if n_groups > 1:
            out /= n_groups
    if n_soft and network.softmax_head:
        out /= out.sum(axis=1, keepdims=True)  # probabilities of the kernels sum to 1 up to float32's rounding
    return out
