"""Which forests a cluster grows: those whose trees are independent of each other, and leave rows out."""

from typing import Any

import numpy as np
from sklearn.ensemble import (
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

from neuralforest.estimators import forests
from neuralforest.estimators._base import NeuralForest
from neuralforest.estimators.categorical_forest import CategoricalForest
from neuralforest.exceptions import InvalidParameterError

_KINDS = (
    BaggingClassifier,
    BaggingRegressor,
    CategoricalForest,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)


def check_forest(forest: Any) -> None:
    """Refuse a forest whose trees cannot be grown one by one, each on a sample of the rows."""
    if forests.is_fitted(forest):
        raise InvalidParameterError(
            "forest must not be fitted, because each tree is grown on a sample of the rows on a worker, got a fitted "
            f"{type(forest).__name__}: pass an unfitted one, or fit without Dask"
        )
    if not isinstance(forest, _KINDS):
        raise InvalidParameterError(
            f"forest must be a RandomForest, ExtraTrees or Bagging of scikit-learn, whose trees are independent, got "
            f"{type(forest).__name__}: fit it without Dask, on a sample"
        )
    if not forests.has_out_of_bag_rows(forest):
        raise InvalidParameterError(
            "forest must leave rows out for validation, got bootstrap=False and no max_samples below 1 in "
            f"{' '.join(repr(forest).split())}: set one of them"
        )
    if isinstance(forest.random_state, np.random.RandomState):
        raise InvalidParameterError("random_state of the forest must be a whole number or None, got a RandomState")


def forest_of(
    estimator: NeuralForest, n_rows: int, n_features: int, takes_plain_rows: bool, seed: int
) -> tuple[Any, int]:
    """Return the forest of a fit, not fitted and with a seed, and its number of trees.

    `n_rows` is the size of a tree's sample, which takes the place of the number of rows in the choice of the default.
    """
    forest = forests.source_of(estimator.forest, estimator._classifier)
    if forest is None:
        n_categories = None if estimator._encoder is None else estimator._encoder.n_categories
        n_classes = len(estimator.classes_) if estimator._classifier else None
        forest = forests.default_forest(
            estimator._classifier, n_rows, n_features, n_categories, not takes_plain_rows, n_classes=n_classes
        )
    forest = forests.prepare_forest(forest, seed, estimator.n_jobs)
    return forest, int(forest.n_estimators)
