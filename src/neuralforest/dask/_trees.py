"""What a worker does for one tree: grow it, train its network, and predict the rows that it left out.

Every function is pure: its result depends on its arguments alone, and it changes none of them.
"""

from copy import copy, deepcopy
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuralforest.convert import convert
from neuralforest.dask._cluster import stop_if_cancelled
from neuralforest.dask._sampling import Sample, Weighting
from neuralforest.ensemble import TreeEnsemble, concatenated, offsets
from neuralforest.estimators import forests, scaling
from neuralforest.estimators._base import NeuralForest
from neuralforest.estimators.categories import aligned
from neuralforest.estimators.modes import connectivity_of
from neuralforest.estimators.relevance import explained_by_tree
from neuralforest.estimators.validation import TrainValidationSplit
from neuralforest.network import ForestNetwork
from neuralforest.selection.calibration import shrunk
from neuralforest.training import Loss, Settings, SubnetworkRows, TrainingData, resolve_loss
from neuralforest.training.evaluation import all_hard, subnetwork_losses
from neuralforest.training.loop import advance
from neuralforest.training.state import State


class Shared(NamedTuple):
    """What the tasks of all trees know."""

    estimator: NeuralForest  # parameters, columns, categories and classes
    forest: Any  # not fitted, with a seed
    n_trees: int
    weighting: Weighting
    measured: scaling.Measurements  # of all rows; without shares of categories
    shares: tuple[NDArray[np.float64] | None, ...]  # of the categories of each feature; None for numbers


class GrownTree(NamedTuple):
    """A tree, and the rows of its sample that it was grown on and that it left out."""

    ensemble: TreeEnsemble
    fit: SubnetworkRows
    validation: SubnetworkRows
    explained: tuple[NDArray[np.float64], float]  # of held-out variance; see `relevance`


class Plan(NamedTuple):
    """How the networks of all trees are trained."""

    contrast: tuple[float, float]
    settings: Settings
    relevances: NDArray[np.float64]  # (features,)
    categorical: dict[int, int]  # entries of the splits on each feature that a tree splits by category


class Task(NamedTuple):
    """The network of one tree and its rows."""

    network: ForestNetwork  # soft; all subnetworks but one are those of constants
    data: TrainingData
    loss: Loss


class TreeOutputs(NamedTuple):
    """Predictions of a tree and of its networks for the rows that the tree left out."""

    number: NDArray[np.int64]  # (rows,), among all rows of the fit
    weight: NDArray[np.float32]
    y: NDArray[np.float64]  # (rows, outputs)
    middle: int  # the end of the first half of the rows
    of_tree: NDArray[np.float64]  # (rows, outputs)
    leaf_value: NDArray[np.float64]
    plain: NDArray[np.float64]  # of the best network
    cross_fitted: NDArray[np.float64]  # of the network that was best on the other half


class TrainedTree(NamedTuple):
    """The network of a tree after training."""

    outputs: TreeOutputs
    parameters: NDArray[np.float32]
    split_scale: NDArray[np.float64]  # (splits,)
    is_hard: bool
    training_loss: NDArray[np.float64]  # (epochs,)
    validation_loss: NDArray[np.float64]  # (epochs + 1,)
    forest_loss: float
    best_epoch: int
    seconds: NDArray[np.float64]  # (epochs,)
    diverged: bool


class Losses(NamedTuple):
    """The losses of a tree's network so far."""

    training: NDArray[np.float64]  # (epochs,)
    validation: NDArray[np.float64]  # (epochs + 1,)
    stopped: bool  # before the last of the epochs that were asked for, or at it


def grow_tree(shared: Shared, tree: int, sample: Sample) -> GrownTree:
    """Grow one tree on its sample, as the forest of a local fit grows it."""
    estimator, table = shared.estimator, sample.table(shared.weighting)
    rows, forest = np.arange(len(sample.X)), forests.tree_of(shared.forest, tree)
    forests.grow(forest, table, rows, getattr(estimator, "feature_names_in_", None), estimator._encoder)
    network = ForestNetwork(aligned(convert(forest).ensemble, estimator._encoder))
    parts = TrainValidationSplit(rows, rows[:0]).training_rows(table, forest, 1)
    explained = np.zeros(network.n_features), 0.0
    if scaling.uses_relevance(
        network, estimator.standardize, connectivity_of(estimator.connectivity, network.ensemble) == "full"
    ):
        data = TrainingData(sample.X, estimator._columns(network, sample.target), *parts)
        units = shared.measured.output_center, shared.measured.output_scale
        explained = explained_by_tree(network, data, 0, network.apply_checked(sample.X)[:, 0], *units)
    return GrownTree(network.ensemble, *parts, explained)


