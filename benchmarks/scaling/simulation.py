"""A simulation of a fit on a cluster: workers, network, scheduler, stragglers and lost workers.

Phases are those of `neuralforest.dask`; the client waits at the end of each. In a phase, tasks wait in one queue, and a
worker that is free takes the next one.
"""

import heapq
from typing import NamedTuple

import numpy as np

from benchmarks.scaling.costs import Costs


class Job(NamedTuple):
    """The rows and the trees of a fit."""

    n_rows: int
    n_partitions: int
    n_trees: int
    rows_per_tree: int


class Cluster(NamedTuple):
    """Workers of one thread each."""

    n_workers: int
    bandwidth: float = np.inf  # bytes per second that a worker receives
    straggling: float = 0.0  # standard deviation of the logarithm of a worker's slowness
    failures: float = 0.0  # per worker and hour
    restart: float = 30.0  # seconds until a lost worker is replaced
    has_scheduler: bool = True  # whether its time counts


def moved_bytes(job: Job, costs: Costs) -> float:
    """Return what moves between workers at most: samples, to where partitions are collected, and to their trees."""
    return 2 * job.n_trees * min(job.rows_per_tree, job.n_rows) * costs.bytes_of_row


def simulate(job: Job, cluster: Cluster, costs: Costs, seed: int = 0) -> dict[str, float]:
    """Return the seconds of each phase."""
    random = np.random.default_rng(seed)
    slowness = np.exp(cluster.straggling * random.normal(size=cluster.n_workers))
    part, sample = job.n_rows / job.n_partitions, min(job.rows_per_tree, job.n_rows)
    received = sample * costs.bytes_of_row * (1 - 1 / cluster.n_workers) / cluster.bandwidth
    groups = round(job.n_partitions**0.5)
    collected = job.n_trees * received / groups
    scheduler = costs.task if cluster.has_scheduler else 0.0
    of_partition = part * (costs.generate + costs.prepare) + job.n_trees * costs.draw
    phases = {
        "statistics": ([part * (costs.generate + costs.measure)] * job.n_partitions, 2 * job.n_partitions),
        "samples": ([of_partition] * job.n_partitions, 2 * job.n_partitions),
        "collection": ([collected] * groups, groups * (job.n_trees + 1)),
        "trees": ([sample * costs.grow + received] * job.n_trees, 2 * job.n_trees),
        "training": ([sample * costs.train] * job.n_trees, 4 * job.n_trees),
        "selection": ([sample * costs.finish] * job.n_trees, 2 * job.n_trees),
        "choice": ([sample * job.n_trees * costs.choose], 1),
    }
    seconds = {}
    for name, (tasks, n_scheduled) in phases.items():
        time, n_lost = _list_schedule(tasks, slowness, cluster, random)
        seconds[name] = max(time, n_scheduled * scheduler)  # tasks run while others are scheduled
        if n_lost and name in ("trees", "training", "selection"):  # what a lost worker held is computed again
            again = of_partition * job.n_partitions / cluster.n_workers + sample * (costs.grow + costs.train)
            seconds[name] += n_lost * again  # the others share its partitions, and take over its trees
    return seconds


def _list_schedule(
    tasks: list[float], slowness: np.ndarray, cluster: Cluster, random: np.random.Generator
) -> tuple[float, int]:
    """Return when the last of some tasks ends, and how many workers were lost until then."""
    free = [(0.0, worker) for worker in range(cluster.n_workers)]
    rate = cluster.failures / 3600.0
    fails = random.exponential(1 / rate, cluster.n_workers) if rate else np.full(cluster.n_workers, np.inf)
    end, n_lost, waiting = 0.0, 0, list(tasks)
    while waiting:
        start, worker = heapq.heappop(free)
        stop = start + waiting[-1] * slowness[worker]
        if stop > fails[worker]:  # the task is done again, by whoever is free next
            n_lost += 1
            back = max(fails[worker], start) + cluster.restart
            fails[worker] = back + random.exponential(1 / rate)
            heapq.heappush(free, (back, worker))
            continue
        waiting.pop()
        end = max(end, stop)
        heapq.heappush(free, (stop, worker))
    return end, n_lost
