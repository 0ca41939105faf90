"""nf.save and nf.load: a model in one file that is safe to open. No pickle; a file names no class and runs no code.

A file holds arrays and a JSON text under one checksum (see `_container`). The text is an object:

    format      the number below
    library     the version of neuralforest that wrote the file, for people to read
    kind        "network", "regressor" or "classifier": what the rest describes
    model       the model, as `_network` or `_estimator` describe it
    table       the columns that the model was fitted on, as `_table` describes them, or null

Whatever stands there is checked before it is used: dtypes, shapes, ranges of indices, that trees are trees, that
weights are finite; what is not known, or left over, is refused. Memory stays within a small multiple of the file's
size.

The rule for the format's number: it rises by one with every change in what a file holds or in what that means, however
small, because a reader refuses what it does not know. A reader reads its own number and all lower ones, for ever: a
change adds a step that turns the previous format into the new one, and a file of each format is kept among the tests. A
new parameter of an estimator changes no format: where a file lacks it, it has its default.
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
from neuralforest.persistence._table import restore_table, store_table
from neuralforest.tabular import TableModel

__all__ = ["FORMAT", "load", "save"]

FORMAT = 6
"""2: trees beside a network; 3: several companions; 4: units of intervals; 5: ranges of features; 6: spreads, stopgaps.

Files of all earlier formats are read.
"""


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a model to a file, whole or not at all.

    Parameters
    ----------
    model : fitted NeuralForestRegressor or NeuralForestClassifier, ForestNetwork, or TableModel
    path : path of a file
        By convention it ends in ``.nforest``. A file that is there is replaced once the new one is complete on disk.

    Raises
    ------
    ModelFileError
        When the model holds what a file cannot, such as labels that are neither numbers nor texts.

    See Also
    --------
    load : What comes back.

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
    _restore(dict(arrays), description)  # what could not be loaded is not written
    _container.write(path, arrays, json.dumps(description, separators=(",", ":"), allow_nan=False))


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model that `save` or ``neuralforest fit`` wrote.

    It predicts bit for bit what the saved one predicts, and can go on training with `partial_fit` or with
    ``warm_start=True``. The forest is stored as its trees: `forest_` is a `StoredForest`, which predicts as the forest
    did, and so is the parameter `forest` unless it was None. The parameters `callback` and `checkpoint`, and a
    `random_state` that is not a number, are not stored and come back as None.

    Parameters
    ----------
    path : path of a file

    Returns
    -------
    NeuralForestRegressor, NeuralForestClassifier, ForestNetwork or TableModel
        What was saved.

    Raises
    ------
    ModelFileError
        When the file is not a model file, is damaged or incomplete, comes from a newer version, or does not hold a
        valid model. Nothing that a file says is used before it has been checked.
    OSError
        When the file is not there or cannot be read.
    """
    arrays, text = _container.read(path)
    try:
        return _restore(arrays, _container.parse_json(text))
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
        "table": store_table(model) if type(model) is TableModel else None,
    }


def _restore(arrays: Arrays, description: dict[str, Any]) -> Any:
    fields, left = Fields(description, "the model"), ArrayFields(arrays)
    number = fields.count("format")
    if number > FORMAT:
        raise ModelFileError(
            f"it has format {number}, and this version reads formats up to {FORMAT}: upgrade neuralforest"
        )
    fields.take("library", str)
    kind = fields.choice("kind", ("network", *ESTIMATORS))
    content = fields.inner("model")
    if kind == "network":
        model: Any = restore_network(content, left)
    else:
        model = restore_estimator(ESTIMATORS[kind], content, left)
    table = fields.optional("table", lambda columns: restore_table(columns, model))
    fields.close()
    left.close()
    return model if table is None else table
