"""What may stand beside a network: deep trees, boosted trees, a linear function; each judged on rows it has not seen.

A network smooths. Where near neighbours say more than a smooth function does, deep trees know what it cannot; boosted
trees find steps and few features among many; of few noisy rows a line says more than a tree.
"""

import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.ensemble import (
    BaggingClassifier,
    BaggingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.tree import ExtraTreeClassifier, ExtraTreeRegressor
from threadpoolctl import threadpool_limits  # which scikit-learn depends on

from neuralforest import _parallel
from neuralforest.companion import Linear
from neuralforest.convert import convert
from neuralforest.ensemble import TreeEnsemble, rounded_down
from neuralforest.estimators import forests
from neuralforest.estimators.scaling import center_and_spread
from neuralforest.estimators.table import Table
from neuralforest.estimators.validation import Split
from neuralforest.network import ForestNetwork, said_by
from neuralforest.training import TrainingData, guard
from neuralforest.training.guard import Judged

_MOST_ROWS = 50_000  # that one tree or one line is fitted on: enough, and a deep tree has a leaf for nearly every one
_MANY_ROWS = 2_000  # of which a twentieth is enough to judge a tree; log loss needs more trees that judge a row
_FOLDS = 5
_BLOCK = 100  # rounds of boosting between two looks at whether more of them help
_MOST_TREES = 300  # of one fold, and of one class when there are two or three; of more classes fewer
_FEWEST_ROUNDS = 50  # of however many classes
_MOST_CLASSES = 20
_TINY = 1e-15  # the least probability whose logarithm is taken
_MOST_PRODUCTS = 2e9  # rows x features x the fewer of both: what a ridge regression takes, a few seconds
_JUDGES = 10_000  # rows of a fold that say how many boosted trees are best
_RIDGES = np.logspace(-1, 4, 11)
_ONE_THREAD = threading.Lock()  # limits of threads hold for the whole process


class Candidate(NamedTuple):
    """What may stand beside a network, and what it says on validation rows."""

    source: TreeEnsemble | Linear
    judged: Judged


def candidates(
    classifier: bool, data: TrainingData, table: Table, split: Split, seed: int, n_jobs: int | None
) -> Iterator[Candidate]:
    """Fit all that may stand beside a network of one target, one after the other."""
    yield deep_trees(classifier, data, table, split, seed, n_jobs)
    if not _can_be_folded(classifier, table.target[split.fit]):
        return
    folds = _Folds.of(classifier, data, table, split, seed)
    yield boosted_trees(classifier, folds, seed, n_jobs)
    if not classifier and len(folds.learnt[0]) * folds.X.shape[1] * min(folds.X.shape) <= _MOST_PRODUCTS:
        yield linear_function(folds)


def _can_be_folded(classifier: bool, target: NDArray[Any]) -> bool:
    """Return whether there are enough rows for five folds, of every class, and not too many classes."""
    counts = np.unique(target, return_counts=True)[1] if classifier else np.array([len(target)])
    return bool(counts.min() >= 2 * _FOLDS and len(counts) <= _MOST_CLASSES)


def deep_trees(
    classifier: bool, data: TrainingData, table: Table, split: Split, seed: int, n_jobs: int | None
) -> Candidate:
    """Grow trees with random thresholds until their leaves are pure."""
    forest = forests.prepare_forest(_deep_forest(classifier, table.n_rows), seed, n_jobs)
    forests.grow(forest, table, split.fit, None)
    trees = convert(forest)
    _, unseen = split.training_rows(table, forest, trees.n_blocks)
    return Candidate(trees.ensemble, guard.validation_output(trees, replace(data, validation=unseen)))


def _deep_forest(classifier: bool, n_rows: int) -> BaseEstimator:
    n_trees = int(np.clip(500_000 / n_rows, 50, 100))
    share = 0.95 if n_rows > _MANY_ROWS and not classifier else forests.share_of_rows(n_rows)
    share = min(share, _MOST_ROWS / n_rows)
    if classifier:
        return BaggingClassifier(ExtraTreeClassifier(), n_trees, max_samples=share, bootstrap=False)
    return BaggingRegressor(ExtraTreeRegressor(), n_trees, max_samples=share, bootstrap=False)


class _Folds(NamedTuple):
    """Rows in five parts. A model of each four is judged on the fifth; the mean of all models is what is kept."""

    X: NDArray[np.floating]  # (rows, features), of all rows of the fit
    y: NDArray[Any]  # (rows,): labels, or numbers in units of their spread
    center: float  # of the numbers
    scale: float
    weight: NDArray[np.float64]  # (rows,): how much a row counts when it judges
    learnt: list[NDArray[np.int64]]
    unseen: list[NDArray[np.int64]]
    held_out: NDArray[np.int64]  # rows that no part holds; empty when the parts judge

    @classmethod
    def of(cls, classifier: bool, data: TrainingData, table: Table, split: Split, seed: int) -> "_Folds":
        kind = StratifiedKFold if classifier else KFold
        parts = kind(_FOLDS, shuffle=True, random_state=seed).split(split.fit, table.target[split.fit])
        random = np.random.RandomState(seed)
        folds = [(random.permutation(split.fit[most])[:_MOST_ROWS], split.fit[rest]) for most, rest in parts]
        learnt, unseen = ([fold[i] for fold in folds] for i in (0, 1))
        if classifier:
            return cls(data.X, table.target, 0.0, 1.0, table.weight, learnt, unseen, split.validation)
        (center,), (scale,) = center_and_spread(data.y[split.fit], np.ones(len(split.fit)))
        y = (data.y[:, 0] - center) / scale
        return cls(data.X, y, center, scale, table.weight, learnt, unseen, split.validation)

    def judged(self, sources: list[Any], mean: Any) -> Judged:
        """Return what the models say on rows that they have not seen; or where rows are held out, the mean on these."""
        if len(self.held_out):
            return self._said([mean], [self.held_out])
        return self._said(sources, self.unseen)

    def _said(self, sources: list[Any], parts: list[NDArray[np.int64]]) -> Judged:
        rows = np.concatenate(parts)
        output = np.concatenate([said_by(source, self.X[part]) for source, part in zip(sources, parts, strict=True)])
        order = np.argsort(rows)
        return Judged(rows[order], output[order], self.weight[rows[order]], np.zeros_like(output))


def boosted_trees(classifier: bool, folds: _Folds, seed: int, n_jobs: int | None) -> Candidate:
    """Boost small trees, as many as are best on unseen rows."""
    kind = HistGradientBoostingClassifier if classifier else HistGradientBoostingRegressor
    n_classes = len(np.unique(folds.y)) if classifier else 1
    most = max(_FEWEST_ROUNDS, _MOST_TREES // max(1, n_classes // 2))
    models = [
        kind(
            learning_rate=0.1,
            max_leaf_nodes=16,
            min_samples_leaf=5,
            max_features=1 / 3,
            max_bins=64,
            l2_regularization=1.0,
            early_stopping=False,
            categorical_features=None,
            warm_start=True,
            random_state=seed,
        )
        for _ in range(_FOLDS)
    ]
    with threadpool_limits(_parallel.effective_n_jobs(n_jobs), "openmp"):
        errors = _boosted_further(models, folds, min(_BLOCK, most))
        while len(errors) < most and errors.argmin() >= len(errors) - _BLOCK:
            errors = _boosted_further(models, folds, min(len(errors) + _BLOCK, most))
    n_trees = (int(errors.argmin()) + 1) * models[0].n_trees_per_iteration_
    ensembles = [_in_units_of(folds, convert(model).ensemble[:n_trees]) for model in models]
    mean = _mean_of(ensembles)
    return Candidate(mean, folds.judged([ForestNetwork(each) for each in ensembles], ForestNetwork(mean)))


def _boosted_further(models: list[Any], folds: _Folds, n_rounds: int) -> NDArray[np.float64]:
    """Boost all models up to a number of rounds; return the errors on unseen rows after each, (n_rounds,)."""
    errors = np.zeros(n_rounds)
    for model, learnt, unseen in zip(models, folds.learnt, folds.unseen, strict=True):
        X = folds.X[learnt]
        X[:, np.isnan(X).all(axis=0)] = 0.0  # no bins can be made of nothing, and no split of one number
        model.set_params(max_iter=n_rounds).fit(X, folds.y[learnt])
        judges = unseen[:: -(-len(unseen) // _JUDGES)]
        X, y = folds.X[judges], folds.y[judges]
        if isinstance(model, HistGradientBoostingRegressor):
            errors += [((said - y) ** 2).sum() for said in model.staged_predict(X)]
        else:
            right = np.arange(len(y)), np.searchsorted(model.classes_, y)
            errors -= [np.log(np.maximum(said[right], _TINY)).sum() for said in model.staged_predict_proba(X)]
    return errors


def _in_units_of(folds: _Folds, e: TreeEnsemble) -> TreeEnsemble:
    """Return trees for the target in its own units that compare in the dtype of the rows they were grown on."""
    return replace(
        e,
        threshold=rounded_down(e.threshold, folds.X.dtype).astype(np.float64),
        compare_dtype=folds.X.dtype.name,  # type: ignore[arg-type]
        value=folds.scale * e.value,
        base_score=folds.center + folds.scale * e.base_score,
    )


def _mean_of(sums: list[TreeEnsemble]) -> TreeEnsemble:
    """Return one sum of trees that says the mean of several sums."""

    def all_of(name: str) -> NDArray[Any]:
        return np.concatenate([getattr(e, name) for e in sums])

    def offsets(name: str) -> NDArray[np.int64]:
        return np.concatenate([[0], np.cumsum(np.concatenate([np.diff(getattr(e, name)) for e in sums]))])

    return replace(
        sums[0],
        feature=all_of("feature"),
        threshold=all_of("threshold"),
        missing_left=all_of("missing_left"),
        middle=all_of("middle"),
        weight=all_of("weight"),
        first_split=offsets("first_split"),
        first_leaf=offsets("first_leaf"),
        value=all_of("value") / len(sums),
        base_score=np.mean([e.base_score for e in sums], axis=0),
    )


def linear_function(folds: _Folds) -> Candidate:
    """Fit ridge regressions on standardised features; a missing value counts as the mean."""
    rows = np.concatenate(folds.unseen)
    center, scale = center_and_spread(folds.X[rows], np.ones(len(rows)))
    column_ends = [_ends(folds.X[rows, feature], center[feature]) for feature in range(len(center))]
    low, high = np.array(column_ends, np.float64).T
    slopes, intercepts = [], []
    with _ONE_THREAD, threadpool_limits(1, "blas"):  # so that the digits do not depend on the number of threads
        for learnt in folds.learnt:
            seen = np.nan_to_num((folds.X[learnt].astype(np.float64) - center) / scale)
            model = RidgeCV(_RIDGES).fit(seen, folds.y[learnt])
            slopes.append(folds.scale * model.coef_[:, None])
            intercepts.append(np.array([folds.center + folds.scale * model.intercept_]))
    pairs = zip([*slopes, np.mean(slopes, axis=0)], [*intercepts, np.mean(intercepts, axis=0)], strict=True)
    *functions, mean = (Linear(low, high, center, scale, slope, intercept) for slope, intercept in pairs)
    return Candidate(mean, folds.judged(functions, mean))


def _ends(column: NDArray[np.floating], default: float) -> tuple[float, float]:
    """Return the least and the largest number of a column that may hold missing values."""
    numbers = column[~np.isnan(column)]
    return (float(numbers.min()), float(numbers.max())) if len(numbers) else (default, default)
