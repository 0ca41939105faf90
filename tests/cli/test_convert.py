"""neuralforest convert: models from skops files, also from forged ones; other libraries are in another file."""

import io
import json
import zipfile
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.ensemble import (
    BaggingRegressor,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeRegressor

import neuralforest as nf
from cli.samples import pandas, parsed

skops = pytest.importorskip("skops.io")

X = np.random.default_rng(0).normal(size=(40, 3))


@pytest.mark.parametrize(
    "model",
    [
        DecisionTreeRegressor(max_leaf_nodes=4),
        RandomForestRegressor(2, max_leaf_nodes=4),
        RandomForestClassifier(2, max_leaf_nodes=4),
        ExtraTreesClassifier(2, max_leaf_nodes=4),
        BaggingRegressor(n_estimators=2),
        GradientBoostingClassifier(n_estimators=2),
        HistGradientBoostingRegressor(max_iter=2, min_samples_leaf=3),
    ],
    ids=lambda model: type(model).__name__,
)
def test_models_from_skops_files_have_the_same_predictions(model, run):
    model.fit(X, X[:, 0] > 0 if "Classifier" in type(model).__name__ else X[:, 0])
    skops.dump(model, "m.skops")
    assert run("convert", "m.skops", "--out", "m.nforest").startswith(f"m.nforest: {type(model).__name__} as Forest")
    pandas.DataFrame(X).to_csv("X.csv", index=False)
    printed = parsed(run("predict", "m.nforest", "X.csv"))["prediction"]
    assert_allclose(printed.astype(float), model.predict(X).astype(float))


def test_json_describes_the_network(run):
    skops.dump(DecisionTreeRegressor(max_leaf_nodes=4).fit(X, X[:, 0]), "m.skops")
    facts = json.loads(run("convert", "m.skops", "--out", "m", "--json"))
    assert (facts["source"], facts["kind"], facts["leaves"]) == ("DecisionTreeRegressor", "ForestNetwork", 4)
    assert facts["bytes"] == Path("m").stat().st_size


def tampered(change):
    """A skops file of a tree whose description was changed."""
    data = skops.dumps(DecisionTreeRegressor(max_leaf_nodes=4).fit(X, X[:, 0]))
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    schema = json.loads(members["schema.json"])
    change(schema, members)
    members["schema.json"] = json.dumps(schema).encode()
    with zipfile.ZipFile("t.skops", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return "t.skops"


def tree_of(schema):
    return schema["content"]["content"]["tree_"]


def set_size(value):
    return lambda schema, _: tree_of(schema)["__reduce__"]["args"]["content"][2].update(content=value)


def point_outside(schema, members):
    file = tree_of(schema)["content"]["content"]["nodes"]["file"]
    nodes = np.load(io.BytesIO(members[file]))
    nodes["left_child"][0] = 10**9
    buffer = io.BytesIO()
    np.save(buffer, nodes)
    members[file] = buffer.getvalue()


def call_system(schema, _):
    schema["content"]["content"]["criterion"].update(__class__="system", __module__="os", __loader__="TypeNode")


FORGED = {
    "a huge size": (set_size("1000000000"), "the arrays of a tree do not have the sizes that the file states"),
    "a negative size": (set_size("-1"), "the arrays of a tree do not have the sizes that the file states"),
    "another number of nodes": (
        lambda schema, _: tree_of(schema)["content"]["content"]["node_count"].update(content="9"),
        "do not have the sizes",
    ),
    "a size that is no number": (
        lambda schema, _: tree_of(schema)["content"]["content"]["node_count"].update(__loader__="DictNode"),
        "it cannot be read (ValueError: a size is not a number)",
    ),
    "nodes that are no array": (
        lambda schema, _: tree_of(schema)["content"]["content"]["nodes"].update(type="json"),
        "it cannot be read (ValueError: an array is not a NumPy array)",
    ),
    "no nodes": (
        lambda schema, _: tree_of(schema)["content"]["content"].pop("nodes"),
        "it cannot be read (KeyError: 'nodes')",
    ),
    "a pointer to no node": (point_outside, "a child pointer"),
    "another model": (lambda schema, _: schema.update(__class__="SVC"), "it holds a SVC"),
    "a function": (lambda schema, _: schema.update(__class__="system", __module__="os"), "it holds a system"),
    "a function inside": (call_system, "os.system, which is not on the list of trusted types"),
    "a zip bomb": (
        lambda _, members: members.update(bomb=b"0" * 10**7),
        "it is compressed by more than a factor of 100",
    ),
}


@pytest.mark.parametrize("what", FORGED)
def test_forged_skops_files_are_refused(what, run):
    change, message = FORGED[what]
    assert message in run("convert", tampered(change), "--out", "n.nforest", fails=True)
    assert not Path("n.nforest").exists()


def test_categories_of_histogram_boosting_are_read_from_skops_files(run):
    kind = np.array(["a", "b", "c"])[np.arange(120) % 3]
    frame = pandas.DataFrame({"x": np.tile(X[:, 0], 3), "kind": pandas.Categorical(kind)})
    model = HistGradientBoostingRegressor(max_iter=3, min_samples_leaf=2).fit(frame, frame["x"] + 9 * (kind == "b"))
    skops.dump(model, "m.skops")
    run("convert", "m.skops", "--out", "n.nforest")
    network = nf.load("n.nforest")
    assert network.ensemble.is_categorical.any()
    new = frame.assign(kind=pandas.Categorical(["new"] * 120))
    for rows in (frame, new):
        assert_allclose(network.predict(rows), model.predict(rows), rtol=1e-12)
    words = model._predictors[0][0].raw_left_cat_bitsets
    model._predictors[0][0].raw_left_cat_bitsets = words[:0]  # which nodes point to
    skops.dump(model, "f.skops")
    assert "scikit-learn cannot read it (IndexError" in run("convert", "f.skops", "--out", "f.nforest", fails=True)


def test_other_models_in_skops_files_are_refused(run):
    skops.dump(LinearRegression().fit([[0.0], [1.0]], [0, 1]), "m.skops")
    message = run("convert", "m.skops", "--out", "n", fails=True)
    assert "it holds a LinearRegression. Supported: skops files of" in message
