"""A fit on a cluster, as the client drives it: statistics, samples, trees, training, and the choice for the whole.

The client holds numbers that describe all rows, the trees, and the network of the result; never rows.
"""

import warnings
from typing import Any, NamedTuple

import dask
import numpy as np
from distributed import Client, Future
from numpy.typing import NDArray
from sklearn.utils import compute_class_weight

from neuralforest.dask import _sampling, _selection, _trees
from neuralforest.dask._cluster import Tasks, check_workers, tasks_of
from neuralforest.dask._forests import forest_of
from neuralforest.dask._partitions import Partitions, categorical_columns, partitions_of
from neuralforest.dask._statistics import Statistics, merged, partition_statistics
from neuralforest.ensemble import TreeEnsemble
from neuralforest.estimators import scaling
from neuralforest.estimators._base import NeuralForest
from neuralforest.estimators.modes import connectivity_of
from neuralforest.estimators.parameters import contrast_pairs, seeds_of
from neuralforest.estimators.relevance import added_up, relevance_of
from neuralforest.exceptions import ConvergenceWarning, InvalidParameterError
from neuralforest.network import ForestNetwork
from neuralforest.selection.calibration import steps_from
from neuralforest.training import Settings, SubnetworkRows, TrainingData
from neuralforest.training.stopping import decision_epochs, ends_after

MOST_PREDICTIONS = 4_000_000
"""Predictions of left-out rows, of all trees together, that one worker decides on; of more, every k-th."""


class Sampled(NamedTuple):
    """The samples and the trees of a fit, on the workers."""

    shared: Future
    samples: list[Future]
    grown: list[Future]


class Result(NamedTuple):
    """What a fit leaves behind."""

    chosen: _selection.Chosen
    contrast: tuple[float, float]
    ensemble: TreeEnsemble
    statistics: Statistics
    split_seed: int


def fit(estimator: NeuralForest, client: Client, X: Any, y: Any, sample_weight: Any, max_rows: int | None) -> Result:
    """Fit on Dask collections. The estimator gets columns, categories and classes; nothing else is changed."""
    partitions, seeds = partitions_of(X, y, sample_weight), seeds_of(estimator.random_state)
    check_workers(client)
    with tasks_of(client) as tasks:
        statistics = _statistics(tasks, estimator, partitions, categorical_columns(X, estimator.categorical_features))
        _set_columns(estimator, statistics)
        weighting = _weighting(tasks, estimator, partitions, statistics)
        n_used = statistics.n_positive if max_rows is None else min(statistics.n_positive, max_rows)
        plain_target = not weighting.is_weighted and statistics.target_shape == ()
        forest, n_trees = forest_of(estimator, n_used, len(statistics.low), plain_target, seeds[0])
        shared = _trees.Shared(
            _trees.parameters_of(estimator), forest, n_trees, weighting, _measurements(statistics), _shares(statistics)
        )
        sampled, grown = _grow(tasks, shared, partitions, statistics, max_rows, seeds[1])
        chosen, contrast = _train(tasks, shared, sampled, grown, statistics, seeds[2])
    return Result(chosen, contrast, chosen.network.ensemble, statistics, seeds[1])


def _statistics(
    tasks: Tasks, estimator: NeuralForest, partitions: Partitions, categorical: NDArray[np.bool_] | None
) -> Statistics:
    """Measure all partitions, in one pass."""
    bare = _trees.parameters_of(estimator)
    bare.categorical_features = None if categorical is None else categorical
    shared = dask.delayed(bare, pure=False)
    parts = [
        dask.delayed(partition_statistics, pure=False)(shared, number, *blocks)
        for number, blocks in enumerate(zip(*partitions, strict=True))
    ]
    (found,) = tasks.results(tasks.compute([dask.delayed(merged, pure=False)(parts)]))
    extremes = np.stack([found.target_low, found.target_high])
    if not estimator._classifier:
        scaling.check_target(extremes, check_range=True)
        if not estimator.standardize:
            scaling.check_scaled_target(extremes)
    return found


def _set_columns(estimator: NeuralForest, statistics: Statistics) -> None:
    """Give an estimator the columns, categories and classes of all partitions."""
    estimator.n_features_in_ = len(statistics.low)
    estimator._encoder = statistics.encoder
    if statistics.names is not None:
        estimator.feature_names_in_ = np.array(statistics.names, object)
    if statistics.classes is not None:
        estimator.classes_ = statistics.classes


