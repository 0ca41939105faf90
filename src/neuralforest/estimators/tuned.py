"""`tune="leaves"` and `tune="splits"`: fits whose result is trees again.

Candidates are trees with the source's splits and refitted leaf values, one for each ridge penalty; for "splits" also
trees whose thresholds were moved and whose leaf values were refitted on the predictions of a teacher, on the rows and
between them. All are compared with the source on rows that neither they nor their teacher was fitted on: folds, for
each of which source and teacher are made anew, or rows that are held out or given. The source is returned unless a
candidate is better there.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuralforest.convert import convert
from neuralforest.ensemble import TreeEnsemble
from neuralforest.estimators import forests
from neuralforest.estimators.categories import aligned
from neuralforest.estimators.folds import stratified_folds
from neuralforest.estimators.parameters import contrast_pairs
from neuralforest.estimators.rows import FitRows
from neuralforest.estimators.teacher import taught_rows, teacher
from neuralforest.estimators.validation import TrainValidationSplit, hold_out
from neuralforest.exceptions import InvalidParameterError
from neuralforest.network import ForestNetwork
from neuralforest.network.evaluation import probabilities
from neuralforest.selection import OutOfSamplePredictions, Selected
from neuralforest.training import History, SubnetworkRows, TrainingData
from neuralforest.training.leaf_values import PENALTIES, LeafRows, as_scores, refitted, without_base_score
from neuralforest.training.split_search import with_moved_thresholds

if TYPE_CHECKING:
    from neuralforest.estimators._steps import FitSteps

_PENALTIES_OF_SPLITS = 3.0, 1.0, 0.3, 0.1, 0.03
_PENALTY_OF_MOVES = 1.0  # of the leaf values that thresholds are moved for
_TREES_OF_FOLD = {"leaves": 0.25, "splits": 0.4}  # of those of the source: the more trees, the more splits gain
_FEWEST_TREES = 25
_SMALLEST_PROBABILITY = 1e-15
_STANDARD_ERRORS = 0.5  # that the loss of a larger penalty may be above the lowest one
_WORSE_IN_A_ROW = 2  # penalties on a fold, after which smaller ones are not tried

Method = Literal["leaves", "splits"]


class Candidate(NamedTuple):
    """How trees are tuned."""

    method: Method  # "splits": with moved thresholds, and on the predictions of a teacher as well
    penalty: float


Path = Iterator[tuple[Candidate, TreeEnsemble]]
"""Candidates of a method and their trees, from the largest penalty to the smallest."""


class _Comparison(NamedTuple):
    """The result of a comparison of candidates with the source."""

    best: Candidate | None  # None for the source
    losses: tuple[float, float]  # of the source and of the best
    predictions: OutOfSamplePredictions  # of the best
    trees: TreeEnsemble | None  # of the best, in the last evaluation


@dataclass(frozen=True, eq=False)
class _Source:
    """A fitted source and its rows."""

    forest: Any
    trees: TreeEnsemble
    rows: NDArray[np.int64]  # that leaf values are refitted on


def fit_tuned(estimator: "FitSteps", table: FitRows, forest: Any, fitted: bool, seeds: list[int]) -> "FitSteps":
    """Fit trees that stay trees, and set what a fit leaves behind."""
    started = time.perf_counter()
    _check(estimator, table, forest, fitted)
    tuning = _Tuning(estimator, table, seeds)
    own = np.arange(table.n_rows)
    if table.X.shape[0] > table.n_rows:
        split = TrainValidationSplit(own, np.arange(table.n_rows, table.X.shape[0]))
    elif estimator.validation == "fraction":
        labels = table.target if estimator._classifier else None
        split = hold_out(table, estimator.validation_fraction, labels, seeds[1])
    else:
        split = TrainValidationSplit(own, own[:0])
    source = tuning.source(forest, fitted, split.fit)
    if len(split.validation):
        evaluations = [(source, split.validation)]
    else:
        evaluations = tuning.fold_sources(forest, source.trees.aggregation)
    chosen, losses, predictions, tuned = tuning.compare(evaluations)
    if chosen is None:
        trees = source.trees
    elif tuned is not None and len(split.validation):  # of the source itself, not of a fold
        trees = without_base_score(tuned)
    else:
        trees = without_base_score(tuning.tuned(source, chosen))
    estimator.forest_, estimator._split_seed = source.forest, seeds[1]
    estimator._rows_digest = table.digest
    estimator.contrast_ = contrast_pairs(estimator.contrast)[0]
    network = ForestNetwork(trees)
    n_trees = trees.n_trees
    history = History(
        training_loss=np.zeros((0, n_trees)),
        validation_loss=np.full((1, n_trees), losses[1]),
        forest_loss=np.full(n_trees, losses[0]),
        best_epoch=np.full(n_trees, -1 if chosen is None else 0, np.int64),
        seconds=np.zeros(0),
    )
    data = tuning.training_data(network, split.fit, predictions)
    return estimator._keep(Selected(network, history, *losses, predictions), data, started)


def check_trainable(estimator: "FitSteps") -> None:
    """Refuse to go on with a fit whose result is trees."""
    if estimator.tune != "all":
        raise InvalidParameterError(
            f"trees that stay trees cannot be trained further, got tune={estimator.tune!r}: call fit again on all rows "
            "with warm_start=False, or use tune='all'"
        )


def _check(estimator: "FitSteps", table: FitRows, forest: Any, fitted: bool) -> None:
    """Refuse what trees cannot be tuned for."""
    tune = f"tune={estimator.tune!r}"
    if estimator.loss not in ("auto", "squared_error", "log_loss"):
        raise InvalidParameterError(f"{tune} minimises a squared error or a log loss, got loss={estimator.loss!r}")
    if estimator.validation == "oob":
        raise InvalidParameterError(
            f"{tune} fits all trees together, so that a row's out-of-bag trees alone do not evaluate it; got "
            "validation='oob': use 'auto' (folds) or 'fraction', or pass X_val and y_val"
        )
    given = table.X.shape[0] > table.n_rows
    if fitted and not given and (estimator.validation == "fraction" or not forests.is_estimator(forest)):
        raise InvalidParameterError(
            f"{tune} needs rows that the fitted forest has not seen: pass X_val and y_val, or give an estimator, which "
            f"is cloned and fitted on folds with validation='auto'; got a fitted {type(forest).__name__} and "
            f"validation={estimator.validation!r}"
        )


@dataclass(frozen=True, eq=False)
class _Tuning:
    """What all sources of a fit have in common."""

    estimator: "FitSteps"
    table: FitRows
    seeds: list[int]

    def source(self, forest: Any, fitted: bool, rows: NDArray[np.int64]) -> _Source:
        """Return a fitted source, grown on some rows unless it is fitted."""
        estimator, table = self.estimator, self.table
        if not fitted:
            forest = forests.prepare_forest(forest, self.seeds[0], estimator.n_jobs)
            names = getattr(estimator, "feature_names_in_", None)
            forests.grow(forest, table, rows, names, estimator._encoder)
        network = convert(forest, **forests.conversion_options(forest, table, estimator._encoder))
        estimator.forest_ = forest
        estimator._check_source(network, table)
        return _Source(forest, aligned(network.ensemble, estimator._encoder), rows)

    def fold_sources(self, forest: Any, aggregation: str) -> list[tuple[_Source, NDArray[np.int64]]]:
        """Return the source grown anew outside of each fold, and the rows of the fold.

        A mean of fewer trees is good enough for choosing a penalty, and all are grown in about the time of the source.
        """
        few = aggregation == "mean" and "n_estimators" in forest.get_params(deep=False)
        forest = forests.prepare_forest(forest, self.seeds[0], self.estimator.n_jobs)
        if few:
            n_trees = int(_TREES_OF_FOLD[self.estimator.tune] * forest.n_estimators)
            forest.set_params(n_estimators=max(min(forest.n_estimators, _FEWEST_TREES), n_trees))
        n_folds = 3 if few else 2
        folds = stratified_folds(self.table, self.estimator._classifier, n_folds, self.seeds[1])
        return [(self.source(forest, False, fold.fit), fold.validation) for fold in folds]

    def leaf_rows(self, trees: TreeEnsemble, rows: NDArray[np.int64]) -> LeafRows:
        X = ForestNetwork(trees).check_X(self.table.X[rows])
        target = self.estimator._columns(ForestNetwork(trees), self.table.target[rows])
        return LeafRows(X, target, self.table.weight[rows])

    def paths(self, source: _Source, brief: bool, upto: Candidate | None = None) -> Iterator[Path]:
        """Give the candidates of each method, or of the method of a chosen one those on the way to it.

        With `brief`, the teacher is that of a fold.
        """
        trees = as_scores(source.trees)
        rows = self.leaf_rows(trees, source.rows)
        if upto is None or upto.method == "leaves":
            yield _path("leaves", trees, rows, PENALTIES, upto)
        if self.estimator.tune == "splits" and (upto is None or upto.method != "leaves"):
            network = teacher(self.estimator, self.table, source.rows, self.seeds[2], brief)
            rows = taught_rows(network, trees, rows, self.seeds[2], brief)
            [(_, tuned)] = refitted(trees, rows, [_PENALTY_OF_MOVES])
            trees = replace(trees, threshold=with_moved_thresholds(tuned, rows).threshold)
            yield _path("splits", trees, rows, _PENALTIES_OF_SPLITS, upto)

    def compare(self, evaluations: list[tuple[_Source, NDArray[np.int64]]]) -> _Comparison:
        """Return the best candidate on rows that neither its source nor its teacher was fitted on.

        A candidate that is not evaluated on all of them, because its path ended before, is none.
        """
        found: dict[Candidate | None, list[NDArray[np.float64]]] = {None: []}
        trees: dict[Candidate, TreeEnsemble] = {}
        for source, rows in evaluations:
            X = ForestNetwork(source.trees).check_X(self.table.X[rows])
            found[None].append(ForestNetwork(source.trees).stacked_output(X))
            trees = {}
            for path in self.paths(source, brief=len(evaluations) > 1):
                for candidate, tuned, prediction in self.evaluated(path, X, rows):
                    found.setdefault(candidate, []).append(prediction)
                    trees[candidate] = tuned
        rows = np.concatenate([rows for _, rows in evaluations])
        order = np.argsort(rows, kind="stable")
        rows, weight = rows[order], self.table.weight[rows[order]]
        link, tuned_link = evaluations[0][0].trees.link, as_scores(evaluations[0][0].trees).link
        complete = {
            each: np.concatenate(parts)[order] for each, parts in found.items() if len(parts) == len(found[None])
        }
        losses = {
            each: self.losses(output, link if each is None else tuned_link, rows) for each, output in complete.items()
        }
        means = {each: float(np.average(values, weights=weight)) for each, values in losses.items()}
        best = _cautious(min(means, key=lambda each: means[each]), losses, means, weight)
        predictions = OutOfSamplePredictions.of_all(rows, complete[best], weight)
        return _Comparison(best, (means[None], means[best]), predictions, None if best is None else trees[best])

    def evaluated(
        self, path: Path, X: NDArray[np.floating], rows: NDArray[np.int64]
    ) -> Iterator[tuple[Candidate, TreeEnsemble, NDArray[np.float64]]]:
        """Give the candidates of a path with their predictions, until smaller penalties only make them worse."""
        losses: list[float] = []
        for candidate, trees in path:
            prediction = ForestNetwork(trees).stacked_output(X)
            yield candidate, trees, prediction
            losses.append(float(np.average(self.losses(prediction, trees.link, rows), weights=self.table.weight[rows])))
            if candidate.method == "leaves" and min(losses[-_WORSE_IN_A_ROW:]) > min(losses):
                return

    def losses(self, prediction: NDArray[np.float64], link: str, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the log loss, or the squared error, (rows,); of several targets, each in units of its variance."""
        estimator = self.estimator
        if estimator._classifier:
            own = np.searchsorted(estimator.classes_, self.table.target[rows])
            of_class = probabilities(link, prediction)[np.arange(len(rows)), own]
            return np.asarray(-np.log(np.maximum(of_class, _SMALLEST_PROBABILITY)))
        y = self.table.target.reshape(len(self.table.target), -1).astype(np.float64)
        variance = np.var(y, axis=0) if y.shape[1] > 1 else np.ones(1)
        squares = (prediction - y[rows]) ** 2 / np.where(variance > 0, variance, 1.0)
        return np.asarray(squares.mean(axis=1))

    def tuned(self, source: _Source, chosen: Candidate) -> TreeEnsemble:
        """Return the trees of a source, tuned as chosen."""
        [path] = self.paths(source, False, chosen)
        for candidate, trees in path:
            if candidate == chosen:
                return trees
        raise AssertionError(chosen)

    def training_data(
        self, network: ForestNetwork, rows: NDArray[np.int64], predictions: OutOfSamplePredictions
    ) -> TrainingData:
        """Return the rows as prediction intervals take them."""
        n_trees, table = network.ensemble.n_trees, self.table
        y = self.estimator._columns(network, table.target)
        fit = SubnetworkRows.shared(rows, table.weight[rows], n_trees)
        validation = SubnetworkRows.shared(predictions.row, predictions.weight, n_trees)
        return TrainingData(network.check_X(table.X), y, fit, validation)


