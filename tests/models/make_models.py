"""Writes files of the current format, and the predictions of their models: `python tests/models/make_models.py`.

Run it once after a change of the format. Files of earlier formats are never written again: they were made in the same
way by the versions of their time, and `tests/persistence/test_old_formats.py` loads the files of every format.
"""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

import neuralforest as nf
from neuralforest.ensemble import TreeEnsemble
from neuralforest.network import LinearModel, StackedModel
from neuralforest.persistence import FORMAT

FOLDER = Path(__file__).parent
TREES = {"n_estimators": 3, "max_leaf_nodes": 4, "random_state": 0}
SMALL = {"connectivity": "sparse", "contrast": (3.0, 1.0), "max_epochs": 3, "learning_rate": 0.05, "random_state": 0}


def make(X, y, labels):
    """Return a model for each kind of file; its subnetworks are soft, so that they predict."""
    regressor = nf.NeuralForestRegressor(RandomForestRegressor(**TREES), **SMALL).fit(X, y)
    linear = {"low": X.min(axis=0), "high": X.max(axis=0), "center": X.mean(axis=0), "scale": X.std(axis=0)}
    coef, intercept = np.array([[1.0], [0.5], [0.0]]), np.array([y.mean()])
    boosting = GradientBoostingRegressor(n_estimators=4, max_leaf_nodes=3, random_state=0).fit(X, y)
    stacked = (
        StackedModel("combination_forecast", LinearModel(**linear, coef=coef / 4, intercept=intercept), 0.125, True),
        StackedModel("extra_trees", nf.convert(ExtraTreesRegressor(**TREES).fit(X, y)), 0.25),
        StackedModel("shallow_gradient_boosting", nf.convert(boosting), 0.125),
        StackedModel("ridge", LinearModel(**linear, coef=coef, intercept=intercept), 0.0625),
    )
    regressor.network_ = soft(regressor.network_).with_base_models(stacked)
    bins = {"middle": np.array([[0.5, 2.0]]), "factor": np.array([[0.75, 1.5]])}
    regressor._residuals = replace(regressor._residuals, scale=nf.convert(boosting), **bins)
    classifier = nf.NeuralForestClassifier(RandomForestClassifier(**TREES), **SMALL | {"connectivity": "full"})
    classifier.fit(X, labels)
    trees = StackedModel("extra_trees", nf.convert(ExtraTreesClassifier(**TREES).fit(X, labels)), 0.25)
    classifier.network_ = soft(classifier.network_).with_base_models((trees,)).with_temperature(0.75)
    ensemble = TreeEnsemble(**nf.convert(boosting).ensemble.__getstate__() | {"groups": [0, 1, 4]})
    network = nf.ForestNetwork(ensemble).soften((3, 1), scale=X.std(axis=0), training="joint")
    return {"regressor": regressor, "classifier": classifier, "network": network}


def categories():
    """Return an estimator that was fitted on a table, a network whose features have labels, and rows of the table.

    The table has strings, a column of too many strings for one unit each, and numbers; some of each are missing.
    """
    random = np.random.default_rng(0)
    n = 210
    tree, place = random.integers(0, 3, n), np.arange(n) % 70
    frame = pd.DataFrame(
        {
            "height": random.normal(size=n).round(2),
            "tree": np.array(["oak", "ash", "elm"], object)[tree],
            "place": np.array([f"p{i:02}" for i in range(70)], object)[place],
        }
    )
    y = frame["height"].to_numpy() + 2 * tree + place % 7 / 3
    frame.loc[::17, "tree"] = None
    frame.loc[::29, "height"] = np.nan
    model = nf.NeuralForestRegressor(**SMALL, stacking=None).fit(frame, y)
    model.network_ = soft(model.network_)
    X = np.column_stack([frame["height"], np.where(frame["tree"].isna(), np.nan, 3.0 * tree - 1)])
    boosting = HistGradientBoostingRegressor(max_iter=3, max_leaf_nodes=4, categorical_features=[1]).fit(X, y)
    ensemble = nf.convert(boosting).ensemble
    ensemble = TreeEnsemble(**ensemble.__getstate__() | {"missing_range": [[-0.01, 0.01], [np.nan, np.nan]]})
    network = nf.ForestNetwork(ensemble).soften((3, 1), training="joint")
    rows = frame.iloc[[0, 1, 2, 29, 5]].astype({"height": float})
    new = pd.DataFrame({"height": [0.005, 9.0], "tree": ["yew", "oak"], "place": ["nowhere", None]})
    return model, network, pd.concat([rows, new], ignore_index=True)


def soft(network):
    return network.with_parameters(network.soft.parameters, np.zeros_like(network.hard))


def main():
    """Write the files."""
    X = np.random.default_rng(0).normal(size=(60, 3)).round(2)
    y = X[:, 0] + np.sin(3 * X[:, 1])
    rows = np.vstack([X[:4], [[30.0, -40.0, 0.5]]])
    expected = {"X": rows.tolist()}
    for name, model in make(X, y, np.where(y > 0, "plus", "minus")).items():
        path = FOLDER / f"format-{FORMAT}-{name}.nforest"
        if path.exists():
            raise SystemExit(f"{path} exists, and is never written again")
        nf.save(model, path)
        expected[name] = (model.predict_proba(rows) if name == "classifier" else model.predict(rows)).tolist()
        if name == "regressor":
            expected["quantiles"] = model.predict_quantiles(rows, (0.1, 0.9)).tolist()
    model, network, table = categories()
    codes = [[0.3, 0], [0.005, 1], [np.nan, 2], [-1.0, np.nan], [0.0, -1], [0.5, 7]]
    for name, each in (("table", model), ("categories", network)):
        nf.save(each, FOLDER / f"format-{FORMAT}-{name}.nforest")
    expected["codes"] = [[None if np.isnan(x) else x for x in row] for row in codes]
    expected["rows"] = table.astype(object).where(table.notna(), None).to_dict("list")
    expected["table"], expected["categories"] = model.predict(table).tolist(), network.predict(codes).tolist()
    (FOLDER / f"format-{FORMAT}.json").write_text(json.dumps(expected, indent=1))


if __name__ == "__main__":
    main()
