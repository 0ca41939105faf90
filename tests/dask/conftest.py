import dask
import pytest
from distributed import Client, LocalCluster

OPTIONS = {"dashboard_address": ":0"}


@pytest.fixture(scope="module")
def threads():
    """A client of one worker in this process, with two threads."""
    with Client(processes=False, n_workers=1, threads_per_worker=2, **OPTIONS) as client:
        yield client


@pytest.fixture(scope="module")
def processes():
    """A client of two workers, each a process."""
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 5}),
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, **OPTIONS) as cluster,
        Client(cluster) as client,
    ):
        yield client
