"""One HTML page about a fitted model: scores and figures in a single file, readable on a phone."""

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from neuralforest.plots import arguments
from neuralforest.report._page import page
from neuralforest.report._sections import check_y, sections

__all__ = ["write_report"]


def write_report(
    estimator: Any, X: Any, y: ArrayLike, path: str | PathLike[str], feature_names: Sequence[str] | None = None
) -> Path:
    """Write one HTML page about a fitted model, with its scores on the given rows.

    The page has a summary, scores of the forest and of the model, and the figures of :mod:`neuralforest.plots`. It is
    one file without scripts that fetches nothing. Needs the extra ``neuralforest[plots]``.

    Parameters
    ----------
    estimator : fitted NeuralForestRegressor or NeuralForestClassifier
    X : array-like (rows, features)
    y : array-like (rows,) or (rows, outputs)
    path : str or path
        The file to write; an existing one is replaced.
    feature_names : sequence of str, optional
        Names that replace those of the estimator.

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
    ...     page = write_report(model, X, y, Path(folder) / "report.html").read_text(encoding="utf-8")
    >>> "http" in page
    False
    """
    estimator = arguments.trained_estimator(estimator, "write_report")
    names, rows = arguments.feature_names(estimator, feature_names, X), arguments.rows_of(estimator, X)
    target = check_y(estimator.network_, rows, y)
    X = rows if estimator._encoder is None else X  # what the figures take
    path = Path(path)
    path.write_text(page(type(estimator).__name__, sections(estimator, X, rows, target, names)), encoding="utf-8")
    return path
