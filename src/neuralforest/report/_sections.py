"""The sections of a report: each is the HTML of one part of the page."""

import datetime
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import confusion_matrix
from sklearn.utils.validation import check_consistent_length, column_or_1d

from neuralforest.estimators.summary import stacking_words
from neuralforest.exceptions import InvalidParameterError
from neuralforest.network import ForestNetwork
from neuralforest.plots import ImportanceDisplay, ReliabilityDisplay
from neuralforest.plots.arguments import Estimator, forest_of
from neuralforest.plots.text import number
from neuralforest.report._charts import ActualChart, ConfusionChart, ResidualChart, curves
from neuralforest.report._dependence import dependence
from neuralforest.report._page import chart, grid, paragraph, table
from neuralforest.report._scores import Score, classification_scores, regression_scores
from neuralforest.report._training import model_sections

_SQUARE, _FLAT = (4.2, 4.2), (4.2, 3.4)  # inches: narrow, so that the text of a chart is readable on a phone
_MOST_FEATURES = 6  # of partial dependence


def check_y(network: ForestNetwork, rows: NDArray[np.floating], y: ArrayLike) -> NDArray[Any]:
    """Return the targets, or in classification the index of each label among the classes."""
    y = np.asarray(y)
    check_consistent_length(rows, y)
    if network.classes is None:
        target = np.asarray(y, np.float64).reshape(len(y), -1)
        if target.shape[1] != network.n_outputs or not np.isfinite(target).all():
            raise InvalidParameterError(
                f"y must have {network.n_outputs} finite numbers per row, got an array of shape {y.shape}"
            )
        return target
    index = {label: i for i, label in enumerate(network.classes.tolist())}
    labels = column_or_1d(y).tolist()
    unknown = sorted({str(label) for label in labels if label not in index})
    if unknown:
        raise InvalidParameterError(f"y must have only the classes {list(index)}, got also {', '.join(unknown[:5])}")
    return np.array([index[label] for label in labels])


def titles(estimator: Estimator, n_rows: int, target: Any, data: str | None, date: str | None) -> tuple[str, str]:
    """Return the title of the page and the line below it."""
    what = "Prediction of the target" if target is None else f"Prediction of {target}"
    day = datetime.date.today().isoformat() if date is None else date
    task = "Regression" if estimator.network_.classes is None else "Classification"
    return what if data is None else f"{what}, {data}", f"{task}, evaluated on {n_rows:,} rows, {day}"


def sections(
    estimator: Estimator,
    X: Any,
    rows: NDArray[np.floating],
    target: NDArray[Any],
    model: NDArray[np.float64],
    names: Sequence[str],
) -> list[tuple[str, str]]:
    """Return heading and HTML of every section, given a table, its rows as the trees compare them, and predictions."""
    network = estimator.network_
    if network.classes is None:
        forest = forest_of(network).predict(rows).reshape(len(rows), -1)
        scores = regression_scores(target, forest), regression_scores(target, model)
        charts = _regression_charts(target, forest, model)
    else:
        forest = forest_of(network).predict_proba(rows)
        scores = classification_scores(target, forest), classification_scores(target, model)
        charts = _classification_charts(target, model, [str(label) for label in network.classes])
    order = [int(i) for i in np.argsort(-estimator.feature_importances_, kind="stable")[:_MOST_FEATURES]]
    return [
        ("Model card", _card(estimator, rows, *scores)),
        ("Scores on the given rows", _scores(rows, *scores)),
        *charts,
        ("Partial dependence of the most important features", _dependence(estimator, rows, names, order)),
        ("Feature importances", _importances(estimator, names)),
        *model_sections(estimator, X, names),
    ]


def _card(estimator: Estimator, rows: NDArray[np.floating], forest: dict[str, Score], model: dict[str, Score]) -> str:
    network, e = estimator.network_, estimator.network_.ensemble
    name = next(iter(model))
    change = 100 * (model[name].value / forest[name].value - 1) if forest[name].value > 0 else 0.0
    against = (
        f"{abs(change):.1f}% {'lower' if change < 0 else 'higher'} than that of"
        if abs(change) >= 0.05
        else "the same as that of"
    )
    text = f"The {name} of the model on these rows is {number(model[name].value)}, {against} its forest."
    facts = [
        ("Rows of this report", f"{len(rows):,}"),
        ("Features", f"{e.n_features:,}"),
        *(
            [("Classes", ", ".join(map(str, network.classes[:8])) + (", …" if len(network.classes) > 8 else ""))]
            if network.classes is not None
            else []
        ),
        *((f"{key[:1].upper()}{key[1:]}", str(score)) for key, score in model.items()),
        ("Forest", f"{e.n_trees:,} trees, {e.n_leaves:,} leaves"),
        ("Network", f"{network.n_parameters:,} parameters; {_trees_replaced(network)}"),
    ]
    return f"{paragraph(text, 'lead')}\n{paragraph(stacking_words(network))}\n{table(facts)}"


