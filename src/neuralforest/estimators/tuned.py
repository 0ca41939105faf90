"""`tune="leaves"` and `tune="splits"`: fits whose result is trees again.

Candidates are trees with the source's splits and refitted leaf values, one for each ridge penalty; for "splits" also
trees that take their thresholds from the trained network and are refitted on what it predicts between the rows. All are
compared with the source on rows that neither was fitted on: folds, for each of which the source is grown anew, or rows
that are held out or given. The source is returned unless a candidate is better there.
"""

import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from neuralforest.convert import convert
from neuralforest.ensemble import TreeEnsemble
from neuralforest.estimators import forests
from neuralforest.estimators.categories import aligned
from neuralforest.estimators.folds import stratified_folds
from neuralforest.estimators.parameters import contrast_pairs
from neuralforest.estimators.rows import FitRows
from neuralforest.estimators.validation import TrainValidationSplit, hold_out
from neuralforest.exceptions import InvalidParameterError, ValidationWarning
from neuralforest.network import ForestNetwork
from neuralforest.network.evaluation import probabilities
from neuralforest.network.hardening import trained_thresholds
from neuralforest.selection import OutOfSamplePredictions, Selected
from neuralforest.training import History, SubnetworkRows, TrainingData
from neuralforest.training.leaf_values import LeafRows, as_scores, refitted, without_base_score
from neuralforest.training.pseudo_rows import pseudo_rows

if TYPE_CHECKING:
    from neuralforest.estimators._steps import FitSteps

_PSEUDO_ROWS = 20_000
_TEACHER_WEIGHTS = 1.0, 0.1
_PENALTIES_OF_SPLITS = 3.0, 1.0, 0.3, 0.1, 0.03
_FEWEST_TREES = 25  # of the source of a fold
_SMALLEST_PROBABILITY = 1e-15


