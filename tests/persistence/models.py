"""Small models, and their files as bytes."""

import hashlib
import json
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

import neuralforest as nf
import training_twins
from neuralforest.persistence import _container, _describe

X = np.random.default_rng(0).normal(size=(40, 3)).round(2)
Y = X[:, 0] + np.sin(3 * X[:, 1])
SMALL = {
    "connectivity": "sparse",
    "contrast": (3.0, 1.0),
    "max_epochs": 2,
    "learning_rate": 0.05,
    "stacking": None,
    "random_state": 0,
}
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


@cache
def category_network():
    """A network with the categories of a feature, numbers that mean missing values, and two groups of trees."""
    trees = training_twins.random_ensemble((5, 1, 4, 3), "sum", categories={1: 3}, groups=[0, 2, 4], seed=4)
    labels = (None, np.array(["ash", "elm", "oak"]), None)
    ensemble = replace(trees, categories=labels, missing_range=[[-0.1, 0.1], [np.nan, np.nan], [np.nan, np.nan]])
    assert ensemble.is_categorical.any()
    return nf.ForestNetwork(ensemble).soften((3, 1), training="joint")


def table(n=210):
    """Return a table with strings, more strings than a network has units for, and numbers; some are missing."""
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"height": random.normal(size=n), "tree": np.tile(["oak", "ash", "elm"], n // 3)})
    frame["place"] = [f"p{i % 70}" for i in range(n)]
    frame.loc[::17, ["tree", "height"]] = None
    return frame, np.arange(n) % 3 + np.arange(n) % 7 / 7 + np.nan_to_num(frame["height"])


@cache
def a_table_regressor():
    return nf.NeuralForestRegressor(**SMALL).fit(*table())


def again(model, folder):
    """The model after saving and loading."""
    nf.save(model, folder / "model.nforest")
    return nf.load(folder / "model.nforest")


def content(model):
    """The bytes of the file of a model."""
    return file_of(*_describe(model))


def file_of(arrays, description):
    return b"".join(map(bytes, _container.content(arrays, json.dumps(description))))


def signed(data):
    """The same bytes with their checksum."""
    data = bytearray(data)
    data[_container._CHECKSUM] = b"0" * 64
    data[_container._CHECKSUM] = hashlib.sha256(data).hexdigest().encode()
    return bytes(data)


def forged(model, arrays=(), **changes):
    """The file of a model with other arrays, and with other entries, given by their path, of the JSON."""
    stored, description = _describe(model)
    for path, value in changes.items():
        *parents, last = path.split("__")
        inner = description
        for name in parents:
            inner = inner[name]
        inner[last] = value
    return file_of({name: array for name, array in (stored | dict(arrays)).items() if array is not None}, description)


def same_bits(first, second):
    assert first.dtype == second.dtype
    assert first.shape == second.shape
    assert first.tobytes() == second.tobytes() or (first == second).all()  # objects have no bytes
