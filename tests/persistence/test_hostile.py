"""A forged file, with a valid checksum, is refused and takes little memory."""

import json
import os
import tempfile
import tracemalloc
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from sklearn.ensemble import RandomForestRegressor

import neuralforest as nf
from neuralforest.exceptions import ModelFileError
from neuralforest.network import LinearModel, StackedModel
from neuralforest.persistence import _describe
from persistence.models import (
    a_classifier,
    a_regressor,
    a_table_regressor,
    again,
    category_network,
    content,
    forged,
    network,
    signed,
)


def raw(header, body=b""):
    start = '{"__metadata__":{"sha256":"' + "0" * 64 + '",'
    data = (start + header).encode()
    return signed(len(data).to_bytes(8, "little") + data + body)


def entry(dtype="F64", shape=(1,), offsets=(0, 8)):
    return raw(
        '"neuralforest":"{}"},"a":' + json.dumps({"dtype": dtype, "shape": shape, "data_offsets": offsets}) + "}",
        b"0" * 8,
    )


OVERFLOW = np.array([0, 2**63 - 1, -(2**63), -1, 3])  # all differences of int64 are positive


def overflowing_trees():
    """Offsets whose differences are valid sizes of trees only where they overflow: 5 trees of 2**64 + 12 splits."""
    sizes = np.array([2**62 + 10**6, 2**62, 2**62, 2**62 - 10**6, 12])
    first_split, first_leaf = (np.cumsum([0, *(sizes + extra).tolist()], dtype=np.int64) for extra in (0, 1))
    leaves = {"value": np.ones((17, 1)), "weight": np.ones(17), "groups": np.array([0, 5])}
    middle = 10**6 - np.arange(12, dtype=np.int32)
    trees = nf.ForestNetwork(network().ensemble)
    return forged(trees, leaves | {"first_split": first_split, "first_leaf": first_leaf, "middle": middle})


