"""Raw predictions of a network: hard subnetworks by traversal of their trees, soft ones by the kernels."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from neuralforest import _parallel
from neuralforest._kernels.network import evaluate
from neuralforest._kernels.simd import SIMD_WIDTH
from neuralforest._kernels.trees import bitvectors, traverse
from neuralforest.ensemble import TreeEnsemble, offsets, rounded_down
from neuralforest.network.structure import build_scratch

if TYPE_CHECKING:
    from neuralforest.network.forest_network import ForestNetwork

_PROBABILITIES = (1e-300, 1 - 1e-16)  # whose normal quantiles are finite
_WORTH_A_THREAD = 200_000  # pairs of row and tree below which a second thread costs more than it gains


def node_records(e: TreeEnsemble) -> tuple[NDArray[np.void], traverse.CategoryLists | None]:
    """Return the splits as the traversal takes them, and their categories, if any."""
    nodes = np.empty(e.n_splits, traverse.NODE)
    nodes["threshold"], nodes["middle"] = np.where(e.is_categorical, np.nan, e.threshold), e.middle
    nodes["feature"] = np.where(e.missing_left, e.feature, ~e.feature)
    if not len(e.category_left):
        return nodes, None
    return nodes, traverse.CategoryLists(e.first_category.copy(), e.category_left.copy())


def small_trees(e: TreeEnsemble) -> bitvectors.BitTrees | bitvectors.SymmetricTrees | None:
    """Return the splits as the evaluation of small trees takes them; None where a tree is large or has categories."""
    n_leaves = np.diff(e.first_leaf)
    if len(e.category_left) or not e.n_splits:
        return None
    columns, place = np.unique(2 * e.feature.astype(np.int64) + e.missing_left, return_inverse=True)
    tile = {"feature": (columns // 2).astype(np.int32), "missing_left": columns % 2 == 1}
    column, threshold = place.astype(np.int32), rounded_down(e.threshold, e.compare_dtype)
    levels = _symmetric_levels(e, column)
    if levels is not None:
        first, split = levels
        return bitvectors.SymmetricTrees(first, column[split], threshold[split], **tile)
    if n_leaves.max() > bitvectors.MOST_LEAVES:
        return None
    dtype = np.uint32 if n_leaves.max() <= 32 else np.uint64
    width = (e.middle - e.begin).astype(np.uint64)  # of the left child
    left = ((np.uint64(1) << width) - np.uint64(1)) << e.begin.astype(np.uint64)
    return bitvectors.BitTrees(column, threshold, (~left).astype(dtype), **tile)


def _symmetric_levels(e: TreeEnsemble, column: NDArray[np.int32]) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
    """Return the first level of each tree and a split of each level, if all splits of every level are the same."""
    depth = np.log2(np.diff(e.first_leaf)).astype(np.int64)
    if (2**depth != np.diff(e.first_leaf)).any():
        return None
    level = depth[e.tree_of_split] - np.log2(e.end - e.begin).astype(np.int64)
    if (2 ** (depth[e.tree_of_split] - level) != e.end - e.begin).any():
        return None
    first = offsets(depth)
    place = first[e.tree_of_split] + level
    split = np.zeros(first[-1], np.int64)
    split[place] = np.arange(e.n_splits)
    same = (column == column[split[place]]) & (e.threshold == e.threshold[split[place]])
    return (first, split) if same.all() else None


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
    small = network.small_trees if len(X) >= bitvectors.BLOCK else None
    if isinstance(small, bitvectors.SymmetricTrees):
        bitvectors.add_symmetric_values(small, e.first_leaf, e.value, trees, X, out)
    elif small is not None:
        bitvectors.add_leaf_values(small, e.first_split, e.first_leaf, e.value, trees, X, out)
    else:
        traverse.add_leaf_values(*network.nodes, e.first_split, e.first_leaf, e.value, trees, X, out)
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
