"""neuralforest fit: from a table to a model file."""

import argparse
import math
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuralforest.cli._output import add_json_argument, emit, remark
from neuralforest.cli._scores import Scores, comparison, scores_on, validation_scores
from neuralforest.cli._tables import add_table_arguments, read_table
from neuralforest.estimators import NeuralForestClassifier, NeuralForestRegressor, forests
from neuralforest.exceptions import TableError
from neuralforest.persistence import save
from neuralforest.tables import Column, TableModel, Task, column_of, guess_task, listed, read_target
from neuralforest.training import ProgressBar

if TYPE_CHECKING:
    import pandas

HELP = "fit a neural forest to a table and write it to a model file"
EXAMPLES = """  neuralforest fit houses.csv --target price --out houses.nforest
  neuralforest fit people.parquet --target income --out income.nforest --drop name,id --test 0.2
  neuralforest fit wine.csv --target quality --task regression --epochs 30 --connectivity sparse --out wine.nforest"""

_MANY = 20  # rows from which it is no accident that their texts all differ


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command's arguments."""
    add_table_arguments(parser)
    parser.add_argument("--target", required=True, metavar="NAME", help="column to predict")
    parser.add_argument("--out", required=True, metavar="FILE", help="model file to write, by convention *.nforest")
    parser.add_argument(
        "--task",
        choices=("auto", "regression", "classification"),
        default="auto",
        help="auto takes texts and up to 10 different whole numbers for classes (default)",
    )
    parser.add_argument("--drop", action="append", default=[], metavar="A,B", help="columns to leave out")
    parser.add_argument(
        "--test", type=_fraction, metavar="SHARE", help="share of the rows to keep for a test at the end"
    )
    _add_model_arguments(parser)
    add_json_argument(parser)


def _add_model_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe what is passed on to the estimator; what is not given has the estimator's own default."""
    defaults = NeuralForestRegressor().get_params()
    parser.add_argument(
        "--validation",
        default=defaults["validation"],
        metavar="HOW",
        type=lambda text: text if text in ("auto", "oob") else _fraction(text),
        help="which rows judge the network: oob (each tree's out-of-bag rows), a share to hold out, or auto (default)",
    )
    parser.add_argument(
        "--trees",
        type=_positive,
        metavar="N",
        help="trees of the forest, and none beside it (default: 60 to 8, of classes 60 to 20, the fewer the more rows)",
    )
    parser.add_argument(
        "--epochs",
        type=lambda text: text if text == "auto" else _positive(text),
        default=defaults["max_epochs"],
        metavar="N",
        help="epochs; auto (default) makes 4,000 to 6,000 steps",
    )
    for name, choices, text in (
        ("training", ("independent", "joint"), "tree by tree, or all together"),
        ("connectivity", ("full", "sparse"), "sparse is faster"),
    ):
        parser.add_argument(
            f"--{name}", choices=choices, default=defaults[name], help=f"{text} (default: {defaults[name]})"
        )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="seed of everything random (default: 0)")
    parser.add_argument("--jobs", type=int, default=-1, metavar="N", help="threads (default: one a processor)")


def run(arguments: argparse.Namespace) -> None:
    """Read, fit, test, write, and say how it went."""
    started = time.perf_counter()
    _check_folder(arguments.out)
    table = _without(read_table(arguments.data, arguments.separator), arguments.drop, arguments.target)
    task = _task(arguments, table)
    learnt, tested = _parts(table, arguments.test, arguments.seed)
    estimator = _estimator(arguments, task, len(learnt), len(table.columns) - 1)
    _mention_identifiers(arguments, learnt)
    remark(arguments, f"growing a forest on {len(learnt)} rows and training its network ...")
    model = TableModel.learn(learnt, arguments.target, estimator)
    scores = {"validation": validation_scores(estimator)}
    if tested is not None:
        X, y = model.encode(tested), read_target(tested[arguments.target], task)
        scores["test"] = scores_on(estimator.forest_, X, y), scores_on(estimator, X, y)
    save(model, arguments.out)
    seconds = time.perf_counter() - started
    emit(
        arguments,
        _summary(arguments, model, task, scores, len(table), seconds),
        _facts(model, task, scores, len(table), seconds),
    )


def _check_folder(path: str) -> None:
    """Find out before the work, not after it, that there is no place for the result."""
    folder = Path(path).resolve().parent
    if not folder.is_dir():
        raise TableError(f"there is no folder {str(folder)!r} to write to: create it, or choose another --out")
    if Path(path).is_dir():
        raise TableError(f"{path!r} is a folder: name a file with --out")


