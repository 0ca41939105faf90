"""How kernels are compiled: not at import, cached or not with the same bits, and with the compiler switched off."""

import gc
import os
import subprocess
import sys
from pathlib import Path

import numba
import pytest

import neuralforest
from neuralforest._kernels import jit

HERE = Path(__file__).parent
SOURCE = Path(neuralforest.__file__).parents[1]


def run(arguments, **environment):
    """Run Python in a process of its own; return what it printed."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("NUMBA_", "NEURALFOREST_"))}
    paths = os.pathsep.join([str(SOURCE), str(HERE.parent)])
    done = subprocess.run(
        [sys.executable, "-W", "error", *arguments],
        env=inherited | {"PYTHONPATH": paths} | environment,
        cwd=HERE.parents[1],
        capture_output=True,
        text=True,
        timeout=500,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def run_tests(*tests, **environment):
    tests = [str(HERE / test) for test in tests]
    return run(["-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-n0", *tests], **environment)


IMPORT = """
import pkgutil, importlib
from numba.core import event
with event.install_recorder("numba:compile") as recorder:
    import neuralforest
    for module in pkgutil.walk_packages(neuralforest._kernels.__path__, "neuralforest._kernels."):
        importlib.import_module(module.name)
    import neuralforest.training
print(len(recorder.buffer))
"""


def test_importing_the_package_compiles_nothing():
    assert run(["-c", IMPORT]).split() == ["0"]


TRAIN = """
import hashlib
import numpy as np
import neuralforest as nf
from neuralforest._kernels.network.epoch import train_epoch
from neuralforest.training import SubnetworkRows, Settings, TrainingData
from neuralforest.training.losses import resolve_loss
from neuralforest.training.state import State
from neuralforest.training.trainer import trainer
from sklearn.ensemble import RandomForestRegressor
X = np.random.default_rng(0).normal(size=(200, 3)).astype(np.float32)
y = X[:, :1] * X[:, 1:2]
network = nf.convert(RandomForestRegressor(4, max_depth=4, random_state=0).fit(X, y[:, 0]))
network = network.soften((10, 1), training="joint")
rows = SubnetworkRows.shared(np.arange(200), np.ones(200), 1)
settings = Settings(max_epochs=3)
state = State(network, settings)
loss = resolve_loss("auto", None, network.ensemble)
with trainer(network, TrainingData(X, y, rows, rows), settings, loss, 1) as work:
    for state.epoch in range(3):
        work.train_epoch(state)
print(hashlib.sha256(state.parameters.tobytes() + state.second_moment.tobytes()).hexdigest())
print(sum(train_epoch.stats.cache_hits.values()))
"""


def test_fresh_and_cached_kernels_give_the_same_bits(tmp_path):
    fresh, cached = (run(["-c", TRAIN], NUMBA_CACHE_DIR=str(tmp_path)).split() for _ in range(2))
    assert (fresh[1], cached[1]) == ("0", "1")
    assert cached[0] == fresh[0]


SMALL = [
    "test_simd.py",
    "test_random.py",
    "test_activations.py",
    "test_adam.py",
    "test_losses.py",
    "test_trees.py",
    "test_traverse.py::test_batches_of_rows_leave_no_gap[16385-categories]",
    "test_epoch.py::test_gradients_agree_where_trees_are_one_leaf",
    "test_epoch.py::test_gradients_of_joint_training_are_the_same_for_any_number_of_workers",
]


def test_kernels_are_plain_numpy_when_the_compiler_is_off():
    assert "passed" in run_tests(*SMALL, NUMBA_DISABLE_JIT="1")


def test_no_kernel_reads_or_writes_beyond_an_array():
    """With bounds checked, every index of compiled code that lies outside raises an error.

    The compiler does not optimise here, which takes less time: that results do not depend on the number of threads must
    not depend on it.
    """
    assert "passed" in run_tests(
        "test_epoch.py::test_gradients_agree_where_trees_are_one_leaf",
        "test_epoch.py::test_gradients_of_joint_training_are_the_same_for_any_number_of_workers",
        "test_traverse.py::test_batches_of_rows_leave_no_gap[16385-categories]",
        "test_trees.py",
        NUMBA_BOUNDSCHECK="1",
        NUMBA_OPT="0",
        NEURALFOREST_CACHE="0",
    )


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")
@pytest.mark.parametrize("was_on", [True, False])
def test_compiling_leaves_the_garbage_collector_as_it_was(was_on):
    seen = []

    @numba.extending.intrinsic
    def look(context):
        seen.append(gc.isenabled())  # while the function around it is compiled
        return numba.types.void(), lambda context, builder, signature, arguments: context.get_dummy_value()

    def function():
        look()

    function.__module__ = jit.__name__
    before = gc.isenabled()
    try:
        (gc.enable if was_on else gc.disable)()
        numba.njit(function)()
        assert gc.isenabled() == was_on
        assert seen
        assert not any(seen)
    finally:
        (gc.enable if before else gc.disable)()


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")
def test_functions_made_at_run_time_still_compile():
    names = {}
    exec("def one_more(x): return x + 1", names)
    assert names["one_more"].__module__ is None
    assert numba.njit(names["one_more"])(1) == 2


def test_a_processor_without_wide_registers_gives_the_same_bits():
    assert "passed" in run_tests(
        "test_bitvectors.py::test_the_bits_of_traversal", NUMBA_CPU_NAME="generic", NUMBA_CPU_FEATURES=""
    )
