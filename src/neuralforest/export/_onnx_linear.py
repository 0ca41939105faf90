"""A linear function beside the network as ONNX operators."""

from neuralforest.companion import Linear
from neuralforest.export._graph import Graph


def add_linear(graph: Graph, linear: Linear, x: str) -> str:
    """Add the linear function of x (rows, features), (rows, outputs); see `Linear.output`."""
    x = graph.cast(x, graph.dtype)
    inside = graph.add("Min", graph.add("Max", x, graph.number(linear.low)), graph.number(linear.high))
    seen = graph.add("Div", graph.add("Sub", inside, graph.number(linear.center)), graph.number(linear.scale))
    seen = graph.add("Where", graph.add("IsNaN", x), graph.number(0.0), seen)
    return graph.add("Add", graph.add("MatMul", seen, graph.number(linear.slope)), graph.number(linear.intercept))
