"""The forest under an estimator: ours when none is given, and which rows its trees have not seen."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.exceptions import NotFittedError as SklearnNotFittedError
from sklearn.utils.validation import check_is_fitted

from neuralforest.exceptions import InvalidParameterError


def default_forest(classifier: bool, n_features: int) -> BaseEstimator:
    """Return the random forest that is grown when the user gives none.

    Trees of 64 leaves are small enough to be trained in seconds. A third of the features is tried at every split where
    there are many; it makes the trees differ, and the networks gain more than the trees lose.
    """
    kind = RandomForestClassifier if classifier else RandomForestRegressor
    max_features = 1 / 3 if n_features >= 6 else 1.0
    return kind(n_estimators=100, max_leaf_nodes=64, max_features=max_features)


def is_fitted(forest: Any) -> bool:
    """Return whether a forest has been fitted."""
    try:
        check_is_fitted(forest)
    except SklearnNotFittedError:
        return False
    return True


def prepare_forest(forest: Any, seed: int, n_jobs: int | None) -> Any:
    """Return an unfitted copy of a forest, with a seed and threads where it has such parameters that are not set."""
    forest = clone(forest)
    parameters = forest.get_params(deep=False)
    for name, value in (("random_state", seed), ("n_jobs", n_jobs)):
        if name in parameters and parameters[name] is None:
            forest.set_params(**{name: value})
    return forest


def has_out_of_bag_rows(forest: Any) -> bool:
    """Return whether each tree of a forest, fitted or not, leaves rows out that can judge it."""
    if not hasattr(type(forest), "estimators_samples_"):
        return False
    parameters = forest.get_params(deep=False)
    whole = parameters.get("max_samples") in (None, 1.0)
    return bool(parameters.get("bootstrap")) or not whole


def bag_counts(forest: Any, n_rows: int) -> list[NDArray[np.int64]]:
    """Return, for every tree, how often it has drawn each row, (rows,); 0 for the rows that it has not seen."""
    counts = [np.bincount(rows, minlength=n_rows) for rows in forest.estimators_samples_]
    if any(len(count) != n_rows for count in counts):
        raise InvalidParameterError(
            f"validation='oob' needs the rows that the forest was fitted on, and it was fitted on more than the {n_rows} "
            "rows given: pass the same X and y, or X_val and y_val"
        )
    return counts


def n_rows_seen(forest: Any) -> int | None:
    """Return how many rows a fitted forest was given, where it remembers."""
    return getattr(forest, "_n_samples", None)