def _trees_replaced(network: ForestNetwork) -> str:
    soft = int((~network.hard[network.subnetworks.of_tree]).sum())
    return f"{soft:,} of {network.ensemble.n_trees:,} trees are replaced by their network"


def _scores(rows: NDArray[np.floating], forest: dict[str, Score], model: dict[str, Score]) -> str:
    note = (
        f"Computed on {len(rows):,} rows, with 95% bootstrap intervals. The report cannot check whether the model was "
        "trained on these rows; if it was, the scores are better than on new rows."
    )
    lines = [(name, forest[name], model[name]) for name in model]
    return f"{table(lines, ('', 'forest', 'model'))}\n{paragraph(note, 'quiet')}"


def _regression_charts(
    y: NDArray[np.float64], forest: NDArray[np.float64], model: NDArray[np.float64]
) -> list[tuple[str, str]]:
    which = "" if y.shape[1] == 1 else " Only the first target is shown."
    charts = [
        chart(
            ActualChart(y[:, 0], model[:, 0]),
            "actual",
            f"Each dot is a row. On the dotted line, the prediction is exact.{which}",
            _SQUARE,
        ),
        chart(
            ResidualChart(y[:, 0] - forest[:, 0], y[:, 0] - model[:, 0]),
            "residuals",
            f"Distribution of the errors; the largest 1% are not shown.{which}",
            _SQUARE,
        ),
    ]
    return [("Predicted against actual, and residuals", grid(charts))]


def _classification_charts(
    target: NDArray[np.int64], probabilities: NDArray[np.float64], labels: list[str]
) -> list[tuple[str, str]]:
    top = probabilities.argmax(axis=1)
    if len(labels) == 2:
        event, p, what = target == 1, probabilities[:, 1], f"class {labels[1]} occurs"
    else:
        event, p, what = target == top, probabilities.max(axis=1), "the predicted class is right"
    display = ReliabilityDisplay.from_predictions(event, np.clip(p, 0, 1), draw=False)
    text = f"How often {what}, by predicted probability. Calibrated probabilities lie on the dotted line."
    counts = confusion_matrix(target, top, labels=np.arange(len(labels)))
    confusion = "Number of rows of each actual class, by predicted class."
    found = [
        (
            "Calibration and confusion matrix",
            grid(
                [
                    chart(display, "reliability", text, _SQUARE),
                    chart(ConfusionChart(counts, labels), "confusion", confusion, _SQUARE),
                ]
            ),
        )
    ]
    both = curves(target, probabilities, labels)
    texts = (
        "Fraction of the class that is found, against the fraction of other rows that are mistaken for it.",
        "Fraction of the rows predicted as the class that belong to it, against the fraction of it that is found.",
    )
    charts = [
        chart(each, name, text, _SQUARE) for each, name, text in zip(both, ("roc", "recall"), texts, strict=False)
    ]
    nothing = paragraph("These curves need rows of at least two classes, but the given rows have one.")
    return [*found, ("ROC and precision-recall curves", grid(charts) if charts else nothing)]


def _dependence(estimator: Estimator, rows: NDArray[np.floating], names: Sequence[str], order: list[int]) -> str:
    charts = [
        chart(each, f"dependence{i}", f"Mean prediction for each value of {each.name}.", _FLAT)
        for i, each in enumerate(dependence(estimator, rows, names, order))
    ]
    return grid(charts) if charts else paragraph("The given rows have no values of these features.")


def _importances(estimator: Estimator, names: Sequence[str]) -> str:
    display = ImportanceDisplay.from_estimator(estimator, feature_names=names, draw=False)
    text = "Mean decrease in impurity of each feature, in the forest and in the model."
    figure = chart(display, "importance", text, (4.5, display.size[1]))
    order = np.argsort(-display.model, kind="stable")
    numbers = table(
        [(names[i], float(100 * display.forest[i]), float(100 * display.model[i])) for i in order],
        ("feature", "forest, %", "model, %"),
    )
    return f"{figure}\n<details><summary>Table of all features</summary>{numbers}</details>"