def _cautious(
    best: Candidate | None,
    losses: dict[Candidate | None, NDArray[np.float64]],
    means: dict[Candidate | None, float],
    weight: NDArray[np.float64],
) -> Candidate | None:
    """Return the largest penalty that is about as good as the best, for leaf values that are refitted on the rows.

    For those that a teacher gives, the best: the teachers of folds are less accurate than the final one, so that their
    best penalty is rather too large.
    """
    if best is None or best.method != "leaves":
        return best
    for candidate in sorted(
        (each for each in losses if each and each.method == "leaves"), key=lambda each: -each.penalty
    ):
        worse = losses[candidate] - losses[best]
        error = np.sqrt(np.average((worse - np.average(worse, weights=weight)) ** 2, weights=weight) / len(worse))
        if means[candidate] < means[None] and means[candidate] - means[best] <= _STANDARD_ERRORS * error:
            return candidate
    return best


def _path(
    method: Method, trees: TreeEnsemble, rows: LeafRows, penalties: Sequence[float], upto: Candidate | None
) -> Path:
    """Give the candidates of a method, or the chosen one alone where it does not depend on those before."""
    if upto is not None and trees.link == "identity":
        penalties = [upto.penalty]
    for penalty, tuned in refitted(trees, rows, penalties):
        yield Candidate(method, penalty), tuned
