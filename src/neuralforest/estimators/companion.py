"""Trees beside the network: fully grown, never trained, with the share of the prediction that suits validation rows.

A network smooths. Where near neighbours say more than a smooth function does, deep trees know what it cannot, and the
mean of both is better than either.
"""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.ensemble import BaggingClassifier, BaggingRegressor
from sklearn.tree import ExtraTreeClassifier, ExtraTreeRegressor

from neuralforest.convert import convert
from neuralforest.estimators import forests
from neuralforest.estimators.table import Table
from neuralforest.estimators.validation import Split
from neuralforest.network import Companion, ForestNetwork
from neuralforest.training import TrainingData, guard
from neuralforest.training.guard import Judged
from neuralforest.training.losses import Loss

_LEAST = 0.05  # a smaller share is not worth the memory
_MOST = 0.95  # so that what deep trees call impossible stays possible


def companion_forest(classifier: bool, n_rows: int) -> BaseEstimator:
    """Return the trees that are grown beside the default forest: with random thresholds, until the leaves are pure.

    A tree has a leaf for nearly every row that it is grown on; of very many rows it gets 50,000.
    """
    n_trees, share = int(np.clip(500_000 / n_rows, 50, 100)), min(forests.share_of_rows(n_rows), 50_000 / n_rows)
    if classifier:
        return BaggingClassifier(ExtraTreeClassifier(), n_trees, max_samples=share, bootstrap=False)
    return BaggingRegressor(ExtraTreeRegressor(), n_trees, max_samples=share, bootstrap=False)


class Beside(NamedTuple):
    """What the trees beside a network say on validation rows, and how many rows there were in all."""

    judged: Judged
    n_rows: int


class Choice(NamedTuple):
    """A network with trees beside it, what both say on validation rows, the loss of that, and what the trees say."""

    network: ForestNetwork
    judged: Judged
    loss: float
    beside: Beside


def choose(
    network: ForestNetwork, forest: Any, own: Judged, data: TrainingData, table: Table, split: Split, loss: Loss
) -> Choice | None:
    """Grow a forest beside a network and give it the share that it deserves; return None where that is none.

    Parameters
    ----------
    own : Judged
        What the network says on validation rows.
    """
    forests.grow(forest, table, split.fit, None)
    trees = convert(forest)
    _, unseen = split.training_rows(table, forest, trees.n_blocks)
    other = guard.validation_output(trees, replace(data, validation=unseen))
    share = best_share(own, other, data.y)
    if share < _LEAST:
        return None
    both = mixed(own, other, share)
    before = guard.validation_output(guard.all_hard(network), data)
    after = guard.judged_loss(network, both, data, loss)
    forest_loss, own_loss = (guard.judged_loss(network, said.on(both.row), data, loss) for said in (before, own))
    if after > forest_loss or (loss.name != "squared_error" and after >= own_loss):
        return None
    return Choice(network.beside(Companion(trees.ensemble, share)), both, after, Beside(other, len(data.y)))


def best_share(own: Judged, other: Judged, y: NDArray[np.float64]) -> float:
    """Return the share of the trees with which the squared error is least; 0 unless it is two standard errors above.

    The errors are those of the mean over all trees: the noise of the few that judge a row is taken out. The network's
    epochs were chosen on these rows, which flatters it; so its share is rather too large than too small.
    """
    rows = np.intersect1d(own.row, other.row, assume_unique=True)
    own, other = own.on(rows), other.on(rows)
    weight = own.weight[:, None]
    towards, missing = other.output - own.output, y[own.row] - own.output
    gain = (weight * (towards * missing - own.noise)).sum()
    distance = (weight * (towards**2 - own.noise - other.noise)).sum()
    if not (gain > 0 and distance > 0):
        return 0.0
    share = gain / distance
    rest = (weight * towards * (missing - share * towards)).sum(axis=1)  # of several columns, one number a row
    error = np.sqrt((rest**2).sum()) / distance
    return float(min(share, _MOST)) if share > 2 * error else 0.0


def mixed(own: Judged, other: Judged, share: float) -> Judged:
    """Return what a network and the trees beside it say together on the rows that both judge."""
    rows = np.intersect1d(own.row, other.row, assume_unique=True)
    own, other = own.on(rows), other.on(rows)
    return Judged(
        own.row,
        (1 - share) * own.output + share * other.output,
        own.weight,
        (1 - share) ** 2 * own.noise + share**2 * other.noise,
    )
