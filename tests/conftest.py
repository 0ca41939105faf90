import os
import sysconfig
from pathlib import Path

import pytest
from threadpoolctl import threadpool_limits

# The tests import the package from the sources. What its installation has compiled need not be compiled once more.
_installed = Path(sysconfig.get_path("platlib"), "neuralforest", "_kernels", "compiled")
if _installed.is_dir():
    os.environ.setdefault("NUMBA_CACHE_DIR", str(_installed))  # before the first import of numba

from small_models import at_most_boosting_rounds  # noqa: E402


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
