import importlib.util
import os
import sysconfig
from pathlib import Path

import pytest
from threadpoolctl import threadpool_limits

# The tests import the package from the sources. What its installation has compiled need not be compiled once more.
_cache = Path(__file__).parents[1] / "src" / "neuralforest" / "_kernels" / "cache.py"
_spec = importlib.util.spec_from_file_location("_kernel_cache", _cache)
_module = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_module)
_installed = Path(sysconfig.get_path("platlib"), "neuralforest", "_kernels", "compiled")
if "NUMBA_CACHE_DIR" not in os.environ and (_installed / _module._name()).is_dir():
    os.environ["NUMBA_CACHE_DIR"] = _module.numba.config.CACHE_DIR = str(_installed)

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
