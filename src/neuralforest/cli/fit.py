"""neuralforest fit: from a table to a model file."""

import argparse
import math
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuralforest._frames import MOST_CATEGORIES, TableEncoder
from neuralforest.cli._output import (
    add_json_argument,
    emit,
    held_out_scores,
    log,
    score_tables,
    validation_note,
    validation_scores,
)
from neuralforest.cli._tables import add_table_arguments, as_feature, read_table, refuse_mixed
from neuralforest.estimators import NeuralForestClassifier, NeuralForestRegressor, forests
from neuralforest.estimators.scores import validation_standard_error
from neuralforest.estimators.summary import stacking_text, trees_improved
from neuralforest.exceptions import TableError
from neuralforest.persistence import save
from neuralforest.tables import MAX_CLASSES, TableModel, Task, column_of, guess_task, listed, read_target
from neuralforest.training import ProgressBar

if TYPE_CHECKING:
    from pandas import DataFrame, Series

HELP = "fit a neural forest to a table and write it to a model file"
EXAMPLES = """  neuralforest fit houses.csv --target price --out houses.nforest
  neuralforest fit people.parquet --target income --out income.nforest --drop name,id --test 0.2
  neuralforest fit wine.csv --target quality --task regression --epochs 30 --connectivity sparse --out wine.nforest"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    add = parser.add_argument
    add_table_arguments(parser)
    add("--target", required=True, metavar="NAME", help="column to predict")
    add("--out", required=True, metavar="FILE", help="model file to write, by convention *.nforest")
    add(
        "--task",
        choices=("auto", "regression", "classification"),
        default="auto",
        help=f"auto: strings, booleans and up to {MAX_CLASSES} distinct integers are classes (default: %(default)s)",
    )
    add("--drop", action="append", default=[], metavar="A,B", help="columns to ignore; can be repeated")
    categorical = "columns of numbers that are codes of categories; columns of strings are categories anyway"
    add("--categorical", action="append", default=[], metavar="A,B", help=f"{categorical}; can be repeated")
    add("--test", type=_fraction, metavar="FRACTION", help="fraction of the rows to hold out for a test")
    _add_model_arguments(parser)
    add_json_argument(parser)


def _add_model_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the parameters of the estimator, with its defaults."""
    add, defaults = parser.add_argument, NeuralForestRegressor().get_params()
    add(
        "--validation",
        default=defaults["validation"],
        metavar="HOW",
        type=lambda text: text if text in ("auto", "oob", "cv") else _fraction(text),
        help="validation rows: oob (the out-of-bag rows of each tree), cv (folds), a fraction to hold out, or auto: "
        f"oob for independent training, else hold out {defaults['validation_fraction']:g} (default: %(default)s)",
    )
    trees = "number of trees; disables stacking (default: with stacking, 8 to 60 trees, 12 to 60 for classification, "
    add("--trees", type=_positive, metavar="N", help=trees + "decreasing with the number of rows)")
    add(
        "--epochs",
        type=lambda text: text if text == "auto" else _positive(text),
        default=defaults["max_epochs"],
        metavar="N",
        help="maximum number of epochs; auto: 3,800 to 6,000 gradient steps, in 5 to 400 epochs (default: %(default)s)",
    )
    for name, choices, text in (
        ("training", ("auto", "independent", "joint"), "each tree as a network of its own, or all trees as one"),
        ("connectivity", ("auto", "full", "sparse"), "all connections, or those of the trees, which is faster"),
    ):
        add(f"--{name}", choices=choices, default=defaults[name], help=f"{text} (default: %(default)s)")
    add("--seed", type=int, default=0, metavar="N", help="random seed (default: %(default)s)")
    add("--jobs", type=int, default=-1, metavar="N", help="threads (default: %(default)s, one per processor)")


def run(arguments: argparse.Namespace) -> None:
    """Read, fit, test, write, and print the scores."""
    started = time.perf_counter()
    _check_folder(arguments.out)
    table = _read(arguments)
    task = _task(arguments, table[arguments.target])
    table[arguments.target] = read_target(table[arguments.target], task)
    training, test = _train_test_split(table, arguments.test, arguments.seed)
    estimator = _estimator(arguments, task, training.drop(columns=arguments.target))
    log(arguments, f"fitting a forest and its network to {len(training)} rows ...")
    model = TableModel.learn(training, arguments.target, estimator)
    scores = {"validation": validation_scores(estimator)}
    if test is not None:
        scores["test"] = held_out_scores(estimator, model.rows(test), test[arguments.target].to_numpy())
    save(model, arguments.out)
    facts = {
        "task": task,
        "target": model.target,
        "rows": len(table),
        "columns": [vars(column) for column in model.columns],
        "stacking_weights": estimator.stacking_weights_,
        "scores": scores,
        "validation_standard_error": validation_standard_error(estimator),
        "seconds": time.perf_counter() - started,
    }
    emit(arguments, _summary(arguments, model, facts), facts)


