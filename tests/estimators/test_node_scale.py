"""Split scales: contrasts in units of the spread in a split's own node."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestRegressor

import neuralforest as nf
from neuralforest.estimators.scaling import center_and_spread, node_split_scale
from neuralforest.exceptions import InvalidParameterError


def twin(forest, X, center, scale):
    """Pass the rows down scikit-learn's own trees, and take the spread in each node; splits in depth-first order."""
    found = []
    for estimator in forest.estimators_:
        tree = estimator.tree_

        def walk(node, rows, tree=tree):
            if tree.children_left[node] < 0:
                return
            column = ((rows - center) / scale)[:, tree.feature[node]]
            present = column[~np.isnan(column)]
            found.append(1 / max(present.std() if len(present) else 0.0, 0.02))
            left = rows[:, tree.feature[node]] <= tree.threshold[node]
            left |= np.isnan(rows[:, tree.feature[node]]) & bool(tree.missing_go_to_left[node])
            walk(tree.children_left[node], rows[left])
            walk(tree.children_right[node], rows[~left])

        walk(0, X)
    return np.array(found)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10_000), missing=st.booleans(), size=st.sampled_from([1e-3, 1.0, 1e6]))
def test_the_split_scale_is_one_over_the_spread_in_the_node(seed, missing, size):
    rng = np.random.default_rng(seed)
    X = (rng.exponential(size=(80, 3)) * size).astype(np.float32).astype(float)
    if missing:
        X[rng.random(X.shape) < 0.1] = np.nan
    y = np.nansum(X / size, axis=1) + rng.normal(size=80)
    forest = RandomForestRegressor(3, max_leaf_nodes=int(rng.integers(2, 30)), random_state=seed).fit(X, y)
    network = nf.convert(forest)
    center, scale = center_and_spread(X)
    found = node_split_scale(network, network.check_X(X), center, scale)
    order = np.lexsort((-network.ensemble.end, network.ensemble.begin, network.ensemble.tree_of_split))
    np.testing.assert_allclose(found[order], twin(forest, X, center, scale), rtol=1e-4)


def test_a_split_that_no_row_reaches_has_the_largest_scale():
    X = np.arange(20.0)[:, None]
    network = nf.convert(RandomForestRegressor(1, bootstrap=False).fit(X, X[:, 0]))
    assert node_split_scale(network, network.check_X(X[:2]), np.zeros(1), np.ones(1)).max() == 50.0


@pytest.mark.parametrize("connectivity", ["sparse", "full"])
def test_the_split_scale_multiplies_the_weights_of_each_split(connectivity):
    X = np.random.default_rng(0).normal(size=(50, 2))
    network = nf.convert(RandomForestRegressor(2, max_leaf_nodes=6, random_state=0).fit(X, X[:, 0]))
    plain, steep = (network.soften((3, 1), connectivity=connectivity, split_scale=s) for s in (1.0, 7.0))
    contrasted = network.soften((21, 1), connectivity=connectivity)
    assert abs(plain.predict(X) - steep.predict(X)).max() > 1e-3
    np.testing.assert_allclose(steep.predict(X), contrasted.predict(X), rtol=1e-4)


@pytest.mark.parametrize("split_scale", [0.0, -1.0, np.nan, [1.0, 2.0]])
def test_split_scales_are_one_positive_number_or_one_per_split(split_scale):
    X = np.random.default_rng(0).normal(size=(50, 2))
    network = nf.convert(RandomForestRegressor(2, max_leaf_nodes=6, random_state=0).fit(X, X[:, 0]))
    with pytest.raises(InvalidParameterError, match="split_scale must be"):
        network.soften((3, 1), split_scale=split_scale)


def test_the_unit_is_a_choice():
    X = np.random.default_rng(0).exponential(size=(120, 3))
    y = np.sin(9 * X[:, 0])
    models = [
        nf.NeuralForestRegressor(
            RandomForestRegressor(4, max_leaf_nodes=9), max_epochs=2, random_state=0, contrast_unit=unit
        ).fit(X, y)
        for unit in ("node", "feature")
    ]
    starts = [model.network_.soft.parameters for model in models]
    assert not np.array_equal(*starts)
    with pytest.raises(InvalidParameterError, match="contrast_unit must be 'node' or 'feature', got 'leaf'"):
        nf.NeuralForestRegressor(contrast_unit="leaf").fit(X, y)