def among_constants(own: TreeEnsemble, tree: int, n_trees: int, categorical: dict[int, int]) -> TreeEnsemble:
    """Return an ensemble with a tree at its place, and constants in place of the others.

    So it is the subnetwork of the same number as in the network of the whole forest. Input columns depend on the
    features that any tree splits by category: where this tree does not, another one gets such splits.
    """
    if n_trees == 1:
        return own
    trees = [_with_splits(own, {})] * n_trees
    trees[tree] = own
    used = set(own.feature[own.is_categorical].tolist())
    missing = {feature: size for feature, size in sorted(categorical.items()) if feature not in used}
    if missing:
        trees[0 if tree else 1] = _with_splits(own, missing)
    return concatenated(trees)


def _with_splits(own: TreeEnsemble, categorical: dict[int, int]) -> TreeEnsemble:
    """Return one tree with a split on each of some categorical features, or a constant, and else like another."""
    n, sizes = len(categorical), list(categorical.values())
    return replace(
        own,
        feature=np.array(list(categorical), np.int32),
        threshold=np.zeros(n),
        missing_left=np.zeros(n, np.bool_),
        middle=np.arange(1, n + 1, dtype=np.int32),
        value=np.repeat(own.value[:1], n + 1, axis=0),
        weight=np.ones(n + 1),
        first_split=np.array([0, n]),
        first_leaf=np.array([0, n + 1]),
        groups=np.array([0, 1]),
        first_category=offsets(sizes),
        category_left=np.concatenate([np.zeros(0, np.bool_), *(np.arange(size) == 0 for size in sizes)]),
    )


def softened(shared: Shared, plan: Plan, ensemble: TreeEnsemble, split_scale: NDArray[np.float64]) -> ForestNetwork:
    """Return the soft network of an ensemble, in the units of all rows."""
    estimator, network = shared.estimator, ForestNetwork(ensemble)
    share = np.zeros(network.columns.n_columns)
    first = network.columns.first
    for feature, own in enumerate(shared.shares):
        if own is not None and first[feature + 1] - first[feature] > 1:
            share[first[feature] : first[feature] + len(own)] = own
    measured = shared.measured._replace(share=share)
    units = scaling.units_of(network, measured, plan.relevances, split_scale, estimator.standardize)
    return network.soften(
        plan.contrast,
        connectivity=connectivity_of(estimator.connectivity, network.ensemble),
        fold_contrast=estimator.fold_contrast,
        **units,  # type: ignore[arg-type]
    )


def split_scale_of(shared: Shared, sample: Sample, grown: GrownTree) -> NDArray[np.float64]:
    """Return the scales of a tree's splits, (splits,); see `scaling.node_split_scale`."""
    if shared.estimator.contrast_unit != "node":
        return np.ones(grown.ensemble.n_splits)
    X = sample.X[sample.weight / shared.weighting.mean > 0]
    units = shared.measured.of_features(shared.estimator.standardize)
    return scaling.node_split_scale(ForestNetwork(grown.ensemble), X, **units)


def task_of(shared: Shared, plan: Plan, tree: int, sample: Sample, grown: GrownTree) -> Task:
    """Set up the network of one tree with its rows."""
    estimator = shared.estimator
    ensemble = among_constants(grown.ensemble, tree, shared.n_trees, plan.categorical)
    split_scale = np.ones(ensemble.n_splits)
    split_scale[ensemble.first_split[tree] : ensemble.first_split[tree + 1]] = split_scale_of(shared, sample, grown)
    network = softened(shared, plan, ensemble, split_scale)
    zeros, of_tree = np.zeros(shared.n_trees, np.int64), np.zeros(shared.n_trees, np.int64)
    of_tree[tree] = len(grown.validation.row)  # a subnetwork without validation rows is not trained
    fit = replace(grown.fit, begin=zeros, end=np.full(shared.n_trees, len(grown.fit.row)))
    validation = replace(grown.validation, begin=zeros, end=of_tree)
    data = TrainingData(sample.X, estimator._columns(network, sample.target), fit, validation)
    return Task(network, data, resolve_loss(estimator.loss, estimator.loss_parameter, network.ensemble))


def train_tree(
    shared: Shared, plan: Plan, tree: int, sample: Sample, grown: GrownTree, state: State | None, last_epoch: int
) -> State:
    """Train the network of a tree up to an epoch, from the start or from an earlier state."""
    network, data, loss = task_of(shared, plan, tree, sample, grown)
    if state is None:
        by_halves = not data.validation.are_shared
        state = State(network, plan.settings, by_halves=by_halves, ends_together=False)
    else:
        state = deepcopy(state)
    n_jobs = shared.estimator.n_jobs
    advance(network, data, plan.settings, loss, state, last_epoch, n_jobs=n_jobs, after_epoch=stop_if_cancelled)
    return state


def losses_of(state: State, tree: int) -> Losses:
    """Return the losses of a tree's network."""
    training, validation = state.training_loss[: state.epoch, tree], state.validation_loss[: state.epoch + 1, tree]
    return Losses(training, validation, bool(state.stopped[tree]))


