import pytest
from threadpoolctl import threadpool_limits

from neuralforest.estimators import candidates


@pytest.fixture(autouse=True)
def one_thread():
    """Threads that wait for each other cost more than these tiny fits when the machine is busy."""
    with threadpool_limits(1):
        yield


@pytest.fixture(autouse=True, scope="session")
def few_boosted_trees():
    """More boosted trees beside the networks of these tests would take minutes, and show nothing else."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(candidates, "_MOST_TREES", 50)
        yield
