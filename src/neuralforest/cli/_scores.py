"""How well forest and network predict, as people read it."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import accuracy_score, log_loss, r2_score, root_mean_squared_error

from neuralforest.cli._output import change, layout

Scores = dict[str, float]


def validation_scores(estimator: Any) -> tuple[Scores, Scores]:
    """Return what a fit has measured, of the forest and of the network, on rows that neither has learnt from."""
    losses = (estimator.forest_loss_, estimator.validation_loss_)
    scale = estimator.network_.soft.output_scale
    if hasattr(estimator, "classes_"):
        forest, network = ({"log loss": loss} for loss in losses)
    elif estimator.loss not in ("auto", "squared_error") or len(scale) > 1:
        forest, network = ({"loss": loss} for loss in losses)
    else:  # the loss is in units of the target's variance
        forest, network = ({"RMSE": float(loss**0.5 * scale[0])} for loss in losses)
    return forest, network


def scores_on(model: Any, X: NDArray[np.float64], y: NDArray[Any]) -> Scores:
    """Return the scores of a model on given rows."""
    if not hasattr(model, "classes_"):
        prediction = model.predict(X)
        return {"RMSE": float(root_mean_squared_error(y, prediction)), "R2": float(r2_score(y, prediction))}
    probabilities = model.predict_proba(X)
    probabilities = probabilities / probabilities.sum(axis=1, keepdims=True)  # float32 is too coarse for scikit-learn
    return {
        "log loss": float(log_loss(y, probabilities, labels=model.classes_)),
        "accuracy": float(accuracy_score(y, model.classes_[probabilities.argmax(axis=1)])),
    }


def comparison(forest: Scores, network: Scores, indent: str = "  ") -> str:
    """Return a table of two models' scores."""
    rows = [["", "forest", "neural forest", "change"]]
    for name in network:
        is_error = name in ("RMSE", "log loss", "loss")
        moved = change(forest[name], network[name]) if is_error else f"{network[name] - forest[name]:+.4f}"
        rows.append([name, f"{forest[name]:.5g}", f"{network[name]:.5g}", moved])
    return layout(rows, indent)
