"""The sections of a report: each is the HTML of one part of the page."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import mean_absolute_error, r2_score, root_mean_squared_error
from sklearn.utils.validation import check_consistent_length, column_or_1d

from neuralforest.estimators.scores import validation_scores
from neuralforest.exceptions import InvalidParameterError
from neuralforest.network import ForestNetwork
from neuralforest.plots import ImportanceDisplay, NetworkDisplay, SurfaceDisplay, TrainingDisplay, TreeDisplay
from neuralforest.plots.arguments import Estimator, forest_of
from neuralforest.plots.text import number
from neuralforest.report._page import chart, drawing, paragraph, table

_WIDTH = 4.5  # inches: narrow, so that the text of a chart is readable on a phone
_HIDDEN = {"callback", "checkpoint", "n_jobs", "verbose", "warm_start"}


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


def sections(
    estimator: Estimator, X: Any, rows: NDArray[np.floating], target: NDArray[Any], names: Sequence[str]
) -> list[tuple[str, str]]:
    """Return heading and HTML of every section, given a table and its rows as the trees compare them."""
    network = estimator.network_
    tree = next(iter(np.flatnonzero(~network.hard[network.subnetworks.of_tree]).tolist()), 0)  # the first trained one
    return [
        ("Summary", _summary(estimator)),
        ("Scores on the given rows", _scores(network, rows, target)),
        ("Training curves", _training(estimator)),
        ("Feature importances", _importances(estimator, names)),
        ("Prediction surface", _surface(estimator, X, names)),
        ("A tree before and after training", _tree(estimator, tree, X, names)),
        ("The tree as a network", _network(estimator, tree, X, names)),
        ("Parameters", _parameters(estimator)),
    ]


def _summary(estimator: Estimator) -> str:
    network, e = estimator.network_, estimator.network_.ensemble
    name, forest, model = validation_scores(estimator)
    less = 100 * (1 - model / forest) if forest > 0 else 0.0
    text = f"The validation {name} of the model is {number(model)}, "
    text += f"{less:.1f}% less than" if less >= 0.05 else "the same as"
    text += f" the {number(forest)} of the forest. The validation rows were used for model selection."
    facts = [
        ("Features", e.n_features),
        *([("Classes", len(network.classes))] if network.classes is not None else []),
        ("Trees of the forest", e.n_trees),
        ("Leaves of the forest", e.n_leaves),
        ("Parameters of the network", network.n_parameters),
        (f"Validation {name}, forest", forest),
        (f"Validation {name}, model", model),
    ]
    stacking = ""
    if network.base_models:
        weights = ", ".join(f"{key.replace('_', ' ')} {w:.2f}" for key, w in network.stacking_weights.items())
        stacking = paragraph(f"The model is a weighted mean of several predictions. Stacking weights: {weights}.")
    return f"{paragraph(text)}\n{stacking}{table(facts)}"


def _scores(network: ForestNetwork, rows: NDArray[np.floating], target: NDArray[Any]) -> str:
    note = (
        f"Computed on {len(rows):,} rows. A model does not store its training rows: if these rows were among them, the "
        "scores are better than on new rows."
    )
    return f"{table(_score_rows(network, rows, target), ('', 'forest', 'model'))}\n{paragraph(note, 'quiet')}"


def _score_rows(
    network: ForestNetwork, rows: NDArray[np.floating], target: NDArray[Any]
) -> list[tuple[str, float, float]]:
    """Return the name of each score, that of the forest and that of the model."""
    both = forest_of(network), network
    if network.classes is None:
        forest, model = (each.predict(rows).reshape(len(rows), -1) for each in both)
        metrics = {"RMSE": root_mean_squared_error, "mean absolute error": mean_absolute_error, "R²": r2_score}
        if len(rows) == 1:
            del metrics["R²"]
        return [(name, float(metric(target, forest)), float(metric(target, model))) for name, metric in metrics.items()]
    own = (each.predict_proba(rows)[np.arange(len(rows)), target] for each in both)
    losses = [float(-np.log(np.maximum(p, np.finfo(np.float64).eps)).mean()) for p in own]
    accuracies = [float(np.mean(each.predict(rows) == network.classes[target])) for each in both]
    return [("log loss", losses[0], losses[1]), ("accuracy", accuracies[0], accuracies[1])]


def _training(estimator: Estimator) -> str:
    if getattr(estimator, "history_", None) is None:
        return paragraph("The model was saved without its training history.")
    display = TrainingDisplay.from_estimator(estimator, draw=False)
    text = "Loss of every epoch. Epoch 0 is the softened network before training"
    text += "; the bands are the middle 80% of the subnetworks." if display.independent else "."
    return chart(display, "training", text, (_WIDTH, 4.2))


def _importances(estimator: Estimator, names: Sequence[str]) -> str:
    display = ImportanceDisplay.from_estimator(estimator, feature_names=names, draw=False)
    text = "Mean decrease in impurity of each feature, in the forest and in the model."
    figure = chart(display, "importance", text, (_WIDTH, display.size[1]))
    order = np.argsort(-display.model, kind="stable")
    numbers = table(
        [(names[i], float(100 * display.forest[i]), float(100 * display.model[i])) for i in order],
        ("feature", "forest, %", "model, %"),
    )
    return f"{figure}\n<details><summary>Table of all features</summary>{numbers}</details>"


def _surface(estimator: Estimator, X: Any, names: Sequence[str]) -> str:
    if len(names) < 2:
        return paragraph("A surface needs two features, and this model has one.")
    display = SurfaceDisplay.from_estimator(estimator, X, feature_names=names, draw=False)
    text = (
        f"{display.label.capitalize()} over the two most important features, {display.names[0]} and "
        f"{display.names[1]}, with the others at their medians. Dots are rows of the data."
    )
    return chart(display, "surface", text, (_WIDTH, 2.9), columns=2)


def _tree(estimator: Estimator, tree: int, X: Any, names: Sequence[str]) -> str:
    display = TreeDisplay.from_estimator(estimator, X, tree=tree, feature_names=names, draw=False)
    text = "Thresholds of the splits and values of the leaves, before and after training; scroll to see all of it."
    return drawing(display, "tree", text)


def _network(estimator: Estimator, tree: int, X: Any, names: Sequence[str]) -> str:
    display = NetworkDisplay.from_estimator(
        estimator, tree=tree, row=X[:1], max_leaves=8, max_inputs=8, weakest=0.2, feature_names=names, draw=False
    )
    text = "One unit per split, one unit per leaf. The path of the first of the given rows is highlighted."
    return drawing(display, "network", text)


def _parameters(estimator: Estimator) -> str:
    parameters = {name: repr(value) for name, value in estimator.get_params(deep=False).items() if name not in _HIDDEN}
    if np.ndim(estimator.contrast) > 1:
        parameters["contrast"] += f", of which {estimator.contrast_} was selected"
    return table(parameters.items())
