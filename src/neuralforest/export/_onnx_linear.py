"""A linear function beside the network as ONNX operators."""

import numpy as np

from neuralforest.companion import Linear
from neuralforest.export._graph import Graph


def add_linear(graph: Graph, linear: Linear, x: str) -> str:
    """Add the linear function of x (rows, features), (rows, outputs); see `Linear.output`."""
    x = graph.cast(x, "float64")  # a centre far from 0 would take the digits of float32
    inside = graph.between(x, linear.low, linear.high)
    seen = graph.add("Div", graph.add("Sub", inside, graph.constant(linear.center)), graph.constant(linear.scale))
    seen = graph.cast(graph.add("Where", graph.add("IsNaN", x), graph.constant(np.zeros(1)), seen), graph.dtype)
    return graph.add("Add", graph.add("MatMul", seen, graph.number(linear.slope)), graph.number(linear.intercept))
