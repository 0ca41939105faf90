"""neuralforest info: what a model file holds."""

import argparse
import os
from typing import Any

from neuralforest.cli._output import add_json_argument, emit
from neuralforest.cli._scores import comparison, validation_scores
from neuralforest.network import ForestNetwork
from neuralforest.persistence import load
from neuralforest.tables import Column, TableModel, listed

HELP = "say what a model file holds"
EXAMPLES = """  neuralforest info houses.nforest
  neuralforest info houses.nforest --json"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command's arguments."""
    parser.add_argument("model", help="model file")
    add_json_argument(parser)


def run(arguments: argparse.Namespace) -> None:
    """Load, and describe."""
    facts = describe(load(arguments.model)) | {"bytes": os.path.getsize(arguments.model)}
    emit(arguments, f"{arguments.model}\n{_as_text(facts)}", facts)


def describe(model: Any) -> dict[str, Any]:
    """Return what there is to say about a model, as plain values."""
    table = model if isinstance(model, TableModel) else None
    inner = table.model if table is not None else model
    network = inner if isinstance(inner, ForestNetwork) else inner.network_
    e, soft = network.ensemble, network.soft
    facts: dict[str, Any] = {
        "kind": type(inner).__name__,
        "task": "regression" if e.classes is None else "classification",
        "target": None if table is None else table.target,
        "classes": None if e.classes is None else e.classes.tolist(),
        "features": e.n_features,
        "outputs": e.n_outputs,
        "trees": e.n_trees,
        "leaves": e.n_leaves,
        "parameters": network.n_parameters,
        "training": None if soft is None else soft.training,
        "connectivity": None if soft is None else soft.connectivity,
        "contrast": None if soft is None else list(soft.contrast),
        "trees kept as they were": int(network.hard.sum()) if network.n_subnetworks == e.n_trees else None,
        "beside them": [f"{each} ({each.share:.4f})" for each in network.base_models] or None,
        "columns": None if table is None else [_column(column) for column in table.columns],
        "scores": None,
    }
    if not isinstance(inner, ForestNetwork):
        forest, trained = validation_scores(inner)
        facts |= {"epochs": inner.history_.n_epochs, "scores": {"forest": forest, "network": trained}}
    return facts


def _column(column: Column) -> dict[str, Any]:
    return {"name": column.name, "categories": None if column.categories is None else list(column.categories)}


def _as_text(facts: dict[str, Any]) -> str:
    rows = []
    for name, value in facts.items():
        if value is None or name in ("columns", "scores"):
            continue
        shown = (
            listed(value, most=10)
            if name == "classes"
            else " and ".join(map(str, value))
            if type(value) is list
            else value
        )
        rows.append([name, str(shown)])
    width = max(len(name) for name, _ in rows)
    lines = [f"  {name.ljust(width)}  {value}" for name, value in rows]
    if facts["columns"] is not None:
        lines.append("columns:")
        for column in facts["columns"]:
            kind = "numbers" if column["categories"] is None else f"texts: {listed(column['categories'])}"
            lines.append(f"  {column['name']}: {kind}")
    if facts["scores"] is not None:
        lines += ["on validation rows:", comparison(facts["scores"]["forest"], facts["scores"]["network"])]
    return "\n".join(lines)
