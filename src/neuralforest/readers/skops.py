"""Tree models from skops files: only listed classes are instantiated, after the sizes of their trees are checked.

skops does not load scikit-learn's Tree unless it is listed as trusted, because it predicts with unchecked indices.
Here it never predicts: its arrays are copied and checked by `read_ensemble`. Its sizes are checked before it is
instantiated, because it allocates memory for the sizes that the file states.
"""

import io
import json
import math
import zipfile
from typing import Any

import numpy as np

from neuralforest._extras import missing_extra
from neuralforest.exceptions import UnsupportedModelError

_TRUSTED = [
    "sklearn.tree._tree.Tree",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "functools.partial",  # of check_array, in the preprocessor of categories, which is never called here
    "sklearn.utils.validation.check_array",
]
_FAMILIES = (
    "DecisionTree",
    "ExtraTree",
    "RandomForest",
    "ExtraTrees",
    "Bagging",
    "GradientBoosting",
    "HistGradientBoosting",
)
_MODELS = {f"{family}{task}" for family in _FAMILIES for task in ("Regressor", "Classifier")}
_MAX_COMPRESSION = 100


def read_skops(path: str) -> Any:
    """Return the scikit-learn model of a skops file; anything else is an UnsupportedModelError."""
    try:
        import skops.io
    except ImportError as error:
        raise missing_extra("skops", "skops") from error
    with open(path, "rb") as file:
        data = file.read()
    try:
        _check(data, path)
        untrusted = sorted(set(skops.io.get_untrusted_types(data=data)) - set(_TRUSTED))
        if untrusted:
            raise _refusal(path, f"it holds {untrusted[0]}, which is not on the list of trusted types")
        return skops.io.loads(data, trusted=_TRUSTED)
    except UnsupportedModelError:
        raise
    except Exception as error:  # a forged file can cause any error in skops, NumPy or scikit-learn
        raise _refusal(path, f"it cannot be read ({type(error).__name__}: {str(error)[:200]})") from error


def _check(data: bytes, path: str) -> None:
    if not zipfile.is_zipfile(io.BytesIO(data)):
        raise _refusal(path, "it is not a skops file")
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        if sum(member.file_size for member in archive.infolist()) > _MAX_COMPRESSION * len(data):
            raise _refusal(path, f"it is compressed by more than a factor of {_MAX_COMPRESSION}")
        schema = json.loads(archive.read("schema.json"))
        if not str(schema["__module__"]).startswith("sklearn.") or schema["__class__"] not in _MODELS:
            raise _refusal(path, f"it holds a {schema['__class__']!s:.60}")
        _check_trees(schema, archive, path)


def _check_trees(node: Any, archive: zipfile.ZipFile, path: str) -> None:
    """Check all trees in the description of a model: each must state the sizes of its arrays."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        if isinstance(node, list):
            waiting += node
        elif isinstance(node, dict):
            waiting += node.values()
            if "Tree" in (node.get("__class__"), str(node.get("__loader__")).removesuffix("Node")):
                _check_tree(node, archive, path)


def _check_tree(node: dict[str, Any], archive: zipfile.ZipFile, path: str) -> None:
    n_features, n_classes, n_outputs = node["__reduce__"]["args"]["content"]
    classes = _array(n_classes, archive)
    state = node["content"]["content"]
    nodes, values = _array(state["nodes"], archive), _array(state["values"], archive)
    outputs = _number(n_outputs)
    sizes = (_number(state["node_count"]), outputs, int(classes.max(initial=0)))
    if (
        _number(n_features) < 1
        or classes.dtype.kind not in "iu"
        or classes.shape != (outputs,)
        or classes.min(initial=1) < 1
        or values.shape != sizes
        or nodes.shape != sizes[:1]
        or math.prod(sizes) < 1
    ):
        raise _refusal(path, "the arrays of a tree do not have the sizes that the file states")


def _number(node: dict[str, Any]) -> int:
    if node["__loader__"] != "JsonNode":
        raise ValueError("a size is not a number")
    return int(json.loads(node["content"]))


def _array(node: dict[str, Any], archive: zipfile.ZipFile) -> np.ndarray[Any, Any]:
    if node["__loader__"] != "NdArrayNode" or node["type"] != "numpy":
        raise ValueError("an array is not a NumPy array")
    return np.asarray(np.load(io.BytesIO(archive.read(node["file"])), allow_pickle=False))


def _refusal(path: str, reason: str) -> UnsupportedModelError:
    return UnsupportedModelError(
        f"{path!r} cannot be converted: {reason}. Supported: skops files of scikit-learn's {', '.join(_FAMILIES)}, "
        "regressors and classifiers; in Python, nf.save(nf.convert(model), path) for every model that nf.convert takes."
    )