def _weighting(
    tasks: Tasks, estimator: NeuralForest, partitions: Partitions, statistics: Statistics
) -> _sampling.Weighting:
    """Return class weights, and the mean of all weights; class weights take a second pass over y.

    Weights that are all equal are none, as in a local fit.
    """
    total, (low, high), by_class = statistics.weight, statistics.weight_range, None
    class_weight = getattr(estimator, "class_weight", None)
    if class_weight is not None:
        assert statistics.classes is not None
        counts, classes = statistics.class_counts.sum(axis=0), statistics.classes
        if class_weight == "balanced":
            by_class = counts.sum() / (len(classes) * counts.astype(np.float64))
        else:
            by_class = compute_class_weight(class_weight, classes=classes, y=classes)
        task = dask.delayed(_sampling.weight_sum_and_range, pure=False)
        blocks = zip(partitions.y, partitions.weight, strict=True)
        found = tasks.results(tasks.compute([task(classes, *each, by_class) for each in blocks]))
        total, low, high = (
            sum(each[0] for each in found),
            min(each[1] for each in found),
            max(each[2] for each in found),
        )
    n_rows = int(statistics.n_rows.sum())
    if not 0 < total < np.inf:
        raise InvalidParameterError(
            f"sample_weight times class_weight must have a positive and finite sum, got {total:g}"
        )
    return _sampling.Weighting(by_class, total / n_rows, low != high)


def _measurements(statistics: Statistics) -> scaling.Measurements:
    outputs = statistics.targets.center_and_spread()
    inputs = statistics.features.center_and_spread()
    return scaling.Measurements(*inputs, statistics.low, statistics.high, *outputs, np.zeros(0))


def _shares(statistics: Statistics) -> tuple[NDArray[np.float64] | None, ...]:
    columns = statistics.categories or (None,) * len(statistics.low)
    return tuple(None if each is None else each.counts / statistics.n_positive for each in columns)


def _grow(
    tasks: Tasks, shared: _trees.Shared, partitions: Partitions, statistics: Statistics, max_rows: int | None, seed: int
) -> tuple[Sampled, list[_trees.GrownTree]]:
    """Draw the sample of each tree, and grow it; return the trees.

    With a task for every tree and every partition, the scheduler would be the bottleneck. So what a partition sends to
    all trees is one task, and some partitions are collected, about the root of their number, before trees get theirs.
    """
    common, bare = (dask.delayed(each, pure=False) for each in (shared, shared.estimator))
    draw, collect, pick, join, grow = (
        dask.delayed(each, pure=False)
        for each in (_sampling.draw_samples, _sampling.collected, _sampling.of_tree, _sampling.joined, _trees.grow_tree)
    )
    sizes, trees = _sampling.sample_sizes(statistics.class_counts.sum(axis=0), max_rows), range(shared.n_trees)
    quotas = np.stack([_sampling.quotas(statistics.class_counts, sizes, seed, tree) for tree in trees])
    first = np.concatenate([[0], np.cumsum(statistics.n_rows)]).tolist()
    parts = [
        draw(bare, (number, first[number]), blocks, quotas[:, number], seed, shared.weighting)
        for number, blocks in enumerate(zip(*partitions, strict=True))
    ]
    width = max(1, round(len(parts) ** 0.5))
    groups = [collect(parts[start : start + width]) for start in range(0, len(parts), width)]
    samples = [join([pick(group, tree) for group in groups]) for tree in trees]
    grown = [grow(common, tree, sample) for tree, sample in enumerate(samples)]
    futures = tasks.compute([*samples, *grown])
    held = futures[: shared.n_trees], futures[shared.n_trees :]
    return Sampled(tasks.submit(_same, shared), *held), tasks.results(held[1])


def _same(value: Any) -> Any:
    """Return a value: as a task, it can be repeated where a worker that held it is lost."""
    return value


def _train(
    tasks: Tasks,
    shared: _trees.Shared,
    sampled: Sampled,
    grown: list[_trees.GrownTree],
    statistics: Statistics,
    seed: int,
) -> tuple[_selection.Chosen, tuple[float, float]]:
    """Train the networks with every contrast, and return the best on validation."""
    estimator, kept = shared.estimator, None
    relevances = np.ones(len(statistics.low))
    network = ForestNetwork(grown[0].ensemble)
    if scaling.uses_relevance(
        network, estimator.standardize, connectivity_of(estimator.connectivity, network.ensemble) == "full"
    ):
        relevances = relevance_of(*added_up([each.explained for each in grown]))
    settings = estimator._settings(seed, _only_counts([len(each.fit.row) for each in grown]))
    for contrast in contrast_pairs(estimator.contrast):
        plan = _trees.Plan(contrast, settings, relevances, _categorical([each.ensemble for each in grown]))
        chosen = _train_plan(tasks, shared, sampled, plan, grown, statistics)
        if kept is None or chosen.validation_loss < kept[0].validation_loss:
            kept = chosen, contrast
    assert kept is not None
    if kept[0].n_diverged:
        warnings.warn(
            f"{kept[0].n_diverged} of {shared.n_trees} networks diverged: their loss became infinite, NaN or more than "
            "ten times that of the start, and their best earlier state is kept; lower learning_rate",
            ConvergenceWarning,
            stacklevel=4,
        )
    return kept


