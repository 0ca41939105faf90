"""Feature importances of a network: how much of the output's variation each split unit makes."""

from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from neuralforest._kernels.arguments import SOFTMAX
from neuralforest.companion import Linear
from neuralforest.network import ForestNetwork


def feature_importances(network: ForestNetwork) -> NDArray[np.float64]:
    """Return the importance of each feature, (features,), summing to 1.

    A split's importance is the squared difference that it makes between what the leaves on its two sides say, in the
    mean over the training rows that reached it. It belongs to the split's own feature, or with full connectivity to all
    features in proportion to the absolute weights of the unit, each times the spread of its feature. Trees of a forest
    count alike, boosted trees by what they add, and companions by their shares, a linear function by its squared
    slopes. For the hard network of a regression or Gini forest this is the forest's own mean decrease in impurity; a
    trained network has other weights and other leaf values, and so other importances.

    Examples
    --------
    >>> import numpy as np
    >>> import neuralforest as nf
    >>> from neuralforest.importance import feature_importances
    >>> from sklearn.ensemble import RandomForestRegressor
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> forest = RandomForestRegressor(10, random_state=0).fit(X, X[:, 0])
    >>> bool(np.allclose(feature_importances(nf.convert(forest)), forest.feature_importances_))
    True
    """
    total = network.own_share * _own_importances(network)
    for other, share in network.beside:
        total += share * (_of_slopes(other) if isinstance(other, Linear) else _own_importances(other))
    return total / total.sum() if total.sum() > 0 else total


def _of_slopes(linear: Linear) -> NDArray[np.float64]:
    """Return the share of each feature in what a linear function varies, were the features independent."""
    variance = (linear.slope**2).sum(axis=1)
    return np.asarray(variance / variance.sum() if variance.sum() > 0 else variance)


def _own_importances(network: ForestNetwork) -> NDArray[np.float64]:
    e = network.ensemble
    total = np.zeros(e.n_features)
    for block in range(network.n_blocks):
        value, belongs = block_values(network, block), _shares(network, block)
        first, last = (block, block + 1) if network.n_blocks == e.n_trees else (0, e.n_trees)
        for tree in range(first, last):
            splits = slice(e.first_split[tree], e.first_split[tree + 1])
            leaves = slice(e.first_leaf[tree], e.first_leaf[tree + 1])
            own = slice(leaves.start - e.first_leaf[first], leaves.stop - e.first_leaf[first])
            gains = split_gains(value[own], e.weight[leaves], e.begin[splits], e.middle[splits], e.end[splits])
            decrease = gains @ belongs[splits.start - e.first_split[first] : splits.stop - e.first_split[first]]
            if e.aggregation == "mean" and decrease.sum() > 0:
                decrease = decrease / decrease.sum()  # trees of a mean count alike, trees of a sum by what they add
            total += decrease
    return total / total.sum() if total.sum() > 0 else total


def block_values(network: ForestNetwork, block: int) -> NDArray[np.float64]:
    """Return what each leaf of a block says when it alone fires, (leaves, outputs); probabilities after a softmax."""
    e = network.ensemble
    if network.hard[block]:
        first, last = (block, block + 1) if network.n_blocks == e.n_trees else (0, e.n_trees)
        return e.value[e.first_leaf[first] : e.first_leaf[last]]
    values = 2 * network.layers(block).W_out.T
    if network.structure.head != SOFTMAX:
        return np.asarray(values)
    exponentials = np.exp(values - values.max(axis=1, keepdims=True))
    return np.asarray(exponentials / exponentials.sum(axis=1, keepdims=True))


def split_gains(
    value: NDArray[np.float64],
    weight: NDArray[np.float64],
    begin: NDArray[np.int32],
    middle: NDArray[np.int32],
    end: NDArray[np.int32],
    target: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Return what each split of a tree explains of a target, (splits,): how far its step goes along with the target.

    Of the values of the leaves themselves, these are the squares between its two sides; of a target on other rows,
    less, and below 0 where they say the opposite.

    Parameters
    ----------
    value : (leaves, outputs)
    weight : (leaves,)
        Of the rows that the tree was grown on; they say how far the two sides of a split are from its mean.
    begin, middle, end : (splits,)
        Runs of leaves.
    target : (leaves, outputs), optional
        The sum of a target, less its mean, over some rows in each leaf; that of the leaves' values when not given.
    """
    own = weight[:, None] * (value - value.mean(axis=0))
    summed = weight[:, None], own, own if target is None else target
    weights, sums, targets = (np.cumsum(np.vstack([np.zeros_like(each[:1]), each]), axis=0) for each in summed)
    left, right = weights[middle] - weights[begin], weights[end] - weights[middle]
    with np.errstate(invalid="ignore", divide="ignore"):  # leaves that no training row reached
        step = (sums[middle] - sums[begin]) / left - (sums[end] - sums[middle]) / right
        along = (targets[middle] - targets[begin]) * right - (targets[end] - targets[middle]) * left
        gains = (step * along / (left + right)).sum(axis=1)
    return np.where(np.isfinite(gains), gains, 0.0)


def _shares(network: ForestNetwork, block: int) -> Any:
    """Return how a block's splits belong to the features, (splits, features), each row summing to 1."""
    e = network.ensemble
    if network.hard[block] or network.soft is None or network.soft.connectivity == "sparse":
        first, last = (block, block + 1) if network.n_blocks == e.n_trees else (0, e.n_trees)
        features = e.feature[e.first_split[first] : e.first_split[last]]
        splits = np.arange(len(features))
        return scipy.sparse.csr_array((np.ones(len(features)), (splits, features)), (len(features), e.n_features))
    absolute = abs(network.layers(block).W1.toarray()) * network.soft.spread
    return np.asarray(absolute / np.maximum(absolute.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny))
