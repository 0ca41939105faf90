"""Parameters and labels that a file can hold: numbers, strings, booleans, None; tuples, lists and dicts of these."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuralforest.exceptions import ModelFileError
from neuralforest.persistence._fields import ArrayFields, Arrays, Fields

_NOT_FINITE = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}
_LARGEST_CHARACTER = 0x10FFFF


def to_json(value: Any, depth: int = 8) -> Any:
    """Return a value as JSON for `from_json`; arrays and NumPy scalars become lists and Python numbers."""
    if isinstance(value, (np.generic, np.ndarray)) and value.dtype.kind in "biufU":
        value = value.tolist()
    if value is None or type(value) in (bool, int, str):
        return value
    if type(value) is float:
        return value if math.isfinite(value) else {"float": str(value)}
    if type(value) is list and depth:
        return [to_json(item, depth - 1) for item in value]
    if type(value) is tuple and depth:
        return {"tuple": [to_json(item, depth - 1) for item in value]}
    if type(value) is dict and depth:
        return {"dict": [[to_json(key, 0), to_json(item, depth - 1)] for key, item in value.items()]}
    raise ModelFileError(f"a file cannot hold {type(value).__name__}")


def from_json(value: Any, depth: int = 8) -> Any:
    """Return the value that `to_json` was given."""
    if value is None or type(value) in (bool, int, float, str):
        return value
    if depth == 0:
        raise ModelFileError("parameters must not be nested more than 8 deep")
    if type(value) is list:
        return [from_json(item, depth - 1) for item in value]
    if type(value) is dict and len(value) == 1:
        ((kind, content),) = value.items()
        if kind == "float" and type(content) is str and content in _NOT_FINITE:
            return _NOT_FINITE[content]
        if kind == "tuple" and type(content) is list:
            return tuple(from_json(item, depth - 1) for item in content)
        if kind == "dict" and type(content) is list and all(type(pair) is list and len(pair) == 2 for pair in content):
            keys = [from_json(key, 0) for key, _ in content]
            return dict(zip(keys, [from_json(item, depth - 1) for _, item in content], strict=True))
    raise ModelFileError(f"a parameter must be a number, a string, or a list, tuple or dict of such, got {value!r:.80}")


def store_labels(labels: NDArray[Any], name: str, arrays: Arrays) -> dict[str, Any]:
    """Add labels to the arrays, or to the result, which is for the JSON, so that their dtype can be restored."""
    if labels.dtype.kind in "biuf" and labels.dtype.itemsize <= 8:
        arrays[name] = labels
        return {"type": "number"}
    if labels.dtype.kind == "U":
        arrays[name] = np.ascontiguousarray(labels).view(np.uint32).reshape(len(labels), -1)
        return {"type": "string"}
    values = [label.item() if isinstance(label, np.generic) else label for label in labels]
    if labels.dtype == object and all(map(_is_label, values)):
        return {"type": "object", "values": values}
    raise ModelFileError(
        f"labels must be strings, integers, floats or booleans to be saved, got {labels.dtype} with "
        f"{labels[0]!r:.80}: fit the model on such labels"
    )


def restore_labels(fields: Fields, name: str, arrays: ArrayFields) -> NDArray[Any]:
    """Return the labels that `store_labels` was given."""
    kind = fields.choice("type", ("number", "string", "object"))
    if kind == "number":
        labels = arrays.any(name)
        if labels.ndim != 1 or (labels.dtype.kind == "f" and not np.isfinite(labels).all()):
            raise ModelFileError(f"array {name!r} must be one-dimensional, finite labels")
    elif kind == "string":
        characters = arrays.take(name, np.uint32, (None, None))
        if not characters.size or characters.max() > _LARGEST_CHARACTER:
            raise ModelFileError(f"array {name!r} must hold the characters of labels")
        labels = characters.view(np.dtype((np.str_, characters.shape[1])))[:, 0]
    else:
        values = fields.take("values", list)
        if not all(map(_is_label, values)):
            raise ModelFileError("'values' of labels must be a list of strings, finite numbers or booleans")
        labels = np.empty(len(values), object)
        labels[:] = values
    fields.close()
    return labels


def _is_label(value: Any) -> bool:
    return type(value) in (str, bool, int) or (type(value) is float and math.isfinite(value))
