import pytest
from threadpoolctl import threadpool_limits


@pytest.fixture
def one_thread():
    """Threads that wait for each other cost more than small fits where the machine is busy."""
    with threadpool_limits(1):
        yield


@pytest.fixture(scope="module")
def few_boosting_rounds():
    """Limit gradient boosting to 200 rounds, for tests with many fits of the default estimator."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("neuralforest.base_models.gradient_boosting._MOST_TREES", 200)
        yield
