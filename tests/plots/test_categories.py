"""Plots and reports of models with splits on categories."""

from functools import cache

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor

import neuralforest as nf
from neuralforest.ensemble import TreeEnsemble
from neuralforest.plots import ImportanceDisplay, NetworkDisplay, SurfaceDisplay, TrainingDisplay, TreeDisplay
from neuralforest.plots._categories import CategoryNames
from neuralforest.plots._tree_layers import activations, tree_change
from neuralforest.report import write_report

pandas = pytest.importorskip("pandas")
KINDS = ["ash", "birch", "cedar", "elm", "fir", "<oak>"]


def stump(**attributes):
    """A tree whose root sends the categories 0 and 2 of feature 1 left, and whose next split compares feature 0."""
    return TreeEnsemble(
        feature=[1, 0],
        threshold=[0.0, 0.5],
        missing_left=[True, False],
        middle=[2, 1],
        value=[[1.0], [2.0], [5.0]],
        weight=[3, 4, 5],
        first_split=[0, 2],
        first_leaf=[0, 3],
        n_features=2,
        first_category=[0, 4, 4],
        category_left=[True, False, True, False],
        **attributes,
    )


@cache
def table():
    rng = np.random.default_rng(0)
    X = pandas.DataFrame({"size": rng.normal(size=300), "kind": rng.choice(KINDS, 300), "width": rng.normal(size=300)})
    X.loc[rng.random(300) < 0.1, "kind"] = None
    return X, X["size"] + 2 * X.kind.isin(["ash", "elm"]) + 0.1 * rng.normal(size=300)


@cache
def fitted(connectivity):
    X, y = table()
    settings = {"contrast": (3, 1), "max_epochs": 3, "random_state": 0}
    model = nf.NeuralForestRegressor(connectivity=connectivity, **settings).fit(X, y)
    network = model.network_
    model.network_ = network.with_parameters(network.soft.parameters, np.zeros(network.n_subnetworks, bool))
    return model


@pytest.mark.parametrize(
    ("categories", "expected"),
    [
        (None, "feature 1 in {0, 2}"),
        ((None, np.array(["ash", "birch", "cedar"])), "feature 1 in {ash, cedar}"),
    ],
)
def test_a_split_is_labelled_by_its_categories(categories, expected):
    network = nf.ForestNetwork(stump(categories=categories))
    display = TreeDisplay.from_estimator(network)
    assert display.texts[0] == expected
    assert display.texts[1] == "feature 0 ≤ 0.5"
    assert NetworkDisplay.from_estimator(network).labels[1] == [f"0: {expected}", "1: feature 0 ≤ 0.5"]
    soft = network.soften((3, 1))
    assert TreeDisplay.from_estimator(soft).texts[0] == expected
    assert NetworkDisplay.from_estimator(soft).labels[1][0] == f"0: {expected}"


def test_sets_of_categories_are_short():
    names = CategoryNames(None, nf.ForestNetwork(stump(categories=(None, np.array(list("abcdefgh"))))))
    assert names.of_set(1, np.array([True] * 8 + [False])) == "in {a, b, c, 5 more}"
    assert names.of_set(1, np.array([True, False] * 4 + [True])) == "not in {b, d, f, 1 more}"
    assert names.of_column(0, ["size", "kind"]) == "size"
    assert [names.of_column(column, ["size", "kind"]) for column in (1, 9)] == ["kind = a", "kind = other"]


def test_categories_that_training_moves_are_shown():
    network = nf.ForestNetwork(stump(categories=(None, np.array(["ash", "birch", "cedar"])))).soften((3, 1))
    parameters = network.soft.parameters.copy()
    network.layout.views(parameters, 0).w1[:3] = [-1, -1, 1]  # of the root
    network = network.with_parameters(parameters, network.hard)
    change = tree_change(network, 0)
    assert [left.tolist() for left in change.left_before] == [[True, False, True, False], []]
    assert change.left_after[0].tolist() == [True, True, False, False]
    assert (change.own_weight == 1).all()
    assert change.shift[0] == 0
    assert TreeDisplay.from_estimator(network).texts[0] == "feature 1 in {ash, cedar}\n→ in {ash, birch}"


