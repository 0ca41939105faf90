"""A model together with the columns that it was fitted on."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

import neuralforest as nf
from neuralforest.exceptions import ModelFileError, TableError
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
        ({"table__columns": [SIZE, KIND | {"categories": ["b", "a"]}]}, "must be in alphabetical order"),
        ({"table__columns": [SIZE, KIND | {"categories": [1]}]}, "must be a list of strings"),
        ({"table__target": 1}, "must be of the type str or null, got 1"),
        ({"table__rows": 1}, "has unknown entries: 'rows'"),
    ],
)
def test_forged_columns_are_refused(changes, message, tmp_path):
    (tmp_path / "m").write_bytes(forged(fitted(), **changes))
    with pytest.raises(ModelFileError, match=message):
        nf.load(tmp_path / "m")
