"""Scores of the forest and of the model on given rows."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import accuracy_score, mean_absolute_error, r2_score, root_mean_squared_error
from sklearn.utils.validation import check_consistent_length, column_or_1d

from neuralforest.exceptions import InvalidParameterError
from neuralforest.network import ForestNetwork
from neuralforest.plots.arguments import forest_of


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


def scores(network: ForestNetwork, rows: NDArray[np.floating], target: NDArray[Any]) -> list[tuple[str, float, float]]:
    """Return the name of each score, that of the forest and that of the model."""
    both, result = (forest_of(network), network), []

    def add(name: str, values: Iterable[float]) -> None:
        forest, model = (float(value) for value in values)
        result.append((name, forest, model))

    if network.classes is None:
        predictions = [each.predict(rows).reshape(len(rows), -1) for each in both]
        add("RMSE", (root_mean_squared_error(target, p) for p in predictions))
        add("mean absolute error", (mean_absolute_error(target, p) for p in predictions))
        if len(rows) > 1:
            add("R²", (r2_score(target, p) for p in predictions))
    else:
        own = (each.predict_proba(rows)[np.arange(len(rows)), target] for each in both)
        add("log loss", (-np.log(np.maximum(p, np.finfo(np.float64).eps)).mean() for p in own))
        labels = (np.searchsorted(network.classes, each.predict(rows)) for each in both)
        add("accuracy", (accuracy_score(target, p) for p in labels))
    return result
