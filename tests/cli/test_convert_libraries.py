"""neuralforest convert: model files of XGBoost, LightGBM and CatBoost, also forged ones."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from cli.samples import pandas, parsed, rows
from neuralforest.cli import _model_files

xgboost = pytest.importorskip("xgboost")
lightgbm = pytest.importorskip("lightgbm")
catboost = pytest.importorskip("catboost")


def table():
    frame = rows().assign(kind=lambda frame: frame["kind"].astype("category"), code=np.arange(60) % 4 + 1)
    return frame.assign(code=frame["code"].astype("category"))[["size", "kind", "code"]], frame["price"]


@pytest.fixture
def in_process(monkeypatch):
    """Reads files in this process, which is faster."""

    class Pool(ThreadPoolExecutor):
        def __init__(self, *_):
            super().__init__(1)

    monkeypatch.setattr(_model_files, "ProcessPoolExecutor", Pool)


def xgboost_file(path="m.json", **parameters):
    X, y = table()
    model = xgboost.XGBRegressor(n_estimators=4, max_depth=3, enable_categorical=True, **parameters).fit(X, y)
    model.save_model(path)
    return model.predict(X)


def lightgbm_file(path="m.txt"):
    X, y = table()
    model = lightgbm.LGBMRegressor(n_estimators=4, min_child_samples=3, verbose=-1).fit(X, y)
    model.booster_.save_model(path)
    return model.predict(X)


def catboost_file(path="m.cbm"):
    X, y = table()
    model = catboost.CatBoostRegressor(iterations=4, depth=3, verbose=0, allow_writing_files=False)
    model.fit(X[["size"]], y).save_model(path)
    return model.predict(X[["size"]])


@pytest.mark.usefixtures("in_process")
@pytest.mark.parametrize(
    ("path", "write", "library"),
    [
        ("m.json", xgboost_file, "XGBoost"),
        ("m.ubj", xgboost_file, "XGBoost"),
        ("m.txt", lightgbm_file, "LightGBM"),
        ("m.cbm", catboost_file, "CatBoost"),
    ],
)
def test_predictions_are_those_of_the_library(path, write, library, run):
    expected = write(path)
    assert run("convert", path, "--out", "m.nforest").startswith(f"m.nforest: {library} model as ForestNetwork(4 trees")
    X, y = table()
    X.assign(price=y)[["price", "code", "size", "kind"]].to_csv("X.csv", index=False)
    assert_allclose(parsed(run("predict", "m.nforest", "X.csv"))["prediction"], expected, rtol=1e-6)
    assert "columns that the model was not fitted on are ignored: 'price'" in run.messages or library == "CatBoost"
    described = run("info", "m.nforest")
    assert "size: numbers" in described
    if library != "CatBoost":
        assert "kind: categories: 'ash', 'elm', 'oak'" in described
        assert "code: categories: '1', '2', '3', '4'" in described


def test_classes_have_probabilities(run):
    X, y = table()
    model = lightgbm.LGBMClassifier(n_estimators=4, min_child_samples=3, verbose=-1).fit(X, (y > 1).astype(int))
    model.booster_.save_model("m.txt")
    facts = json.loads(run("convert", "m.txt", "--out", "m", "--json"))
    assert (facts["source"], facts["task"], facts["classes"]) == ("LightGBM model", "classification", [0, 1])
    X.to_csv("X.csv", index=False)
    printed = parsed(run("predict", "m", "X.csv", "--proba"))
    assert_allclose(printed["probability_1"], model.predict_proba(X)[:, 1])


def test_a_model_of_arrays_takes_the_columns_in_their_order(run):
    X = np.random.default_rng(0).normal(size=(60, 2))
    model = lightgbm.LGBMRegressor(n_estimators=4, min_child_samples=3, verbose=-1).fit(X, X[:, 0])
    model.booster_.save_model("m.txt")
    run("convert", "m.txt", "--out", "m")
    pandas.DataFrame(X, columns=["a", "b"]).to_csv("X.csv", index=False)
    assert_allclose(parsed(run("predict", "m", "X.csv"))["prediction"], model.predict(X))


def test_names_with_spaces_are_found(run):
    """LightGBM writes underscores in their place."""
    X, y = table()
    lightgbm.LGBMRegressor(n_estimators=4, min_child_samples=3, verbose=-1).fit(
        X.rename(columns={"size": "trunk size"}), y
    ).booster_.save_model("m.txt")
    run("convert", "m.txt", "--out", "m")
    X.rename(columns={"size": "trunk size"}).to_csv("spaces.csv", index=False)
    X.rename(columns={"size": "trunk_size"}).to_csv("underscores.csv", index=False)
    assert run("predict", "m", "spaces.csv") == run("predict", "m", "underscores.csv")


def test_a_file_that_crashes_its_library_is_refused(run):
    """XGBoost reads the categories of a split without checking where they are."""
    xgboost_file()
    content = json.loads(Path("m.json").read_text())
    for tree in content["learner"]["gradient_booster"]["model"]["trees"]:
        tree["categories_segments"] = [10**9] * len(tree["categories_segments"])
    Path("m.json").write_text(json.dumps(content))
    assert run("convert", "m.json", "--out", "n.nforest", fails=True).startswith("'m.json' cannot be converted: ")
    assert not Path("n.nforest").exists()


def first_tree(content):
    return content["learner"]["gradient_booster"]["model"]["trees"][0]


@pytest.mark.usefixtures("in_process")
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda content: first_tree(content)["left_children"].__setitem__(0, 10**8), "a child pointer leads outside"),
        (lambda content: first_tree(content)["left_children"].__setitem__(1, 0), "tree 0 is not a tree"),
        (lambda content: first_tree(content)["split_indices"].__setitem__(0, 10**8), "feature must lie in 0 to n_feat"),
        (lambda content: first_tree(content).update(left_children=[1]), "XGBoost cannot read it (XGBoostError: "),
        (lambda content: content["learner"]["objective"].update(name="survival:cox"), "its objective is survival:cox"),
    ],
)
def test_forged_files_of_xgboost_are_refused(change, message, run):
    xgboost_file()
    content = json.loads(Path("m.json").read_text())
    change(content)
    Path("m.json").write_text(json.dumps(content))
    assert message in run("convert", "m.json", "--out", "n.nforest", fails=True)
    assert not Path("n.nforest").exists()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("\nleft_child=", "\nleft_child=9999 ", "'m.txt' cannot be converted: "),
        ("\nsplit_feature=0", "\nsplit_feature=99", "feature must lie in 0 to n_features - 1 with n_features = 3"),
        ("\nleaf_value=", "\nleaf_value=inf ", "'m.txt' cannot be converted: "),
        ("\nleaf_value=", "\nleaf_value=some ", "LightGBM cannot read it (ValueError: could not convert string to flo"),
        ("\nfeature_names=size ", "\nfeature_names=", "'m.txt' cannot be converted: "),
        ("\nobjective=regression", "\nobjective=cross_entropy", "its objective is cross_entropy"),
        ("\nnum_tree_per_iteration=1", "\nnum_tree_per_iteration=0", "num_tree_per_iteration is b'0'"),
    ],
)
def test_forged_files_of_lightgbm_are_refused(old, new, message, run):
    lightgbm_file()
    text = Path("m.txt").read_text()
    assert old in text
    Path("m.txt").write_text(text.replace(old, new))
    assert message in run("convert", "m.txt", "--out", "n.nforest", fails=True)
    assert not Path("n.nforest").exists()


@pytest.mark.usefixtures("in_process")
def test_damaged_files_of_catboost_are_refused(run):
    catboost_file()
    Path("m.cbm").write_bytes(Path("m.cbm").read_bytes()[:200])
    assert "CatBoost cannot read it (CatBoostError: " in run("convert", "m.cbm", "--out", "n.nforest", fails=True)


def test_a_library_that_is_not_installed_is_named(run, monkeypatch):
    monkeypatch.setattr(_model_files, "import_module", lambda name: __import__("no_such_library"))
    message = "this needs lightgbm, which is not installed: pip install 'neuralforest[lightgbm]'"
    lightgbm_file()
    assert run("convert", "m.txt", "--out", "n", fails=True) == message
