"""Scores of the forest and of the model on given rows."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import mean_absolute_error, r2_score, root_mean_squared_error
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
