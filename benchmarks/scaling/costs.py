"""What the tasks of a fit cost: processor seconds of the functions themselves, measured in this process."""

import time
from collections.abc import Callable
from copy import copy
from typing import Any, NamedTuple

import numpy as np

from benchmarks.scaling import data
from neuralforest import NeuralForestRegressor
from neuralforest.dask import _fit, _sampling, _selection, _statistics, _trees
from neuralforest.dask._partitions import read_partition
from neuralforest.estimators import forests
from neuralforest.training.stopping import decision_epochs


class Costs(NamedTuple):
    """Processor seconds, and the bytes of a row of a sample."""

    generate: float  # a row of a partition; or the time to read it
    measure: float  # a row of a partition, in the pass for statistics
    prepare: float  # a row of a partition, before samples are drawn
    draw: float  # a partition and a tree
    grow: float  # a row of a sample
    train: float  # a row of a sample, for all epochs
    finish: float  # a row of a sample
    choose: float  # a row of a sample, by one worker for all trees
    task: float  # a task, for the scheduler: serial
    bytes_of_row: float


def measured(n_rows: int, sample: int, n_partitions: int = 20) -> Costs:
    """Run every kind of task once, on one partition of this many rows and on a sample of this many."""
    estimator = NeuralForestRegressor(stacking=None, random_state=0)
    (X, y), generate = timed(data.block, 0, 0, n_rows)
    part, measure = timed(_statistics.partition_statistics, copy(estimator), 0, X, y, None)
    whole = _statistics.merged([part])
    _fit._set_columns(estimator, whole)
    _, prepare = timed(read_partition, estimator, 0, X, y, None, False)
    weighting = _sampling.Weighting(None, 1.0, False)
    few = np.full((10, 1), sample // n_partitions)
    pieces, draw = timed(_sampling.draw_samples, estimator, (0, 0), (X, y, None), few, 0, weighting)
    piece, draw = pieces[0], max(draw - prepare, 0.0) / len(pieces)
    more = [data.block(0, number, n_rows) for number in range(1, -(-sample // n_rows))]
    X, y = (np.concatenate([a, *(each[i] for each in more)]) for i, a in ((0, X), (1, y)))
    big = _sampling.Sample(np.arange(sample), X[:sample].astype(np.float32), y[:sample], np.ones(sample))
    forest = forests.prepare_forest(forests.default_forest(False, sample, X.shape[1]), 0, None)
    shared = _trees.Shared(estimator, forest, 2, weighting, _fit._measurements(whole), _fit._shares(whole))
    grown, grow = timed(_trees.grow_tree, shared, 0, big)
    settings = estimator._settings(0, _fit._only_counts([len(grown.fit.row)]))
    plan = _trees.Plan((2.0, 0.5), settings, np.ones(X.shape[1]), {})
    train, state = 0.0, None
    for epoch in decision_epochs(settings):
        state, seconds = timed(_trees.train_tree, shared, plan, 0, big, grown, state, epoch)
        train += seconds
    trained, finish = timed(_trees.finish_tree, shared, plan, 0, big, grown, state, 1)
    both = [trained, trained]
    _, choose = timed(_selection.choose, shared, plan, [grown, grown], both, whole.target_mean)
    size = sum(array.nbytes for array in piece) / max(len(piece.number), 1)
    return Costs(
        generate / n_rows, measure / n_rows, prepare / n_rows, draw, grow / sample, train / sample, finish / sample,
        choose / (2 * sample), task_overhead(), size,
    )  # fmt: skip


def timed(function: Callable[..., Any], *arguments: Any) -> tuple[Any, float]:
    """Return a result, and the least processor time of two calls: the first may compile kernels."""
    seconds = []
    for _ in range(2):
        started = time.process_time()
        result = function(*arguments)
        seconds.append(time.process_time() - started)
    return result, min(seconds)


def task_overhead(n_tasks: int = 2_000) -> float:
    """Return the processor time of client and scheduler, which are this process, for an empty task."""
    from benchmarks.scaling.runs import cluster

    with cluster(2) as client:
        client.gather(client.map(abs, range(100)))
        started = time.process_time()
        client.gather(client.map(abs, range(100, 100 + n_tasks)))
        return (time.process_time() - started) / n_tasks
