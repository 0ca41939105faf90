"""The network of any tree model predicts exactly as the model, by traversal and by its own formula."""

import pickle
import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.base import is_classifier
from sklearn.ensemble import (
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from threadpoolctl import threadpool_limits

import neuralforest as nf
import twins
from neuralforest.exceptions import UnsupportedModelError

BAGS = [BaggingRegressor, BaggingClassifier]
BOOSTED = [GradientBoostingRegressor, GradientBoostingClassifier]
HISTOGRAM = [HistGradientBoostingRegressor, HistGradientBoostingClassifier]
FAMILIES = [
    DecisionTreeRegressor,
    DecisionTreeClassifier,
    RandomForestRegressor,
    RandomForestClassifier,
    ExtraTreesRegressor,
    ExtraTreesClassifier,
    *BAGS,
    *BOOSTED,
    *HISTOGRAM,
]
MODELS_A_FAMILY = 18
every_family = pytest.mark.parametrize("family", FAMILIES)


@pytest.fixture(autouse=True)
def one_thread():
    with threadpool_limits(1, user_api="openmp"):  # threads that wait for each other cost more than these tiny fits
        yield


@st.composite
def fits(draw, family):
    """A fitted model of the family, and rows of its training data."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1), label="seed"))
    n_rows, n_features = draw(st.integers(15, 60), label="rows"), draw(st.integers(1, 4), label="features")
    X = rng.normal(size=(n_rows, n_features))
    X = {"normal": X, "grid": X.round(), "tiny": X * 1e-6, "huge": X * 1e20}[
        draw(st.sampled_from(["normal", "grid", "tiny", "huge"]), label="values")
    ]
    if family not in BOOSTED:  # which refuse missing values
        X[rng.random(X.shape) < draw(st.sampled_from([0, 0.1, 0.5]), label="share of NaN")] = np.nan
        X[0] = np.nan_to_num(X[0])
    if is_classifier(family()):
        n_classes = draw(st.integers(2, 4), label="classes")
        y = np.array(["ant", "bee", "cat", "dog"])[
            np.append(np.arange(4), rng.integers(4, size=n_rows))[:n_rows] % n_classes
        ]
    else:
        n_outputs = 1 if family in BOOSTED + HISTOGRAM else draw(st.integers(1, 3), label="outputs")
        y = rng.normal(size=(n_rows, n_outputs) if n_outputs > 1 else n_rows)
    return family(**draw_parameters(draw, family)).fit(X, y), X


def draw_parameters(draw, family):
    seed, size = draw(st.integers(0, 99), label="random_state"), draw(st.integers(1, 5), label="trees")
    depth = draw(st.sampled_from([1, 2, 4, 8]), label="depth")
    if family in BAGS:
        base = DecisionTreeClassifier if is_classifier(family()) else DecisionTreeRegressor
        share = draw(st.sampled_from([0.4, 1.0]), label="share of features")
        return {"estimator": base(max_depth=depth), "n_estimators": size, "max_features": share, "random_state": seed}
    if family in HISTOGRAM:
        return {"max_depth": depth, "max_iter": size, "min_samples_leaf": 2, "random_state": seed}
    shape = {"max_depth": depth if family in BOOSTED else draw(st.sampled_from([None, depth])), "random_state": seed}
    return shape if "DecisionTree" in family.__name__ else shape | {"n_estimators": size}


def hard_rows(ensemble, X, missing):
    """Rows where going wrong is easy: on thresholds, one step beside them in either dtype, missing, and far away."""
    rng = np.random.default_rng(0)
    exact = np.append(ensemble.threshold[np.isfinite(ensemble.threshold)], 0.0)
    single = exact.astype(np.float32)
    beside = [np.nextafter(near, near.dtype.type(away)) for near in (exact, single) for away in (-np.inf, np.inf)]
    special = np.concatenate([exact, single, *beside, [-1e30, 1e30], [np.nan] if missing else []])
    rows = np.concatenate([X, np.repeat(X[:8], 5, axis=0)])
    mask = rng.random(rows.shape) < 0.7
    mask[: len(X)] = False
    rows[mask] = rng.choice(special, size=mask.sum())
    return rows


def source_leaves(model, X):
    """The source's own leaf of every row in every tree, as a rank from left to right, (rows, trees)."""
    if hasattr(model, "_predictors"):
        return np.transpose([histogram_leaves(tree.nodes, X) for trees in model._predictors for tree in trees])
    if not hasattr(model, "estimators_"):
        pairs = [(model, model.apply(X))]
    elif hasattr(model, "estimators_features_"):
        members = zip(model.estimators_, model.estimators_features_, strict=True)
        pairs = [(tree, tree.apply(X[:, chosen])) for tree, chosen in members]
    else:
        trees = np.ravel(model.estimators_)
        pairs = list(zip(trees, model.apply(X).reshape(len(X), len(trees)).T, strict=True))
    ranks = []
    for tree, reached in pairs:
        order = twins.leaf_nodes(tree.tree_.children_left, tree.tree_.children_right)
        ranks.append([order.tolist().index(node) for node in reached])
    return np.transpose(ranks)


def histogram_leaves(nodes, X):
    """HistGradientBoosting has no `apply`: walk its own nodes."""
    right = np.where(nodes["is_leaf"], -1, nodes["right"].astype(int))
    order = twins.leaf_nodes(np.where(nodes["is_leaf"], -1, nodes["left"].astype(int)), right).tolist()
    ranks = []
    for row in X:
        at = 0
        while not nodes["is_leaf"][at]:
            x = row[nodes["feature_idx"][at]]
            left = nodes["missing_go_to_left"][at] if np.isnan(x) else x <= nodes["num_threshold"][at]
            at = int(nodes["left" if left else "right"][at])
        ranks.append(order.index(at))
    return ranks


def formula(network, tree, X):
    """Evaluate the two layers of sign units and the output of one tree, straight from the matrices of the paper."""
    ensemble, layers = network.ensemble, network.layers(tree)
    X = X.astype(ensemble.compare_dtype).astype(np.float64)
    argument = (layers.W1 @ X.T).T + layers.b1  # (rows, splits)
    u = np.where(argument > 0, 1, -1)  # a tie goes left
    splits = slice(ensemble.first_split[tree], ensemble.first_split[tree + 1])
    missing = np.isnan(X[:, ensemble.feature[splits]])
    u = np.where(missing, np.where(ensemble.missing_left[splits], -1, 1), u)
    v = np.where((layers.W2 @ u.T).T + layers.b2 >= 0, 1, -1)  # (rows, leaves)
    return v, v @ layers.W_out.T + layers.b_out


def assert_formula_agrees(network, X):
    leaves = network.apply(X)
    for tree in range(network.ensemble.n_trees):
        v, output = formula(network, tree, X)
        np.testing.assert_array_equal((v == 1).sum(axis=1), 1)
        np.testing.assert_array_equal(v.argmax(axis=1), leaves[:, tree])
        own = network.ensemble.value[network.ensemble.first_leaf[tree] :][: v.shape[1]]
        np.testing.assert_allclose(output, own[leaves[:, tree]], rtol=1e-12, atol=1e-13 * np.abs(own).sum())


def test_at_least_two_hundred_models_are_drawn():
    assert MODELS_A_FAMILY * len(FAMILIES) >= 200


@every_family
def test_networks_equal_their_source_on_hard_rows(family):
    drawn = []

    @settings(max_examples=MODELS_A_FAMILY, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
    @given(fits(family))
    def check(fit):
        model, X = fit
        drawn.append(model)
        network = nf.convert(model)
        rows = hard_rows(network.ensemble, X, missing=family not in BOOSTED and bool(np.isnan(X).any()))
        if is_classifier(model):
            np.testing.assert_allclose(network.predict_proba(rows), model.predict_proba(rows), rtol=1e-12, atol=1e-15)
            np.testing.assert_array_equal(network.predict(rows), model.predict(rows))
        else:
            scale = np.abs(network.ensemble.value).max()
            np.testing.assert_allclose(network.predict(rows), model.predict(rows), rtol=1e-12, atol=1e-13 * scale)
        np.testing.assert_array_equal(network.apply(rows), source_leaves(model, rows))
        assert_formula_agrees(network, rows)

    check()
    assert len(drawn) >= MODELS_A_FAMILY


@pytest.mark.parametrize("family", [family for family in FAMILIES if family not in BOOSTED])
def test_missing_values_in_columns_that_had_none_go_where_the_source_sends_them(family):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    X[rng.random(40) < 0.3, 0] = np.nan
    model = family().fit(X, X[:, 1] > 0)
    network = nf.convert(model)
    rows = np.where(rng.random((60, 3)) < 0.4, np.nan, rng.normal(size=(60, 3)))
    np.testing.assert_array_equal(network.apply(rows), source_leaves(model, rows))


@pytest.mark.parametrize("family", [DecisionTreeRegressor, HistGradientBoostingRegressor])
def test_missing_against_the_rest_is_a_unit_with_an_infinite_offset(family):
    X = np.where(np.arange(40) % 2, np.nan, np.arange(40.0))[:, None]
    model = family(max_depth=1, **({"max_iter": 1, "min_samples_leaf": 1} if family in HISTOGRAM else {}))
    network = nf.convert(model.fit(X, (np.arange(40) % 2) * 10.0))
    assert network.layers().b1.tolist() == [-np.inf]
    rows = np.array([[np.nan], [-1e30], [0.0], [1e30]])
    assert_formula_agrees(network, rows)
    np.testing.assert_allclose(network.predict(rows), model.predict(rows), rtol=1e-12)


@every_family
def test_a_model_that_never_splits_becomes_a_constant_network(family):
    model = family().fit(np.zeros((20, 2)), np.arange(20) % 2)
    network = nf.convert(model)
    rows = np.array([[0.0, 1.0], [5.0, -3.0]])
    assert network.ensemble.n_splits == 0
    assert_formula_agrees(network, rows)
    np.testing.assert_array_equal(network.predict(rows), model.predict(rows))


@every_family
def test_converting_leaves_the_model_as_it_was(family):
    rng = np.random.default_rng(0)
    model = family().fit(rng.normal(size=(30, 2)), np.arange(30) % 2)
    before = pickle.dumps(model)
    nf.convert(model)
    assert pickle.dumps(model) == before


def test_an_ensemble_is_taken_as_it_is():
    ensemble = nf.convert(DecisionTreeRegressor().fit([[0.0], [1.0]], [1.0, 2.0])).ensemble
    assert nf.convert(ensemble).ensemble is ensemble


def test_a_network_that_differs_from_its_source_is_refused(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 2))
    model = RandomForestRegressor(3, random_state=0).fit(X, X[:, 0])
    ensemble = nf.convert(model).ensemble
    module = sys.modules["neuralforest.convert"]  # the package's attribute of that name is the function
    monkeypatch.setattr(module, "read_ensemble", lambda _: replace(ensemble, value=ensemble.value + 1))
    with pytest.raises(UnsupportedModelError, match=r"^RandomForestRegressor was read, but .* differently, by 1;"):
        nf.convert(model)
