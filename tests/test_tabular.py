"""Tables become numbers at a prediction as they did at the fit."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

import neuralforest as nf
from neuralforest.exceptions import TableError, TableWarning
from neuralforest.tables import Column, guess_task, read_target

pandas = pytest.importorskip("pandas")

SMALL = {"connectivity": "sparse", "contrast": (3.0, 1.0), "max_epochs": 1, "random_state": 0}
FOREST = {"n_estimators": 2, "max_leaf_nodes": 4}


def table(n=40):
    rng = np.random.default_rng(0)
    size = rng.normal(size=n).round(2)
    return pandas.DataFrame({"size": size, "kind": np.array(["b", "a", "c"])[np.arange(n) % 3], "price": size**2})


def column(values, name="c"):
    return pandas.Series(values, name=name)


def learnt(target="price"):
    return nf.TableModel.learn(table(), target, nf.NeuralForestRegressor(RandomForestRegressor(**FOREST), **SMALL))


@pytest.mark.parametrize(
    ("values", "categories", "codes"),
    [
        ([1, 2, 3], None, [1, 2, 3]),
        ([True, False], None, [1, 0]),
        (["1", " 2.5 ", None, "1e3"], None, [1, 2.5, np.nan, 1000]),
        (["b", "a", None, "b "], ("a", "b"), [1, 0, np.nan, 1]),
        (["1", "x"], ("1", "x"), [0, 1]),
        ([None, None], None, [np.nan, np.nan]),
        (pandas.Categorical(["z", "y"]), ("y", "z"), [1, 0]),
        (pandas.array([1, None], "Int64"), None, [1, np.nan]),
        (pandas.array([True, None], "boolean"), None, [1, np.nan]),
    ],
)
def test_a_column_holds_numbers_or_the_places_of_its_categories_in_the_alphabet(values, categories, codes):
    learnt = Column.learn(column(values))
    assert learnt.categories == categories
    assert_array_equal(learnt.encode(column(values)), codes)


def test_dates_and_infinities_are_refused():
    with pytest.raises(TableError, match="'c' must hold numbers or texts, got dates or times: turn them into numbers"):
        Column.learn(column(pandas.to_datetime(["2020-01-01"])))
    for value in ("inf", "1e39", -np.inf):
        with pytest.raises(
            TableError, match=r"column 'c' must hold numbers below 3.4e\+38, got .* in row 1: correct it"
        ):
            Column("c").encode(column([0, value]))


def test_a_new_category_is_missing_and_a_text_is_no_number():
    model = learnt()
    new = table(4).assign(kind=["a", "new", "newer", None])
    with pytest.warns(TableWarning, match=r"column 'kind' holds 'new', 'newer', .* as missing in 2 of 4 rows"):
        X = model.encode(new)
    assert_array_equal(X[:, 1], [0, np.nan, np.nan, np.nan])
    with pytest.raises(
        TableError, match=r"column 'size' must hold numbers, got 'big' in row 1 and in 1 more: correct it"
    ):
        model.encode(table(3).assign(size=["1", "big", "bigger"]))


def test_columns_are_found_by_name_in_any_order_and_must_be_there():
    model, rows = learnt(), table(5)
    expected = model.predict(rows)
    assert_array_equal(model.predict(rows.assign(more=1)[["more", "price", "kind", "size"]]), expected)
    with pytest.raises(TableError, match=r"lacks 'kind'; it has 'size', 'price': add or rename columns"):
        model.predict(rows.drop(columns="kind"))
    with pytest.raises(TableError, match="at least one row, got none: add rows"):
        model.predict(rows[:0])


@pytest.mark.parametrize(
    ("values", "task"),
    [
        (["a", "b"], "classification"),
        ([True, False], "classification"),
        ([1, 2, 2, None], "classification"),
        ([str(number) for number in range(10)], "classification"),
        (range(11), "regression"),
        ([0.5, 1], "regression"),
    ],
)
def test_the_task_is_guessed_from_the_target(values, task):
    assert guess_task(column(values))[0] == task


@pytest.mark.parametrize(
    ("values", "labels"),
    [
        (["no", "yes "], np.array(["no", "yes"])),
        (["1", "2"], np.array([1, 2])),
        ([1.0, 2.0], np.array([1, 2])),
        ([True, False], np.array([True, False])),
        (["1", "x"], np.array(["1", "x"])),
    ],
)
def test_labels_are_texts_whole_numbers_or_booleans(values, labels):
    read = read_target(column(values), "classification")
    assert read.dtype == labels.dtype
    assert_array_equal(read, labels)


@pytest.mark.parametrize(
    ("values", "task", "message"),
    [
        (
            [1.5, None, None],
            "regression",
            r"is the target and must not miss values, got nan in row 1 and in 1 more: fill",
        ),
        (
            ["1", "a"],
            "regression",
            "must hold numbers for a regression, got 'a' in row 1: correct it, or choose the task",
        ),
        ([1.0, np.inf], "regression", "must hold finite numbers, got inf in row 1"),
        (
            [1.0, 2.5],
            "classification",
            "must hold texts or whole numbers to be classes, got 2.5 in row 1: choose the task",
        ),
        (["a", "a"], "classification", "must hold at least two classes, got a only: add other rows"),
        ([], "regression", "must have at least one row"),
    ],
)
def test_a_target_that_cannot_be_learnt_is_refused_with_what_to_do(values, task, message):
    with pytest.raises(TableError, match=message):
        read_target(column(values), task)


def test_a_target_needs_columns_beside_it():
    with pytest.raises(TableError, match="must have columns beside the target 'price', got none"):
        nf.TableModel.learn(table()[["price"]], "price", nf.NeuralForestRegressor())
    with pytest.raises(TableError, match=r"the table has no column 'cost': choose one of 'size', 'kind', 'price'"):
        nf.TableModel.learn(table(), "cost", nf.NeuralForestRegressor())


def test_a_table_model_comes_back_from_its_file(tmp_path):
    labels = np.where(table()["size"] > 0, "plus", "minus")
    rows = table().assign(price=labels)
    estimator = nf.NeuralForestClassifier(RandomForestClassifier(**FOREST), **SMALL)
    for model in (learnt(), nf.TableModel.learn(rows, "price", estimator)):
        nf.save(model, tmp_path / "m")
        loaded = nf.load(tmp_path / "m")
        assert (loaded.columns, loaded.target) == (model.columns, model.target)
        assert_array_equal(loaded.predict(rows), model.predict(rows))
    assert_array_equal(loaded.predict_proba(rows), model.predict_proba(rows))
    hard = nf.TableModel(model.columns, None, nf.ForestNetwork(model.model.network_.ensemble))
    nf.save(hard, tmp_path / "m")
    assert_array_equal(nf.load(tmp_path / "m").predict(rows), hard.predict(rows))


def test_a_model_fitted_with_names_is_given_names():
    frame = table()[["size"]]
    estimator = nf.NeuralForestRegressor(RandomForestRegressor(**FOREST), **SMALL).fit(frame, table()["price"])
    model = nf.TableModel((Column("size"),), None, estimator)
    assert_array_equal(model.predict(table()), estimator.predict(frame))
