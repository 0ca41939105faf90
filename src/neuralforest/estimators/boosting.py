"""Boosted trees beside a network: a model of every fold, with as many rounds as are best on unseen rows."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuralforest import _parallel
from neuralforest._kernels import boost, histogram
from neuralforest.ensemble import Link, TreeEnsemble
from neuralforest.estimators.folds import Candidate, Folds
from neuralforest.network import ForestNetwork
from neuralforest.training.guard import Judged

_BLOCK = 100  # rounds between two looks at whether more of them help
_MOST_TREES = 1000  # of one fold, and of one class when there are two or three; of more classes fewer
_FEWEST_ROUNDS = 50  # of however many classes
_LINKS: dict[int, Link] = {boost.SQUARED: "identity", boost.LOGISTIC: "logit", boost.SOFTMAX: "softmax"}


class Kind(NamedTuple):
    """How large boosted trees are, how much each of them says, and how many are grown in any case."""

    most_leaves: int
    rate: float
    first_rounds: int  # that tell whether there is hope: fewer may have learnt too little


_LARGE = Kind(most_leaves=16, rate=0.05, first_rounds=300)
_SMALL = Kind(most_leaves=3, rate=0.1, first_rounds=200)
_FEW_ROWS = 2_000  # on which small trees, which join at most two features, may know more of effects that add up


def boosted_trees(
    classifier: bool, folds: Folds, seed: int, n_jobs: int | None, hopeful: Callable[[Judged], bool]
) -> Iterator[Candidate]:
    """Boost trees of 16 leaves, and of 3 where there are few rows, unless the first of them give no hope.

    There are as many as are best on unseen rows.

    Parameters
    ----------
    hopeful : function
        Says whether a candidate that has said this on unseen rows may be worth having.
    """
    binned, target = _Binned.of(folds), _Target.of(classifier, folds)
    n_rows = sum(map(len, folds.unseen))
    for kind in (_LARGE,) if classifier or n_rows > _FEW_ROWS else (_LARGE, _SMALL):
        boosted = _boosted(kind, binned, target, folds, seed, n_jobs, hopeful)
        if boosted is not None:
            yield boosted


def _boosted(
    kind: Kind,
    binned: "_Binned",
    target: "_Target",
    folds: Folds,
    seed: int,
    n_jobs: int | None,
    hopeful: Callable[[Judged], bool],
) -> Candidate | None:
    """Boost trees of one kind; return None where the first of them give no hope."""
    n_scores = len(target.first_guess)
    most = max(_FEWEST_ROUNDS, _MOST_TREES // max(1, n_scores // 2))
    plan = boost.Plan(
        loss=target.loss,
        rate=kind.rate,
        share_of_rows=0.8,
        n_tried=-(-folds.X.shape[1] // 2),
        fewest_rows=5.0,
        penalty=1.0,
        seed=seed,
    )
    tables = [
        boost.Table(binned.bins, binned.n_bins, target.y, learnt.astype(np.uint32), unseen.astype(np.uint32))
        for learnt, unseen in zip(folds.learnt, folds.unseen, strict=True)
    ]
    models = [_no_trees(target.first_guess, len(target.y), most, kind.most_leaves) for _ in tables]

    def boosted(n_rounds: int) -> Candidate:
        ensembles = [_ensemble(model, n_rounds, binned, target, folds) for model in models]
        mean = _mean_of(ensembles)
        return Candidate(mean, folds.judged([ForestNetwork(each) for each in ensembles], ForestNetwork(mean)))

    best, done = 0, 0
    with _parallel.team(min(_parallel.effective_n_jobs(n_jobs), len(models))) as run:
        while done < most and best >= done - _BLOCK:
            last = min(done + _BLOCK, most)
            run(partial(_further, plan, done, last), list(zip(tables, models, strict=True)))
            best, done = int(np.sum([model.error[:last] for model in models], axis=0).argmin()), last
            if done == kind.first_rounds < most and not hopeful(boosted(best + 1).judged):
                return None
    return boosted(best + 1)


def _further(plan: boost.Plan, done: int, last: int, task: tuple[boost.Table, boost.Model]) -> None:
    boost.boost(task[0], plan, task[1], done, last)


class _Binned(NamedTuple):
    """Features cut into bins of about as many rows each, with one of its own for missing values."""

    bins: NDArray[np.uint8]  # (features, rows)
    n_bins: NDArray[np.int64]  # (features,), of numbers
    edge: NDArray[np.float64]  # (features, bins): a bin ends with this number, which it holds

    @classmethod
    def of(cls, folds: Folds) -> "_Binned":
        seen = np.concatenate(folds.unseen)
        n_rows, n_features = folds.X.shape
        bins, n_bins = np.full((n_features, n_rows), histogram.MISSING, np.uint8), np.ones(n_features, np.int64)
        edge = np.full((n_features, histogram.MISSING), np.inf)
        for feature, column in enumerate(folds.X.T):
            edges = _edges(np.sort(column[seen][~np.isnan(column[seen])]))
            known = ~np.isnan(column)
            bins[feature, known] = np.searchsorted(edges, column[known])
            n_bins[feature] = len(edges) + 1
            edge[feature, : len(edges)] = edges
        return cls(bins, n_bins, edge)


def _edges(numbers: NDArray[np.floating]) -> NDArray[np.floating]:
    """Return where sorted numbers are cut: between any two neighbours, or where they are many, into equal parts."""
    different = np.unique(numbers)
    if len(different) > histogram.MISSING:
        different = np.unique(numbers[np.linspace(0, len(numbers) - 1, histogram.MISSING).round().astype(np.int64)])
    below, above = different[:-1], different[1:]
    middle = below / 2 + above / 2  # their difference may be too large
    return np.where((below <= middle) & (middle < above), middle, below)  # neighbours may have nothing between them


class _Target(NamedTuple):
    """What is boosted towards."""

    loss: int
    y: NDArray[np.float64]  # (rows,): numbers, or places among the classes
    first_guess: NDArray[np.float64]  # (scores,)
    classes: NDArray[Any] | None

    @classmethod
    def of(cls, classifier: bool, folds: Folds) -> "_Target":
        seen = np.concatenate(folds.unseen)
        if not classifier:
            return cls(boost.SQUARED, folds.y, np.zeros(1), None)  # these numbers have mean 0
        classes, counts = np.unique(folds.y[seen], return_counts=True)
        y = np.searchsorted(classes, folds.y).astype(np.float64)
        logarithm = np.log(counts / len(seen))
        if len(classes) == 2:
            return cls(boost.LOGISTIC, y, logarithm[1:] - logarithm[:1], classes)
        return cls(boost.SOFTMAX, y, logarithm, classes)


def _no_trees(first_guess: NDArray[np.float64], n_rows: int, n_rounds: int, most_leaves: int) -> boost.Model:
    n_trees = n_rounds * len(first_guess)
    return boost.Model(
        score=np.tile(first_guess, (n_rows, 1)),
        n_splits=np.zeros(n_trees, np.int64),
        feature=np.zeros((n_trees, most_leaves - 1), np.int32),
        bin=np.zeros((n_trees, most_leaves - 1), np.uint8),
        missing_left=np.zeros((n_trees, most_leaves - 1), np.bool_),
        middle=np.zeros((n_trees, most_leaves - 1), np.int32),
        value=np.zeros((n_trees, most_leaves)),
        weight=np.zeros((n_trees, most_leaves)),
        error=np.zeros(n_rounds),
    )


def _ensemble(model: boost.Model, n_rounds: int, binned: _Binned, target: _Target, folds: Folds) -> TreeEnsemble:
    """Return the first rounds of a model as trees with thresholds, for the target in its own units."""
    n_scores = len(target.first_guess)
    n_trees = n_rounds * n_scores
    n_splits = model.n_splits[:n_trees]
    places = np.arange(model.value.shape[1])
    splits, leaves = places[:-1] < n_splits[:, None], places <= n_splits[:, None]  # of all that have room, those in use
    column = np.nonzero(leaves)[0] % n_scores
    value = np.zeros((len(column), n_scores))
    value[np.arange(len(column)), column] = folds.scale * model.value[:n_trees][leaves]
    feature = model.feature[:n_trees][splits]
    first_split = np.concatenate([[0], np.cumsum(n_splits)])
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
        base_score=folds.center + folds.scale * target.first_guess,
        link=_LINKS[target.loss],
        compare_dtype=folds.X.dtype.name,  # type: ignore[arg-type]
        classes=target.classes,
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
