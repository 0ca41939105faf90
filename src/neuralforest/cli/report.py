"""neuralforest report: one HTML page with the scores of a model file on a table, and plots."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from neuralforest.cli._output import add_json_argument, emit
from neuralforest.cli._tables import add_table_arguments, read_table
from neuralforest.exceptions import TableError, UnsupportedModelError
from neuralforest.network import ForestNetwork
from neuralforest.persistence import load
from neuralforest.tables import TableModel, column_of, read_target, to_strings

if TYPE_CHECKING:
    import pandas

HELP = "write an HTML report with the scores of a model on a table, and plots"
EXAMPLES = """  neuralforest report houses.nforest new.csv --out houses.html
  neuralforest report model.nforest data.parquet --target price"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("model", help="model file")
    add_table_arguments(parser)
    out = "HTML file to write (default: %(default)s)"
    parser.add_argument("--out", default="report.html", metavar="FILE", help=out)
    parser.add_argument("--target", metavar="NAME", help="column with the true values (default: the target of the fit)")
    add_json_argument(parser)


def run(arguments: argparse.Namespace) -> None:
    """Load, read, write the report."""
    from neuralforest.report import write_report

    model = load(arguments.model)
    if isinstance(getattr(model, "model", model), ForestNetwork):
        raise UnsupportedModelError(
            f"{arguments.model!r} holds a network without its training history, which a report needs: use a file that "
            "'neuralforest fit' wrote, or nf.save for an estimator"
        )
    table = read_table(arguments.data, arguments.separator)
    target = arguments.target or getattr(model, "target", None)
    if target is None:
        raise TableError(f"{arguments.model!r} does not hold the name of its target: set --target")
    values = column_of(table, target)
    if not isinstance(model, TableModel):
        model = TableModel.of(model, table.columns.drop(target))
    names = [column.name for column in model.columns]
    if target in names:
        raise TableError(f"the target must not be among the features of the model, got {target!r}")
    X, y = model.rows(table), _true_values(model, values)
    write_report(model.model, X, y, arguments.out, names, target=target, data=Path(arguments.data).name)
    emit(arguments, f"{arguments.out}: report on {len(X)} rows", {"rows": len(X), "out": arguments.out})


def _true_values(model: TableModel, values: "pandas.Series") -> NDArray[Any]:
    """Return the target; labels are strings where those of the model are."""
    classes = model.model.network_.classes
    if classes is None:
        return read_target(values, "regression")
    labels = read_target(values, "classification")
    return labels if classes.dtype.kind in "biuf" else np.array(to_strings(values).tolist())
