"""A model together with the columns that it was fitted on."""

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

import neuralforest as nf
from neuralforest.ensemble import TreeEnsemble
from neuralforest.exceptions import ModelFileError, TableError, TableWarning
from neuralforest.tables import Column
from persistence.models import forged

pandas = pytest.importorskip("pandas")

SMALL = {"connectivity": "sparse", "contrast": (3.0, 1.0), "max_epochs": 1, "random_state": 0}
FOREST = {"n_estimators": 2, "max_leaf_nodes": 4}


def table(n=40):
    rng = np.random.default_rng(0)
    size = rng.normal(size=n).round(2)
    return pandas.DataFrame({"size": size, "kind": np.array(["b", "a", "c"])[np.arange(n) % 3], "price": size**2})


def estimator():
    return nf.NeuralForestRegressor(RandomForestRegressor(**FOREST), **SMALL)


def fitted():
    return nf.TableModel.learn(table(), "price", estimator())


def test_columns_are_found_by_name_in_any_order_and_must_exist():
    model, rows = fitted(), table(5)
    expected = model.predict(rows)
    assert_array_equal(model.predict(rows.assign(more=1)[["more", "price", "kind", "size"]]), expected)
    with pytest.raises(TableError, match=r"lacks 'kind'; it has 'size', 'price': add or rename columns"):
        model.predict(rows.drop(columns="kind"))
    with pytest.raises(TableError, match="at least one row, got none: add rows"):
        model.predict(rows[:0])


def test_columns_are_encoded_as_in_the_fit():
    rows = table(5).assign(kind=["c", "a", "c", "a", None])
    assert_array_equal(fitted().encode(rows), np.column_stack([rows["size"], [2, 0, 2, 0, np.nan]]))


def test_a_fit_needs_the_target_and_other_columns():
    with pytest.raises(TableError, match="must have other columns than the target 'price', got none: add features"):
        nf.TableModel.learn(table()[["price"]], "price", estimator())
    with pytest.raises(TableError, match=r"the table has no column 'cost': choose one of 'size', 'kind', 'price'"):
        nf.TableModel.learn(table(), "cost", estimator())


def test_a_table_model_is_restored_from_its_file(tmp_path):
    rows = table().assign(price=np.where(table()["size"] > 0, "plus", "minus"))
    classifier = nf.NeuralForestClassifier(RandomForestClassifier(**FOREST), **SMALL)
    for model in (fitted(), nf.TableModel.learn(rows, "price", classifier)):
        nf.save(model, tmp_path / "m")
        loaded = nf.load(tmp_path / "m")
        assert (loaded.columns, loaded.target) == (model.columns, model.target)
        assert_array_equal(loaded.predict(rows), model.predict(rows))
    assert_array_equal(loaded.predict_proba(rows), model.predict_proba(rows))
    hard = nf.TableModel(model.columns, None, nf.ForestNetwork(model.model.network_.ensemble))
    nf.save(hard, tmp_path / "m")
    assert_array_equal(nf.load(tmp_path / "m").predict(rows), hard.predict(rows))


def test_a_model_fitted_with_feature_names_predicts_with_them():
    frame = table()[["size"]]
    model = estimator().fit(frame, table()["price"])
    assert_array_equal(nf.TableModel((Column("size"),), None, model).predict(table()), model.predict(frame))


SIZE, KIND = {"name": "size", "categories": None}, {"name": "kind", "categories": ["a", "b", "c"]}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"table__columns": [SIZE]}, "a table must have 2 columns of different names"),
        ({"table__columns": [SIZE, SIZE]}, "a table must have 2 columns of different names"),
        ({"table__columns": [SIZE, "kind"]}, "a column must be a JSON object"),
        ({"table__columns": [SIZE, KIND | {"code": ""}]}, "a column has unknown entries: 'code'"),
        ({"table__columns": [SIZE, KIND | {"categories": ["a", "a"]}]}, "the categories of a column must be different"),
        ({"table__columns": [SIZE, KIND | {"categories": [1]}]}, "must be a list of strings"),
        ({"table__target": 1}, "must be of the type str or null, got 1"),
        ({"table__rows": 1}, "has unknown entries: 'rows'"),
    ],
)
def test_forged_columns_are_refused(changes, message, tmp_path):
    (tmp_path / "m").write_bytes(forged(fitted(), **changes))
    with pytest.raises(ModelFileError, match=message):
        nf.load(tmp_path / "m")


def test_a_file_of_format_1_predicts_the_same_bits():
    """Its estimator takes codes in alphabetical order, and new categories as missing values."""
    model = nf.load(Path(__file__).parents[1] / "models" / "format-1-table.nforest")
    numbers = ["0.5", "-1", None, "2", "1e-3"]
    rows = pandas.DataFrame({"age": numbers, "size": numbers, "kind": ["ash", "oak ", "yew", None, "elm"]})
    with pytest.warns(TableWarning, match=r"in 1 of 5 rows: 'yew'"):
        predicted = model.predict(rows)
    assert predicted.tolist() == [
        0.260952290143628, -0.8099836037073729, -0.34789331875663204, 1.1296285974672104, -0.6629874296775442,
    ]  # fmt: skip
    with pytest.warns(TableWarning):
        assert_array_equal(model.encode(rows)[:, 1], [0, 2, np.nan, np.nan, 1])


def stump(**attributes):
    tree = {"feature": [0], "threshold": [0.0], "missing_left": [True], "middle": [1], "value": [[1.0], [3.0]]}
    sizes = {"weight": [1, 1], "first_split": [0, 1], "first_leaf": [0, 2], "n_features": 1}
    return nf.ForestNetwork(TreeEnsemble(**tree, **sizes, **attributes))


@pytest.mark.parametrize("labels", [["oak", "ash"], [3, 1], [2.0, 0.5]])
def test_a_network_with_categories_takes_them_in_the_order_of_their_codes(labels, tmp_path):
    sets = {"first_category": [0, 3], "category_left": [True, False, False]}  # the first, the second, others
    network = stump(**sets, feature_names=("kind",), categories=(np.array(labels),))
    model = nf.TableModel.of(network, ["other"])
    nf.save(network, tmp_path / "m")
    loaded = nf.TableModel.of(nf.load(tmp_path / "m"), [])
    rows = pandas.DataFrame({"kind": [str(labels[0]), str(labels[1]), None]})
    assert model.predict(rows).tolist() == loaded.predict(rows).tolist() == [1.0, 3.0, 1.0]
    with pytest.warns(TableWarning, match="in 1 of 1 rows: 'yew'"):
        assert model.predict(pandas.DataFrame({"kind": ["yew"]})).tolist() == [3.0]


@pytest.mark.parametrize("own", [None, ("Column_0",), ("0",)])
def test_a_model_without_real_names_takes_columns_in_their_order(own):
    network = stump(feature_names=own)
    assert nf.TableModel.of(network, ["size"]).columns == (Column("size"),)
    assert nf.TableModel.of(network, ["size", "0"] if own == ("0",) else ["size"]).predict(
        pandas.DataFrame({"size": [1.0], "0": [1.0]})
    ).tolist() == [3.0]
    with pytest.raises(TableError, match="the model has no feature names, so the table must have its 1 columns in ord"):
        nf.TableModel.of(network, ["size", "kind"])
