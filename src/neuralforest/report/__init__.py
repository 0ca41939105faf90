"""One HTML page about a fitted model: scores and figures in a single file, readable on a phone."""

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from neuralforest.plots import arguments
from neuralforest.report._page import page
from neuralforest.report._sections import check_y, sections, titles

__all__ = ["write_report"]


def write_report(
    estimator: Any,
    X: Any,
    y: ArrayLike,
    path: str | PathLike[str],
    feature_names: Sequence[str] | None = None,
    *,
    target: str | None = None,
    data: str | None = None,
    date: str | None = None,
) -> Path:
    """Write one HTML page about a fitted model, with its scores on the given rows.

    The page begins with what the model predicts and how well: a model card, scores with intervals, predicted against
    actual values and residuals, or a reliability curve, a confusion matrix, ROC and precision-recall curves; then
    partial dependence and importances of the features; then training curves, a tree and its network. It is one file
    without scripts that fetches nothing. Needs the extra ``neuralforest[plots]``.

    Parameters
    ----------
    estimator : fitted NeuralForestRegressor or NeuralForestClassifier
    X : array-like (rows, features)
        Best rows that the model was not trained on.
    y : array-like (rows,) or (rows, outputs)
    path : str or path
        The file to write; an existing one is replaced.
    feature_names : sequence of str, optional
        Names that replace those of the estimator.
    target : str, optional
        Name of the target, for the title; default the name of a pandas series.
    data : str, optional
        Name of the data set, for the title.
    date : str, optional
        Date of the page; default today.

    Returns
    -------
    Path
        Of the page.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from neuralforest import NeuralForestRegressor
    >>> from neuralforest.report import write_report
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.ensemble import RandomForestRegressor
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> forest = RandomForestRegressor(5, max_depth=3, random_state=0)
    >>> model = NeuralForestRegressor(forest, max_epochs=10, contrast=(3, 1), random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = write_report(model, X, y, Path(folder) / "report.html", data="diabetes").read_text(encoding="utf-8")
    >>> "<title>Prediction of target, diabetes</title>" in page, "http" in page
    (True, False)
    """
    estimator = arguments.trained_estimator(estimator, "write_report")
    names, rows = arguments.feature_names(estimator, feature_names, X), arguments.rows_of(estimator, X)
    values = check_y(estimator.network_, rows, y)
    predict = estimator.predict if estimator.network_.classes is None else estimator.predict_proba
    prediction = np.asarray(predict(X), np.float64).reshape(len(rows), -1)
    X = rows if estimator._encoder is None else X  # what the figures take
    path = Path(path)
    name = getattr(y, "name", None) if target is None else target
    title, subtitle = titles(estimator, len(rows), name, data, date)
    path.write_text(page(title, subtitle, sections(estimator, X, rows, values, prediction, names)), encoding="utf-8")
    return path
