import pytest
from threadpoolctl import threadpool_limits


@pytest.fixture(autouse=True)
def one_thread():
    """Threads that wait for each other cost more than these tiny fits when the machine is busy."""
    with threadpool_limits(1):
        yield