class Candidate(NamedTuple):
    """How trees are tuned."""

    teacher_weight: float  # of a row that the trained network predicts; 0 where it has no part in the tuning
    penalty: float


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
    chosen, losses, predictions = tuning.compare(evaluations)
    trees = source.trees if chosen is None else tuning.tuned(source, chosen)
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

        The folds take about as long as the source itself: a mean of fewer trees is as good for choosing a penalty.
        """
        few = aggregation == "mean" and "n_estimators" in forest.get_params(deep=False)
        forest = forests.prepare_forest(forest, self.seeds[0], self.estimator.n_jobs)
        if few:
            forest.set_params(n_estimators=max(min(forest.n_estimators, _FEWEST_TREES), 2 * forest.n_estimators // 5))
        n_folds = 3 if few else 2
        folds = stratified_folds(self.table, self.estimator._classifier, n_folds, self.seeds[1])
        return [(self.source(forest, False, fold.fit), fold.validation) for fold in folds]

    def leaf_rows(self, trees: TreeEnsemble, rows: NDArray[np.int64]) -> LeafRows:
        X = ForestNetwork(trees).check_X(self.table.X[rows])
        target = self.estimator._columns(ForestNetwork(trees), self.table.target[rows])
        return LeafRows(X, target, self.table.weight[rows])

    def candidates(self, source: _Source, upto: Candidate | None = None) -> Iterator[tuple[Candidate, TreeEnsemble]]:
        """Give the tuned trees of every candidate, or of those on the way to a chosen one."""
        trees = as_scores(source.trees)
        rows = self.leaf_rows(trees, source.rows)
        if upto is None or not upto.teacher_weight:
            for penalty, tuned in refitted(trees, rows):
                yield Candidate(0.0, penalty), tuned
        if self.estimator.tune == "splits" and (upto is None or upto.teacher_weight):
            teacher = self.teacher(source)
            X = np.concatenate([rows.X, pseudo_rows(rows.X, _PSEUDO_ROWS, self.seeds[2])])
            taught = LeafRows(X, _taught(teacher, trees, X), np.ones(len(X)))
            if np.array_equal(teacher.ensemble.feature, trees.feature):
                trees = replace(trees, threshold=trained_thresholds(teacher))
            for weight in _TEACHER_WEIGHTS if upto is None else (upto.teacher_weight,):
                both = rows.followed_by(replace(taught, weight=weight * taught.weight))
                for penalty, tuned in refitted(trees, both, _PENALTIES_OF_SPLITS):
                    yield Candidate(weight, penalty), tuned

    def teacher(self, source: _Source) -> ForestNetwork:
        """Return the trained network of a source: the model of tune="all" with sparse connectivity, not stacked."""
        estimator, table, rows = self.estimator, self.table, source.rows
        inner = clone(estimator).set_params(
            tune="all",
            connectivity="sparse",
            stacking=None,
            checkpoint=None,
            callback=None,
            verbose=0,
            warm_start=False,
        )
        inner.set_params(training="auto", validation="auto", warm_start=False)
        out_of_bag = forests.has_out_of_bag_rows(source.forest) and forests.n_rows_seen(source.forest) == len(rows)
        inner.forest = source.forest if out_of_bag or not forests.is_estimator(source.forest) else clone(source.forest)
        inner.random_state = self.seeds[2]
        for name in ("_encoder", "feature_names_in_", "n_features_in_", "classes_"):
            if hasattr(estimator, name):
                setattr(inner, name, getattr(estimator, name))
        weight = None if table.forest_weight is None else table.forest_weight[rows]
        part = FitRows(table.X[rows], table.target[rows], table.weight[rows], weight, len(rows))
        with warnings.catch_warnings():  # the folds evaluate what it teaches
            warnings.simplefilter("ignore", ValidationWarning)
            network: ForestNetwork = inner._start(part).network_
        return network

    def compare(
        self, evaluations: list[tuple[_Source, NDArray[np.int64]]]
    ) -> tuple[Candidate | None, tuple[float, float], OutOfSamplePredictions]:
        """Return the best candidate, None for the source, the losses of the source and of the best, and predictions."""
        found: dict[Candidate | None, list[NDArray[np.float64]]] = {None: []}
        for source, rows in evaluations:
            X = ForestNetwork(source.trees).check_X(self.table.X[rows])
            found[None].append(ForestNetwork(source.trees).stacked_output(X))
            for candidate, trees in self.candidates(source):
                found.setdefault(candidate, []).append(ForestNetwork(trees).stacked_output(X))
        rows = np.concatenate([rows for _, rows in evaluations])
        order = np.argsort(rows, kind="stable")
        predictions = {each: np.concatenate(parts)[order] for each, parts in found.items()}
        link, tuned_link = evaluations[0][0].trees.link, as_scores(evaluations[0][0].trees).link
        losses = {
            each: self.loss(prediction, link if each is None else tuned_link, rows[order])
            for each, prediction in predictions.items()
        }
        best = min(losses, key=lambda each: losses[each])
        if not losses[best] < losses[None]:
            best = None
        prediction = predictions[best]
        result = OutOfSamplePredictions.of_all(rows[order], prediction, self.table.weight[rows[order]])
        return best, (losses[None], losses[best]), result

    def loss(self, prediction: NDArray[np.float64], link: str, rows: NDArray[np.int64]) -> float:
        """Return the log loss, or the squared error; of several targets, each in units of its variance."""
        estimator, weight = self.estimator, self.table.weight[rows]
        if estimator._classifier:
            own = np.searchsorted(estimator.classes_, self.table.target[rows])
            of_class = probabilities(link, prediction)[np.arange(len(rows)), own]
            of_class = np.maximum(of_class, _SMALLEST_PROBABILITY)
            return float(np.average(-np.log(of_class), weights=weight))
        y = self.table.target.reshape(len(self.table.target), -1).astype(np.float64)
        variance = np.var(y, axis=0) if y.shape[1] > 1 else np.ones(1)
        squares = (prediction - y[rows]) ** 2 / np.where(variance > 0, variance, 1.0)
        return float(np.average(squares.mean(axis=1), weights=weight))

    def tuned(self, source: _Source, chosen: Candidate) -> TreeEnsemble:
        """Return the trees of a source, tuned as chosen."""
        for candidate, trees in self.candidates(source, chosen):
            if candidate == chosen:
                return without_base_score(trees)
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


def _taught(teacher: ForestNetwork, trees: TreeEnsemble, X: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return the predictions of a network as targets of trees, (rows, outputs)."""
    prediction = teacher.prediction(X.astype(teacher.ensemble.compare_dtype))
    return prediction[:, 1:] if trees.link == "logit" else prediction
