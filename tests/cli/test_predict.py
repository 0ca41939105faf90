"""neuralforest predict and info: the predictions of a model file, and its description."""

import json
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.ensemble import RandomForestRegressor

import neuralforest as nf
from cli.samples import FAST, pandas, parsed, rows

pytest.importorskip("pyarrow")

FOREST = RandomForestRegressor(2, max_leaf_nodes=3)
PARAMETERS = {"max_epochs": 1, "contrast": (3, 1), "connectivity": "sparse", "random_state": 0}


def test_the_order_of_columns_the_file_format_and_the_destination_do_not_matter(run):
    run("fit", "trees.csv", "--target", "price", "--out", "a.nforest", *FAST)
    rows().to_parquet("trees.parquet")
    run("fit", "trees.parquet", "--target", "price", "--out", "b.nforest", *FAST)
    rows()[["sold", "kind", "price", "size"]].to_csv("other.csv", index=False, sep=";")
    first = run("predict", "a.nforest", "trees.csv")
    assert run("predict", "b.nforest", "trees.parquet") == first
    assert run("predict", "a.nforest", "other.csv", "--separator", ";") == first
    assert run("predict", "a.nforest", "trees.csv", "--out", "p.csv") == "p.csv: 60 rows\n"
    assert Path("p.csv").read_text() == first


def test_classes_keep_their_labels_and_have_probabilities(run):
    out = run("fit", "trees.csv", "--target", "sold", "--out", "m", "--validation", "0.3", *FAST)
    assert "classification of 'sold'" in out
    assert "log loss" in out
    printed = parsed(run("predict", "m", "trees.csv", "--proba"))
    assert list(printed) == ["prediction", "probability_no", "probability_yes"]
    assert set(printed["prediction"]) <= {"yes", "no"}
    assert_allclose(printed["probability_no"] + printed["probability_yes"], 1, atol=1e-6)


def test_probabilities_need_a_classifier(run):
    run("fit", "trees.csv", "--target", "price", "--out", "m", *FAST)
    message = "--proba needs a classifier, and this model is a regressor: omit --proba"
    assert run("predict", "m", "trees.csv", "--proba", fails=True) == message


def test_new_categories_are_predicted_with_a_warning(run):
    run("fit", "trees.csv", "--target", "price", "--drop", "sold", "--out", "m", *FAST)
    new = rows(3).assign(kind=["oak", "yew", "fir"])
    new.to_csv("new.csv", index=False)
    printed = parsed(run("predict", "m", "new.csv"))["prediction"]
    text = "warning: column 'kind' holds categories that the model was not fitted on, in 2 of 3 rows: 'fir', 'yew'"
    assert text in run.messages
    assert_array_equal(printed, nf.load("m").model.predict(new[["size", "kind"]]))


def test_json_is_one_object(run):
    run("fit", "trees.csv", "--target", "sold", "--out", "m", *FAST)
    predicted = json.loads(run("predict", "m", "trees.csv", "--json", "--proba"))
    assert predicted["rows"] == 60
    assert list(predicted["predictions"]) == ["prediction", "probability_no", "probability_yes"]
    assert predicted["predictions"]["prediction"] == nf.load("m").predict(rows()).tolist()
    assert json.loads(run("predict", "m", "trees.csv", "--json", "--out", "p.csv")) == {"rows": 60, "out": "p.csv"}


def test_models_from_python_find_their_columns_by_name_or_by_order(run):
    frame = rows()[["size", "price"]].dropna()
    for X in (frame, frame.to_numpy()):
        model = nf.NeuralForestRegressor(FOREST, **PARAMETERS).fit(X, frame["price"])
        nf.save(model, "m")
        frame.to_csv("X.csv", index=False)
        assert_array_equal(parsed(run("predict", "m", "X.csv"))["prediction"], model.predict(X))
    message = "the model has no feature names, so the table must have its 2 columns in order, got 4: 'size', 'kind'"
    assert message in run("predict", "m", "trees.csv", fails=True)


def test_info_describes_every_kind_of_model(run):
    run("fit", "trees.csv", "--target", "price", "--out", "m", *FAST)
    out = run("info", "m")
    assert out.startswith("m\n")
    for part in (
        "NeuralForestRegressor",
        "size: numbers",
        "kind: categories: 'ash', 'elm', 'oak'",
        "validation score (used for model selection):",
        "RMSE",
        "trees   ",
        "improved trees  ",
    ):
        assert part in out
    model = nf.load("m").model
    nf.save(nf.ForestNetwork(model.network_.ensemble), "network")
    assert "ForestNetwork" in run("info", "network")
    X = np.random.default_rng(0).normal(size=(30, 2))
    nf.save(nf.NeuralForestRegressor(FOREST, **PARAMETERS).fit(X, X), "several")
    assert "RMSE (in units of each target's spread)" in run("info", "several")
    pandas.DataFrame(X).to_csv("X.csv", index=False)
    assert list(parsed(run("predict", "several", "X.csv"))) == ["prediction_1", "prediction_2"]


def test_info_as_json(run):
    run("fit", "trees.csv", "--target", "sold", "--out", "m", *FAST)
    facts, model = json.loads(run("info", "m", "--json")), nf.load("m").model
    assert (facts["kind"], facts["task"], facts["target"]) == ("NeuralForestClassifier", "classification", "sold")
    assert (facts["trees"], facts["classes"], facts["features"], facts["epochs"]) == (3, ["no", "yes"], 3, 1)
    assert facts["improved_trees"] == (~model.network_.hard).sum()
    assert facts["stacking_weights"] is None
    assert facts["scores"]["validation"]["model"] == {"log loss": model.validation_loss_}
    assert facts["bytes"] == Path("m").stat().st_size


def test_an_estimator_fitted_to_a_data_frame_finds_its_columns_and_categories(run):
    frame = rows()
    model = nf.NeuralForestRegressor(FOREST, **PARAMETERS).fit(frame[["kind", "size"]], frame["price"])
    nf.save(model, "m")
    assert_array_equal(parsed(run("predict", "m", "trees.csv"))["prediction"], model.predict(frame[["kind", "size"]]))
    assert "kind: categories: 'ash', 'elm', 'oak'" in run("info", "m")
