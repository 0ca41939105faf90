"""Gradient boosting, cross-fitted: one model per fold, with the number of rounds that is best on the folds left out.

The base model is fitted once more, on all rows; of few rows twice. In the mean over the data sets of the benchmark it
is as accurate as the mean of the five, and predicts several times as fast.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuralforest import _parallel
from neuralforest._kernels.trees import boosting, histogram
from neuralforest.base_models.cross_fitting import MOST_ROWS, Folds, Stages, Task
from neuralforest.base_models.several_targets import for_every_target
from neuralforest.ensemble import CategoryOrder, Link, TreeEnsemble, concatenated, offsets
from neuralforest.network import ForestNetwork
from neuralforest.selection import Candidate

_MOST_TREES = 1000  # per fold, and per class for two or three classes; fewer for more classes
_MOST_FEATURES = 20  # considered at a split
_FEWEST_ROUNDS = 50  # for any number of classes
_FEW_ROWS = 2_000  # on which small trees, with interactions of at most two features, may generalise better
_MANY_ROWS = 2_000  # of which one fold shows whether boosting is worthwhile
_ENOUGH_ROWS = 500  # for one model of all rows; of fewer, the mean of two has a smaller variance
_MORE_ROUNDS = 1.1  # than are best on four fifths of the rows, for all of them
_LINKS: dict[int, Link] = {boosting.SQUARED: "identity", boosting.LOGISTIC: "logit", boosting.SOFTMAX: "softmax"}


class _Kind(NamedTuple):
    """Which trees are boosted, and how many."""

    name: str
    max_leaves: int
    learning_rate: float
    first_rounds: int  # which show whether it is worth going on
    patience: int = 100  # rounds without a lower error after which no more are added
    enough_rows: float = 2_000  # that evaluate it: folds that predict more of them change the stack little


_DEEP = _Kind("gradient_boosting", max_leaves=16, learning_rate=0.05, first_rounds=300)
_SHALLOW = _Kind("shallow_gradient_boosting", max_leaves=3, learning_rate=0.1, first_rounds=200)
# Errors are noise, of which few rounds are learned; and every row that is evaluated shows how large errors are.
_DEEP_SCALE = _DEEP._replace(learning_rate=0.1, first_rounds=50, patience=50, enough_rows=np.inf)
_SHALLOW_SCALE = _SHALLOW._replace(learning_rate=0.2, first_rounds=50, patience=50, enough_rows=np.inf)


def gradient_boosting(task: Task) -> Stages:
    """Boost trees of 16 leaves: 300 rounds, then as many as are best."""
    return _boosted(task, _DEEP)


def shallow_gradient_boosting(task: Task) -> Stages:
    """Boost trees of 3 leaves, for regression on few rows: 200 rounds, then as many as are best."""
    return _boosted(task, _SHALLOW)


def scale_boosting(task: Task) -> Iterator[Candidate]:
    """Boost trees of 3 leaves, for few rows, and of 16 leaves, at a higher learning rate: models of errors."""
    for kind in (_SHALLOW_SCALE, _DEEP_SCALE):
        yield from list(for_every_target(partial(_boosted, kind=kind), task))[-1:]


def _boosted(task: Task, kind: _Kind) -> Stages:
    """Boost one model per fold; the first stages show whether it is worth going on.

    With many rows, the model of the first fold is complete before the others begin: a fifth of the time.
    """
    is_shallow = kind.max_leaves < _DEEP.max_leaves
    if not Folds.possible(task) or (is_shallow and (task.classifier or len(task.training) > _FEW_ROWS)):
        return
    folds = Folds.of(task)
    target = _Target.of(task.classifier, folds)
    most = max(_FEWEST_ROUNDS, _MOST_TREES // max(1, len(target.initial_score) // 2))
    plan = boosting.BoostingPlan(
        loss=target.loss,
        learning_rate=kind.learning_rate,
        subsample=0.8,
        max_features=min(-(-folds.X.shape[1] // 2), _MOST_FEATURES),
        min_child_weight=5.0,
        l2_regularization=1.0,
        seed=task.seed,
    )
    evaluated = folds.enough(kind.enough_rows)
    boosters = _boosters(task, folds, evaluated, target, plan, most, kind.max_leaves)

    def stage(n_rounds: int, is_complete: bool) -> Candidate:
        ensembles = [each.ensemble(n_rounds) for each in boosters]
        mean, refit = ForestNetwork(_mean_of(ensembles)), None
        if is_complete:
            refit = partial(_refitted, task, folds, target, plan, round(n_rounds * _MORE_ROUNDS), kind.max_leaves)
            mean, refit = (refit(), None) if len(task.held_out) else (mean, refit)
        return evaluated.candidate(kind.name, [ForestNetwork(each) for each in ensembles], mean, is_complete, refit)

    if len(boosters) > 1 and len(task.training) >= _MANY_ROWS and not len(task.held_out):
        *_, (_, n_rounds) = _boost(boosters[:1], most, kind.patience, task.n_jobs)
        model = ForestNetwork(boosters[0].ensemble(n_rounds))
        yield folds.first(1).candidate(kind.name, [model], model, is_complete=False)._replace(is_part=True)
    for done, n_rounds in _boost(boosters, most, kind.patience, task.n_jobs):
        if done == kind.first_rounds < most:
            yield stage(n_rounds, is_complete=False)
    yield stage(n_rounds, is_complete=True)


def _boost(boosters: "Sequence[_Booster]", most: int, patience: int, n_jobs: int | None) -> Iterator[tuple[int, int]]:
    """Boost models until more rounds do not help; give the numbers of rounds so far, and of those that are best."""
    best, done = 0, 0
    with _parallel.team(min(_parallel.effective_n_jobs(n_jobs), len(boosters))) as run:
        while done < most and best >= done - patience:
            done = min(done + patience, most)
            run(lambda each, last=done: each.boost(last), boosters)  # type: ignore[misc]
            best = int(np.sum([each.trees.error[:done] for each in boosters], axis=0).argmin())
            yield done, best + 1


def _boosters(
    task: Task,
    folds: Folds,
    evaluated: Folds,
    target: "_Target",
    plan: boosting.BoostingPlan,
    n_rounds: int,
    max_leaves: int,
) -> "list[_Booster]":
    """Return one model per evaluated fold, without trees yet."""
    orders = [task.order(training) for training in evaluated.training]
    has_categories = orders[0] is not None  # and every fold then has bins of its own
    binned = [_Binned.of(folds, order) for order in (orders if has_categories else orders[:1])]
    binned = binned if has_categories else binned * len(orders)
    parts = zip(binned, orders, evaluated.training, evaluated.left_out, strict=True)
    return [_Booster.of(folds, target, plan, n_rounds, max_leaves, *each) for each in parts]


def _refitted(
    task: Task, folds: Folds, target: "_Target", plan: boosting.BoostingPlan, n_rounds: int, max_leaves: int
) -> ForestNetwork:
    """Return a model of all rows: as accurate as the mean over the folds, with a fifth of the trees.

    Of few rows, it is the mean of two models with different subsamples.
    """
    rows = np.random.RandomState(task.seed).permutation(task.training)[:MOST_ROWS]
    order, ensembles = task.order(rows), []
    binned, n_models = _Binned.of(folds, order), 1 if len(rows) >= _ENOUGH_ROWS else 2
    for seed in range(plan.seed, plan.seed + n_models):
        own = plan._replace(seed=seed)
        booster = _Booster.of(folds, target, own, n_rounds, max_leaves, binned, order, np.sort(rows), rows[:0])
        booster.boost(n_rounds)
        ensembles.append(booster.ensemble(n_rounds))
    return ForestNetwork(ensembles[0] if n_models == 1 else _mean_of(ensembles))


class _Binned(NamedTuple):
    """Features in bins of about equally many rows, with one bin for missing values."""

    bins: NDArray[np.uint8]  # (features, rows)
    n_bins: NDArray[np.int64]  # (features,), without that of missing values
    edge: NDArray[np.float64]  # (features, bins): the upper edge of a bin, inclusive

    @classmethod
    def of(cls, folds: Folds, order: CategoryOrder | None) -> "_Binned":
        rows, X = np.concatenate(folds.left_out), folds.X if order is None else order.transform(folds.X)
        n_rows, n_features = folds.X.shape
        bins, n_bins = np.full((n_features, n_rows), histogram.MISSING, np.uint8), np.ones(n_features, np.int64)
        edge = np.full((n_features, histogram.MISSING), np.inf)
        for feature, column in enumerate(X.T):
            edges = _edges(np.sort(column[rows][~np.isnan(column[rows])]))
            known = ~np.isnan(column)
            bins[feature, known] = np.searchsorted(edges, column[known])
            n_bins[feature] = len(edges) + 1
            edge[feature, : len(edges)] = edges
        return cls(bins, n_bins, edge)


def _edges(numbers: NDArray[np.floating]) -> NDArray[np.floating]:
    """Return the edges of bins of sorted numbers: between any two neighbours, or at quantiles where they are many."""
    distinct = np.unique(numbers)
    if len(distinct) > histogram.MISSING:
        distinct = np.unique(numbers[np.linspace(0, len(numbers) - 1, histogram.MISSING).round().astype(np.int64)])
    below, above = distinct[:-1], distinct[1:]
    middle = below / 2 + above / 2  # their difference may be too large
    return np.where((below <= middle) & (middle < above), middle, below)  # neighbours may have nothing between them


class _Target(NamedTuple):
    """The target of boosting."""

    loss: int
    y: NDArray[np.float64]  # (rows,): numbers, or positions of classes
    initial_score: NDArray[np.float64]  # (scores,)
    classes: NDArray[Any] | None

    @classmethod
    def of(cls, classifier: bool, folds: Folds) -> "_Target":
        rows = np.concatenate(folds.left_out)
        if not classifier:
            mean = np.average(folds.y[rows], weights=folds.weight[rows]) if folds.is_weighted else 0.0
            return cls(boosting.SQUARED, folds.y, np.array([mean]), None)  # these numbers have mean 0 without weights
        classes = np.unique(folds.y[rows])
        y = np.searchsorted(classes, folds.y).astype(np.float64)
        counts = np.bincount(y[rows].astype(np.int64), folds.weight[rows] if folds.is_weighted else None)
        logarithm = np.log(counts / counts.sum())
        if len(classes) == 2:
            return cls(boosting.LOGISTIC, y, logarithm[1:] - logarithm[:1], classes)
        return cls(boosting.SOFTMAX, y, logarithm, classes)


class _Booster(NamedTuple):
    """A model of some rows, with room for trees."""

    folds: Folds
    target: _Target
    plan: boosting.BoostingPlan
    binned: _Binned
    order: CategoryOrder | None
    rows: boosting.BinnedRows
    trees: boosting.BoostedTrees
    done: NDArray[np.int64]  # (1,): rounds so far

    @classmethod
    def of(
        cls,
        folds: Folds,
        target: _Target,
        plan: boosting.BoostingPlan,
        n_rounds: int,
        max_leaves: int,
        binned: _Binned,
        order: CategoryOrder | None,
        training: NDArray[np.int64],
        left_out: NDArray[np.int64],
    ) -> "_Booster":
        weight = folds.weight if folds.is_weighted else np.ones(len(target.y))
        parts = training.astype(np.uint32), left_out.astype(np.uint32)
        rows = boosting.BinnedRows(binned.bins, binned.n_bins, target.y, weight, *parts)
        trees = _no_trees(target.initial_score, len(target.y), n_rounds, max_leaves)
        return cls(folds, target, plan, binned, order, rows, trees, np.zeros(1, np.int64))

    def boost(self, n_rounds: int) -> None:
        """Add rounds until there are as many, or more."""
        if self.done[0] < n_rounds:
            boosting.boost(self.rows, self.plan, self.trees, int(self.done[0]), n_rounds)
            self.done[0] = n_rounds

    def ensemble(self, n_rounds: int) -> TreeEnsemble:
        e = _ensemble(self.trees, self.binned, n_rounds, self.target, self.folds)
        return e if self.order is None else self.order.sets_of(e)


def _no_trees(initial_score: NDArray[np.float64], n_rows: int, n_rounds: int, max_leaves: int) -> boosting.BoostedTrees:
    n_trees = n_rounds * len(initial_score)
    return boosting.BoostedTrees(
        score=np.tile(initial_score, (n_rows, 1)),
        n_splits=np.zeros(n_trees, np.int64),
        feature=np.zeros((n_trees, max_leaves - 1), np.int32),
        bin=np.zeros((n_trees, max_leaves - 1), np.uint8),
        missing_left=np.zeros((n_trees, max_leaves - 1), np.bool_),
        middle=np.zeros((n_trees, max_leaves - 1), np.int32),
        value=np.zeros((n_trees, max_leaves)),
        weight=np.zeros((n_trees, max_leaves)),
        error=np.zeros(n_rounds),
    )


def _ensemble(
    model: boosting.BoostedTrees, binned: _Binned, n_rounds: int, target: _Target, folds: Folds
) -> TreeEnsemble:
    """Return the first rounds of a model as trees with thresholds, for the target in its own units."""
    n_scores = len(target.initial_score)
    n_trees = n_rounds * n_scores
    n_splits = model.n_splits[:n_trees]
    places = np.arange(model.value.shape[1])
    splits, leaves = places[:-1] < n_splits[:, None], places <= n_splits[:, None]  # in use, of all there is room for
    column = np.nonzero(leaves)[0] % n_scores
    value = np.zeros((len(column), n_scores))
    value[np.arange(len(column)), column] = folds.scale * model.value[:n_trees][leaves]
    feature = model.feature[:n_trees][splits]
    first_split = offsets(n_splits)
    return TreeEnsemble(
        feature=feature,
        threshold=binned.edge[feature, model.bin[:n_trees][splits]],
        missing_left=model.missing_left[:n_trees][splits],
        middle=model.middle[:n_trees][splits],
        value=value,
        weight=model.weight[:n_trees][leaves],
        first_split=first_split,
        first_leaf=first_split + np.arange(n_trees + 1),
        n_features=len(binned.n_bins),
        aggregation="sum",
        base_score=folds.center + folds.scale * target.initial_score,
        link=_LINKS[target.loss],
        compare_dtype=folds.X.dtype.name,  # type: ignore[arg-type]
        classes=target.classes,
    )


def _mean_of(sums: list[TreeEnsemble]) -> TreeEnsemble:
    """Return one sum of trees that predicts the mean of several sums."""
    together = concatenated(sums)
    base_score = np.mean([e.base_score for e in sums], axis=0)
    return replace(together, value=together.value / len(sums), base_score=base_score)