def _check_folder(path: str) -> None:
    """Refuse an output path that cannot be written before the fit, not after it."""
    folder = Path(path).resolve().parent
    if not folder.is_dir():
        raise TableError(f"the folder {str(folder)!r} does not exist: create it, or choose another --out")
    if Path(path).is_dir():
        raise TableError(f"{path!r} is a folder: set --out to a file")


def _read(arguments: argparse.Namespace) -> "DataFrame":
    """Return the table without the columns to drop; columns are numbers or categories, whatever rows are held out."""
    table, target = read_table(arguments.data, arguments.separator), arguments.target
    dropped, categorical = _names(arguments.drop), _names(arguments.categorical)
    for name in (target, *dropped, *categorical):
        column_of(table, name)
    if target in dropped:
        raise TableError(f"the target {target!r} must not be among the columns to --drop")
    table = table.drop(columns=dropped)
    for name in table.columns.drop(target):
        table[name] = as_feature(table[name], name in categorical)
    return table


def _names(options: list[str]) -> list[str]:
    return [name.strip() for names in options for name in names.split(",") if name.strip()]


def _task(arguments: argparse.Namespace, values: "Series") -> Task:
    if arguments.task != "auto":
        return arguments.task
    refuse_mixed(values, "set --task classification if its values are classes")
    task, reason = guess_task(values)
    other = "regression" if task == "classification" else "classification"
    log(arguments, f"task: {task}, because {reason} (override with --task {other})")
    return task


def _train_test_split(table: "DataFrame", fraction: float | None, seed: int) -> tuple["DataFrame", "DataFrame | None"]:
    """Return the training rows, and the test rows, if any."""
    if fraction is None:
        return table, None
    n_test = max(round(fraction * len(table)), 1)
    if n_test >= len(table):
        raise TableError(f"--test must leave training rows, and {fraction:g} of {len(table)} rows is all of them")
    shuffled = table.sample(frac=1.0, random_state=seed)
    return shuffled[n_test:], shuffled[:n_test]


def _estimator(arguments: argparse.Namespace, task: Task, X: "DataFrame") -> Any:
    is_classifier = task == "classification"
    forest = None
    if arguments.trees is not None:
        encoder = TableEncoder.learn(X, "from_dtype")
        n_categories = None if encoder is None else encoder.n_categories * (encoder.n_categories <= MOST_CATEGORIES)
        forest = forests.default_forest(is_classifier, len(X), X.shape[1], n_categories=n_categories)
        forest.set_params(n_estimators=arguments.trees)
    validation: dict[str, Any] = {"validation": arguments.validation}
    if isinstance(arguments.validation, float):
        validation = {"validation": "fraction", "validation_fraction": arguments.validation}
    return (NeuralForestClassifier if is_classifier else NeuralForestRegressor)(
        forest,
        training=arguments.training,
        connectivity=arguments.connectivity,
        max_epochs=arguments.epochs,
        callback=None if arguments.quiet else ProgressBar(),
        n_jobs=arguments.jobs,
        random_state=arguments.seed,
        **validation,
    )


def _summary(arguments: argparse.Namespace, model: TableModel, facts: dict[str, Any]) -> str:
    categorical = [column.name for column in model.columns if column.categories is not None]
    lines = [
        f"{arguments.out}: {facts['task']} of {model.target!r}, {facts['rows']} rows, {len(model.columns)} columns, "
        f"{facts['seconds']:.1f} s",
        *([f"categorical columns: {listed(categorical)}"] if categorical else []),
        "; ".join([trees_improved(model.model.history_), *stacking_text(model.model.network_)]),
        *score_tables({"validation": facts["scores"]["validation"]}),
        *validation_note(model.model),
        *score_tables({kind: both for kind, both in facts["scores"].items() if kind != "validation"}),
    ]
    return "\n".join(lines)


def _fraction(text: str) -> float:
    try:
        fraction = float(text)
    except ValueError:
        fraction = math.nan
    if not 0 < fraction < 1:
        raise argparse.ArgumentTypeError(f"must be a fraction between 0 and 1, like 0.2, got {text!r}")
    return fraction


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be an integer of at least 1, got {text!r}")
    return int(text)