def _without(table: "pandas.DataFrame", drop: list[str], target: str) -> "pandas.DataFrame":
    column_of(table, target)
    dropped = [name.strip() for names in drop for name in names.split(",") if name.strip()]
    for name in dropped:
        column_of(table, name)
    if target in dropped:
        raise TableError(f"the target {target!r} must not be among the columns to --drop")
    return table.drop(columns=dropped)


def _task(arguments: argparse.Namespace, table: "pandas.DataFrame") -> Task:
    if arguments.task != "auto":
        return arguments.task
    task, reason = guess_task(table[arguments.target])
    other = "regression" if task == "classification" else "classification"
    remark(arguments, f"task: {task}, because {reason} (--task {other} for the other)")
    return task


def _mention_identifiers(arguments: argparse.Namespace, table: "pandas.DataFrame") -> None:
    """Point at columns whose texts can tell nothing about other rows, because hardly any comes twice."""
    for name in table.columns:
        values = table[name].dropna()
        if name != arguments.target and len(values) > _MANY and values.dtype.kind not in "biuf":
            column = Column.learn(values)
            if column.categories is not None and len(column.categories) > 0.9 * len(values):
                remark(
                    arguments,
                    f"column {name!r} has a text of its own in almost every row: --drop {name!r} if it is a name",
                )


def _parts(
    table: "pandas.DataFrame", share: float | None, seed: int
) -> tuple["pandas.DataFrame", "pandas.DataFrame | None"]:
    """Return the rows to learn from, and those for the test, if any."""
    if share is None:
        return table, None
    n_tested = max(round(share * len(table)), 1)
    if n_tested >= len(table):
        raise TableError(f"--test must leave rows to learn from, and {share:g} of {len(table)} rows is all of them")
    shuffled = table.sample(frac=1.0, random_state=seed)
    return shuffled[n_tested:], shuffled[:n_tested]


def _estimator(arguments: argparse.Namespace, task: Task, n_rows: int, n_columns: int) -> Any:
    is_classifier = task == "classification"
    forest = None
    if arguments.trees is not None:
        forest = forests.default_forest(is_classifier, n_rows, n_columns).set_params(n_estimators=arguments.trees)
    validation: dict[str, Any] = {"validation": arguments.validation}
    if isinstance(arguments.validation, float):
        validation = {"validation": "fraction", "validation_fraction": arguments.validation}
    kind = NeuralForestClassifier if is_classifier else NeuralForestRegressor
    return kind(
        forest,
        training=arguments.training,
        connectivity=arguments.connectivity,
        max_epochs=arguments.epochs,
        callback=None if arguments.quiet else ProgressBar(),
        n_jobs=arguments.jobs,
        random_state=arguments.seed,
        **validation,
    )


def _summary(
    arguments: argparse.Namespace,
    model: TableModel,
    task: Task,
    scores: dict[str, tuple[Scores, Scores]],
    n_rows: int,
    seconds: float,
) -> str:
    texts = [column.name for column in model.columns if column.categories is not None]
    lines = [
        f"{arguments.out}: {task} of {model.target!r}, {n_rows} rows, {len(model.columns)} columns, {seconds:.1f} s",
        *([f"columns of texts, encoded in alphabetical order: {listed(texts)}"] if texts else []),
        "on validation rows, which neither learnt from, and which had a part in choosing:",
        comparison(*scores["validation"]),
    ]
    if model.model.network_.hard.all() and not model.model.network_.base_models:
        lines.append("no network was better there, so the model predicts what the forest predicts")
    if "test" in scores:
        lines += ["on test rows, which had no part in the model:", comparison(*scores["test"])]
    return "\n".join(lines)


def _facts(
    model: TableModel, task: Task, scores: dict[str, tuple[Scores, Scores]], n_rows: int, seconds: float
) -> dict[str, Any]:
    return {
        "task": task,
        "target": model.target,
        "rows": n_rows,
        "columns": [{"name": column.name, "categories": column.categories} for column in model.columns],
        "scores": {part: {"forest": forest, "network": network} for part, (forest, network) in scores.items()},
        "seconds": seconds,
    }


def _fraction(text: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = math.nan
    if not 0 < share < 1:
        raise argparse.ArgumentTypeError(f"must be a share between 0 and 1, like 0.2, got {text!r}")
    return share


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 1, got {text!r}")
    return int(text)
