"""How kernels are compiled: not at import, cached or not with the same bits, and with the compiler switched off."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import neuralforest

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
    return run(["-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", *tests], **environment)


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
import training_twins as twins
from neuralforest.training import Settings
network = twins.soft_network("joint", sizes=(9, 1, 12, 6), contrast=(10.0, 1.0))
state = twins.run_epochs(network, twins.random_data(network, 200), Settings(max_epochs=3))
from neuralforest._kernels.epoch import train_epoch
print(hashlib.sha256(state.parameters.tobytes() + state.second_moment.tobytes()).hexdigest())
print(sum(train_epoch.stats.cache_hits.values()))
"""


def test_fresh_and_cached_kernels_give_the_same_bits(tmp_path):
    fresh, cached = (run(["-c", TRAIN], NUMBA_CACHE_DIR=str(tmp_path)).split() for _ in range(2))
    assert (fresh[1], cached[1]) == ("0", "1")
    assert cached[0] == fresh[0]


SMALL = [
    "test_lanes.py",
    "test_activations.py",
    "test_adam.py",
    "test_losses.py",
    "test_traverse.py::test_blocks_of_rows_meet_without_a_gap",
    "test_epoch.py::test_gradients_agree_where_trees_are_one_leaf",
    "test_epoch.py::test_gradients_of_joint_training_are_the_same_for_any_number_of_workers",
]


def test_kernels_are_plain_numpy_when_the_compiler_is_off():
    assert "passed" in run_tests(*SMALL, NUMBA_DISABLE_JIT="1")


def test_no_kernel_reads_or_writes_beyond_an_array():
    """With bounds checked, every index of compiled code that lies outside raises an error.

    The compiler optimises less here: that results do not depend on the number of threads must not depend on it.
    """
    assert "passed" in run_tests(
        "test_epoch.py::test_gradients_agree_where_trees_are_one_leaf",
        "test_epoch.py::test_gradients_of_joint_training_are_the_same_for_any_number_of_workers",
        "test_traverse.py::test_blocks_of_rows_meet_without_a_gap[1025]",
        NUMBA_BOUNDSCHECK="1",
        NUMBA_OPT="1",
        NEURALFOREST_CACHE="0",
    )


@pytest.mark.parametrize(("switch", "folder"), [("0", "None"), ("1", "kernels-")])
def test_an_environment_variable_switches_the_cache(switch, folder, tmp_path):
    program = "from neuralforest._kernels import _jit; print(_jit._CACHE_DIRECTORY)"
    assert folder in run(["-c", program], NEURALFOREST_CACHE=switch, NUMBA_CACHE_DIR=str(tmp_path))


def test_without_a_writable_folder_kernels_are_compiled_anew(monkeypatch):
    from neuralforest._kernels import _jit

    def refuse(*arguments, **options):
        raise PermissionError("read-only")

    monkeypatch.setattr(Path, "mkdir", refuse)
    assert _jit._cache_directory() is None
