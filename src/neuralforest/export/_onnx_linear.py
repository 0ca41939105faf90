"""A linear base model as ONNX operators."""

import numpy as np

from neuralforest.export._graph import Graph
from neuralforest.network import LinearModel


def add_linear(graph: Graph, model: LinearModel, x: str) -> str:
    """Add the predictions of a linear model, (rows, outputs), for x, (rows, features)."""
    x = graph.cast(x, "float64")  # a centre far from 0 would cost digits in float32
    scaled = graph.add("Sub", graph.clip(x, model.low, model.high), graph.constant(model.center))
    scaled = graph.add("Div", scaled, graph.constant(model.scale))
    scaled = graph.add("Where", graph.add("IsNaN", x), graph.constant(np.zeros(1)), scaled)
    product = graph.add("MatMul", graph.cast(scaled, graph.dtype), graph.number(model.coef))
    return graph.add("Add", product, graph.number(model.intercept))
