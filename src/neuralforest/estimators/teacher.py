"""The teacher of `tune="splits"`: a default model, whose predictions are the targets of trees.

It predicts on the rows of a fit and between them, where trees have no targets. For each fold it is trained without the
rows of the fold, with fewer trees, for a shorter time and without stacking: it only has to show what trees gain from a
teacher, and the final one is better.
"""

import math
import warnings
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from neuralforest.ensemble import TreeEnsemble
from neuralforest.estimators.parameters import enough_epochs
from neuralforest.estimators.rows import FitRows
from neuralforest.exceptions import CostWarning, ValidationWarning
from neuralforest.network import ForestNetwork
from neuralforest.training.leaf_values import LeafRows
from neuralforest.training.pseudo_rows import pseudo_rows

if TYPE_CHECKING:
    from neuralforest.estimators._steps import FitSteps

_ROWS = 6  # that it predicts for each training row, within these bounds
_FEWEST_ROWS, _MOST_ROWS = 5_000, 10_000
_WEIGHT, _WEIGHT_OF_ROW = 20_000.0, 1.0  # of all of them and of each, at least: their targets have little noise
_IN_FOLD = 0.3  # of these weights: the teacher of a fold is less accurate
_TREES_OF_FOLD = 0.4  # of those of the default forest
_FEWEST_TREES = 6
_EPOCHS_OF_FOLD = 0.4  # of those of a default fit


def teacher(estimator: "FitSteps", table: FitRows, rows: NDArray[np.int64], seed: int, brief: bool) -> ForestNetwork:
    """Return a default model that is trained on some rows.

    Parameters
    ----------
    estimator : NeuralForest
        Its parameters of training, and its categories, are those of the teacher.
    table : FitRows
    rows : array of ints
    seed : int
    brief : bool
        Whether it is the teacher of a fold.
    """
    inner = clone(estimator).set_params(
        forest=None,
        tune="all",
        training="auto",
        validation="auto",
        checkpoint=None,
        callback=None,
        verbose=0,
        warm_start=False,
        random_state=seed,
    )
    for name in ("_encoder", "feature_names_in_", "n_features_in_", "classes_"):
        if hasattr(estimator, name):
            setattr(inner, name, getattr(estimator, name))
    weight = None if table.forest_weight is None else table.forest_weight[rows]
    part = FitRows(table.X[rows], table.target[rows], table.weight[rows], weight, len(rows))
    with warnings.catch_warnings():  # the folds evaluate it, and users have not chosen its forest
        warnings.simplefilter("ignore", ValidationWarning)
        warnings.simplefilter("ignore", CostWarning)
        if brief:
            _shorten(inner, part)
        network: ForestNetwork = inner._start(part).network_
    return network


def _shorten(inner: "FitSteps", table: FitRows) -> None:
    """Make a teacher that of a fold, whose rows are given."""
    forest = inner._default_forest(table)
    n_trees = max(math.ceil(_TREES_OF_FOLD * forest.n_estimators), _FEWEST_TREES)
    inner.forest = forest.set_params(n_estimators=min(n_trees, forest.n_estimators))
    inner.stacking = None
    n_rows = table.n_rows * forest.max_samples
    is_auto = inner.max_epochs == "auto"
    epochs = enough_epochs(n_rows, inner.batch_size, inner._classifier) if is_auto else int(inner.max_epochs)
    inner.max_epochs = math.ceil(_EPOCHS_OF_FOLD * epochs)


def taught_rows(network: ForestNetwork, trees: TreeEnsemble, rows: LeafRows, seed: int, brief: bool) -> LeafRows:
    """Return rows followed by themselves and rows between them, whose targets are predictions of a network."""
    n = len(rows.X)
    n_between = max(int(np.clip(_ROWS * n, _FEWEST_ROWS, _MOST_ROWS)) - n, _FEWEST_ROWS // 2)
    X = np.concatenate([rows.X, pseudo_rows(rows.X, n_between, seed)])
    prediction = network.prediction(X.astype(network.ensemble.compare_dtype))
    target = prediction[:, 1:] if trees.link == "logit" else prediction
    weight = (_IN_FOLD if brief else 1.0) * max(_WEIGHT / len(X), _WEIGHT_OF_ROW)
    return rows.followed_by(LeafRows(X, target, np.full(len(X), weight)))
