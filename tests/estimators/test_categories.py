"""Estimators that are fitted on tables with categories."""

import pickle
from copy import deepcopy
from functools import cache

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestClassifier, RandomForestRegressor
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import neuralforest as nf
from neuralforest.exceptions import InvalidParameterError
from neuralforest.network import ForestNetwork
from neuralforest.selection import stacking
from small_models import output

BOTH = pytest.mark.parametrize("classifier", [False, True], ids=["regressor", "classifier"])
SMALL = {"max_epochs": 2, "stacking": None, "random_state": 0, "contrast": (3.0, 1.0)}
EFFECT = {"ash": 0.0, "elm": 2.0, "fir": -1.0, "oak": 4.0}


def table(n=200, seed=0, classes=0):
    """Return a table whose target depends on a string, a boolean, and numbers, and the target or its class."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "tree": rng.choice(list(EFFECT), n),
            "height": rng.normal(size=n),
            "old": rng.random(n) < 0.5,
            "count": pd.Series(rng.integers(0, 9, n), dtype="Int64"),
            "age": pd.Series(rng.normal(size=n), dtype="Float64"),
            "colour": pd.Categorical(rng.choice(["red", "green"], n)),
        }
    )
    y = frame["tree"].map(EFFECT).to_numpy(float) + frame["height"].to_numpy() * np.where(frame["old"], 1.0, -1.0)
    y = y + 0.1 * rng.normal(size=n)
    if classes:
        y = np.digitize(y, np.quantile(y, np.linspace(0, 1, classes + 1)[1:-1]))
    for name in ("tree", "height", "count"):
        frame.loc[rng.random(n) < 0.05, name] = None
    return frame, y


def estimator(classifier=False, **parameters):
    return (nf.NeuralForestClassifier if classifier else nf.NeuralForestRegressor)(**SMALL | parameters)


def as_polars(frame):
    columns = {name: frame[name].astype(object).where(frame[name].notna(), None).tolist() for name in frame}
    return pl.DataFrame(columns, schema_overrides={"colour": pl.Categorical})


@cache
def fitted(classifier=False, classes=0):
    """Return an estimator that is fitted once, for tests that do not change it, or change a copy."""
    return estimator(classifier).fit(*table(classes=classes))


@pytest.fixture
def regressor():
    return fitted()


@BOTH
def test_pandas_and_polars_give_the_same_model(classifier):
    frame, y = table(classes=4 * classifier)
    model, other = fitted(classifier, 4 * classifier), estimator(classifier).fit(as_polars(frame), y)
    assert model.feature_names_in_.tolist() == other.feature_names_in_.tolist() == list(frame)
    assert model.n_features_in_ == 6
    assert model.network_.ensemble.feature_names == tuple(frame)
    assert set(model.network_.ensemble.feature[model.network_.ensemble.is_categorical]) == {0, 5}
    expected = output(model, frame)
    for each, rows in ((model, as_polars(frame)), (other, frame), (other, as_polars(frame))):
        np.testing.assert_array_equal(output(each, rows), expected)


def test_categories_are_as_good_as_their_meaning():
    (train, y), (test, truth) = table(400), table(400, seed=1)
    known = test["tree"].notna() & test["height"].notna()
    model = estimator(max_epochs=20).fit(train, y)
    assert model.score(test[known], truth[known]) > 0.9
    importances = model.feature_importances_
    assert importances.shape == (6,)
    assert importances.argmax() == 0


@pytest.mark.parametrize("chosen", [["tree", "colour", "count"], [0, 3, 5], np.array([0, 3, 5]), [1, 0, 0, 1, 0, 1]])
def test_categories_may_be_chosen(chosen):
    frame, y = table()
    chosen = np.array(chosen, bool) if len(chosen) == 6 else chosen
    model = estimator(categorical_features=chosen).fit(frame, y)
    assert model._encoder.n_categories.tolist() == [4, 0, 0, 9, 0, 2]
    expected = estimator(categorical_features=["tree", "colour", "count"]).fit(frame, y).predict(frame)
    np.testing.assert_array_equal(model.predict(frame), expected)
    assert clone(model).fit(frame, y).predict(frame).tobytes() == expected.tobytes()


def test_numbers_of_arrays_may_be_categories():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, size=(200, 3)).astype(float)
    y = np.array([0.0, 3.0, -2.0, 1.0])[X[:, 0].astype(int)] + X[:, 1]
    model = estimator(categorical_features=[0]).fit(X, y)
    assert set(model.network_.ensemble.feature[model.network_.ensemble.is_categorical]) == {0}
    assert model.predict(X.tolist()).tobytes() == model.predict(X).tobytes()
    assert np.isfinite(model.predict([[9.0, 0.0, 0.0], [np.nan, 1.0, 1.0], [0.5, 0.0, 0.0]])).all()
    plain = estimator(categorical_features=None).fit(X, y)
    assert plain._encoder is None
    assert not plain.network_.ensemble.is_categorical.any()


def test_without_categories_strings_are_refused():
    frame, y = table()
    with pytest.raises(InvalidParameterError, match="must name all columns of categories, and 'tree' of dtype"):
        estimator(categorical_features=None).fit(frame[["tree", "height"]], y)
    for wrong in ("tree", 3):
        with pytest.raises(InvalidParameterError, match="categorical_features must be 'from_dtype', a list of names"):
            estimator(categorical_features=wrong).fit(frame, y)
    rows = frame[["height", "tree"]].to_numpy(object)
    for X in (rows, rows.tolist()):
        with pytest.raises(InvalidParameterError, match=r"got '\w+' in column 1: .*add categorical_features=\[1\]"):
            estimator().fit(X, y)
    with pytest.raises(InvalidParameterError, match=r"y must hold numbers for regression, got '\w+': use Neural"):
        estimator().fit(frame[["height"]], frame["tree"].fillna("oak"))


@BOTH
def test_new_and_missing_categories_are_predicted(classifier):
    frame, _ = table(classes=2 * classifier)
    model = fitted(classifier, 2 * classifier)
    new = frame.head(3).astype({"colour": object})
    new["tree"], new["colour"] = ["yew", None, "oak"], ["blue", None, "red"]
    predicted = output(model, new)
    assert np.isfinite(predicted).all()
    other = new.assign(tree=["birch", None, "oak"], colour=["black", None, "red"])
    np.testing.assert_array_equal(output(model, other), predicted)  # all new categories are alike


def test_a_model_of_no_missing_categories_predicts_them():
    frame, y = table()
    complete = frame.notna().all(axis=1)
    model = estimator().fit(frame[complete], y[complete])
    assert np.isfinite(model.predict(frame)).all()
    empty = pd.DataFrame({name: pd.Series([None], dtype=object) for name in frame})
    assert np.isfinite(model.predict(empty)).all()


@pytest.mark.parametrize(
    "change",
    [
        lambda frame: frame.drop(columns="age"),
        lambda frame: frame[frame.columns[::-1]],
        lambda frame: frame.rename(columns={"tree": "plant"}),
        lambda frame: frame.assign(more=1.0),
    ],
    ids=["too few", "another order", "another name", "too many"],
)
def test_other_columns_are_refused(regressor, change):
    frame, y = table()
    for call in (regressor.predict, regressor.apply, lambda rows: deepcopy(regressor).partial_fit(rows, y)):
        with pytest.raises(ValueError, match="feature names should match those that were passed during fit"):
            call(change(frame))


def test_values_that_do_not_fit_a_column_are_refused(regressor):
    frame, _ = table()
    with pytest.raises(ValueError, match="column 'height' must hold numbers"):
        regressor.predict(frame.assign(height="tall"))
    with pytest.raises(ValueError, match="column 'height' must hold numbers or categories, got datetime64"):
        regressor.predict(frame.assign(height=pd.Timestamp("2020-01-01")))
    with pytest.raises(ValueError, match="infinity"):
        regressor.predict(frame.assign(height=np.inf))
    rows = frame.astype(object).where(frame.notna(), None).to_numpy()
    with pytest.warns(match="X does not have valid feature names"):
        np.testing.assert_array_equal(regressor.predict(rows), regressor.predict(frame))


@BOTH
def test_a_column_of_dates_is_refused_by_name_and_the_model_stays_as_it_was(classifier):
    frame, y = table(classes=2 * classifier)
    model = deepcopy(fitted(classifier, 2 * classifier))
    before = output(model, frame)
    dated = frame.assign(planted=pd.Timestamp("2020-01-01"))
    for rows in (dated, pl.DataFrame({"planted": dated["planted"].to_numpy(), "old": frame["old"].to_numpy()})):
        with pytest.raises(ValueError, match="column 'planted' must hold numbers or categories, got datetime"):
            model.fit(rows, y)
    np.testing.assert_array_equal(output(model, frame), before)


# --- many categories -------------------------------------------------------------------------------------------------


def ids(n, seed):
    """Return rows of 300 ids, each with an effect of its own; their order has no meaning."""
    rng = np.random.default_rng(seed)
    effect = np.random.default_rng(99).normal(size=300)
    number = rng.integers(0, 300, n)
    X = pd.DataFrame({"id": [f"n{i:03}" for i in number], "x": rng.normal(size=n)})
    return X, 2 * effect[number] + X["x"].to_numpy() + 0.1 * rng.normal(size=n)


def test_many_ids_make_no_large_network_and_are_predicted_better_than_by_codes():
    (train, y), (test, truth) = ids(1500, 0), ids(500, 1)
    settings = SMALL | {"max_epochs": 5}
    model = nf.NeuralForestRegressor(**settings).fit(train, y)
    assert not model.network_.ensemble.is_categorical.any()

    def codes(frame):
        return np.column_stack([frame["id"].str[1:].astype(float), frame["x"]])

    ordinal = nf.NeuralForestRegressor(**settings).fit(codes(train), y)
    assert model.network_.n_parameters < 2 * ordinal.network_.n_parameters
    errors = [((m.predict(rows) - truth) ** 2).mean() for m, rows in ((model, test), (ordinal, codes(test)))]
    assert errors[0] < errors[1]
    new = test.assign(id="never seen")
    assert abs(model.predict(new).mean() - y.mean()) < 1


@BOTH
def test_a_few_ids_too_many_for_units_fit_and_predict(classifier):
    frame, y = ids(600, 0)
    y = np.digitize(y, [-1, 1]) if classifier else y
    model = estimator(classifier).fit(frame, y)
    frame.loc[::7, "id"] = None
    assert np.isfinite(output(model, frame)).all()
    assert model.validation_loss_ <= model.forest_loss_


# --- with the rest of scikit-learn -----------------------------------------------------------------------------------


@BOTH
def test_pickles_clones_files_and_pipelines_predict_the_same(classifier, tmp_path):
    frame, y = table(classes=4 * classifier)
    model = fitted(classifier, 4 * classifier)
    expected = output(model, frame)
    nf.save(model, tmp_path / "m.nforest")
    pipeline = make_pipeline(FunctionTransformer(), estimator(classifier)).fit(frame, y)
    copies = [
        pickle.loads(pickle.dumps(model)),
        nf.load(tmp_path / "m.nforest"),
        clone(model).fit(frame, y),
        pipeline,
    ]
    for copy in copies:
        assert output(copy, frame).tobytes() == expected.tobytes()
        assert output(copy, as_polars(frame)).tobytes() == expected.tobytes()


@pytest.mark.parametrize("convert", [lambda frame: frame, as_polars], ids=["pandas", "polars"])
def test_grid_searches_take_tables(convert):
    frame, y = table(120)
    search = GridSearchCV(estimator(), {"max_epochs": [0, 2]}, cv=2, error_score="raise").fit(convert(frame), y)
    best = clone(search.best_estimator_).fit(frame, y)
    np.testing.assert_array_equal(search.predict(convert(frame)), best.predict(frame))


@BOTH
def test_threads_do_not_change_a_bit(classifier, few_boosting_rounds):
    frame, y = table(classes=2 * classifier)
    models = [estimator(classifier, stacking="auto", n_jobs=n_jobs).fit(frame, y) for n_jobs in (1, 2)]
    assert output(models[0], frame).tobytes() == output(models[1], frame).tobytes()
    assert models[0].stacking_weights_ == models[1].stacking_weights_
    assert models[0].validation_loss_ == models[1].validation_loss_


def test_stacked_base_models_know_categories(few_boosting_rounds, monkeypatch):
    """The target is a set of categories and a step: trees are better than a network that is hardly trained."""
    monkeypatch.setattr(stacking, "_WORTHWHILE", 0.0)  # by however little
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"c": rng.choice(list("abcdefgh"), 400), "x": rng.uniform(size=400)})
    y = np.isin(frame["c"], list("adg")) * np.floor(6 * frame["x"]) + 0.1 * rng.normal(size=400)
    model = estimator(stacking="auto", max_epochs=1).fit(frame, y)
    trees = [each.model for each in model.network_.base_models if isinstance(each.model, ForestNetwork)]
    assert trees
    assert all(each.ensemble.is_categorical.any() for each in trees)
    assert model.validation_loss_ <= model.forest_loss_
    assert model.score(frame, y) > 0.9
    new = pd.DataFrame({"c": ["new", None], "x": [0.5, None]})
    assert np.isfinite(model.predict(new)).all()


# --- weights, targets, classes, validation ---------------------------------------------------------------------------


@pytest.mark.parametrize("connectivity", ["sparse", "full"])
@pytest.mark.parametrize("training", ["independent", "joint"])
@BOTH
def test_the_guard_holds_with_validation_rows(classifier, training, connectivity):
    (frame, y), (X_val, y_val) = table(classes=3 * classifier), table(80, seed=1, classes=3 * classifier)
    X_val = X_val.assign(tree=X_val["tree"].replace("oak", "a new tree"))
    model = estimator(classifier, training=training, connectivity=connectivity, max_epochs=4)
    model.fit(frame, y, X_val=X_val, y_val=y_val)
    assert model.validation_loss_ <= model.forest_loss_
    X = model._encoder.encode(X_val)
    forest = ForestNetwork(model.forest_.ensemble_)
    if classifier:
        losses = [-np.log(np.maximum(p[np.arange(80), y_val], 1e-7)).mean() for p in (output(model, X_val),)]
        assert losses[0] <= -np.log(np.maximum(forest.predict_proba(X)[np.arange(80), y_val], 1e-7)).mean() + 1e-6
    else:
        errors = [((p - y_val) ** 2).mean() for p in (model.predict(X_val), forest.predict(X))]
        assert errors[0] <= errors[1] * (1 + 1e-6)


@pytest.mark.parametrize("classes", [2, 4])
def test_classes_of_any_number_and_kind(classes):
    frame, y = table(300, classes=classes)
    labels = np.array(["p", "q", "r", "s"])[y]
    model = estimator(classifier=True, max_epochs=10).fit(frame, labels)
    assert model.classes_.tolist() == ["p", "q", "r", "s"][:classes]
    probability = model.predict_proba(frame)
    assert probability.shape == (300, classes)
    np.testing.assert_allclose(probability.sum(axis=1), 1)
    assert model.score(frame, labels) > 0.7


def test_a_rare_class_may_be_missing_from_a_tree():
    frame, y = table(200, classes=2)
    y[:3] = 2
    model = estimator(classifier=True).fit(frame, y)
    assert output(model, frame).shape == (200, 3)


@BOTH
def test_weights_count_rows(classifier):
    frame, y = table(classes=2 * classifier)
    heavy = np.arange(len(y)) % 2 == 0
    target = np.where(heavy, y, 1 - y) if classifier else np.where(heavy, y, -y)
    model = estimator(classifier, max_epochs=5).fit(frame, target, sample_weight=np.where(heavy, 50.0, 1.0))
    if classifier:
        right = model.predict(frame) == target
        assert right[heavy].mean() > 0.8 > 0.4 > right[~heavy].mean()
    else:
        error = (model.predict(frame) - target) ** 2
        assert error[heavy].mean() < error[~heavy].mean() / 4
    equal = estimator(classifier).fit(frame, y, sample_weight=np.full(len(y), 3.0))
    assert np.isfinite(output(equal, frame)).all()


def test_several_targets():
    frame, y = table()
    targets = np.column_stack([y, 1e3 * frame["tree"].map(EFFECT).fillna(0)])
    model = estimator(max_epochs=5).fit(frame, targets)
    assert model.predict(frame).shape == (200, 2)
    assert model.score(frame, targets) > 0.8
    assert model.predict_quantiles(frame[:5], (0.1, 0.9)).shape == (5, 2, 2)


def test_training_continues_on_tables(regressor):
    frame, y = table()
    model = deepcopy(regressor).set_params(warm_start=True)
    epochs = model.history_.n_epochs
    assert model.fit(frame, y).history_.n_epochs == 2 * epochs
    new = frame.head(50).assign(tree="a new tree")
    assert np.isfinite(model.partial_fit(new, y[:50]).predict(new)).all()


# --- forests that are given ------------------------------------------------------------------------------------------


@BOTH
def test_a_forest_that_is_given_takes_codes(classifier):
    frame, y = table(classes=2 * classifier)
    kind = RandomForestClassifier if classifier else RandomForestRegressor
    model = estimator(classifier, forest=kind(5, max_leaf_nodes=8)).fit(frame, y)
    assert not model.network_.ensemble.is_categorical.any()
    assert np.isfinite(output(model, frame)).all()


def boosting(frame, y):
    model = HistGradientBoostingRegressor(max_iter=5, min_samples_leaf=2, categorical_features=["tree"])
    return model.fit(frame[["tree", "height"]], y)


@pytest.mark.filterwarnings("ignore:the forest was fitted before")
def test_a_fitted_forest_with_categories_is_reproduced():
    frame, y = table()
    trees = boosting(frame, y)
    options = {"max_epochs": 0, "contrast": (1e6, 1e6), "validation": "fraction"}
    model = estimator(forest=trees, **options).fit(frame[["tree", "height"]], y)
    assert model.network_.ensemble.is_categorical.any()
    rows = frame[["tree", "height"]].assign(tree=frame["tree"].replace("oak", "a new tree"))
    for each in (frame[["tree", "height"]], rows):
        np.testing.assert_allclose(model.predict(each), trees.predict(each), rtol=1e-5, atol=1e-5)


@pytest.mark.filterwarnings("ignore:the forest was fitted before")
def test_a_fitted_forest_of_more_categories_than_the_rows_have_is_reproduced():
    frame, y = table()
    trees, rows = boosting(frame, y), frame.loc[frame["tree"] != "ash", ["tree", "height"]]
    options = {"max_epochs": 0, "contrast": (1e6, 1e6), "validation": "fraction"}
    model = estimator(forest=trees, **options).fit(rows, y[rows.index])
    np.testing.assert_allclose(model.predict(rows), trees.predict(rows), rtol=1e-5, atol=1e-5)


def test_a_fitted_forest_whose_categories_are_numbers_of_an_array_is_refused_without_categories():
    X = np.random.default_rng(0).integers(0, 3, size=(90, 2)) * 5.0
    trees = HistGradientBoostingRegressor(max_iter=3, min_samples_leaf=2, categorical_features=[0])
    given = estimator(forest=trees.fit(X, X[:, 0] == 5), validation="fraction", categorical_features=None)
    with pytest.raises(InvalidParameterError, match="X must hold the categories that the forest was fitted on"):
        given.fit(X, X[:, 0] == 5)


@pytest.mark.filterwarnings("ignore:the given .* was fitted before")
@pytest.mark.parametrize("fitted", [False, True])
@pytest.mark.parametrize("chosen", [[0], [True, False], np.array([0])], ids=["list", "mask", "array"])
def test_columns_that_a_forest_takes_as_categories_are_categories(fitted, chosen):
    X = np.random.default_rng(0).integers(0, 9, size=(200, 2)) * 5.0
    y = np.isin(X[:, 0], [5, 15, 35]) * 2.0
    trees = HistGradientBoostingRegressor(max_iter=5, categorical_features=chosen)
    trees = trees.fit(X, y) if fitted else trees
    model = estimator(forest=trees, training="joint").fit(X, y)
    assert model._encoder.n_categories.tolist() == [9, 0]
    assert model.network_.ensemble.is_categorical.any()
    assert model.score(X, y) > 0.5
    assert np.isfinite(model.predict([[-3.0, 1.0], [np.nan, 1.0]])).all()


def test_columns_without_any_value_are_taken():
    frame, y = table()
    empty = frame.assign(nothing=np.nan, none=pd.Series([None] * len(frame), dtype=object))
    model = estimator().fit(empty, y)
    assert np.isfinite(model.predict(empty)).all()
    assert np.isfinite(model.predict(empty.assign(nothing=1.0, none="something"))).all()
