"""Feature importances of a network: the variation of the output that each split unit causes."""

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from neuralforest.ensemble import TreeEnsemble

if TYPE_CHECKING:
    from neuralforest.network.forest_network import ForestNetwork


def feature_importances(network: "ForestNetwork") -> NDArray[np.float64]:
    """Return the importance of each feature, (features,), summing to 1.

    A split's importance is the squared difference between the values of the leaves on its two sides, averaged over the
    training rows that reached it. It is attributed to the split's own feature, or with full connectivity to all
    features in proportion to the absolute weights of the unit, each times the spread of its feature. Trees of a forest
    count equally, boosted trees by what they add, base models by their stacking weights, and a linear function by its
    squared coefficients. For the hard network of a regression or Gini forest this is the forest's own mean decrease in
    impurity.

    Examples
    --------
    >>> import numpy as np
    >>> import neuralforest as nf
    >>> from neuralforest.network import feature_importances
    >>> from sklearn.ensemble import RandomForestRegressor
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> forest = RandomForestRegressor(10, random_state=0).fit(X, X[:, 0])
    >>> bool(np.allclose(feature_importances(nf.convert(forest)), forest.feature_importances_))
    True
    """
    total = network.network_weight * network.importances()
    for each in network.base_models:
        total += each.weight * each.model.importances()
    return total / total.sum() if total.sum() > 0 else total


def own_importances(network: "ForestNetwork") -> NDArray[np.float64]:
    """Return the importances in the network alone, without base models."""
    e = network.ensemble
    total = np.zeros(e.n_features)
    for subnetwork in range(network.n_subnetworks):
        value, attribution = subnetwork_values(network, subnetwork), _attribution(network, subnetwork)
        for tree in network.subnetworks.trees(subnetwork):
            place = network.subnetworks.place_of(tree)
            decrease = split_gains(e, tree, value[place.leaves]) @ attribution[place.splits]
            if e.aggregation == "mean" and decrease.sum() > 0:
                decrease = decrease / decrease.sum()  # trees of a mean count equally, trees of a sum by what they add
            total += decrease
    return total / total.sum() if total.sum() > 0 else total


def subnetwork_values(network: "ForestNetwork", subnetwork: int) -> NDArray[np.float64]:
    """Return the output where one leaf alone is active, (leaves, outputs); probabilities after a softmax."""
    if network.hard[subnetwork]:
        return network.ensemble.value[network.subnetworks.leaves(subnetwork)]
    values = 2 * network.layers(subnetwork).W_out.T
    if not network.softmax_head:
        return np.asarray(values)
    exponentials = np.exp(values - values.max(axis=1, keepdims=True))
    return np.asarray(exponentials / exponentials.sum(axis=1, keepdims=True))


def split_gains(
    e: TreeEnsemble, tree: int, value: NDArray[np.float64], target: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Return what each split of a tree explains of a target, (splits,): the covariance of its step with the target.

    For the values of the leaves themselves, (leaves, outputs), this is the sum of squares between its two sides. A
    target is the sum, less its mean, over some other rows in each leaf, (leaves, outputs): then it is less, and
    negative where both disagree. The training rows of the leaves determine the mean of a split's two sides.
    """
    splits, leaves = slice(*e.first_split[tree : tree + 2]), slice(*e.first_leaf[tree : tree + 2])
    begin, middle, end, weight = e.begin[splits], e.middle[splits], e.end[splits], e.weight[leaves]
    own = weight[:, None] * (value - value.mean(axis=0))
    summed = weight[:, None], own, own if target is None else target
    weights, sums, targets = (np.cumsum(np.vstack([np.zeros_like(each[:1]), each]), axis=0) for each in summed)
    left, right = weights[middle] - weights[begin], weights[end] - weights[middle]
    with np.errstate(invalid="ignore", divide="ignore"):  # leaves that no training row reached
        step = (sums[middle] - sums[begin]) / left - (sums[end] - sums[middle]) / right
        along = (targets[middle] - targets[begin]) * right - (targets[end] - targets[middle]) * left
        gains = (step * along / (left + right)).sum(axis=1)
    return np.where(np.isfinite(gains), gains, 0.0)


def _attribution(network: "ForestNetwork", subnetwork: int) -> Any:
    """Return how the splits of a subnetwork are attributed to features, (splits, features), each row summing to 1."""
    if network.hard[subnetwork] or network.soft is None or network.soft.connectivity == "sparse":
        features = network.ensemble.feature[network.subnetworks.splits(subnetwork)]
        ones, splits = np.ones(len(features)), np.arange(len(features))
        return scipy.sparse.csr_array((ones, (splits, features)), (len(features), network.n_features))
    first = network.columns.first[:-1]  # those of a feature are added up
    absolute = np.add.reduceat(abs(network.layers(subnetwork).W1.toarray()) * network.soft.spread, first, axis=1)
    return np.asarray(absolute / np.maximum(absolute.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny))