HOSTILE = {
    "a huge shape": (lambda: entry(shape=(2**60,)), "must lie inside the file"),
    "a huge product": (lambda: entry(shape=(2**40, 2**40)), "must have as many bytes as its shape needs"),
    "a huge and empty shape": (lambda: entry(shape=(0, 2**70), offsets=(0, 0)), "must lie inside"),
    "offsets outside": (lambda: entry(shape=(2,), offsets=(0, 16)), "must lie inside the file"),
    "negative offsets": (lambda: entry(offsets=(-8, 0)), "must lie inside the file"),
    "a gap": (lambda: entry(offsets=(0, 0), shape=(0,)), "without gaps or overlaps"),
    "an unknown dtype": (lambda: entry(dtype="F8_E4M3"), "known dtype"),
    "three dimensions": (lambda: entry(shape=(1, 1, 1)), "two dimensions"),
    "an entry without a shape": (
        lambda: raw('"neuralforest":"{}"},"a":{"dtype":"F64","data_offsets":[0,0]}}'),
        "described by dtype, shape and data_offsets",
    ),
    "a shape that is none": (lambda: entry(shape="11"), "known dtype"),
    "a shape of booleans": (lambda: entry(shape=(True,)), "must lie inside the file"),
    "a header of another length": (
        lambda: signed((2**63).to_bytes(8, "little") + raw('"a":""}}')[8:]),
        "header must be at most",
    ),
    "no JSON string": (lambda: raw('"other":""}}'), "must hold the strings"),
    "no JSON": (lambda: raw('"neuralforest":"{}"'), "not plain JSON"),
    "no UTF-8": (lambda: signed(raw('"neuralforest":"~"}}').replace(b"~", b"\xff")), "not plain JSON"),
    "NaN in JSON": (lambda: raw('"neuralforest":"{}"},"a":NaN}'), "NaN is not a number"),
    "infinity in JSON": (lambda: raw('"neuralforest":"{}"},"a":1e999}'), "1e999 is not a number"),
    "a repeated name": (lambda: raw('"neuralforest":"{}"},"a":1,"a":1}'), "a name is repeated"),
    "a number of 5000 digits": (lambda: raw('"neuralforest":"{}"},"a":' + "9" * 5000 + "}"), "not plain JSON"),
    "a deep header": (lambda: raw('"neuralforest":"{}"},"a":' + "[" * 10**6), "not plain JSON"),
    "a deep JSON string": (lambda: raw('"neuralforest":"' + "[" * 10**6 + '"}}'), "not plain JSON"),
    "a JSON string that is no object": (lambda: raw('"neuralforest":"[]"}}'), "must be a JSON object"),
    "an empty description": (lambda: raw('"neuralforest":"{}"}}'), "must have 'format'"),
    "many arrays": (
        lambda: raw('"neuralforest":"{}"},' + ",".join(f'"{i}":0' for i in range(129)) + "}"),
        "128 arrays",
    ),
    "the next format": (lambda: forged(network(), format=13), "reads formats up to 12: upgrade neuralforest"),
    "a format of 0": (lambda: forged(network(), format=0), "must be from 1"),
    "an unknown kind": (
        lambda: forged(network(), kind="os.system"),
        "one of network, regressor, classifier, got 'os.system'",
    ),
    "a kind of another type": (lambda: forged(network(), kind=["network"]), "must be of the type str"),
    "an unknown entry": (lambda: forged(network(), model__code="import os"), "has unknown entries: 'code'"),
    "a missing array": (lambda: forged(network(), {"middle": None}), "'middle' is missing"),
    "an unknown array": (lambda: forged(network(), {"more": np.zeros(3)}), "'more' is unknown"),
    "another dtype": (
        lambda: forged(network(), {"middle": network().ensemble.middle.astype(np.int64)}),
        "must be int32",
    ),
    "another shape": (lambda: forged(network(), {"value": network().ensemble.value[:, 0]}), "shape"),
    "a tree without end": (
        lambda: forged(network(), {"middle": np.zeros_like(network().ensemble.middle)}),
        "not valid: middle must lie strictly",
    ),
    "leaves out of range": (
        lambda: forged(network(), {"middle": network().ensemble.middle + 2**30}),
        "not valid: middle must lie strictly",
    ),
    "features out of range": (
        lambda: forged(network(), {"feature": network().ensemble.feature + 3}),
        "feature must lie in 0",
    ),
    "negative features": (
        lambda: forged(network(), {"feature": network().ensemble.feature - 3}),
        "feature must lie in 0",
    ),
    "trees that overlap": (
        lambda: forged(network(), {"first_split": np.array([0, 2**62, 4, 12])}),
        "'first_split' must hold at least two offsets that rise from 0",
    ),
    "no tree": (lambda: forged(network(), {"first_split": np.zeros(1, np.int64)}), "at least two offsets"),
    "trees that overflow": (overflowing_trees, "'first_split' must hold at least two offsets that rise"),
    "NaN thresholds": (
        lambda: forged(network(), {"threshold": network().ensemble.threshold * np.nan}),
        "threshold must be a number",
    ),
    "NaN values": (
        lambda: forged(network(), {"value": network().ensemble.value * np.nan}),
        "'value' must hold finite numbers",
    ),
    "NaN parameters": (
        lambda: forged(network(), {"parameters": network().soft.parameters * np.float32("nan")}),
        "finite numbers",
    ),
    "infinite parameters": (
        lambda: forged(network(), {"parameters": np.full_like(network().soft.parameters, np.inf)}),
        "finite",
    ),
    "too few parameters": (
        lambda: forged(network(), {"parameters": network().soft.parameters[1:]}),
        "must be float32 of shape",
    ),
    "a range that ends before it begins": (
        lambda: forged(network(), {"low": np.array([0.0, 2e30, 0.0])}),
        "low must not be above high, got 2e[+]30 and 1e[+]30 for feature 1",
    ),
    "a scale of 0": (lambda: forged(network(), {"scale": np.zeros(3)}), "finite numbers above 0"),
    "a contrast of 0": (lambda: forged(network(), {"contrast": np.zeros(2)}), "finite numbers above 0"),
    "a contrast beyond float32": (lambda: forged(network(), {"contrast": np.full(2, 1e39)}), "must fit into float32"),
    "many features": (lambda: forged(network(), model__n_features=2**31 - 1), "'center' must be float64 of shape"),
    "too many features": (
        lambda: forged(network(), model__n_features=10**400),
        "n_features' of 'model' of the model must be from 1",
    ),
    "another connectivity": (
        lambda: forged(network(), model__soft__connectivity="full"),
        "'parameters' must be float32 of shape",
    ),
    "an unknown connectivity": (lambda: forged(network(), model__soft__connectivity="x"), "one of sparse, full"),
    "subnetworks of summed trees": (
        lambda: forged(network(), model__aggregation="sum"),
        "must be the groups of the ensemble where trees are summed",
    ),
    "subnetworks without trees": (
        lambda: forged(network(), {"first_tree": np.array([0, 1, 1, 3])}),
        "first_tree must rise from 0 to the number of trees, 3",
    ),
    "subnetworks of too many trees": (lambda: forged(network(), {"first_tree": np.array([0, 4])}), "must rise from 0"),
    "no subnetworks": (lambda: forged(network(), {"first_tree": np.zeros(0, np.int64)}), "at least two offsets"),
    "subnetworks that overflow": (lambda: forged(network(), {"first_tree": OVERFLOW}), "'first_tree' must hold"),
    "no groups": (lambda: forged(network(), {"groups": np.zeros(0, np.int64)}), "at least two offsets"),
    "groups without trees": (
        lambda: forged(network(), {"groups": np.array([0, 2, 2, 3])}),
        "not valid: groups must rise from 0 to the number of trees, 3",
    ),
    "groups that overflow": (lambda: forged(network(), {"groups": OVERFLOW}), "'groups' must hold"),
    "groups of another dtype": (
        lambda: forged(network(), {"groups": np.array([0, 3], np.int32)}),
        "'groups' must be int64 of shape",
    ),
    "missing groups": (lambda: forged(network(), {"groups": None}), "'groups' is missing"),
    "groups of too many trees": (lambda: forged(network(), {"groups": np.array([0, 4])}), "groups must rise from 0"),
    "other flags": (lambda: forged(network(), {"hard": np.zeros(2, np.bool_)}), "'hard' must be bool of shape"),
    "names for no feature": (
        lambda: forged(network(), model__feature_names=["a"]),
        "feature_names must have 3 entries",
    ),
    "names that are none": (
        lambda: forged(network(), model__feature_names=["a", 1, None]),
        "must be a list of strings",
    ),
}


