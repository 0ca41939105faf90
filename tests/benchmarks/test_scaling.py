"""The simulation of a cluster: sums of costs on one worker, limits, and what disturbs it."""

import pytest

from benchmarks.scaling.costs import Costs
from benchmarks.scaling.simulation import Cluster, Job, moved_bytes, simulate

COSTS = Costs(1e-7, 1e-7, 2e-8, 1e-3, 4e-6, 5e-6, 1e-6, 2e-8, 5e-4, 104.0)
JOB = Job(10**8, 500, 50, 200_000)


def test_one_worker_without_a_scheduler_takes_the_sum_of_all_costs():
    seconds = simulate(JOB, Cluster(1, has_scheduler=False), COSTS)
    rows, samples = 10**8, 50 * 200_000
    expected = rows * (2e-7 + 1e-7 + 2e-8) + 500 * 50 * 1e-3 + samples * (4e-6 + 5e-6 + 1e-6 + 2e-8)
    assert sum(seconds.values()) == pytest.approx(expected)


def test_workers_help_up_to_one_for_each_tree():
    times = [sum(simulate(JOB, Cluster(n, has_scheduler=False), COSTS).values()) for n in (1, 5, 50, 500, 5_000)]
    assert times[0] > 4.5 * times[1] > 40 * times[2]
    assert times[3] > 0.5 * times[2]
    assert times[4] == pytest.approx(times[3])


@pytest.mark.parametrize("worse", [{"bandwidth": 1e8}, {"straggling": 0.5}, {"failures": 600.0}])
def test_slow_networks_and_workers_and_lost_ones_cost_time(worse):
    plain, disturbed = (sum(simulate(JOB, Cluster(50, **each), COSTS).values()) for each in ({}, worse))
    assert disturbed > 1.05 * plain


def test_what_moves_does_not_depend_on_the_number_of_rows():
    assert moved_bytes(JOB, COSTS) == moved_bytes(JOB._replace(n_rows=10**10), COSTS) == 2 * 50 * 200_000 * 104
