"""A model file gives back the model, bit for bit, or raises ModelFileError: nothing in between."""

import hashlib
import json
import os
import pickle
import stat
import subprocess
import sys
import tempfile
import threading
import tracemalloc
import warnings
from contextlib import contextmanager
from dataclasses import fields
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from safetensors.numpy import load_file
from sklearn.base import clone
from sklearn.ensemble import (
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

import neuralforest as nf
from neuralforest.ensemble import TreeEnsemble
from neuralforest.exceptions import ModelFileError, NotFittedError, UnsupportedModelError
from neuralforest.network.softening import Softening
from neuralforest.persistence import _container, _describe
from neuralforest.persistence.stored_forest import Bags, StoredForest

X = np.random.default_rng(0).normal(size=(40, 3)).round(2)
Y = X[:, 0] + np.sin(3 * X[:, 1])
SMALL = {"connectivity": "sparse", "contrast": (3.0, 1.0), "max_epochs": 2, "learning_rate": 0.05, "random_state": 0}
RF = {"n_estimators": 3, "max_leaf_nodes": 5}


def regressor(forest=None, y=Y, **parameters):
    forest = RandomForestRegressor(**RF) if forest is None else forest
    return nf.NeuralForestRegressor(forest, **SMALL | parameters).fit(X, y)


def classifier(forest=None, labels=("a", "b", "c"), **parameters):
    forest = RandomForestClassifier(**RF) if forest is None else forest
    y = np.asarray(labels)[np.digitize(Y, np.quantile(Y, np.arange(1, len(labels)) / len(labels)))]
    return nf.NeuralForestClassifier(forest, **SMALL | parameters).fit(X, y)


def soft_network(**parameters):
    forest = RandomForestRegressor(**RF, random_state=0).fit(X, Y)
    return nf.convert(forest).soften((3, 1), scale=X.std(axis=0), **parameters)


@cache
def network():
    return soft_network()


@cache
def a_regressor():
    return regressor()


@cache
def a_classifier():
    return classifier()


def again(model, folder):
    nf.save(model, folder / "model.nforest")
    return nf.load(folder / "model.nforest")


def content(model):
    """The bytes of a model's file."""
    arrays, description = _describe(model)
    return b"".join(map(bytes, _container.content(arrays, json.dumps(description))))


def signed(data):
    """The same bytes with the checksum that belongs to them."""
    data = bytearray(data)
    data[_container._CHECKSUM] = b"0" * 64
    data[_container._CHECKSUM] = hashlib.sha256(data).hexdigest().encode()
    return bytes(data)


def same_bits(first, second):
    assert first.dtype == second.dtype
    assert first.shape == second.shape
    assert first.tobytes() == second.tobytes() or (first == second).all()  # objects have no bytes


# --- what comes back --------------------------------------------------------------------------------------------------

OUTPUTS = ("predict", "predict_proba", "predict_quantiles", "apply", "decision_function")


def assert_same_model(model, loaded, seconds=True):
    assert type(loaded) is type(model)
    assert set(vars(loaded)) == set(vars(model))
    for name in OUTPUTS:
        assert hasattr(loaded, name) == hasattr(model, name)
        if hasattr(model, name):
            same_bits(getattr(model, name)(X), getattr(loaded, name)(X))
    same_bits(model.feature_importances_, loaded.feature_importances_)
    for item in fields(model.history_):
        if item.name != "seconds" or seconds:
            same_bits(getattr(model.history_, item.name), getattr(loaded.history_, item.name))
    assert (model.contrast_, model.forest_loss_, model.validation_loss_) == (
        loaded.contrast_,
        loaded.forest_loss_,
        loaded.validation_loss_,
    )
    parameters, kept = model.get_params(deep=False), loaded.get_params(deep=False)
    assert {name for name in parameters if parameters[name] != kept[name]} <= {"forest"}


SOURCES = {
    False: [
        RandomForestRegressor(**RF),
        RandomForestRegressor(**RF, bootstrap=False),
        ExtraTreesRegressor(**RF),
        BaggingRegressor(n_estimators=2, max_features=2),
        GradientBoostingRegressor(n_estimators=3, max_leaf_nodes=3),
        HistGradientBoostingRegressor(max_iter=3, max_leaf_nodes=3, min_samples_leaf=2),
    ],
    True: [
        RandomForestClassifier(**RF),
        ExtraTreesClassifier(**RF, bootstrap=True),
        GradientBoostingClassifier(n_estimators=2, max_leaf_nodes=3),
        HistGradientBoostingClassifier(max_iter=2, max_leaf_nodes=3, min_samples_leaf=2),
    ],
}
LABELS = [
    np.array([3, 7], np.int8),
    np.array([-5, 0, 10**12]),
    np.array([1, 2], np.uint16),
    np.array([False, True]),
    np.array([0.0, 2.0, 3.0], np.float32),
    np.array(["no", "yes"], "U9"),
    np.array(["ä", "β", "語", "🌲"]),
    np.array(["ab", "b"], object),
]


@st.composite
def models(draw):
    is_classifier = draw(st.booleans())
    source = draw(st.sampled_from(SOURCES[is_classifier]))
    boosted = "Boosting" in type(source).__name__
    parameters = {
        "training": "joint" if boosted else draw(st.sampled_from(["independent", "joint"])),
        "connectivity": draw(st.sampled_from(["sparse", "full"])),
        "contrast": draw(st.sampled_from([(3.0, 1), [[1.0, 1.0], [10.0, 2.0]]])),
        "fold_contrast": draw(st.booleans()),
        "standardize": draw(st.booleans()),
        "max_epochs": draw(st.integers(0, 2)),
        "learning_rate": draw(st.sampled_from([0.05, (0.01, 0.1, 0.0)])),
        "random_state": draw(st.integers(0, 9)),
        "n_jobs": draw(st.sampled_from([None, 2])),
    }
    if is_classifier:
        parameters["class_weight"] = draw(st.sampled_from([None, "balanced"]))
        model = classifier(source, draw(st.sampled_from(LABELS)), **parameters)
    else:
        outputs = 1 if boosted else draw(st.integers(1, 3))
        y = np.column_stack([Y, np.full(len(Y), 0.1), Y**2])[:, :outputs]
        model = regressor(source, y[:, 0] if outputs == 1 else y, **parameters)
    if draw(st.booleans()):  # two epochs seldom beat the trees, and then it is those that predict
        soft = model.network_.soft
        model.network_ = model.network_.with_parameters(soft.parameters, np.zeros_like(soft.hard))
    return model


@pytest.mark.filterwarnings("ignore:.*networks diverged")
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(model=models(), warm_start=st.booleans())
def test_what_comes_back_is_the_same_bit_for_bit_and_goes_on_training_the_same_way(model, warm_start, tmp_path):
    loaded = again(model, tmp_path)
    assert_same_model(model, loaded)
    assert content(loaded) == content(model)
    y = model.predict(X)
    if len(np.unique(y)) == 1 and hasattr(model, "classes_"):
        return
    for each in (model, loaded):
        each.set_params(warm_start=True).fit(X, y) if warm_start else each.partial_fit(X, y)
    assert_same_model(model, loaded, seconds=False)


@pytest.mark.parametrize("connectivity", ["sparse", "full"])
@pytest.mark.parametrize("training", ["independent", "joint"])
def test_networks_come_back_hard_and_soft(connectivity, training, tmp_path):
    soft = soft_network(connectivity=connectivity, training=training, output_center=3.0)
    for each in (soft, nf.ForestNetwork(soft.ensemble), soft.with_parameters(soft.soft.parameters, ~soft.hard)):
        loaded = again(each, tmp_path)
        assert repr(loaded) == repr(each)
        same_bits(each.predict(X), loaded.predict(X))
        same_bits(each.apply(X), loaded.apply(X))


@pytest.mark.parametrize("labels", [*LABELS, np.array([1, 5, 9], object), np.array([1.5, 2.0], object)], ids=repr)
def test_labels_keep_their_values_and_their_type(labels, tmp_path):
    forest = RandomForestClassifier(**RF).fit(X, np.arange(len(X)) % len(labels))
    ensemble = nf.convert(forest).ensemble
    state = ensemble.__getstate__() | {"classes": labels, "feature_names": ("a", "b b", "ü")}
    loaded = again(nf.ForestNetwork(TreeEnsemble(**state)), tmp_path)
    same_bits(np.asarray(labels), loaded.classes)
    assert [type(label) for label in labels.tolist()] == [type(label) for label in loaded.classes.tolist()]
    assert loaded.ensemble.feature_names == ("a", "b b", "ü")


def test_labels_that_a_file_cannot_hold_are_refused(tmp_path):
    model = classifier(labels=np.array(["2020-01-01", "2021-01-01"], "datetime64[D]").astype(object).astype(str))
    model.classes_ = np.array(["2020-01-01", "2021-01-01"], "datetime64[D]")
    with pytest.raises(ModelFileError, match=r"labels must be texts, whole numbers, .*: fit the model on labels"):
        nf.save(model, tmp_path / "m")
    assert not list(tmp_path.iterdir())


def test_names_of_features_come_back_and_are_asked_for(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=["x", "y", "z"])
    model = nf.NeuralForestRegressor(RandomForestRegressor(**RF), **SMALL).fit(frame, Y)
    loaded = again(model, tmp_path)
    same_bits(model.feature_names_in_, loaded.feature_names_in_)
    same_bits(model.predict(frame), loaded.predict(frame))
    with pytest.raises(ValueError, match="feature names"):
        loaded.predict(frame[["z", "y", "x"]])


def test_parameters_that_are_not_plain_come_back_as_their_defaults(tmp_path):
    model = regressor(random_state=np.random.RandomState(0), callback=lambda *_: None, bound=np.float64(1e9))
    model.set_params(checkpoint=nf.Checkpoint(tmp_path / "c"), learning_rate=np.array([0.1, 0.2, 0.3]), verbose=np.inf)
    loaded = again(model, tmp_path)
    assert (loaded.random_state, loaded.callback, loaded.checkpoint) == (None, None, None)
    assert (loaded.bound, loaded.learning_rate, loaded.verbose) == (1e9, [0.1, 0.2, 0.3], np.inf)


@pytest.mark.parametrize("name", ["regressor", "classifier", "network", "table"])
def test_files_of_format_1_are_read_for_ever(name):
    """Written once, by version 0.1.0, and never again: a later format gets files of its own beside these."""
    folder = Path(__file__).parent / "models"
    expected = json.loads((folder / "format-1.json").read_text())
    model = nf.load(folder / f"format-1-{name}.nforest")
    if name == "table":
        assert model.columns[1].categories == ("ash", "elm", "oak")
        model = model.model
    rows = np.array(expected["X"])
    if name == "classifier":
        assert model.predict(rows).tolist() == expected["labels"]
        np.testing.assert_allclose(model.predict_proba(rows), expected[name], rtol=1e-5)
        model.partial_fit(rows, expected["labels"])
    else:
        np.testing.assert_allclose(model.predict(rows), expected[name], rtol=1e-5)
    if name == "regressor":
        quantiles = model.predict_quantiles(rows, (0.1, 0.9))
        np.testing.assert_allclose(quantiles, expected["quantiles"], rtol=1e-5)


def test_intervals_of_an_old_file_stay_what_they_were_when_it_is_written_anew(tmp_path):
    folder = Path(__file__).parent / "models"
    rows = np.array(json.loads((folder / "format-1.json").read_text())["X"])
    old = nf.load(folder / "format-1-regressor.nforest")
    np.testing.assert_array_equal(again(old, tmp_path).predict_quantiles(rows), old.predict_quantiles(rows))


def test_a_file_of_format_2_is_read_for_ever():
    folder = Path(__file__).parent / "models"
    expected = json.loads((folder / "format-2.json").read_text())
    network = nf.load(folder / "format-2-network.nforest")
    assert [(str(each), each.share) for each in network.base_models] == [("3 deep trees", 0.25)]
    np.testing.assert_allclose(network.predict_proba(np.array(expected["X"])), expected["probabilities"], rtol=1e-5)


def test_a_file_of_format_3_is_read_for_ever():
    folder = Path(__file__).parent / "models"
    expected = json.loads((folder / "format-3.json").read_text())
    network = nf.load(folder / "format-3-network.nforest")
    assert [(str(each), each.share) for each in network.base_models] == [
        ("3 deep trees", 0.25),
        ("4 boosted trees", 0.125),
        ("a linear function", 0.375),
    ]
    np.testing.assert_allclose(network.predict(np.array(expected["X"])), expected["prediction"], rtol=1e-5)


def test_a_file_of_format_4_is_read_for_ever():
    folder = Path(__file__).parent / "models"
    expected = json.loads((folder / "format-4.json").read_text())
    model, rows = nf.load(folder / "format-4-regressor.nforest"), np.array(expected["X"])
    np.testing.assert_allclose(model.predict(rows), expected["prediction"], rtol=1e-5)
    np.testing.assert_allclose(model.predict_quantiles(rows, (0.1, 0.9)), expected["quantiles"], rtol=1e-5)


def test_a_file_of_format_5_is_read_for_ever():
    folder = Path(__file__).parent / "models"
    expected = json.loads((folder / "format-5.json").read_text())
    model, rows = nf.load(folder / "format-5-regressor.nforest"), np.array(expected["X"])
    np.testing.assert_allclose(model.predict(rows), expected["prediction"], rtol=1e-5)
    np.testing.assert_array_equal(model.predict(1e3 * rows), model.predict(1e6 * rows))  # the range ends before


def test_a_file_of_format_6_is_read_for_ever():
    folder = Path(__file__).parent / "models"
    expected = json.loads((folder / "format-6.json").read_text())
    network = nf.load(folder / "format-6-network.nforest")
    assert [(each.share, each.is_fallback) for each in network.base_models] == [(0.5, True), (0.25, False)]
    assert network.soft.spread.tolist() == [0.25, 1.0, 0.5, 0.75]
    np.testing.assert_allclose(network.predict(np.array(expected["X"])), expected["prediction"], rtol=1e-5)


def test_a_network_of_an_earlier_file_has_no_range_and_standardised_features():
    soft = nf.load(Path(__file__).parent / "models" / "format-4-regressor.nforest").network_.soft
    assert (soft.low == -1e30).all()
    assert (soft.high == 1e30).all()
    assert (soft.spread == 1.0).all()


def test_everything_that_models_are_made_of_is_stored():
    """A new field of these classes needs a place in the file, and a new number of the format."""
    arrays, description = _describe(regressor())
    stored = {name.rpartition(".")[2] for name in arrays}
    stored |= set(description["model"]["network"]) | set(description["model"]["network"]["soft"])
    model = regressor()
    for kind in (TreeEnsemble, Softening, type(model._residuals), nf.History):
        assert {item.name for item in fields(kind) if item.init} <= stored


# --- the forest of a loaded estimator ---------------------------------------------------------------------------------


def test_the_forest_is_there_as_its_trees(tmp_path):
    for model in (regressor(), classifier(), classifier(GradientBoostingClassifier(n_estimators=2), training="joint")):
        loaded = again(model, tmp_path)
        assert isinstance(loaded.forest_, StoredForest)
        assert loaded.forest is loaded.forest_
        same_bits(nf.convert(model.forest_).predict(X), loaded.forest_.predict(X))
        same_bits(nf.convert(model.forest_).predict(X), nf.convert(loaded.forest_).predict(X))
        assert_array_equal(loaded.forest_.apply(X), loaded.apply(X))
        truth = model.predict(X)
        np.testing.assert_allclose(loaded.forest_.score(X, truth), model.forest_.score(X, truth))
        np.testing.assert_allclose(loaded.forest_.feature_importances_.sum(), 1)
        if hasattr(model, "classes_"):
            same_bits(nf.convert(model.forest_).predict_proba(X), loaded.forest_.predict_proba(X))
            assert hasattr(loaded.forest_, "decision_function") == hasattr(model.forest_, "decision_function")
        refitted = loaded.fit(X, model.predict(X))
        assert refitted.forest_ is refitted.forest
        pickle.loads(pickle.dumps(loaded)).predict(X)


def test_a_stored_forest_cannot_be_grown_anew(tmp_path):
    copy = clone(again(regressor(), tmp_path))
    with pytest.raises(UnsupportedModelError, match=r"cannot be grown on other rows: give the estimator a forest"):
        copy.fit(X, Y)
    with pytest.raises(NotFittedError, match="holds no trees"):
        copy.forest.predict(X)
    assert not hasattr(StoredForest(), "predict_proba")


def test_the_default_forest_is_grown_anew_after_loading(tmp_path):
    model = nf.NeuralForestRegressor(**SMALL | {"max_epochs": 1}).fit(X, Y)
    loaded = again(model, tmp_path)
    assert loaded.forest is None
    same_bits(loaded.fit(X, Y).predict(X), model.predict(X))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "forest",
    [RandomForestRegressor(**RF, max_samples=0.5), BaggingRegressor(n_estimators=3, max_samples=7)],
)
def test_the_rows_of_each_tree_come_back(forest, weighted, tmp_path):
    weight = np.arange(1.0, len(X) + 1) if weighted else None
    model = nf.NeuralForestRegressor(forest, **SMALL).fit(X, Y, weight)
    loaded = again(model, tmp_path)
    bags = loaded.forest_._bags
    assert (bags.seeds is not None) == (isinstance(forest, RandomForestRegressor) and not weighted)
    for first, second in zip(model.forest_.estimators_samples_, loaded.forest_.estimators_samples_, strict=True):
        assert_array_equal(np.sort(first), np.sort(second))


