"""The scores of a forest and of the model that was trained from it."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import accuracy_score, log_loss, r2_score, root_mean_squared_error

from neuralforest.cli._output import change, layout
from neuralforest.estimators import scores

Scores = dict[str, float]


def validation_scores(estimator: Any) -> dict[str, Scores]:
    """Return the validation scores of the forest and of the model."""
    name, forest, model = scores.validation_scores(estimator)
    return {"forest": {name: forest}, "model": {name: model}}


def held_out_scores(estimator: Any, X: NDArray[np.float64], y: NDArray[Any]) -> dict[str, Scores]:
    """Return the scores of the forest and of the model on given rows."""
    return {"forest": scores_on(estimator.forest_, X, y), "model": scores_on(estimator, X, y)}


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


def comparison(forest: Scores, model: Scores) -> list[list[str]]:
    """Return a row for each score: its name, both values, and the change, relative where it is an error."""
    rows = []
    for name in model:
        is_error = name not in ("R2", "accuracy")
        difference = change(forest[name], model[name]) if is_error else f"{model[name] - forest[name]:+.4f}"
        rows.append([name, f"{forest[name]:.5g}", f"{model[name]:.5g}", difference])
    return rows


def comparison_table(scores: dict[str, Scores]) -> str:
    """Return the scores of forest and model as a table."""
    return layout([["", "forest", "neural forest", "change"], *comparison(**scores)], "  ")
