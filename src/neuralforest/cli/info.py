"""neuralforest info: the content of a model file."""

import argparse
import os
from typing import Any

from neuralforest.cli._output import add_json_argument, emit, score_tables, validation_scores
from neuralforest.cli.predict import network_of
from neuralforest.persistence import load
from neuralforest.tables import TableModel, listed

HELP = "describe a model file"
EXAMPLES = """  neuralforest info houses.nforest
  neuralforest info houses.nforest --json"""

_TEXT = {
    "classes": lambda labels: listed(labels, most=10),
    "contrast": lambda pair: " and ".join(map(str, pair)),
    "stacking_weights": lambda weights: ", ".join(f"{name} {weight:.2f}" for name, weight in weights.items()),
}
"""How entries are shown, where not as they are."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("model", help="model file")
    add_json_argument(parser)


def run(arguments: argparse.Namespace) -> None:
    """Load, and describe."""
    facts = describe(load(arguments.model)) | {"bytes": os.path.getsize(arguments.model)}
    emit(arguments, f"{arguments.model}\n{_as_text(facts)}", facts)


def describe(model: Any) -> dict[str, Any]:
    """Return the description of a model as plain values."""
    inner, network = getattr(model, "model", model), network_of(model)
    table = model if isinstance(model, TableModel) else None
    if table is None and getattr(inner, "feature_names_in_", network.ensemble.feature_names) is not None:
        table = TableModel.of(inner, network.ensemble.feature_names or ())
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
        **{name: getattr(soft, name, None) for name in ("training", "connectivity", "contrast")},
        "improved_trees": None if soft is None else int((~network.hard[network.subnetworks.of_tree]).sum()),
        "stacking_weights": network.stacking_weights if network.base_models else None,
        "temperature": None if e.classes is None else round(network.temperature, 4),
        "columns": None if table is None else [vars(column) for column in table.columns],
        "scores": None,
    }
    if inner is not network:
        facts |= {"epochs": inner.history_.n_epochs, "scores": {"validation": validation_scores(inner)}}
    return facts


def _as_text(facts: dict[str, Any]) -> str:
    shown = {
        name.replace("_", " "): str(_TEXT.get(name, str)(value))
        for name, value in facts.items()
        if value is not None and name not in ("columns", "scores")
    }
    width = max(map(len, shown))
    lines = [f"  {name.ljust(width)}  {value}" for name, value in shown.items()]
    if facts["columns"] is not None:
        lines.append("columns:")
        for column in facts["columns"]:
            kind = "numbers" if column["categories"] is None else f"categories: {listed(column['categories'])}"
            lines.append(f"  {column['name']}: {kind}")
    if facts["scores"] is not None:
        lines += score_tables(facts["scores"])
    return "\n".join(lines)
