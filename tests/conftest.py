import pytest
from threadpoolctl import threadpool_limits

from small_models import at_most_boosting_rounds


@pytest.fixture
def one_thread():
    """Threads that wait for each other cost more than small fits where the machine is busy."""
    with threadpool_limits(1):
        yield


@pytest.fixture
def few_boosting_rounds():
    """Limit gradient boosting to 200 rounds, in the tests that ask for it: more take longer and show nothing else."""
    with at_most_boosting_rounds(200):
        yield