def many_inputs():
    """A file of few bytes whose splits have many inputs in total: one list of categories is long, all others short."""
    n, longest = 3000, 3000
    lengths = np.full(n, 2)
    lengths[0] = longest
    first_category = np.append(0, np.cumsum(lengths))
    category_left = np.arange(first_category[-1]) % 2 == 0
    ensemble = nf.ensemble.TreeEnsemble(
        feature=np.zeros(n),
        threshold=np.zeros(n),
        missing_left=np.zeros(n),
        middle=np.ones(n),
        value=np.ones((2 * n, 1)),
        weight=np.ones(2 * n),
        first_split=np.arange(n + 1),
        first_leaf=2 * np.arange(n + 1),
        n_features=1,
    )
    soft = nf.ForestNetwork(ensemble).soften()
    columns = {name: np.ones(longest) for name in ("center", "scale", "low", "high", "spread")}
    return forged(soft, columns | {"first_category": first_category, "category_left": category_left})


def forged_categories(arrays=(), **changes):
    return forged(category_network(), arrays, **changes)


HOSTILE_CATEGORIES = {
    "lists that overflow": (
        lambda: forged_categories({"first_category": overflowing_lists()}),
        "first_category must rise to the number of entries",
    ),
    "lists beyond the entries": (
        lambda: forged_categories({"category_left": category_network().ensemble.category_left[1:]}),
        "first_category must rise to the number of entries",
    ),
    "lists of too few splits": (
        lambda: forged_categories({"first_category": category_network().ensemble.first_category[:-1]}),
        "first_category must have one entry a split and one more",
    ),
    "lists of one entry": (lambda: forged_categories(lists_of_one_entry()), "and one for all others"),
    "lists of another dtype": (
        lambda: forged_categories({"first_category": category_network().ensemble.first_category.astype(np.int32)}),
        "'first_category' must be int64",
    ),
    "entries of another dtype": (
        lambda: forged_categories({"category_left": category_network().ensemble.category_left.astype(np.uint8)}),
        "'category_left' must be bool",
    ),
    "lists without entries": (lambda: forged_categories({"category_left": None}), "'category_left' is missing"),
    "entries without lists": (lambda: forged_categories({"first_category": None}), "'center' must be|is unknown"),
    "a feature of both kinds": (
        lambda: forged_categories({"feature": np.ones_like(category_network().ensemble.feature)}),
        "are compared with thresholds and as categories",
    ),
    "ranges of another shape": (lambda: forged_categories({"missing_range": np.zeros((3, 3))}), "of shape \\(3, 2\\)"),
    "ranges of too few features": (lambda: forged_categories({"missing_range": np.zeros((2, 2))}), "\\(3, 2\\)"),
    "labels that are no list": (lambda: forged_categories(model__categories="ash"), "must be of the type list"),
    "labels of too few features": (
        lambda: forged_categories({"categories.1": None}, model__categories=[None]),
        "categories must have 3 entries, got 1",
    ),
    "labels that are no object": (lambda: forged_categories(model__categories=[None, "ash", None]), "JSON object"),
    "labels without an array": (lambda: forged_categories({"categories.1": None}), "'categories.1' is missing"),
    "labels that are not finite": (
        lambda: forged_categories(
            {"categories.1": np.full(3, np.nan)}, model__categories=[None, {"type": "number"}, None]
        ),
        "finite labels",
    ),
    "labels without characters": (
        lambda: forged_categories({"categories.1": np.full((3, 1), 2**21, np.uint32)}),
        "characters of labels",
    ),
    "more labels than inputs": (
        lambda: forged_categories({"categories.1": np.full((9999, 1), 65, np.uint32)}),
        "'center' must be float64 of shape|'parameters' must be float32 of shape",
    ),
    "many inputs": (many_inputs, "'parameters' must be float32 of shape"),
    "columns that are no list": (
        lambda: forged(a_table_regressor(), model__columns={}),
        "'columns' of 'model' of the model must be of the type list or null",
    ),
    "columns of too few features": (lambda: forged_columns([]), "a table must have 3 columns, got 0"),
    "a column that is no object": (lambda: forged_columns([1, 2, 3]), "column 0 must be a JSON object"),
    "a column without a name": (lambda: forged_column(name=1), "'name' of column 1 must be of the type str"),
    "an unknown entry of a column": (lambda: forged_column(code="1"), "column 1 has unknown entries: 'code'"),
    "categories that are no strings": (lambda: forged_column(categories=[1, 2]), "must be a list of strings"),
    "categories out of order": (lambda: forged_column(categories=["oak", "ash"]), "different and in ascending order"),
    "a category twice": (lambda: forged_column(categories=["ash", "ash"]), "different and in ascending order"),
    "too few means": (
        lambda: forged(a_table_regressor(), {"column.2.means": np.zeros(70)}),
        "'column.2.means' must be float64 of shape \\(71\\)",
    ),
    "NaN means": (lambda: forged(a_table_regressor(), {"column.2.means": np.full(71, np.nan)}), "finite numbers"),
    "means of no column": (lambda: forged(a_table_regressor(), {"column.9.means": np.zeros(3)}), "is unknown"),
}


