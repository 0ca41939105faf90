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
