"""neuralforest fit: from a table to a model file."""

import json
import os
import re
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import neuralforest as nf
from cli.samples import FAST, pandas, parsed, rows

pytest.importorskip("pyarrow")

DATA = Path(os.environ.get("NEURALFOREST_DATA", Path(__file__).parents[3] / "shared" / "data"))


def test_fit_prints_scores_and_predict_prints_the_predictions_of_the_model(run):
    out = run("fit", "trees.csv", "--target", "price", "--drop", "sold", "--out", "m.nforest", "--test", "0.25", *FAST)
    assert "task: regression, because the target holds fractions (override with --task classification)" in run.messages
    assert "fitting a forest and its network to 45 rows ..." in run.messages
    assert "epoch 1 of 1" in run.messages
    assert re.search(r"m.nforest: regression of 'price', 60 rows, 2 columns, [\d.]+ s", out)
    assert "categorical columns: 'kind'" in out
    assert re.search(r"\d of 3 trees improved|no network was better than the forest", out)
    assert "validation score (used for model selection):" in out
    assert "test score (held-out rows):" in out
    assert len(re.findall(r"RMSE +[\d.]+ +[\d.]+ +[+-][\d.]+%", out)) == 2  # validation, test
    printed = parsed(run("predict", "m.nforest", "trees.csv"))
    assert "columns that the model was not fitted on are ignored: 'sold'" in run.messages
    assert list(printed) == ["prediction"]
    model = nf.load("m.nforest")
    assert_array_equal(printed["prediction"], model.predict(rows()))
    assert model.columns[1].categories == ("ash", "elm", "oak")


def test_the_same_seed_gives_the_same_model_for_any_number_of_threads(run):
    for name, jobs in (("a", "1"), ("b", "2")):
        run("fit", "trees.csv", "--target", "price", "--out", name, *FAST[:-2], "--jobs", jobs, "--seed", "7")
    first, second = nf.load("a"), nf.load("b")
    assert_array_equal(first.predict(rows()), second.predict(rows()))


def test_options_are_parameters_of_the_estimator(run):
    options = ["--validation", "0.3", "--training", "joint", "--seed", "5", *FAST]
    run("fit", "trees.csv", "--target", "price", "--out", "m", *options)
    model = nf.load("m").model
    assert (model.validation, model.validation_fraction, model.training) == ("fraction", 0.3, "joint")
    assert (model.random_state, model.max_epochs, model.connectivity, model.n_jobs) == (5, 1, "sparse", 1)
    assert model.network_.ensemble.n_trees == 3


@pytest.mark.usefixtures("few_boosting_rounds")
def test_base_models_are_stacked_without_the_option_trees(run):
    fit = ["fit", "trees.csv", "--target", "price", "--drop", "kind", "--out", "m", "--json", "--quiet"]
    fitted = json.loads(run(*fit, *FAST[2:]))
    model = nf.load("m").model
    assert model.network_.ensemble.n_trees == 60
    assert fitted["stacking_weights"] == model.stacking_weights_
    assert model.network_.base_models
    assert f"stacking weights  network {model.network_.network_weight:.2f}, " in run("info", "m")
    assert json.loads(run("info", "m", "--json"))["stacking_weights"] == model.stacking_weights_


def test_json_is_one_object_without_messages(run):
    fitted = json.loads(run("fit", "trees.csv", "--target", "sold", "--out", "m", *FAST, "--json", "--quiet"))
    assert run.messages == ""
    assert (fitted["task"], fitted["rows"], fitted["target"]) == ("classification", 60, "sold")
    assert fitted["columns"][:2] == [
        {"name": "size", "categories": None},
        {"name": "kind", "categories": ["ash", "elm", "oak"]},
    ]
    assert fitted["stacking_weights"] == {"network": 1.0}
    assert list(fitted["scores"]) == ["validation"]
    assert {name: list(scores) for name, scores in fitted["scores"]["validation"].items()} == {
        "forest": ["log loss"],
        "model": ["log loss"],
    }


def test_test_scores_are_those_of_the_held_out_rows(run):
    fit = ["fit", "trees.csv", "--target", "sold", "--drop", "size", "--out", "m", "--test", "0.2", "--json", "--quiet"]
    test = json.loads(run(*fit, *FAST))["scores"]["test"]
    held_out = rows().sample(frac=1.0, random_state=0)[:12]
    model = nf.load("m")
    assert test["model"]["accuracy"] == (model.predict(held_out) == held_out["sold"]).mean()
    assert list(test["forest"]) == list(test["model"]) == ["log loss", "accuracy"]


def test_identifiers_and_row_numbers_are_mentioned(run):
    rows().assign(name=[f"tree {n}" for n in range(60)]).to_csv("named.csv")  # pandas writes row numbers without a name
    run("fit", "named.csv", "--target", "price", "--out", "m", "--quiet", *FAST)
    text = "warning: column 'name' has a new category in almost every row: --drop 'name' if it is an identifier"
    assert text in run.messages
    assert "warning: 'Unnamed: 0' has no name in 'named.csv': if it holds row numbers, fit with --drop" in run.messages