def overflowing_lists():
    first = category_network().ensemble.first_category.copy()
    first[1], first[2] = 3 * 2**61, -5 * 2**60  # all differences of int64 are positive
    return first


def lists_of_one_entry():
    n = category_network().ensemble.n_splits
    return {"first_category": np.arange(n + 1), "category_left": np.ones(n, np.bool_)}


def forged_columns(columns):
    return forged(a_table_regressor(), model__columns=columns)


def forged_column(**changes):
    columns = _describe(a_table_regressor())[1]["model"]["columns"]
    return forged_columns([columns[0], columns[1] | changes, columns[2]])


@pytest.mark.parametrize("what", HOSTILE_CATEGORIES)
def test_hostile_categories_are_refused_with_little_memory(what, tmp_path):
    make, message = HOSTILE_CATEGORIES[what]
    data = make()
    (tmp_path / "model.nforest").write_bytes(data)
    with peak_of_memory() as peak, pytest.raises(ModelFileError, match=message):
        nf.load(tmp_path / "model.nforest")
    assert peak() < 200_000 + 12 * len(data)


@contextmanager
def peak_of_memory():
    """Yields a function that returns the peak of allocated bytes in the block."""
    with tempfile.TemporaryDirectory() as folder:
        again(network(), Path(folder))  # compiles the kernels
    peaks = []
    tracemalloc.start()
    try:
        yield peaks.pop
    finally:
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()


