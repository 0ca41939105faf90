"""Exported trees predict what the model does: the same bits in scikit-learn, within rounding in ONNX and treelite."""

import pickle

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

import neuralforest as nf
from neuralforest.exceptions import NotFittedError, UnsupportedModelError
from neuralforest.export.sklearn import to_sklearn

FOREST, BOOSTING = {"max_leaf_nodes": 12, "random_state": 0}, {"n_estimators": 8, "max_depth": 2, "random_state": 0}
CASES = {
    "forest": (load_diabetes, RandomForestRegressor(12, **FOREST)),
    "forest, 2 classes": (load_breast_cancer, RandomForestClassifier(12, **FOREST)),
    "forest, 3 classes": (load_iris, RandomForestClassifier(12, **FOREST)),
    "boosting": (load_diabetes, GradientBoostingRegressor(**BOOSTING)),
    "boosting, 2 classes": (load_breast_cancer, GradientBoostingClassifier(**BOOSTING)),
    "boosting, 3 classes": (load_iris, GradientBoostingClassifier(**BOOSTING)),
}


@pytest.fixture(scope="module", params=CASES)
def case(request):
    load, source = CASES[request.param]
    X, y = load(return_X_y=True)
    kind = nf.NeuralForestRegressor if load is load_diabetes else nf.NeuralForestClassifier
    return kind(source, tune="leaves", random_state=0).fit(X, y), X


def predicted(model, X):
    return model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)[:, None]


def test_scikit_learn_predicts_the_same_bits(case):
    model, X = case
    exported = to_sklearn(model)
    assert np.array_equal(exported.predict(X), model.predict(X))
    if model.network_.n_outputs == 3 and model.network_.link == "softmax":
        assert np.array_equal(exported.decision_function(X), model.network_.output(X))
        np.testing.assert_allclose(predicted(exported, X), predicted(model, X), rtol=1e-13)
    else:
        assert np.array_equal(predicted(exported, X), predicted(model, X))
    again = pickle.loads(pickle.dumps(exported))
    assert np.array_equal(again.predict(X), exported.predict(X))


def test_an_exported_model_is_read_again(case):
    model, X = case
    np.testing.assert_allclose(nf.convert(to_sklearn(model)).output(X), model.network_.output(X), rtol=1e-12)


def test_onnxruntime_predicts_within_one_millionth(case):
    onnxruntime = pytest.importorskip("onnxruntime")
    from neuralforest.export.onnx import to_onnx

    model, X = case
    graph = to_onnx(model)
    assert any(node.op_type.startswith("TreeEnsemble") for node in graph.graph.node)
    session = onnxruntime.InferenceSession(graph.SerializeToString())
    output = session.run(None, {"X": X.astype(np.float32)})[-1]
    expected = predicted(model, X.astype(np.float32))
    assert np.abs(output - expected).max() < 1e-6 * max(1.0, np.abs(expected).max())


def test_treelite_predicts_the_same(case):
    treelite = pytest.importorskip("treelite")
    from neuralforest.export.treelite import to_treelite

    model, X = case
    output = treelite.gtil.predict(to_treelite(model), X.astype(np.float32).astype(np.float64))
    expected = predicted(model, X)
    if model.network_.link == "logit":
        expected = expected[:, 1:]
    np.testing.assert_allclose(output.reshape(len(X), -1), expected, rtol=1e-6, atol=1e-9)


def test_treelite_takes_categories_missing_values_and_several_targets():
    treelite = pytest.importorskip("treelite")
    from neuralforest.export.treelite import to_treelite

    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 6, 300), rng.normal(size=300)]).astype(float)
    X[::7, 1] = np.nan
    y = (X[:, 0] % 2) * 3 + np.nan_to_num(X[:, 1], nan=2.0)
    hist = HistGradientBoostingRegressor(max_iter=10, categorical_features=[0], random_state=0).fit(X, y)
    network = nf.convert(hist)
    np.testing.assert_allclose(treelite.gtil.predict(to_treelite(network), X).ravel(), network.predict(X), rtol=1e-9)
    Y = np.column_stack([y, -2 * y])
    network = nf.convert(RandomForestRegressor(5, random_state=0).fit(X, Y))
    X = X.astype(np.float32).astype(np.float64)
    np.testing.assert_allclose(treelite.gtil.predict(to_treelite(network), X)[:, :, 0], network.predict(X), rtol=1e-9)


def test_missing_values_several_targets_and_names_reach_scikit_learn():
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    table = pandas.DataFrame(rng.normal(size=(200, 3)), columns=["a", "b", "c"])
    table.iloc[::5, 0] = np.nan
    Y = np.column_stack([table["b"], table["a"].isna() + table["c"]])
    model = nf.NeuralForestRegressor(RandomForestRegressor(8, **FOREST), tune="leaves", random_state=0).fit(table, Y)
    exported = to_sklearn(model)
    assert exported.feature_names_in_.tolist() == ["a", "b", "c"]
    assert np.array_equal(exported.predict(table), model.predict(table))


def test_trees_of_one_leaf_are_exported():
    X, y = np.zeros((20, 2)), np.arange(20.0)
    network = nf.convert(RandomForestRegressor(3, random_state=0).fit(X, y))
    assert np.array_equal(to_sklearn(network).predict(X), network.predict(X))


def test_the_tree_explainer_of_shap_takes_tuned_trees():
    shap = pytest.importorskip("shap")
    X, y = load_diabetes(return_X_y=True)
    forest = RandomForestRegressor(10, max_leaf_nodes=16, max_features=3, random_state=0)
    model = nf.NeuralForestRegressor(forest, tune="leaves", random_state=0).fit(X, y)
    explainer = shap.TreeExplainer(to_sklearn(model))
    values = explainer.shap_values(X[:20])
    np.testing.assert_allclose(values.sum(axis=1) + explainer.expected_value, model.predict(X[:20]), rtol=1e-6)


def test_what_is_more_than_trees_is_refused():
    X, y = load_diabetes(return_X_y=True)
    forest = RandomForestRegressor(5, **FOREST).fit(X, y)
    for model, match in (
        (nf.convert(forest).soften((3, 1)), "has soft subnetworks"),
        (nf.convert(HistGradientBoostingRegressor(max_iter=3).fit(X, y)), "compare X in float64"),
        (forest, "neuralforest.convert"),
    ):
        with pytest.raises(UnsupportedModelError, match=match):
            to_sklearn(model)
    with pytest.raises(NotFittedError, match="call fit"):
        to_sklearn(nf.NeuralForestRegressor(tune="leaves"))
