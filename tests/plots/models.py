"""Fitted models that the tests of plots share; each is fitted once."""

from functools import cache

import numpy as np
from sklearn.tree import DecisionTreeRegressor

import small_models

NAMES = ("age", "weight", "<b>height</b> & $cm$", "a name that is much too long for any box of a drawing")
CONNECTIVITY = ["sparse", "full"]
TRAINING = ["independent", "joint"]


@cache
def fitted(training="independent", connectivity="sparse", classifier=False, **parameters):
    X, y = small_models.problem(classifier)
    return small_models.small(classifier, training=training, connectivity=connectivity, **parameters).fit(X, y)


@cache
def boosted(classifier=False):
    X, y = small_models.classification(classes=2) if classifier else small_models.regression()
    return small_models.small_boosted(classifier).fit(X, y)


@cache
def figure_two():
    """Return the tree of the paper's Figure 2 and its rows: splits 0, 1, 3, 6, 8 and leaves 2, 4, 5, 7, 9, 10."""
    x, y = np.meshgrid(np.linspace(0.05, 5.95, 60), np.linspace(0.05, 5.95, 60))
    X = np.column_stack([x.ravel(), y.ravel()])
    right, high = X[:, 0] > 2.5, X[:, 1] > 2
    left = np.where(~high, 0.0, np.where(X[:, 0] <= 1.5, 4.0, 5.0))
    other = np.where(X[:, 0] <= 3.5, 20.0, np.where(X[:, 1] <= 4, 26.0, 28.0))
    return DecisionTreeRegressor(max_leaf_nodes=6, random_state=0).fit(X, np.where(right, other, left)), X


def rows(classifier=False):
    return small_models.problem(classifier)
