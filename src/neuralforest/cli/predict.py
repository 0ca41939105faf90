"""neuralforest predict: the predictions of a model file for a table."""

import argparse
import csv
import sys
from typing import TYPE_CHECKING, Any, TextIO

from numpy.typing import NDArray

from neuralforest.cli._output import add_json_argument, emit, log
from neuralforest.cli._tables import add_table_arguments, read_table
from neuralforest.exceptions import TableError
from neuralforest.persistence import load
from neuralforest.tables import TableModel, listed

if TYPE_CHECKING:
    import pandas

HELP = "predict the rows of a table with a model file"
EXAMPLES = """  neuralforest predict houses.nforest new.csv > predictions.csv
  neuralforest predict income.nforest new.parquet --proba --out predictions.csv"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("model", help="model file")
    add_table_arguments(parser)
    parser.add_argument("--out", metavar="FILE", help="CSV file to write (default: standard output)")
    parser.add_argument("--proba", action="store_true", help="add class probabilities")
    add_json_argument(parser)


def run(arguments: argparse.Namespace) -> None:
    """Load, read, predict, write."""
    model = load(arguments.model)
    if arguments.proba and network_of(model).classes is None:
        raise TableError("--proba needs a classifier, and this model is a regressor: omit --proba")
    table = read_table(arguments.data, arguments.separator)
    model = model if isinstance(model, TableModel) else TableModel.of(model, table.columns)
    columns = _predictions(model, table, arguments.proba)
    known = {model.target, *(column.name for column in model.columns)}
    ignored = [name for name in table.columns if name not in known]
    if ignored:
        log(arguments, f"columns that the model was not fitted on are ignored: {listed(ignored)}")
    if arguments.out is not None:
        with open(arguments.out, "w", newline="", encoding="utf-8") as file:
            _write(file, columns)
        emit(arguments, f"{arguments.out}: {len(table)} rows", {"rows": len(table), "out": arguments.out})
    elif arguments.json:
        predictions = {name: values.tolist() for name, values in columns.items()}
        emit(arguments, "", {"rows": len(table), "predictions": predictions})
    else:
        _write(sys.stdout, columns)


def network_of(model: Any) -> Any:
    """Return the network of whatever a model file holds."""
    inner = getattr(model, "model", model)
    return getattr(inner, "network_", inner)


def _predictions(model: TableModel, table: "pandas.DataFrame", proba: bool) -> dict[str, NDArray[Any]]:
    """Return the columns of the result by name."""
    if proba:
        probabilities, labels = model.predict_proba(table), network_of(model).classes
        columns = {"prediction": labels[probabilities.argmax(axis=1)]}
        return columns | {f"probability_{label}": probabilities[:, k] for k, label in enumerate(labels.tolist())}
    prediction = model.predict(table)
    if prediction.ndim == 1:
        return {"prediction": prediction}
    return {f"prediction_{output + 1}": prediction[:, output] for output in range(prediction.shape[1])}


def _write(file: TextIO, columns: dict[str, NDArray[Any]]) -> None:
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*(values.tolist() for values in columns.values()), strict=True))
