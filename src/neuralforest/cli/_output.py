"""The output of commands: results on standard output, as text or JSON, scores as tables, messages on standard error."""

import argparse
import json
import sys
from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray
from sklearn.metrics import accuracy_score, log_loss, r2_score, root_mean_squared_error

from neuralforest.estimators import scores
from neuralforest.estimators.rows import read_X
from neuralforest.network import ForestNetwork

Scores = dict[str, dict[str, float]]
"""The scores of the forest and of the model, by their names."""

_TITLES = {"validation": "validation score (used for model selection):", "test": "test score (held-out rows):"}
_HOW = {
    True: "out-of-bag rows, cross-fitted: no row evaluates an epoch that it had a part in selecting",
    False: "held-out rows, which also selected the best epoch",
}


def add_json_argument(parser: argparse.ArgumentParser) -> None:
    """Add the options of all commands: JSON, and no messages."""
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of text")
    quiet = "no progress bar, and no messages except warnings and errors"
    parser.add_argument("--quiet", action="store_true", help=quiet)


def log(arguments: argparse.Namespace, text: str) -> None:
    """Print a message, unless the command is quiet."""
    if not arguments.quiet:
        print(text, file=sys.stderr, flush=True)


def emit(arguments: argparse.Namespace, text: str, data: dict[str, Any]) -> None:
    """Print a result."""
    print(json.dumps(data, ensure_ascii=False) if arguments.json else text)


def validation_scores(estimator: Any) -> Scores:
    """Return the validation scores of the forest and of the model."""
    name, forest, model = scores.validation_scores(estimator)
    return {"forest": {name: forest}, "model": {name: model}}


def validation_note(estimator: Any) -> list[str]:
    """Return how the validation score was estimated, and its standard error, after a fit."""
    error, known = scores.validation_standard_error(estimator), estimator._uncertainty
    if known is None:
        return []
    spread = "" if error is None else f"; standard error {error:.2g}"
    return [f"  ({_HOW[known.out_of_bag]}{spread})"]


def held_out_scores(estimator: Any, X: Any, y: NDArray[Any]) -> Scores:
    """Return the scores of the forest and of the model on given rows."""
    forest, rows = ForestNetwork(estimator.network_.ensemble), read_X(estimator, X, reset=False)
    classes = getattr(estimator, "classes_", None)
    return {"forest": scores_on(forest, rows, y, classes), "model": scores_on(estimator, X, y, classes)}


def scores_on(model: Any, X: Any, y: NDArray[Any], classes: NDArray[Any] | None) -> dict[str, float]:
    """Return the scores of one model on given rows; classes of a classifier, None for a regressor."""
    if classes is None:
        prediction = model.predict(X)
        return {"RMSE": float(root_mean_squared_error(y, prediction)), "R2": float(r2_score(y, prediction))}
    probabilities = model.predict_proba(X)
    probabilities = probabilities / probabilities.sum(axis=1, keepdims=True)  # float32 is too coarse for scikit-learn
    return {
        "log loss": float(log_loss(y, probabilities, labels=classes)),
        "accuracy": float(accuracy_score(y, classes[probabilities.argmax(axis=1)])),
    }


def comparison(forest: dict[str, float], model: dict[str, float]) -> list[list[str]]:
    """Return a row for each score: its name, both values, and the change, relative where it is an error."""
    rows = []
    for name, after in model.items():
        before = forest[name]
        if name in ("R2", "accuracy"):
            change = f"{after - before:+.4f}"
        else:
            change = f"{100 * (after / before - 1):+.1f}%" if before else ""
        rows.append([name, f"{before:.5g}", f"{after:.5g}", change])
    return rows


def score_tables(scores: dict[str, Scores]) -> list[str]:
    """Return the validation scores, and the test scores if there are any, each as a table under its title."""
    head = ["", "forest", "model", "change"]
    return [f"{_TITLES[kind]}\n{layout([head, *comparison(**both)])}" for kind, both in scores.items()]


def layout(rows: Sequence[Sequence[str]]) -> str:
    """Return rows of strings as an indented table: the first column left-aligned, the others right-aligned."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for first, *others in rows:
        cells = [first.ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True))]
        lines.append(("  " + "  ".join(cells)).rstrip())
    return "\n".join(lines)
