"""Estimators around forests of other libraries, on tables with categories."""

import numpy as np
import pytest

import neuralforest as nf

pandas = pytest.importorskip("pandas")
LIBRARIES = {
    "lightgbm": ("LGBMRegressor", {"n_estimators": 8, "verbose": -1, "min_data_per_group": 5, "random_state": 0}),
    "xgboost": ("XGBRegressor", {"n_estimators": 8, "enable_categorical": True, "random_state": 0}),
    "catboost": (
        "CatBoostRegressor",
        {"iterations": 8, "verbose": 0, "allow_writing_files": False, "one_hot_max_size": 9, "cat_features": ["kind"]},
    ),
    "sklearn.ensemble": ("HistGradientBoostingRegressor", {"max_iter": 8, "random_state": 0}),
}


@pytest.mark.parametrize("library", LIBRARIES)
def test_forests_of_other_libraries_are_grown_on_the_categories(library):
    module = pytest.importorskip(library)
    name, settings = LIBRARIES[library]
    rng = np.random.default_rng(0)
    kind = rng.choice(["z", "y", "x", "w"], 200)
    frame = pandas.DataFrame({"number": rng.normal(size=200), "kind": kind})
    y = frame.number.to_numpy() * np.where(np.isin(kind, ["z", "x"]), 3.0, -1.0)
    model = nf.NeuralForestRegressor(
        getattr(module, name)(**settings), training="joint", connectivity="sparse", max_epochs=20, random_state=0
    ).fit(frame, y)
    assert model.network_.ensemble.is_categorical.any()
    assert model.network_.ensemble.categories is None  # codes are those of the estimator
    source = frame if library == "catboost" else frame.assign(kind=frame.kind.astype("category"))
    hard = nf.ForestNetwork(model.network_.ensemble).predict(model._encoder.encode(frame))
    np.testing.assert_allclose(hard, model.forest_.predict(source), rtol=1e-5, atol=1e-5)
    assert model.validation_loss_ <= model.forest_loss_


CATBOOST = {"iterations": 8, "verbose": 0, "allow_writing_files": False, "one_hot_max_size": 9}


@pytest.mark.filterwarnings("ignore:the given .* was fitted before")
@pytest.mark.parametrize("how", ["named in fit", "named by number", "not named"])
def test_catboost_takes_integers_and_strings_as_categories(how):
    """Copies that are fitted on folds know them too, whether they are a parameter or were an argument of fit."""
    catboost = pytest.importorskip("catboost")
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame(
        {"kind": rng.choice(["z", "y", "x"], 200), "code": rng.integers(0, 4, 200), "number": rng.normal(size=200)}
    )
    y = frame.number.to_numpy() + (frame.kind == "x") + 2.0 * (frame.code == 1)
    source = catboost.CatBoostRegressor(**CATBOOST, **({"cat_features": [0, 1]} if how == "named by number" else {}))
    if how == "named in fit":
        source.fit(frame, y, cat_features=["kind", "code"])
    model = nf.NeuralForestRegressor(source, max_epochs=2, random_state=0).fit(frame, y)
    assert model._encoder.n_categories.tolist() == [3, 0 if how == "not named" else 4, 0]
    assert model.score(frame, y) > 0.8
    assert np.isfinite(model.predict(frame.assign(kind="new", code=77))).all()


def test_catboost_gets_means_of_columns_of_many_categories():
    catboost = pytest.importorskip("catboost")
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame({"kind": rng.choice(["z", "y"], 300), "name": [f"n{n}" for n in rng.integers(0, 90, 300)]})
    y = (frame.kind == "z") + rng.normal(size=300) / 10
    source = catboost.CatBoostRegressor(**CATBOOST, cat_features=["kind", "name"])
    model = nf.NeuralForestRegressor(source, max_epochs=2, random_state=0).fit(frame, y)
    assert model._encoder.n_categories.tolist() == [2, 0]
    assert model.score(frame, y) > 0.8


@pytest.mark.filterwarnings("ignore:the given .* was fitted before")
@pytest.mark.parametrize("fitted", [False, True])
def test_lightgbm_takes_names_with_spaces(fitted):
    """LightGBM writes underscores in their place."""
    lightgbm = pytest.importorskip("lightgbm")
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame(rng.normal(size=(200, 2)), columns=["living area", "lot_area"])
    frame["house style"] = pandas.Categorical(rng.choice(["old", "new"], 200))
    y = frame["living area"] + (frame["house style"] == "old")
    source = lightgbm.LGBMRegressor(n_estimators=8, verbose=-1, random_state=0)
    source = source.fit(frame, y) if fitted else source
    for training in ("auto", "joint"):
        model = nf.NeuralForestRegressor(source, training=training, max_epochs=2, random_state=0).fit(frame, y)
        assert model.score(frame, y) > 0.5
    if fitted:
        np.testing.assert_array_equal(nf.convert(source).predict(frame), source.predict(frame))