@pytest.mark.parametrize(
    ("numbers", "warned"),
    [(range(60), True), (np.arange(59, -1, -1) + 7.0, True), (np.arange(60) * 2, False), (np.arange(60) % 30, False)],
    ids=["counting", "backwards", "with gaps", "repeated"],
)
def test_columns_that_count_the_rows_are_mentioned(numbers, warned, run):
    rows().assign(number=numbers).to_csv("numbered.csv", index=False)
    run("fit", "numbered.csv", "--target", "price", "--out", "m", "--quiet", *FAST)
    text = "warning: column 'number' counts the rows: --drop 'number' if it is an identifier"
    assert (text in run.messages) == warned


def test_the_model_is_the_estimator_fitted_to_the_table(run):
    run("fit", "trees.csv", "--target", "price", "--out", "m", *FAST[2:])
    model = nf.load("m")
    frame = pandas.read_csv("trees.csv")
    parameters = {"max_epochs": 1, "connectivity": "sparse", "n_jobs": 1, "random_state": 0}
    expected = nf.NeuralForestRegressor(**parameters).fit(frame.drop(columns="price"), frame["price"])
    assert_array_equal(model.predict(frame), expected.predict(frame.drop(columns="price")))
    assert model.model.network_.ensemble.is_categorical.any()


def test_splits_test_categories_with_the_option_trees_too(run):
    run("fit", "trees.csv", "--target", "price", "--out", "m", *FAST)
    assert nf.load("m").model.network_.ensemble.is_categorical.any()


def test_numbers_are_categories_on_request(run):
    frame = rows().assign(code=np.arange(60) % 4 + 1.0)
    frame.to_csv("codes.csv", index=False)
    fit = ["fit", "codes.csv", "--target", "price", "--categorical", "code", "--drop", "sold", "--out", "m"]
    columns = json.loads(run(*fit, *FAST, "--json"))["columns"]
    assert columns[2] == {"name": "code", "categories": ["1.0", "2.0", "3.0", "4.0"]}
    frame.to_parquet("codes.parquet")
    columns = json.loads(run(fit[0], "codes.parquet", *fit[2:], *FAST, "--json"))["columns"]
    assert columns[2] == {"name": "code", "categories": ["1", "2", "3", "4"]}
    assert len(parsed(run("predict", "m", "codes.csv"))) == 60
    assert "warning" not in run.messages  # 1.0 is 1


def test_fewer_numbers_than_nine_in_ten_are_categories(run):
    rows().assign(size=["1", "2", "3", "4", "big"] * 12).to_csv("sizes.csv", index=False)
    for test in ([], ["--test", "0.2"]):
        fit = ["fit", "sizes.csv", "--target", "price", "--out", "m", *test, *FAST, "--json", "--quiet"]
        assert json.loads(run(*fit))["columns"][0] == {"name": "size", "categories": ["1", "2", "3", "4", "big"]}


def test_held_out_rows_of_one_class_are_scored(run):
    rows().assign(sold=["yes"] * 58 + ["no"] * 2).to_csv("most.csv", index=False)
    fit = ["fit", "most.csv", "--target", "sold", "--drop", "size", "--out", "m", "--test", "0.05", *FAST]
    assert "accuracy" in run(*fit)


def test_columns_of_a_categorical_dtype_stay_categories(run):
    rows().assign(code=pandas.Categorical(["0", "1", "2", "3"] * 15)).to_parquet("codes.parquet")
    columns = json.loads(run("fit", "codes.parquet", "--target", "price", "--out", "m", *FAST, "--json"))["columns"]
    assert columns[3] == {"name": "code", "categories": ["0", "1", "2", "3"]}


@pytest.mark.skipif(not DATA.is_dir(), reason="the benchmark data are not here; NEURALFOREST_DATA names their folder")
@pytest.mark.parametrize(
    ("file", "task"),
    [
        ("regression/insurance.csv", "regression"),
        ("regression/ames_housing.csv", "regression"),
        ("paper/variants/auto_mpg_398_horsepower_blank.csv", "regression"),
        ("classification/german_credit.csv", "classification"),
        ("classification/vehicle.csv", "classification"),
    ],
)
def test_benchmark_files_are_fitted_and_predicted(file, task, run):
    out = run("fit", DATA / file, "--target", "target", "--out", "m", "--test", "0.3", *FAST)
    assert f"{task} of 'target'" in out
    table = pandas.read_csv(DATA / file)
    printed = parsed(run("predict", "m", DATA / file))["prediction"]
    assert len(printed) == len(table)
    if task == "regression":
        assert np.corrcoef(printed, table["target"])[0, 1] > 0.6
    else:
        assert (printed == table["target"]).mean() > 0.5
