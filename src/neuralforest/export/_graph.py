"""A graph of ONNX operators, built node by node. Knows ONNX, not forests."""

from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import helper, numpy_helper

from neuralforest.exceptions import UnsupportedModelError

_ML = "ai.onnx.ml"
_ML_VERSION = 3  # the first with trees in float64, and the last before one operator replaced TreeEnsembleRegressor
_TOO_LARGE = 2**31 - 2**20  # bytes that one message of protobuf can hold, less some for names


class Graph:
    """Nodes and constants; values are referred to by name. `dtype` is that of the computation."""

    def __init__(self, dtype: str) -> None:
        self.dtype = dtype
        self._nodes: list[onnx.NodeProto] = []
        self._constants: list[onnx.TensorProto] = []
        self._bytes = 0

    def constant(self, array: Any) -> str:
        """Add a constant in its own dtype."""
        array = np.asarray(array, order="C")
        self._bytes += array.nbytes
        if self._bytes > _TOO_LARGE:
            raise UnsupportedModelError(
                f"an ONNX file with its weights inside holds at most 2 GB, and this model needs more than "
                f"{self._bytes / 1e9:.1f} GB in {self.dtype}: export fewer trees, or trees with sparse connectivity"
            )
        name = f"constant_{len(self._constants)}"
        self._constants.append(numpy_helper.from_array(array, name))
        return name

    def number(self, array: Any) -> str:
        """Add a constant in the dtype of the computation."""
        with np.errstate(over="ignore"):
            rounded = np.asarray(array, self.dtype)
        if not np.isfinite(rounded).all():
            raise UnsupportedModelError(
                f"float32 ends at 3.4e38, and this model has the number {np.abs(array).max():g}: export it with "
                "dtype='float64'"
            )
        return self.constant(rounded)

    def add(self, operator: str, *inputs: str, **attributes: Any) -> str:
        """Add a node with one output."""
        name = f"{operator}_{len(self._nodes)}"
        domain = _ML if operator.startswith("TreeEnsemble") else ""
        self._nodes.append(helper.make_node(operator, inputs, [name], name, domain=domain, **attributes))
        return name

    def cast(self, value: str, dtype: str) -> str:
        """Add a conversion to float32, float64 or int64."""
        return self.add("Cast", value, to=_element_type(np.dtype(dtype)))

    def clip(self, value: str, low: NDArray[np.float64], high: NDArray[np.float64]) -> str:
        """Clip float64 values (rows, features) to a range per feature; NaN stays NaN."""
        inside = self.add("Min", self.add("Max", value, self.constant(low)), self.constant(high))
        return self.add("Where", self.add("IsNaN", value), value, inside)

    def model(self, n_features: int, outputs: dict[str, tuple[str, Any, list[int]]], opset: int) -> onnx.ModelProto:
        """Return the graph as a model, given for each output: the value, its dtype, and its shape behind the rows."""
        from neuralforest import __version__

        results = [
            helper.make_tensor_value_info(name, _element_type(np.dtype(dtype)), [None, *shape])
            for name, (_, dtype, shape) in outputs.items()
        ]
        last = [helper.make_node("Identity", [value], [name], name) for name, (value, _, _) in outputs.items()]
        X = helper.make_tensor_value_info("X", _element_type(np.dtype(self.dtype)), [None, n_features])
        graph = helper.make_graph([*self._nodes, *last], "neuralforest", [X], results, self._constants)
        versions = [helper.make_opsetid("", opset), helper.make_opsetid(_ML, _ML_VERSION)]
        return helper.make_model(
            graph,
            opset_imports=versions,
            ir_version=helper.find_min_ir_version_for(versions),  # onnx's own default is newer than runtimes read
            producer_name="neuralforest",
            producer_version=__version__,
        )


def _element_type(dtype: np.dtype[Any]) -> int:
    return onnx.TensorProto.STRING if dtype.kind in "OU" else helper.np_dtype_to_tensor_dtype(dtype)


def labels(classes: NDArray[Any]) -> NDArray[Any]:
    """Return labels in a dtype that ONNX has: whole numbers as int64, strings as objects, other numbers as they are."""
    kinds = {type(label) for label in classes.tolist()}
    if kinds <= {str}:
        return classes.astype(object)
    if classes.dtype.kind not in "biuf":
        names = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise UnsupportedModelError(f"classes must be strings or numbers to be exported, got labels of type {names}")
    return classes.astype(np.int64) if classes.dtype.kind in "iu" else classes
