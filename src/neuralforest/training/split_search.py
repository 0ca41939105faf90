"""Thresholds of hard trees that lower the loss of the whole ensemble, given the values of its leaves.

Each split is optimised in turn while everything else stays: of the rows that reach it, each would add a known amount to
the loss on either side, so that one pass over the sorted values finds the best threshold. Together with refitted leaf
values this is alternating optimisation of trees (Carreira-Perpinan and Tavallali, 2018) without new features.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from neuralforest._kernels.trees.move_splits import Cuts, Quadratic, Trees, move_splits
from neuralforest._kernels.trees.traverse import CategoryLists
from neuralforest.ensemble import TreeEnsemble
from neuralforest.network import ForestNetwork
from neuralforest.training.leaf_values import LeafRows, loss_bound, output_of_tree

_MOST_CUTS = 1023  # of a feature
_FEWEST_ROWS = 5  # on either side of a threshold that is moved


def with_moved_thresholds(e: TreeEnsemble, rows: LeafRows) -> TreeEnsemble:
    """Return trees whose thresholds were moved, each once, to where the loss of the rows is lowest.

    Thresholds lie between values of the rows. Splits by category stay as they are, and so does every value.

    Examples
    --------
    >>> import numpy as np
    >>> from neuralforest.ensemble import TreeEnsemble
    >>> from neuralforest.training.leaf_values import LeafRows
    >>> from neuralforest.training.split_search import with_moved_thresholds
    >>> stump = TreeEnsemble(
    ...     feature=[0], threshold=[2.5], missing_left=[True], middle=[1], value=[[0.0], [1.0]], weight=[1, 1],
    ...     first_split=[0, 1], first_leaf=[0, 2], n_features=1,
    ... )
    >>> X = np.arange(20, dtype=np.float32)[:, None]
    >>> with_moved_thresholds(stump, LeafRows(X, (X > 11.0).astype(float), np.ones(20))).threshold
    array([11.5])
    """
    cuts = _cuts(rows.X)
    if not len(cuts.threshold):
        return e
    network = ForestNetwork(e)
    leaf = np.ascontiguousarray(network.apply_checked(rows.X).T)
    loss = Quadratic(*loss_bound(e, network.stacked_output(rows.X), rows))
    trees = Trees(
        *(e.feature, e.missing_left, e.begin, e.middle, e.end, e.first_split, e.first_leaf),
        CategoryLists(e.first_category, e.category_left),
    )
    threshold, value = e.threshold.copy(), e.value / (e.n_trees if e.aggregation == "mean" else e.n_groups)
    move_splits(rows.X, trees, cuts, value, output_of_tree(e), _FEWEST_ROWS, loss, leaf, threshold)
    return replace(e, threshold=threshold)


def _cuts(X: NDArray[np.floating]) -> Cuts:
    """Return the middles between neighbouring values of each feature, or evenly many of them."""
    cuts, codes = [], np.zeros(X.shape, np.int16)
    for feature, column in enumerate(X.T.astype(np.float64)):
        values = np.unique(column[np.isfinite(column)])
        middles = values[:-1] + np.diff(values) / 2
        if len(middles) > _MOST_CUTS:
            middles = middles[np.linspace(0, len(middles) - 1, _MOST_CUTS).round().astype(np.int64)]
        cuts.append(middles)
        codes[:, feature] = np.searchsorted(middles, column)
    first = np.concatenate([[0], np.cumsum([len(each) for each in cuts])]).astype(np.int64)
    return Cuts(first, np.concatenate(cuts), codes)