def finish_tree(
    shared: Shared, plan: Plan, tree: int, sample: Sample, grown: GrownTree, state: State, every: int
) -> TrainedTree:
    """Return the best network of a tree, and predictions for every k-th of the rows that the tree left out."""
    task = task_of(shared, plan, tree, sample, grown)
    network, data, loss = task
    trained, crossed = _selected(task, tree, state)
    forest_loss = subnetwork_losses(all_hard(network), data, loss)[tree]
    own = slice(*network.structure.first_parameter[tree : tree + 2])
    rows = data.validation.of(tree)[0][::every]
    value = network.ensemble.value[slice(*network.ensemble.first_leaf[tree : tree + 2])]
    outputs = TreeOutputs(
        number=sample.number[rows],
        weight=data.validation.of(tree)[1][::every],
        y=data.y[rows],
        middle=-(-int(data.validation.halves[0].end[tree]) // every),
        of_tree=all_hard(network).subnetwork_output(tree, sample.X[rows]),
        leaf_value=value[network.apply_checked(sample.X[rows])[:, tree]],
        plain=trained.subnetwork_output(tree, sample.X[rows]),
        cross_fitted=_crossed_output(crossed or (trained, trained), tree, data, every),
    )
    splits = slice(*network.ensemble.first_split[tree : tree + 2])
    return TrainedTree(
        outputs,
        state.best[own],
        split_scale_of(shared, sample, grown) if splits.stop > splits.start else np.ones(0),
        bool(trained.hard[tree]),
        *losses_of(state, tree)[:2],
        float(forest_loss),
        int(state.best_epoch[tree]),
        state.seconds[: state.epoch],
        bool((state.diverged | state.lost)[tree]),
    )


def _selected(task: Task, tree: int, state: State) -> tuple[ForestNetwork, tuple[ForestNetwork, ForestNetwork] | None]:
    """Return the best network, and the networks that were best on each half of the rows, if there are any."""
    network, data, loss = task
    trees = all_hard(network)
    hard = subnetwork_losses(trees, data, loss) <= state.best_loss
    trained = network.with_parameters(state.best, hard)
    if not len(state.best_of_half):
        return trained, None
    halves = []
    for parameters, losses, half in zip(
        state.best_of_half, state.best_loss_of_half, data.validation.halves, strict=True
    ):
        of_trees = subnetwork_losses(trees, replace(data, validation=half), loss)
        halves.append(network.with_parameters(parameters, of_trees <= losses))
    return trained, (halves[0], halves[1])


def _crossed_output(
    networks: tuple[ForestNetwork, ForestNetwork], tree: int, data: TrainingData, every: int
) -> NDArray[np.float64]:
    """Return predictions of each half of the validation rows by the network that was best on the other half."""
    rows, middle = data.validation.of(tree)[0][::every], -(-int(data.validation.halves[0].end[tree]) // every)
    first, second = data.X[rows[:middle]], data.X[rows[middle:]]
    return np.concatenate([networks[1].subnetwork_output(tree, first), networks[0].subnetwork_output(tree, second)])


def training_targets(sample: Sample, grown: GrownTree, shared: Shared) -> tuple[NDArray[Any], ...]:
    """Return numbers, weights and targets of the rows that a tree's network is trained on."""
    rows = grown.fit.row
    network = ForestNetwork(grown.ensemble)
    return sample.number[rows], grown.fit.weight, shared.estimator._columns(network, sample.target[rows])


def shrunk_outputs(
    shared: Shared,
    plan: Plan,
    tree: int,
    sample: Sample,
    grown: GrownTree,
    state: State,
    factors: list[NDArray[np.float64]],
    mean: NDArray[np.float64],
    every: int,
) -> list[tuple[NDArray[np.float32], NDArray[np.float64], NDArray[np.float64]]]:
    """Return parameters and predictions (plain, cross-fitted) of a tree's network, shrunk by each of some factors."""
    task = task_of(shared, plan, tree, sample, grown)
    trained, crossed = _selected(task, tree, state)
    rows, own = (
        task.data.validation.of(tree)[0][::every],
        slice(*task.network.structure.first_parameter[tree : tree + 2]),
    )
    result = []
    for factor in factors:
        smaller = shrunk(trained, factor, mean)
        plain = smaller.subnetwork_output(tree, sample.X[rows])
        cross = plain
        if crossed is not None:
            pair = shrunk(crossed[0], factor, mean), shrunk(crossed[1], factor, mean)
            cross = _crossed_output(pair, tree, task.data, every)
        assert smaller.soft is not None
        result.append((smaller.soft.parameters[own], plain, cross))
    return result


def parameters_of(estimator: NeuralForest) -> NeuralForest:
    """Return a copy of an estimator for tasks, without what only the client needs."""
    bare = copy(estimator)
    bare.forest = None
    return bare