@pytest.mark.parametrize("what", HOSTILE)
def test_a_hostile_file_is_refused_with_little_memory(what, tmp_path):
    make, message = HOSTILE[what]
    data = make()
    path = tmp_path / "model.nforest"
    path.write_bytes(data)
    with peak_of_memory() as peak, pytest.raises(ModelFileError, match=message):
        nf.load(path)
    assert peak() < 100_000 + 10 * len(data)


def stacked(**changes):
    """The network of `network()` with a linear base model, some entries of which are changed."""
    linear = LinearModel(*np.ones((4, 3)), coef=np.ones((3, 1)), intercept=np.ones(1))
    model = network().with_base_models((StackedModel("ridge", linear, 0.5),))
    entry = _describe(model)[1]["model"]["base_models"][0]
    arrays = {name: changes.pop(name) for name in list(changes) if name.startswith("base_model")}
    return forged(model, arrays, model__base_models=[entry | changes])


def stacked_trees():
    return network().with_base_models((StackedModel("extra_trees", nf.ForestNetwork(network().ensemble), 0.5),))


HOSTILE_BASE_MODELS = {
    "no list": (lambda: forged(network(), model__base_models={}), "must be of the type list"),
    "no object": (lambda: forged(network(), model__base_models=["ridge"]), "a base model must be a JSON object"),
    "no arrays": (
        lambda: forged(network(), model__base_models=[{"name": "ridge", "kind": "linear", "is_fallback": False}]),
        "'base_model.0.low' is missing",
    ),
    "an unknown kind": (lambda: stacked(kind="pickle"), "must be one of linear, trees, got 'pickle'"),
    "another kind": (lambda: stacked(kind="trees"), "must have 'aggregation'"),
    "an unknown link": (lambda: stacked(kind="trees", aggregation="mean", link="x"), "must be one of identity, log"),
    "no name": (lambda: stacked(name=None), "'name' of a base model must be of the type str"),
    "an unknown entry": (lambda: stacked(path="/etc/passwd"), "a base model has unknown entries: 'path'"),
    "a flag that is none": (lambda: stacked(is_fallback=1), "must be of the type bool, got 1"),
    "a large weight": (lambda: stacked(**{"base_model.0.stacking_weight": np.array([1.5])}), "at most 1 in total"),
    "a negative weight": (lambda: stacked(**{"base_model.0.stacking_weight": np.array([-0.5])}), "must be at least 0"),
    "other features": (lambda: stacked(**{"base_model.0.coef": np.ones((2, 1))}), "float64 of shape"),
    "a scale of 0": (lambda: stacked(**{"base_model.0.scale": np.zeros(3)}), "scale must be positive"),
    "groups of too many trees": (
        lambda: forged(stacked_trees(), {"base_model.0.groups": np.array([0, 4])}),
        "groups must rise from 0 to the number of trees, 3",
    ),
    "missing groups": (lambda: forged(stacked_trees(), {"base_model.0.groups": None}), "model.0.groups' is missing"),
}


@pytest.mark.parametrize("what", HOSTILE_BASE_MODELS)
def test_a_hostile_base_model_is_refused(what, tmp_path):
    make, message = HOSTILE_BASE_MODELS[what]
    (tmp_path / "model.nforest").write_bytes(make())
    with pytest.raises(ModelFileError, match=message):
        nf.load(tmp_path / "model.nforest")