def _only_counts(counts: list[int]) -> TrainingData:
    """Return training data that only tell how many rows each network is trained on."""
    one = SubnetworkRows.own([np.arange(1)], [np.ones(1)])
    many = SubnetworkRows(one.row, one.weight, np.zeros(len(counts), np.int64), np.array(counts))
    return TrainingData(np.zeros((1, 0)), np.zeros((1, 1)), many, one)


def _categorical(trees: list[TreeEnsemble]) -> dict[int, int]:
    """Return the features that any tree splits by category, with the number of entries of such a split."""
    found: dict[int, int] = {}
    for e in trees:
        splits = np.flatnonzero(e.is_categorical)
        found |= dict(zip(e.feature[splits].tolist(), np.diff(e.first_category)[splits].tolist(), strict=True))
    return found


def _train_plan(
    tasks: Tasks,
    shared: _trees.Shared,
    sampled: Sampled,
    plan: _trees.Plan,
    grown: list[_trees.GrownTree],
    statistics: Statistics,
) -> _selection.Chosen:
    """Train all networks, choose, and calibrate where predictions are over-dispersed."""
    common, trees = tasks.submit(_same, plan), range(shared.n_trees)
    own = [(sampled.shared, common, tree, sampled.samples[tree], sampled.grown[tree]) for tree in trees]
    states = _trained(tasks, plan.settings, own)
    n_predictions = sum(len(each.validation.row) for each in grown)
    every = -(-n_predictions // MOST_PREDICTIONS)
    trained = [tasks.submit(_trees.finish_tree, *own[tree], states[tree], every) for tree in trees]
    center = statistics.target_mean
    if statistics.classes is not None:
        center = statistics.class_counts.sum(axis=0) / statistics.n_rows.sum()
    whole = sampled.shared, common, sampled.grown, trained, center
    (chosen,) = tasks.results([tasks.submit(_selection.choose, *whole)])
    if (chosen.calibration == 1.0).all():
        return chosen
    targets = [tasks.submit(_trees.training_targets, *own[tree][3:], sampled.shared) for tree in trees]
    (mean,) = tasks.results([tasks.submit(_selection.target_mean, chosen.network, targets)])
    factors = steps_from(chosen.calibration)
    shrunk = [tasks.submit(_trees.shrunk_outputs, *own[tree], states[tree], factors, mean, every) for tree in trees]
    (chosen,) = tasks.results([tasks.submit(_selection.calibrate, *whole, chosen, shrunk)])
    return chosen


def _trained(tasks: Tasks, settings: Settings, own: list[tuple[Any, ...]]) -> list[Future]:
    """Return the states of all networks after training, which all end at the same epoch, as in a local fit.

    Trees pause where that is decided. It may turn out that training should have ended between two pauses: then the last
    part is done again, up to there.
    """
    states: list[Any] = [None] * len(own)
    done = 0
    for epoch in decision_epochs(settings):
        before = states
        states = [tasks.submit(_trees.train_tree, *each, state, epoch) for each, state in zip(own, before, strict=True)]
        losses = [tasks.submit(_trees.losses_of, state, tree) for tree, state in enumerate(states)]
        end = _end(settings, tasks.results(losses), done, epoch)
        if end is not None and end < epoch:
            return [tasks.submit(_trees.train_tree, *each, state, end) for each, state in zip(own, before, strict=True)]
        if end is not None:
            break
        done = epoch
    return states


def _end(settings: Settings, losses: list[_trees.Losses], done: int, epoch: int) -> int | None:
    """Return the epoch after `done` at which training ends, up to `epoch`; None where it goes on."""
    n_epochs = max(len(each.training) for each in losses)
    training, validation = (np.full((n, len(losses)), np.nan) for n in (n_epochs, n_epochs + 1))
    for tree, each in enumerate(losses):
        training[: len(each.training), tree] = each.training
        validation[: len(each.validation), tree] = each.validation
    stopped_at = np.array([len(each.training) if each.stopped else np.inf for each in losses])
    for number in range(done + 1, n_epochs + 1):
        stopped = stopped_at <= number
        if stopped.all():
            return epoch  # each at an epoch of its own
        if ends_after(settings, number, training, validation, stopped):
            return number
    return epoch if n_epochs < epoch else None
