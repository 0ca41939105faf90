"""The table of scikit-learn's classes and their readers."""

from collections.abc import Callable
from typing import Any

from sklearn.ensemble import (
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from neuralforest.ensemble import TreeEnsemble
from neuralforest.readers._sklearn_boosting import read_gradient_boosting, read_hist_gradient_boosting
from neuralforest.readers._sklearn_trees import read_bagging, read_forest, read_tree
from neuralforest.readers.check import source_output as output

__all__ = ["READERS", "ROUNDING", "output"]

ROUNDING = 1e-9
"""How far predictions may differ, relative to the largest score: a parallel forest adds trees in any order."""

READERS: dict[type, Callable[[Any], TreeEnsemble]] = {
    DecisionTreeRegressor: read_tree,  # ExtraTree models are subclasses of these two
    DecisionTreeClassifier: read_tree,
    RandomForestRegressor: read_forest,
    RandomForestClassifier: read_forest,
    ExtraTreesRegressor: read_forest,
    ExtraTreesClassifier: read_forest,
    BaggingRegressor: read_bagging,
    BaggingClassifier: read_bagging,
    GradientBoostingRegressor: read_gradient_boosting,
    GradientBoostingClassifier: read_gradient_boosting,
    HistGradientBoostingRegressor: read_hist_gradient_boosting,
    HistGradientBoostingClassifier: read_hist_gradient_boosting,
}