@pytest.mark.parametrize("connectivity", ["sparse", "full"])
def test_activations_are_those_of_the_rows(connectivity):
    hard = nf.ForestNetwork(stump())
    soft = hard.soften((100, 50), connectivity=connectivity)
    for row in ([0.0, 1.0], [0.0, 2.0], [1.0, 0.0], [0.0, 9.0], [1.0, np.nan], [np.nan, 0.0]):
        expected = hard.apply([row])[0, 0]
        for network in (hard, soft):
            assert activations(network, 0, np.array(row, np.float32)).leaves.argmax() == expected


@pytest.mark.parametrize("connectivity", ["sparse", "full"])
def test_displays_of_an_estimator(connectivity):
    model, (X, _) = fitted(connectivity), table()
    tree = int(model.network_.ensemble.tree_of_split[model.network_.ensemble.is_categorical.argmax()])
    for data in (None, X):
        texts = TreeDisplay.from_estimator(model, data, tree=tree, max_depth=9).texts
        assert any(text.startswith(("kind in {", "kind not in {")) for text in texts)
    for row in (X.iloc[0], X[:1], X.iloc[0].tolist()):
        display = NetworkDisplay.from_estimator(model, tree=tree, row=row)
        assert any(label.startswith("kind = ") for label in display.labels[0])
        assert display.leaf is not None
    assert len(ImportanceDisplay.from_estimator(model).model) == 3
    assert TrainingDisplay.from_estimator(model).label == "RMSE"


def test_a_surface_over_categories_has_one_value_for_each():
    model, (X, _) = fitted("sparse"), table()
    display = SurfaceDisplay.from_estimator(model, X, features=("kind", "size"), grid=20)
    assert display.forest.shape == (20, 6)
    assert display.categories == (sorted(KINDS), None)
    assert [label.get_text() for label in display.axes_[0].get_xticklabels()] == sorted(KINDS)
    frame = pandas.DataFrame({"size": display.y[3], "kind": sorted(KINDS), "width": X.width.median()})
    np.testing.assert_allclose(display.model[3], model.predict(frame), rtol=1e-6)
    others = SurfaceDisplay.from_estimator(model, X, features=("size", "width"), grid=5)
    frame = pandas.DataFrame({"size": others.x, "kind": X.kind.mode()[0], "width": others.y[2]})
    np.testing.assert_allclose(others.model[2], model.predict(frame), rtol=1e-6)


def test_a_surface_over_codes_and_many_categories():
    lists = {"category_left": np.arange(41) % 2 == 0, "first_category": [0, 41, 41]}
    network = nf.ForestNetwork(TreeEnsemble(**{**stump().__getstate__(), **lists}))
    display = SurfaceDisplay.from_estimator(network, np.column_stack([np.linspace(0, 1, 40), np.arange(40)]), grid=9)
    assert {display.forest.shape} <= {(9, 40), (40, 9)}
    assert len(max(display.categories, key=lambda names: len(names or ()))) == 40


@pytest.mark.parametrize("connectivity", ["sparse", "full"])
def test_a_report_names_categories(connectivity, tmp_path):
    X, y = table()
    page = write_report(fitted(connectivity), X, y, tmp_path / "report.html").read_text(encoding="utf-8")
    assert page.count("<svg") == 10
    assert "kind in {" in page or "kind not in {" in page
    assert "<oak>" not in page
    rmse = np.sqrt(np.mean((fitted(connectivity).predict(X) - y) ** 2))
    assert f"{rmse:.4g}" in page


def test_a_converted_model_takes_a_table_with_its_categories():
    X, y = table()
    X = X.assign(kind=X.kind.astype("category"))
    boosted = HistGradientBoostingRegressor(max_iter=3, categorical_features="from_dtype").fit(X, y)
    for model in (boosted, nf.convert(boosted)):
        display = SurfaceDisplay.from_estimator(model, X, features=("kind", "size"), grid=7)
        assert display.categories[0] == sorted(KINDS)
        assert TreeDisplay.from_estimator(model, X).texts[0].startswith(("kind in {", "kind not in {", "size ≤"))
        assert NetworkDisplay.from_estimator(model, row=X[:1]).leaf is not None