def test_bags_beyond_all_measure_are_not_kept():
    assert Bags.of([np.zeros(100, int)], [0], n_rows=2) is None
    with pytest.raises(AttributeError, match="not grown on rows drawn for each tree"):
        _ = StoredForest().estimators_samples_


# --- damage -----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def sound():
    return content(classifier(RandomForestClassifier(2, max_leaf_nodes=3)))


def test_a_file_that_ends_early_is_refused_wherever_it_ends(sound, tmp_path):
    path = tmp_path / "model.nforest"
    path.write_bytes(sound)
    for length in reversed(range(len(sound))):
        os.truncate(path, length)
        with pytest.raises(ModelFileError):
            nf.load(path)
    path.write_bytes(sound + b"\0")
    with pytest.raises(ModelFileError, match="checksum does not fit: copy it again, or save it anew"):
        nf.load(path)


def test_no_flipped_bit_goes_unnoticed(sound, tmp_path):
    rng = np.random.default_rng(0)
    path = tmp_path / "model.nforest"
    path.write_bytes(sound)
    with open(path, "r+b", buffering=0) as file:
        for number in range(5000):
            bits = {int(bit) for bit in rng.integers(8 * len(sound), size=1 + number % 3)}
            flipped = bytearray(sound)
            for bit in bits:
                flipped[bit // 8] ^= 1 << bit % 8
            for place in {bit // 8 for bit in bits}:
                os.pwrite(file.fileno(), flipped[place : place + 1], place)
            with pytest.raises(ModelFileError):
                nf.load(path)
            for place in {bit // 8 for bit in bits}:
                os.pwrite(file.fileno(), sound[place : place + 1], place)
    nf.load(path)


def test_a_changed_file_with_the_right_checksum_is_refused_or_still_a_model(sound, tmp_path):
    """Changes that an attacker could make: no crash, no hang, no error but ours."""
    rng = np.random.default_rng(1)
    path = tmp_path / "model.nforest"
    path.touch()
    start = 8 + int.from_bytes(sound[:8], "little")
    refused = 0
    for number in range(2500):
        data = bytearray(sound)
        place = rng.integers(_container._CHECKSUM.stop, start) if number % 3 else rng.integers(start, len(data))
        data[place] = rng.integers(256) if number % 2 else data[place] ^ (1 << rng.integers(8))
        with open(path, "r+b") as file:
            file.write(signed(data))
        try:
            model = nf.load(path)
        except ModelFileError:
            refused += 1
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.predict_proba(X)
    assert 800 < refused < 2400


# --- malice -----------------------------------------------------------------------------------------------------------


def forged(model, arrays=(), **changes):
    """The file of a model with other arrays, and with other items, given by their path, of the description."""
    stored, description = _describe(model)
    for place, value in changes.items():
        *path, last = place.split("__")
        inner = description
        for name in path:
            inner = inner[name]
        inner[last] = value
    text = json.dumps(description)
    return b"".join(
        map(bytes, _container.content({k: v for k, v in (stored | dict(arrays)).items() if v is not None}, text))
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


HOSTILE = {
    "a huge shape": (lambda: entry(shape=(2**60,)), "must lie inside of the file"),
    "a huge product": (lambda: entry(shape=(2**40, 2**40)), "must have the bytes that its shape needs"),
    "a huge and empty shape": (lambda: entry(shape=(0, 2**70), offsets=(0, 0)), "must lie inside"),
    "offsets outside": (lambda: entry(shape=(2,), offsets=(0, 16)), "must lie inside of the file"),
    "negative offsets": (lambda: entry(offsets=(-8, 0)), "must lie inside of the file"),
    "a gap": (lambda: entry(offsets=(0, 0), shape=(0,)), "without gaps or overlaps"),
    "an unknown dtype": (lambda: entry(dtype="F8_E4M3"), "known dtype"),
    "three dimensions": (lambda: entry(shape=(1, 1, 1)), "two dimensions"),
    "a shape that is none": (lambda: entry(shape="11"), "known dtype"),
    "a shape of booleans": (lambda: entry(shape=(True,)), "must lie inside of the file"),
    "a header of another length": (
        lambda: signed((2**63).to_bytes(8, "little") + raw('"a":""}}')[8:]),
        "header must be at most",
    ),
    "no text": (lambda: raw('"other":""}}'), "must hold the texts"),
    "no JSON": (lambda: raw('"neuralforest":"{}"'), "not plain JSON"),
    "no UTF-8": (lambda: signed(raw('"neuralforest":"~"}}').replace(b"~", b"\xff")), "not plain JSON"),
    "NaN in JSON": (lambda: raw('"neuralforest":"{}"},"a":NaN}'), "NaN is not a number"),
    "infinity in JSON": (lambda: raw('"neuralforest":"{}"},"a":1e999}'), "1e999 is not a number"),
    "a repeated name": (lambda: raw('"neuralforest":"{}"},"a":1,"a":1}'), "a name stands twice"),
    "a number of 5000 digits": (lambda: raw('"neuralforest":"{}"},"a":' + "9" * 5000 + "}"), "not plain JSON"),
    "a deep header": (lambda: raw('"neuralforest":"{}"},"a":' + "[" * 10**6), "not plain JSON"),
    "a deep text": (lambda: raw('"neuralforest":"' + "[" * 10**6 + '"}}'), "not plain JSON"),
    "a text that is no object": (lambda: raw('"neuralforest":"[]"}}'), "must be a JSON object"),
    "an empty description": (lambda: raw('"neuralforest":"{}"}}'), "must have 'format'"),
    "many arrays": (
        lambda: raw('"neuralforest":"{}"},' + ",".join(f'"{i}":0' for i in range(129)) + "}"),
        "128 arrays",
    ),
    "the next format": (lambda: forged(network(), format=7), "reads formats up to 6: upgrade neuralforest"),
    "a format of 0": (lambda: forged(network(), format=0), "must be from 1"),
    "an unknown kind": (
        lambda: forged(network(), kind="os.system"),
        "one of network, regressor, classifier, got 'os.system'",
    ),
    "a kind of another type": (lambda: forged(network(), kind=["network"]), "must be of the type str"),
    "an unknown item": (lambda: forged(network(), model__code="import os"), "holds 'code', which is not known"),
    "a missing array": (lambda: forged(network(), {"middle": None}), "'middle' is missing"),
    "an unknown array": (lambda: forged(network(), {"more": np.zeros(3)}), "'more' is not known"),
    "another dtype": (
        lambda: forged(network(), {"middle": network().ensemble.middle.astype(np.int64)}),
        "must be int32",
    ),
    "another shape": (lambda: forged(network(), {"value": network().ensemble.value[:, 0]}), "shape"),
    "a tree without end": (
        lambda: forged(network(), {"middle": np.zeros_like(network().ensemble.middle)}),
        "not trees: middle must lie strictly",
    ),
    "leaves out of range": (
        lambda: forged(network(), {"middle": network().ensemble.middle + 2**30}),
        "not trees: middle must lie strictly",
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
        "rising row of offsets",
    ),
    "no tree": (lambda: forged(network(), {"first_split": np.zeros(1, np.int64)}), "rising row of offsets"),
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
    "sums trained apart": (lambda: forged(network(), model__aggregation="sum"), "cannot be trained independently"),
    "names for no feature": (lambda: forged(network(), model__feature_names=["a"]), "feature_names must have 3 names"),
    "names that are none": (lambda: forged(network(), model__feature_names=["a", 1, None]), "must be a list of texts"),
}


@contextmanager
def peak_of_memory():
    """Gives a function that says how many bytes were in use at most, inside of the subnetwork."""
    with tempfile.TemporaryDirectory() as folder:
        again(network(), Path(folder))  # so that no kernel is compiled below
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


HOSTILE_ESTIMATORS = {
    "a class": (lambda: forged(a_regressor(), kind="classifier"), "a soft network for its own task"),
    "an unknown parameter": (
        lambda: forged(a_regressor(), model__parameters__x=1),
        "no parameter 'x': a newer neuralforest",
    ),
    "a forest": (lambda: forged(a_regressor(), model__parameters__forest=1), "no parameter 'forest'"),
    "a deep parameter": (lambda: forged(a_regressor(), model__parameters__loss=[[[[[[[[[[1]]]]]]]]]]), "nested 8 deep"),
    "an object": (
        lambda: forged(a_regressor(), model__parameters__loss={"eval": "1"}),
        "a parameter must be a number, a text",
    ),
    "threads": (lambda: forged(a_regressor(), model__parameters__n_jobs="2"), "n_jobs must be a whole number"),
    "too few names": (lambda: forged(a_regressor(), model__feature_names=["a"]), "feature_names must be 3 names"),
    "a negative seed": (lambda: forged(a_regressor(), model__split_seed=-1), "must be from 0"),
    "NaN losses": (lambda: forged(a_regressor(), {"fit.losses": np.full(2, np.nan)}), "must not hold NaN"),
    "unsorted residuals": (
        lambda: forged(a_regressor(), {"residuals.relative": np.array([[2.0], [1.0]])}),
        "must be sorted",
    ),
    "residuals in no units": (lambda: forged(a_regressor(), {"residuals.prior": np.array([-1.0])}), "below 0, got -1"),
    "no residuals": (lambda: forged(a_regressor(), {"residuals.relative": np.empty((0, 1))}), "at least one"),
    "a late epoch": (lambda: forged(a_regressor(), {"history.best_epoch": np.full(3, 9)}), "must be from -1 to 2"),
    "draws without rows": (lambda: forged(a_regressor(), model__forest__n_rows=None), "at least one row"),
    "many draws": (lambda: forged(a_regressor(), model__forest__n_drawn=10**9), "at most 16 times"),
    "wrong bags": (lambda: forged(a_regressor(), {"forest.bags": np.zeros((3, 4), np.uint8)}), "a seed a tree"),
    "heavy bags": (
        lambda: forged(a_regressor(), {"forest.bags": np.full((3, 40), 2**32 - 1, np.uint32)}),
        "a seed a tree",
    ),
    "labels out of order": (
        lambda: forged(a_classifier(), {"fit.classes": _describe(a_classifier())[0]["fit.classes"][::-1]}),
        "rising",
    ),
    "no character": (
        lambda: forged(a_classifier(), {"fit.classes": np.full((3, 1), 2**21, np.uint32)}),
        "characters of labels",
    ),
    "no labels": (
        lambda: forged(a_classifier(), {"fit.classes": None}, model__classes=None),
        "3 labels in rising order",
    ),
    "blended labels": (
        lambda: forged(a_classifier(), {"fit.classes": None}, model__classes={"type": "object", "values": ["a", 1, 2]}),
        "3 labels in rising order",
    ),
    "labels that are none": (
        lambda: forged(a_classifier(), {"fit.classes": None}, model__classes={"type": "object", "values": [[]]}),
        "must be a list of texts, finite numbers",
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


# --- files ------------------------------------------------------------------------------------------------------------


def test_other_files_are_refused_with_what_to_do(tmp_path):
    (tmp_path / "empty").touch()
    (tmp_path / "pickle").write_bytes(pickle.dumps(network()))
    os.mkfifo(tmp_path / "pipe")
    for name, message in (
        ("empty", "is empty: name a file that nf.save or 'neuralforest fit' wrote"),
        ("pickle", "does not begin as a neuralforest model file does: name a file"),
        ("pipe", "is not a file"),
        (".", "is not a file: name the file that nf.save wrote"),
    ):
        with pytest.raises(ModelFileError, match=message):
            nf.load(tmp_path / name)
    with pytest.raises(FileNotFoundError):
        nf.load(tmp_path / "none")


def test_other_models_are_refused_with_what_to_do(tmp_path):
    class Mine(nf.NeuralForestRegressor):
        pass

    for model in (RandomForestRegressor(), Mine(), None):
        with pytest.raises(ModelFileError, match=r"nf.save writes .*, got .*: save another model through nf.convert"):
            nf.save(model, tmp_path / "m")
    with pytest.raises(ValueError, match="not fitted"):
        nf.save(nf.NeuralForestRegressor(), tmp_path / "m")
    with pytest.raises(FileNotFoundError):
        nf.save(network(), tmp_path / "no folder" / "m")
    assert not list(tmp_path.iterdir())


def test_names_beyond_all_measure_are_refused(tmp_path):
    state = network().ensemble.__getstate__() | {"feature_names": ("a", "b", "c" * _container.LARGEST_HEADER)}
    with pytest.raises(ModelFileError, match=r"must fit into 16777216 bytes, and take .*: shorten the names"):
        nf.save(nf.ForestNetwork(TreeEnsemble(**state)), tmp_path / "m")
    assert not list(tmp_path.iterdir())


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    nf.save(network(), tmp_path / "m")
    before = (tmp_path / "m").read_bytes()
    monkeypatch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        nf.save(a_regressor(), tmp_path / "m")
    assert (tmp_path / "m").read_bytes() == before
    assert os.listdir(tmp_path) == ["m"]


def test_a_link_stays_a_link_and_the_file_is_readable_as_others_are(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "real")
    nf.save(network(), tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE((tmp_path / "real").stat().st_mode) == 0o666 & ~mask


def test_the_same_model_gives_the_same_bytes_and_safetensors_reads_them(tmp_path):
    nf.save(a_regressor(), tmp_path / "m")
    nf.save(a_regressor(), str(tmp_path / "n"))
    assert (tmp_path / "m").read_bytes() == (tmp_path / "n").read_bytes()
    arrays, _ = _describe(a_regressor())
    read = load_file(tmp_path / "m")
    assert set(read) == set(arrays)
    for name, array in arrays.items():
        same_bits(np.asarray(array), read[name])


def test_saves_at_the_same_time_leave_one_whole_file(tmp_path):
    networks = [soft_network(output_center=float(number)) for number in range(4)]
    files = {content(each) for each in networks}
    path = tmp_path / "m"
    nf.save(networks[0], path)
    threads = [threading.Thread(target=lambda each=each: [nf.save(each, path) for _ in range(15)]) for each in networks]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        assert content(nf.load(path)) in files
    assert os.listdir(tmp_path) == ["m"]


KILLED = """
import os, random, signal, sys, time
import neuralforest as nf
path, models = sys.argv[1], [nf.load(name) for name in sys.argv[2:]]
expected = [open(name, "rb").read() for name in sys.argv[2:]]
folder = os.path.dirname(path)
random.seed(0)
seen = set()
for attempt in range(40):
    if attempt % 10 == 0 and os.path.exists(path):
        os.unlink(path)
    before = os.stat(folder).st_mtime_ns
    child = os.fork()
    if child == 0:
        while True:
            for model in models:
                nf.save(model, path)
    while os.stat(folder).st_mtime_ns == before:  # until it has begun to write
        time.sleep(0.0005)
    time.sleep(random.random() * 0.02)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    if os.path.exists(path):
        nf.load(path)
        seen.add(expected.index(open(path, "rb").read()))
    else:
        seen.add(None)
print(len(seen), len([name for name in os.listdir(folder) if name.endswith(".unfinished")]))
"""


def in_a_new_process(code, *arguments):
    environment = os.environ | {"PYTHONPATH": str(Path(nf.__file__).parents[1])}
    command = [sys.executable, "-W", "ignore", "-c", code, *map(str, arguments)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=120).stdout


@pytest.mark.skipif(not hasattr(os, "fork"), reason="kills a forked process")
def test_kill_9_during_a_save_leaves_an_old_or_a_new_file_or_none(tmp_path):
    nf.save(a_regressor(), tmp_path / "a")
    nf.save(classifier(RandomForestClassifier(50)), tmp_path / "b")
    (tmp_path / "to").mkdir()
    kinds, unfinished = in_a_new_process(KILLED, tmp_path / "to" / "m", tmp_path / "a", tmp_path / "b").split()
    assert int(kinds) >= 2
    assert int(unfinished) > 0  # some were killed while they wrote


def test_a_new_process_predicts_the_same(tmp_path):
    np.save(tmp_path / "X.npy", X)
    models = [a_regressor(), a_classifier(), network()]
    for number, model in enumerate(models):
        nf.save(model, tmp_path / str(number))
    code = """
import sys, numpy as np, neuralforest as nf
X = np.load(sys.argv[1])
for name in sys.argv[2:]:
    print(nf.load(name).predict(X).tobytes().hex())
"""
    printed = in_a_new_process(code, tmp_path / "X.npy", *(tmp_path / str(number) for number in range(3))).split()
    assert printed == [model.predict(X).tobytes().hex() for model in models]
