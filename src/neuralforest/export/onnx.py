"""A model as an ONNX graph, for other runtimes and languages. Needs the library onnx."""

import os
from typing import Any, Literal

import numpy as np

from neuralforest._extras import missing_extra
from neuralforest.ensemble import TreeEnsemble
from neuralforest.exceptions import InvalidParameterError, UnsupportedModelError

try:
    import onnx
except ImportError as error:
    raise missing_extra("onnx", "onnx") from error

from neuralforest.export._graph import Graph, labels
from neuralforest.export._onnx_hard import add_hard_trees
from neuralforest.export._onnx_soft import add_soft_trees
from neuralforest.export._view import View
from neuralforest.network import ForestNetwork

__all__ = ["to_onnx"]

_OLDEST_OPSET = 13


def to_onnx(
    model: Any,
    path: str | os.PathLike[str] | None = None,
    *,
    dtype: Literal["float32", "float64"] = "float32",
    opset: int = 21,
    form: Literal["auto", "dense", "sparse"] = "auto",
) -> onnx.ModelProto:
    """Return a model as an ONNX graph, and write it to a file if a path is given.

    The input is `X`, (rows, features), where NaN is a missing value and a category is its code. The output is
    `prediction`, (rows, outputs), or for classification `label`, (rows,), and `probabilities`, (rows, classes). Scales,
    links, labels and all weights are part of the graph.

    Parameters
    ----------
    model : fitted estimator or ForestNetwork
    path : path of a file, optional
    dtype : "float32" or "float64"
        Of X, of the computation and of its outputs. Hard trees that compare in float64 (of HistGradientBoosting) need
        "float64".
    opset : int
        Version of the ONNX operators.
    form : "auto", "dense" or "sparse"
        How soft trees with sparse connectivity are written: as matrices, which is fastest for small trees, or by their
        connections, which is smaller. "auto" decides by the size of each tree.

    Returns
    -------
    onnx.ModelProto

    Examples
    --------
    >>> import neuralforest as nf
    >>> from neuralforest.export.onnx import to_onnx
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> network = nf.convert(RandomForestClassifier(5, random_state=0).fit(X, y))
    >>> [output.name for output in to_onnx(network).graph.output]
    ['label', 'probabilities']
    """
    _check(dtype, opset, form)
    view, graph = View.of(model), Graph(dtype)
    x = _with_missing(graph, view, graph.cast("X", view.ensemble.compare_dtype))
    outputs = _outputs(graph, view, *_prediction(graph, view, x, form))
    result = graph.model(view.ensemble.n_features, outputs, opset)
    if path is not None:
        onnx.save(result, os.fspath(path))
    return result


def _check(dtype: str, opset: int, form: str) -> None:
    newest = onnx.defs.onnx_opset_version()
    if dtype not in ("float32", "float64"):
        raise InvalidParameterError(f"dtype must be 'float32' or 'float64', got {dtype!r}")
    if not isinstance(opset, (int, np.integer)) or not _OLDEST_OPSET <= opset <= newest:
        raise InvalidParameterError(f"opset must be a whole number from {_OLDEST_OPSET} to {newest}, got {opset!r}")
    if form not in ("auto", "dense", "sparse"):
        raise InvalidParameterError(f"form must be 'auto', 'dense' or 'sparse', got {form!r}")


def _with_missing(graph: Graph, view: View, x: str) -> str:
    """Add NaN in place of numbers that mean a missing value."""
    if view.missing_range is None:
        return x
    low, high = (graph.constant(bound) for bound in view.missing_range.T.copy())  # NaN is never above or below
    wide = graph.cast(x, "float64")
    missing = graph.add("And", graph.add("GreaterOrEqual", wide, low), graph.add("LessOrEqual", wide, high))
    return graph.add("Where", missing, graph.constant(np.array(np.nan, view.ensemble.compare_dtype)), x)


def _prediction(graph: Graph, view: View, x: str, form: str) -> tuple[str, str]:
    """Add what decides about the label, (rows, outputs), and the prediction or the probabilities."""
    if not view.groups:
        score = _raw_prediction(graph, view, x, form)
        return score, score if view.ensemble.classes is None else _probability(graph, view.ensemble.link, score)
    parts = [_prediction(graph, group, x, form)[1] for group in view.groups]
    probability = graph.add("Mean", *parts)
    second = graph.add("Gather", probability, graph.constant(np.array([1])), axis=1)
    return graph.add("Sub", second, graph.number(0.5)), probability


