"""Rows and answers for comparing an ensemble with the model that it was read from.

Who evaluates the ensemble compares: `converted(check_rows(ensemble))` against `source_output(model, rows)`.
"""

import warnings
from typing import Any

import joblib
import numpy as np
from numpy.typing import NDArray

from neuralforest.ensemble import TreeEnsemble


def check_rows(ensemble: TreeEnsemble, n_rows: int = 16, missing: bool = False) -> NDArray[np.float64]:
    """Return rows on which a wrongly read ensemble would differ from its source.

    Each row walks to some split of some tree and stands exactly on its threshold, or on the next number above it; so it
    does at every earlier split that still confines one of its features.

    Parameters
    ----------
    ensemble : TreeEnsemble
    n_rows : int
    missing : bool
        Whether every other row lacks the value that its split asks for, and some more.

    Returns
    -------
    X : float64 array (n_rows, n_features)
        The same for every call, and finite in the dtype that the ensemble compares in.

    Examples
    --------
    >>> from neuralforest.ensemble import TreeEnsemble
    >>> from neuralforest.readers.check import check_rows
    >>> stump = TreeEnsemble(
    ...     feature=[0], threshold=[0.5], missing_left=[True], middle=[1], value=[[1.0], [3.0]], weight=[4, 4],
    ...     first_split=[0, 1], first_leaf=[0, 2], n_features=1, compare_dtype="float64",
    ... )
    >>> check_rows(stump, n_rows=4, missing=True).ravel().tolist()
    [0.5, nan, 0.5000000000000001, nan]
    """
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, ensemble.n_features))  # stays where no split looks
    labelled = [feature for feature, labels in enumerate(ensemble.categories or ()) if labels is not None]
    X[:, np.union1d(ensemble.feature[ensemble.is_categorical], labelled).astype(np.int64)] = 0.0
    for number, row in enumerate(X if ensemble.n_splits else X[:0]):
        split = int(rng.integers(ensemble.n_splits))
        _walk_to(ensemble, split, row, above=number % 4 >= 2)
        if missing and number % 2:
            row[ensemble.feature[split]] = np.nan
            row[rng.random(len(row)) < 0.25] = np.nan
    return X


def _walk_to(ensemble: TreeEnsemble, split: int, row: NDArray[np.float64], above: bool) -> None:
    """Write values into the row that lead it to the split, and there onto the threshold or above it."""
    first = ensemble.first_split[np.searchsorted(ensemble.first_split, split, side="right") - 1]
    tree = slice(first, split + 1)
    begin, end = ensemble.begin[split], ensemble.end[split]
    path = first + np.flatnonzero((ensemble.begin[tree] <= begin) & (end <= ensemble.end[tree]))
    to_left = begin < ensemble.middle[path]
    to_left[-1] = not above
    dtype = np.dtype(ensemble.compare_dtype)
    finite = np.finfo(dtype)
    threshold = np.clip(ensemble.threshold[path], finite.min, finite.max)
    on = threshold.astype(dtype)
    on = np.where(on > threshold, np.nextafter(on, dtype.type(-np.inf)), on)  # the last number that goes left
    with np.errstate(over="ignore"):  # at a threshold of +inf nothing is above
        value = np.where(to_left, on, np.clip(np.nextafter(on, dtype.type(np.inf)), None, finite.max))
    for at, (split_, feature) in enumerate(zip(path, ensemble.feature[path], strict=True)):
        labels = None if ensemble.categories is None else ensemble.categories[feature]
        if ensemble.is_categorical[split_]:
            entries = ensemble.category_left[slice(*ensemble.first_category[split_ : split_ + 2])]
            value[at] = np.flatnonzero(entries == to_left[at])[0] if (entries == to_left[at]).any() else 0
        elif labels is not None:  # codes of ordered categories
            value[at] = np.clip(np.floor(on[at]) + (not to_left[at]), 0, len(labels) - 1)
    row[ensemble.feature[path]] = value  # the last split on a feature is the one that confines it most


def decoded(ensemble: TreeEnsemble, X: NDArray[np.float64]) -> Any:
    """Return rows as the source takes them: a data frame with labels in place of codes, if it has categories.

    A code beyond the categories becomes a label that the source has never seen. Missing categories become NaN.
    """
    if ensemble.categories is None:
        return X
    import pandas

    names = ensemble.feature_names or range(ensemble.n_features)
    return pandas.DataFrame(
        {
            name: X[:, feature] if labels is None else _labels_of(labels, X[:, feature])
            for feature, (name, labels) in enumerate(zip(names, ensemble.categories, strict=True))
        }
    )


def _labels_of(labels: NDArray[Any], codes: NDArray[np.float64]) -> NDArray[Any]:
    if labels.dtype.kind in "biuf":
        table = np.append(labels.astype(np.float64), [labels.astype(np.float64).max(initial=0) + 1, np.nan])
    else:
        table = np.array([*labels, "a category that was never seen", np.nan], object)
    code = np.where(np.isnan(codes), len(labels) + 1, np.clip(codes, -1, len(labels))).astype(np.int64)
    return np.asarray(table[np.where(code < 0, len(labels), code)])


def source_output(model: Any, X: NDArray[np.float64], ensemble: TreeEnsemble | None = None) -> NDArray[np.float64]:
    """Return the model's own predictions: probabilities of classes for a classifier, predictions for a regressor.

    Runs in this thread whatever the model's `n_jobs`: a few rows are not worth starting processes, and the order of
    summation stays that of the trees.
    """
    predict = model.predict_proba if hasattr(model, "predict_proba") else model.predict
    with warnings.catch_warnings(), joblib.parallel_config("sequential"):
        warnings.filterwarnings("ignore", message="X does not have valid feature names", category=UserWarning)
        return np.asarray(predict(X if ensemble is None else decoded(ensemble, X)), np.float64)
