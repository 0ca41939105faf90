"""Pipelines that end in an estimator of this package, exported by skl2onnx. Needs the libraries onnx and skl2onnx."""

from typing import Any, Literal

import numpy as np

from neuralforest._extras import missing_extra
from neuralforest.estimators import NeuralForestClassifier, NeuralForestRegressor

try:
    from skl2onnx import update_registered_converter
    from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType, Int64TensorType, StringTensorType
    from skl2onnx.helpers import add_onnx_graph
except ImportError as error:
    raise missing_extra("skl2onnx", "onnx") from error

from neuralforest.export.onnx import to_onnx

__all__ = ["register"]

_OPSET = 21  # the newest that is tested here


def register() -> None:
    """Register the converters of NeuralForestRegressor and NeuralForestClassifier; call it once, before the export.

    The graph is that of `to_onnx`, in float64 where its input is a DoubleTensorType, otherwise in float32.

    Examples
    --------
    >>> from neuralforest import NeuralForestRegressor
    >>> from neuralforest.export.skl2onnx import register
    >>> from skl2onnx import to_onnx
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), NeuralForestRegressor(max_epochs=1, contrast=(3, 1))).fit(X, y)
    >>> register()
    >>> [output.name for output in to_onnx(model, X[:1].astype("float32")).graph.output]
    ['variable']
    """
    options = {"zipmap": [True, False, "columns"], "output_class_labels": [False, True], "nocl": [False]}
    update_registered_converter(NeuralForestRegressor, "NeuralForestRegressor", _shapes, _convert)
    update_registered_converter(NeuralForestClassifier, "NeuralForestClassifier", _shapes, _convert, options=options)


def _dtype(operator: Any) -> Literal["float32", "float64"]:
    return "float64" if isinstance(operator.inputs[0].type, DoubleTensorType) else "float32"


def _shapes(operator: Any) -> None:
    n_rows, model = operator.inputs[0].get_first_dimension(), operator.raw_operator
    number = DoubleTensorType if _dtype(operator) == "float64" else FloatTensorType
    if isinstance(model, NeuralForestRegressor):
        operator.outputs[0].type = number([n_rows, model.network_.n_outputs])
    else:
        label = Int64TensorType if np.issubdtype(model.classes_.dtype, np.integer) else StringTensorType
        operator.outputs[0].type, operator.outputs[1].type = label([n_rows]), number([n_rows, len(model.classes_)])


def _convert(scope: Any, operator: Any, container: Any) -> None:
    graph = to_onnx(operator.raw_operator, dtype=_dtype(operator), opset=min(_OPSET, container.target_opset))
    add_onnx_graph(scope, operator, container, graph)
