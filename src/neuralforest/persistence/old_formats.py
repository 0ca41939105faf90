"""Model files of earlier formats: steps that turn the content of a file of format n into that of format n + 1.

`load` applies one step after the other, so that the reader, in the other files of this folder, knows the current format
only. A step is a pure function of the JSON object and the arrays of a file: it moves and renames entries, and adds new
ones with the values that leave all predictions as they were. The reader checks the result. A step checks only what it
uses, and raises ModelFileError where that is not as expected: a file may hold anything.

To change the format:

1. Change what `_network`, `_estimator`, `_plain` or the functions of `__init__` store and restore.
2. Append a step to `_STEPS`; its docstring says what is new. `FORMAT` rises by one with it.
3. Write files of the new format with `python tests/models/make_models.py` and never change them again:
   `tests/persistence/test_old_formats.py` loads the files of every format.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from neuralforest.exceptions import ModelFileError
from neuralforest.network import FAR
from neuralforest.persistence._fields import ArrayFields, Arrays, Fields

Description = dict[str, Any]
Content = tuple[Description, Arrays]


def upgrade(description: Description, arrays: Arrays) -> Content:
    """Return the content of a file of any format in the current one."""
    number = Fields(description, "the model").count("format")
    if number > FORMAT:
        raise ModelFileError(
            f"it has format {number}, and this version reads formats up to {FORMAT}: upgrade neuralforest"
        )
    for step in _STEPS[number - 1 :]:
        description, arrays = step(description, arrays)
    return description | {"format": FORMAT}, arrays


def _to_2(description: Description, arrays: Arrays) -> Content:
    """A network can be stacked with one base model, a mean of trees ("companion")."""
    return description, arrays


def _to_3(description: Description, arrays: Arrays) -> Content:
    """A network can be stacked with several base models, each of a kind."""
    if "companion.share" not in arrays:
        return description, arrays
    arrays = {name.replace("companion.", "companion.0."): array for name, array in arrays.items()}
    return _with_network(description, _network(description) | {"companions": ["mean identity"]}), arrays


def _to_4(description: Description, arrays: Arrays) -> Content:
    """Prediction intervals have other units, in which the disagreement of all rows counts for some trees, the prior."""
    if description.get("kind") != "regressor":
        return description, arrays
    return description, arrays | {"residuals.prior": np.zeros(1)}


def _to_5(description: Description, arrays: Arrays) -> Content:
    """A soft network clips its features to a range."""
    if _network(description).get("soft") is None:
        return description, arrays
    n_features = _size(arrays, "center")
    return description, {"low": np.full(n_features, -FAR), "high": np.full(n_features, FAR)} | arrays


def _to_6(description: Description, arrays: Arrays) -> Content:
    """A soft network stores the spread of its features, and a linear base model can be a fallback ("stopgap")."""
    if _network(description).get("soft") is None:
        return description, arrays
    return description, {"spread": np.ones(_size(arrays, "center"))} | arrays


def _to_7(description: Description, arrays: Arrays) -> Content:
    """Base models have names, trees belong to groups and subnetworks, and entries and parameters have other names."""
    description, arrays = _to_6(description, arrays)  # the first files of format 6 had no spread
    network = _network(description)
    kinds = network.pop("companions", [])
    if type(kinds) is not list or not all(type(kind) is str for kind in kinds):
        raise ModelFileError("'companions' of the network must be a list of strings")
    base_models = [_base_model(kind, f"companion.{i}.", arrays) for i, kind in enumerate(kinds)]
    for i, each in enumerate(base_models):
        if any(each["name"] == other["name"] for other in base_models[:i]):
            each["name"] += f"_{i}"  # before format 6, all linear models were of one kind
    arrays = _partitions(network.get("soft"), base_models, arrays)
    description = _with_network(description, network | {"base_models": base_models, "classes": _labels(network)})
    if description.get("kind") != "network":
        model = _object(description, "model")
        parameters = dict(_parameter(*item) for item in _object(model, "parameters").items())
        description = description | {"model": model | {"parameters": parameters, "classes": _labels(model)}}
    return description, {_array_name(name): array for name, array in arrays.items()}


def _to_8(description: Description, arrays: Arrays) -> Content:
    """Splits may test categories, features may have them, and an estimator may encode the columns of a table."""
    description = _with_network(description, _network(description) | {"categories": None})
    if description.get("kind") != "network":
        description = description | {"model": _object(description, "model") | {"columns": None}}
    return description, arrays


def _to_9(description: Description, arrays: Arrays) -> Content:
    """An estimator stores a digest of the rows of its fit, and the number of folds that its forest was fitted in."""
    if description.get("kind") != "network":
        model = _object(description, "model")
        forest = _object(model, "forest") | {"n_folds": 0}
        description = description | {"model": model | {"rows_digest": None, "forest": forest}}
    return description, arrays


def _to_10(description: Description, arrays: Arrays) -> Content:
    """The seeds of a forest may draw the rows of its trees without replacement."""
    if description.get("kind") != "network":
        model = _object(description, "model")
        description = description | {"model": model | {"forest": _object(model, "forest") | {"replacement": True}}}
    return description, arrays


def _to_11(description: Description, arrays: Arrays) -> Content:
    """Errors behind prediction intervals may be in units of a learned scale."""
    if description.get("kind") != "network":
        description = description | {"model": {"error_scale": None} | _object(description, "model")}
    return description, arrays


def _to_12(description: Description, arrays: Arrays) -> Content:
    """The probabilities of a network have a temperature, and the learned scale of errors is corrected in bins."""
    if description.get("kind") != "network" and _object(description, "model").get("error_scale") is not None:
        one = np.ones((_size(arrays, "residuals.floor"), 1))
        arrays = arrays | {"residuals.middle": one, "residuals.factor": one}
    return _with_network(description, _network(description) | {"temperature": 1.0}), arrays


_STEPS: tuple[Callable[[Description, Arrays], Content], ...] = (
    *(_to_2, _to_3, _to_4, _to_5, _to_6, _to_7, _to_8, _to_9),
    *(_to_10, _to_11, _to_12),
)

FORMAT = len(_STEPS) + 1
"""The number of the current format."""


# The step to format 7.


def _base_model(kind: str, prefix: str, arrays: Arrays) -> dict[str, Any]:
    """Return the JSON of a base model; its name follows from its kind and its arrays."""
    if kind in ("linear", "stopgap"):
        is_ridge = kind == "linear" and ArrayFields(arrays).any(prefix + "slope").any()
        name = "ridge" if is_ridge else "combination_forecast"
        return {"name": name, "kind": "linear", "is_fallback": kind == "stopgap"}
    aggregation, _, link = kind.partition(" ")
    name = "extra_trees"
    if aggregation == "sum":
        n_leaves = np.diff(ArrayFields(arrays).take(prefix + "first_leaf", np.int64, (None,)))
        name = "shallow_gradient_boosting" if n_leaves.max(initial=0) <= 3 else "gradient_boosting"
    return {"name": name, "kind": "trees", "is_fallback": False, "aggregation": aggregation, "link": link}


def _partitions(soft: Any, base_models: list[dict[str, Any]], arrays: Arrays) -> Arrays:
    """Return the arrays with the groups of all trees, one for each ensemble, and the subnetworks of a soft network."""
    of_trees = ["", *(f"companion.{i}." for i, each in enumerate(base_models) if each["kind"] == "trees")]
    n_trees = {prefix: _size(arrays, prefix + "first_split") - 1 for prefix in of_trees}
    arrays = arrays | {prefix + "groups": np.array([0, n]) for prefix, n in n_trees.items()}
    if soft is None:
        return arrays
    is_joint = Fields(soft, "'soft' of the network").take("training", str) == "joint"
    return arrays | {"first_tree": np.array([0, n_trees[""]]) if is_joint else np.arange(n_trees[""] + 1)}


_PARAMETERS = {"companion": "stacking", "folded": "fold_contrast", "bound": "weight_bound"}
_VALUES = {"schedule": ("cycles", "cyclic"), "contrast_unit": ("cell", "node")}
_ARRAYS = {"share": "stacking_weight", "slope": "coef"}


def _parameter(name: str, value: Any) -> tuple[str, Any]:
    before, after = _VALUES.get(name, (None, None))
    return _PARAMETERS.get(name, name), after if value == before and before is not None else value


def _array_name(name: str) -> str:
    prefix, companion, rest = name.partition("companion.")
    if prefix or not companion:
        return name
    number, _, part = rest.partition(".")
    return f"base_model.{number}.{_ARRAYS.get(part, part)}"


def _labels(parent: dict[str, Any]) -> Any:
    labels = parent.get("classes")
    return labels | {"type": "string"} if type(labels) is dict and labels.get("type") == "text" else labels


# What steps have in common.


def _object(parent: dict[str, Any], name: str) -> dict[str, Any]:
    return dict(Fields(parent, "the model").take(name, dict))


def _network(description: Description) -> dict[str, Any]:
    """Return a copy of the JSON of the network, which an estimator holds."""
    model = _object(description, "model")
    return model if description.get("kind") == "network" else _object(model, "network")


def _with_network(description: Description, network: dict[str, Any]) -> Description:
    is_network = description.get("kind") == "network"
    return description | {"model": network if is_network else _object(description, "model") | {"network": network}}


def _size(arrays: Arrays, name: str) -> int:
    """Return the size of an array, not what the JSON states: new arrays are never larger than those of the file."""
    return int(ArrayFields(arrays).any(name).size)
