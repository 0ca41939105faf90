"""nf.save and nf.load: a model in one file that is safe to open. No pickle; a file names no class and runs no code.

A file holds arrays and a JSON string under one checksum (see `_container`). The JSON is an object:

    format      the number of the format
    library     the version of neuralforest that wrote the file, for information
    kind        "network", "regressor" or "classifier"
    model       the model, as `_network` or `_estimator` describe it
    table       null, or the name of the target, and names and categories of the columns that the model was fitted on

All of it is checked before it is used: dtypes, shapes, ranges of indices, the structure of trees, finite weights;
unknown entries are refused. Memory stays within a small multiple of the size of the file.

The number of the format rises by one with every change in what a file holds or in what that means, because a reader
refuses unknown entries. A change adds a step to `old_formats` that turns the previous format into the new one, so that
all earlier files can be read, and the files of this folder know the current format only. A new parameter of an
estimator needs no new format: where a file lacks it, it has its default.
"""

import json
import os
from typing import Any

from neuralforest.exceptions import ModelFileError
from neuralforest.network import ForestNetwork
from neuralforest.persistence import _container
from neuralforest.persistence._estimator import ESTIMATORS, restore_estimator, store_estimator
from neuralforest.persistence._fields import ArrayFields, Arrays, Fields
from neuralforest.persistence._network import restore_network, store_network
from neuralforest.persistence.old_formats import FORMAT, upgrade
from neuralforest.tables import Column, TableModel

__all__ = ["FORMAT", "load", "save"]


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a model to a file, atomically.

    Parameters
    ----------
    model : fitted NeuralForestRegressor or NeuralForestClassifier, ForestNetwork, or TableModel
    path : path of a file
        By convention it ends in ``.nforest``. An existing file is replaced once the new one is complete on disk.

    Raises
    ------
    ModelFileError
        When a file cannot hold the model, for example labels that are neither numbers nor strings.

    See Also
    --------
    load : Read the model again.

    Examples
    --------
    >>> import neuralforest as nf
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = nf.NeuralForestRegressor(max_epochs=2, contrast=(3, 1), random_state=0).fit(X, y)
    >>> folder = getfixture("tmp_path")
    >>> nf.save(model, folder / "diabetes.nforest")
    >>> bool((nf.load(folder / "diabetes.nforest").predict(X) == model.predict(X)).all())
    True
    """
    arrays, description = _describe(model)
    _restore(dict(arrays), description)  # a model that could not be loaded is not written
    _container.write(path, arrays, json.dumps(description, separators=(",", ":"), allow_nan=False))


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model that `save` or ``neuralforest fit`` wrote.

    Its predictions equal those of the saved model bit for bit, and training can be continued with `partial_fit` or
    ``warm_start=True``. The forest is stored as its trees: `forest_` is a `StoredForest`, which predicts as the forest
    did, and so is the parameter `forest` unless it was None. The parameters `callback` and `checkpoint`, and a
    `random_state` that is not an integer, are not stored: they are None after loading.

    Parameters
    ----------
    path : path of a file

    Returns
    -------
    NeuralForestRegressor, NeuralForestClassifier, ForestNetwork or TableModel
        The model that was saved.

    Raises
    ------
    ModelFileError
        When the file is not a model file, is damaged or incomplete, was written by a newer version, or does not hold a
        valid model.
    OSError
        When the file does not exist or cannot be read.
    """
    arrays, text = _container.read(path)
    try:
        description, arrays = upgrade(_container.parse_json(text), arrays)
        return _restore(arrays, description)
    except ModelFileError as error:
        raise ModelFileError(f"{os.fspath(path)!r} cannot be loaded: {error}") from error


def _describe(model: Any) -> tuple[Arrays, dict[str, Any]]:
    from neuralforest import __version__

    arrays: Arrays = {}
    inner = model.model if type(model) is TableModel else model
    kinds = {kind: name for name, kind in ESTIMATORS.items()} | {ForestNetwork: "network"}
    if type(inner) not in kinds:
        raise ModelFileError(
            "nf.save writes NeuralForestRegressor, NeuralForestClassifier and ForestNetwork, got "
            f"{type(inner).__name__}: save another model through nf.convert(model), or with pickle"
        )
    store = store_network if type(inner) is ForestNetwork else store_estimator
    return arrays, {
        "format": FORMAT,
        "library": __version__,
        "kind": kinds[type(inner)],
        "model": store(inner, arrays),
        "table": _store_table(model) if type(model) is TableModel else None,
    }


def _store_table(model: TableModel) -> dict[str, Any]:
    columns = [
        {"name": column.name, "categories": None if column.categories is None else list(column.categories)}
        for column in model.columns
    ]
    return {"target": model.target, "columns": columns}


def _restore(arrays: Arrays, description: dict[str, Any]) -> Any:
    fields, left = Fields(description, "the model"), ArrayFields(arrays)
    fields.count("format")
    fields.take("library", str)
    kind, content = fields.choice("kind", ("network", *ESTIMATORS)), fields.inner("model")
    is_network = kind == "network"
    model = restore_network(content, left) if is_network else restore_estimator(ESTIMATORS[kind], content, left)
    table = fields.optional("table", lambda table: _restore_table(table, model))
    fields.close()
    left.close()
    return model if table is None else table


def _restore_table(fields: Fields, model: Any) -> TableModel:
    target, columns = fields.take("target", str, type(None)), []
    for entry in fields.take("columns", list):
        column = Fields(entry, "a column")
        columns.append(Column(column.take("name", str), column.strings("categories")))
        column.close()
        categories = columns[-1].categories or ()
        if len(set(categories)) != len(categories):
            raise ModelFileError("the categories of a column must be different")
    fields.close()
    n_features = getattr(model, "network_", model).n_features
    if len(columns) != n_features or len({column.name for column in columns}) != n_features:
        raise ModelFileError(f"a table must have {n_features} columns of different names")
    return TableModel(tuple(columns), target, model)