def _raw_prediction(graph: Graph, view: View, x: str, form: str) -> str:
    """Add the raw prediction of the network stacked with its base models, (rows, outputs); x as trees compare it."""
    parts, network = view.weighted_sum, view.network
    total = graph.number(parts.shift)
    if view.soft_subnetworks:
        soft = graph.add("Transpose", add_soft_trees(graph, view, x, form), perm=[1, 0])
        total = graph.add("Add", graph.add("Mul", soft, graph.number(parts.soft)), total)
    if len(view.hard_trees):
        hard = add_hard_trees(graph, view, x)
        total = graph.add("Add", graph.add("Mul", hard, graph.number(parts.hard)), total)
    if network.base_models:
        total = graph.add("Mul", total, graph.number(network.network_weight))
    for each in network.base_models:
        if isinstance(each.model, ForestNetwork):
            score, prediction = _prediction(graph, view.of_base_model(each.model), x, form)
            prediction = prediction if view.ensemble.link == "identity" else score
        else:
            prediction = _add_linear(graph, each.model, x)
        total = graph.add("Add", total, graph.add("Mul", prediction, graph.number(each.weight)))
    return total


def _add_linear(graph: Graph, model: Any, x: str) -> str:
    """Add the predictions of a `LinearModel`."""
    x = graph.cast(x, "float64")  # a centre far from 0 would cost digits in float32
    scaled = graph.add("Sub", graph.clip(x, model.low, model.high), graph.constant(model.center))
    scaled = graph.add("Div", scaled, graph.constant(model.scale))
    scaled = graph.add("Where", graph.add("IsNaN", x), graph.constant(np.zeros(1)), scaled)
    product = graph.add("MatMul", graph.cast(scaled, graph.dtype), graph.number(model.coef))
    return graph.add("Add", product, graph.number(model.intercept))


def _outputs(graph: Graph, view: View, score: str, prediction: str) -> dict[str, Any]:
    e = view.ensemble
    if e.classes is None:
        prediction = graph.add("Exp", score) if e.link == "log" else score
        return {"prediction": (prediction, graph.dtype, [e.n_outputs])}
    classes, prediction = labels(e.classes), _with_temperature(graph, view.network.temperature, prediction)
    label = graph.add("Gather", graph.constant(classes), _best(graph, e, score), axis=0)
    return {"label": (label, classes.dtype, []), "probabilities": (prediction, graph.dtype, [len(classes)])}


def _with_temperature(graph: Graph, temperature: float, probability: str) -> str:
    """Add calibrated probabilities, (rows, classes)."""
    if temperature == 1.0:
        return probability
    powers = graph.add("Pow", probability, graph.number(1.0 / temperature))
    total = graph.add("ReduceSum", powers, graph.constant(np.array([1])), keepdims=1)
    return graph.add("Div", powers, total)


def _best(graph: Graph, e: TreeEnsemble, score: str) -> str:
    """Add the index of the most probable class, (rows,), by the rules of `ForestNetwork.predict`."""
    if e.n_outputs > 1 or e.link in ("identity", "softmax"):
        return graph.add("ArgMax", score, axis=1, keepdims=0)
    second = graph.add("GreaterOrEqual" if e.second_at_zero else "Greater", score, graph.number(0.0))
    return graph.add("Squeeze", graph.cast(second, "int64"), graph.constant(np.array([1])))


def _probability(graph: Graph, link: str, score: str) -> str:
    """Add the probabilities of the classes, (rows, classes)."""
    if link == "identity":
        return score
    if link == "softmax":
        return graph.add("Softmax", score, axis=1)
    score = graph.add("Gather", score, graph.constant(np.array([0])), axis=1)
    if link == "logit":
        second = graph.add("Sigmoid", score)
    elif graph.dtype == "float32":
        erf = graph.add("Erf", graph.add("Mul", score, graph.number(np.sqrt(0.5))))
        second = graph.add("Mul", graph.add("Add", erf, graph.number(1.0)), graph.number(0.5))
    else:
        raise UnsupportedModelError(
            "a probit link needs the error function, which runtimes have in float32 only: use dtype='float32'"
        )
    return graph.add("Concat", graph.add("Sub", graph.number(1.0), second), second, axis=1)