HOSTILE_ESTIMATORS = {
    "another task": (lambda: forged(a_regressor(), kind="classifier"), "a soft network for its own task"),
    "an unknown parameter": (
        lambda: forged(a_regressor(), model__parameters__x=1),
        "no parameter 'x': a newer neuralforest",
    ),
    "a forest": (lambda: forged(a_regressor(), model__parameters__forest=1), "no parameter 'forest'"),
    "a deep parameter": (
        lambda: forged(a_regressor(), model__parameters__loss=[[[[[[[[[[1]]]]]]]]]]),
        "nested more than 8 deep",
    ),
    "an object": (
        lambda: forged(a_regressor(), model__parameters__loss={"eval": "1"}),
        "a parameter must be a number, a string",
    ),
    "threads": (lambda: forged(a_regressor(), model__parameters__n_jobs="2"), "n_jobs must be an integer"),
    "too few names": (lambda: forged(a_regressor(), model__feature_names=["a"]), "feature_names must be 3 names"),
    "a negative seed": (lambda: forged(a_regressor(), model__split_seed=-1), "must be from 0"),
    "NaN losses": (lambda: forged(a_regressor(), {"fit.losses": np.full(2, np.nan)}), "must not hold NaN"),
    "unsorted residuals": (
        lambda: forged(a_regressor(), {"residuals.relative": np.array([[2.0], [1.0]])}),
        "must be sorted",
    ),
    "residuals without units": (
        lambda: forged(a_regressor(), {"residuals.prior": np.array([-1.0])}),
        "negative, got -1",
    ),
    "a scale without trees": (
        lambda: forged(a_regressor(), model__error_scale={"aggregation": "sum", "link": "identity"}),
        "'error_scale.value' is missing",
    ),
    "a scale of another kind": (lambda: forged(a_regressor(), model__error_scale={"link": "exp"}), "'aggregation'"),
    "no residuals": (lambda: forged(a_regressor(), {"residuals.relative": np.empty((0, 1))}), "at least one"),
    "a late epoch": (lambda: forged(a_regressor(), {"history.best_epoch": np.full(3, 9)}), "must be from -1 to 2"),
    "draws without rows": (lambda: forged(a_regressor(), model__forest__n_rows=None), "of at least one row"),
    "more rows than there are": (
        lambda: forged(a_regressor(), model__forest__n_drawn=41, model__forest__replacement=False),
        "41 of 40 rows cannot be drawn without replacement",
    ),
    "many draws": (lambda: forged(a_regressor(), model__forest__n_drawn=10**9), "at most 16 times"),
    "wrong bags": (lambda: forged(a_regressor(), {"forest.bags": np.zeros((3, 4), np.uint8)}), "a seed for each tree"),
    "heavy bags": (
        lambda: forged(a_regressor(), {"forest.bags": np.full((3, 40), 2**32 - 1, np.uint32)}),
        "a seed for each tree",
    ),
    "labels out of order": (
        lambda: forged(a_classifier(), {"fit.classes": _describe(a_classifier())[0]["fit.classes"][::-1]}),
        "ascending",
    ),
    "no characters": (
        lambda: forged(a_classifier(), {"fit.classes": np.full((3, 1), 2**21, np.uint32)}),
        "characters of labels",
    ),
    "no labels": (
        lambda: forged(a_classifier(), {"fit.classes": None}, model__classes=None),
        "3 labels in ascending order",
    ),
    "labels of several types": (
        lambda: forged(a_classifier(), {"fit.classes": None}, model__classes={"type": "object", "values": ["a", 1, 2]}),
        "3 labels in ascending order",
    ),
    "labels that are none": (
        lambda: forged(a_classifier(), {"fit.classes": None}, model__classes={"type": "object", "values": [[]]}),
        "must be a list of strings, finite numbers",
    ),
    "NaN labels": (
        lambda: forged(a_classifier(), {"fit.classes": np.full(3, np.nan)}, model__classes={"type": "number"}),
        "finite labels",
    ),
}


@pytest.mark.parametrize("what", HOSTILE_ESTIMATORS)
def test_a_hostile_estimator_is_refused(what, tmp_path):
    make, message = HOSTILE_ESTIMATORS[what]
    (tmp_path / "model.nforest").write_bytes(make())
    with pytest.raises(ModelFileError, match=message):
        nf.load(tmp_path / "model.nforest")


def test_booleans_are_0_or_1(tmp_path):
    data = bytearray(content(network()))
    header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    data[8 + int.from_bytes(data[:8], "little") + header["missing_left"]["data_offsets"][0]] = 2
    (tmp_path / "m").write_bytes(signed(data))
    with pytest.raises(ModelFileError, match="must hold 0 and 1 only"):
        nf.load(tmp_path / "m")


def test_loading_takes_little_more_memory_than_the_file(tmp_path):
    forest = RandomForestRegressor(20, random_state=0).fit(
        np.random.default_rng(0).normal(size=(4000, 3)), np.arange(4000)
    )
    nf.save(nf.convert(forest), tmp_path / "m")
    size = os.path.getsize(tmp_path / "m")
    with peak_of_memory() as peak:
        nf.load(tmp_path / "m")
    assert peak() < 3 * size
