"""Where compiled kernels are stored, and when stored ones are not used."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numba
import pytest

import neuralforest
from neuralforest._kernels import cache

SOURCE = Path(neuralforest.__file__).parent
ROOT = Path(__file__).parents[2]

CALL = """
import json
import numpy as np
from neuralforest._kernels import cache, jit
from neuralforest._kernels.network.shuffle import shuffle
order = np.arange(20)
shuffle(order, 1, 2, 3)
print(json.dumps([jit.compilations(), order.tolist(), str(cache.user_folder()), str(cache.installed_folder())]))
"""


def test_an_environment_variable_switches_the_cache(monkeypatch, tmp_path):
    monkeypatch.setattr(cache.numba.config, "CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("NEURALFOREST_CACHE", "1")
    folder = cache.user_folder()
    assert folder.parent == tmp_path
    assert folder.name.startswith("kernels-")  # and then a digest of the sources
    monkeypatch.setenv("NEURALFOREST_CACHE", "0")
    assert cache.user_folder() is None
    assert cache.installed_folder() is None


def test_without_a_writable_folder_kernels_are_compiled_anew(monkeypatch):
    def refuse(*arguments, **options):
        raise PermissionError("read-only")

    monkeypatch.setenv("NEURALFOREST_CACHE", "1")
    monkeypatch.setattr(Path, "mkdir", refuse)
    assert cache.user_folder() is None


@pytest.fixture
def call(tmp_path):
    """Call a kernel of a copy of the package in a new process."""
    shutil.copytree(SOURCE, tmp_path / "neuralforest", ignore=shutil.ignore_patterns("__pycache__", "compiled"))

    def in_a_new_process(folder, **environment):
        inherited = {k: value for k, value in os.environ.items() if not k.startswith(("NUMBA_", "NEURALFOREST_"))}
        environment |= {"PYTHONPATH": str(tmp_path), "NUMBA_CACHE_DIR": str(tmp_path / folder)}
        command = [sys.executable, "-c", CALL]
        return json.loads(subprocess.run(command, env=inherited | environment, check=True, capture_output=True).stdout)

    return in_a_new_process


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")
def test_kernels_that_come_with_the_package_are_used_where_they_fit(call, tmp_path):
    n_compiled, order, folder, installed = call("first")
    assert (n_compiled, installed) == (1, "None")
    compiled = tmp_path / "neuralforest" / "_kernels" / "compiled"
    shutil.copytree(Path(folder).parent, compiled)
    n_compiled, again, folder, installed = call("second")
    assert (n_compiled, again) == (0, order)
    assert Path(installed).parent == compiled
    assert not list(Path(folder).iterdir())
    # Those of another processor are not used, and what is compiled instead is stored in the user's folder.
    before = sorted(each.name for each in compiled.rglob("*"))
    for n_expected in (1, 0):
        n_compiled, again, folder, _ = call("third", NUMBA_CPU_NAME="generic", NUMBA_CPU_FEATURES="")
        assert (n_compiled, again) == (n_expected, order)
    assert list(Path(folder).iterdir())
    assert sorted(each.name for each in compiled.rglob("*")) == before
    # Nor are those of other sources.
    with open(tmp_path / "neuralforest" / "_kernels" / "random.py", "a") as file:
        file.write("\n")
    n_compiled, again, _, installed = call("second")
    assert (n_compiled, again, installed) == (1, order, "None")


class Hook:
    """The hook of the build, as hatchling runs it."""

    def __init__(self, monkeypatch):
        monkeypatch.syspath_prepend(str(ROOT))
        from hatch_build import KernelBuildHook

        self.warnings = []
        self.hook = KernelBuildHook(str(ROOT), {}, None, None, str(ROOT), "wheel", None)
        self.hook._BuildHookInterface__app = SimpleNamespace(display_warning=self.warnings.append)

    def run(self, version="standard"):
        build_data = {"force_include": {}, "pure_python": True}
        self.hook.initialize(version, build_data)
        self.hook.finalize(version, build_data, "")
        return build_data


def test_a_wheel_without_compiled_kernels_is_for_every_platform(monkeypatch):
    hook = Hook(monkeypatch)
    monkeypatch.setattr(subprocess, "run", lambda *arguments, **options: pytest.fail("nothing is to be compiled"))
    assert hook.run("editable") == {"force_include": {}, "pure_python": True}
    monkeypatch.setenv("NEURALFOREST_PRECOMPILE", "0")
    assert hook.run() == {"force_include": {}, "pure_python": True}


def test_a_wheel_is_built_without_kernels_where_they_cannot_be_compiled(monkeypatch):
    hook = Hook(monkeypatch)
    monkeypatch.setenv("PYTHONPATH", "/does/not/exist")
    monkeypatch.setattr(sys, "executable", shutil.which("false"))
    assert hook.run() == {"force_include": {}, "pure_python": True}
    assert "not compiled" in hook.warnings[0]


@pytest.mark.parametrize("compiles", [True, False])  # nothing with NUMBA_DISABLE_JIT
def test_a_wheel_with_compiled_kernels_is_for_one_platform(compiles, monkeypatch):
    hook, seen = Hook(monkeypatch), []

    def compile_kernels(command, env, **options):
        seen.append(Path(env["NUMBA_CACHE_DIR"]))
        if compiles:
            (seen[0] / "kernels-0").mkdir()
            (seen[0] / "kernels-0" / "one.nbi").touch()

    monkeypatch.setattr(subprocess, "run", compile_kernels)
    data = hook.run()
    if compiles:
        assert data["force_include"] == {str(seen[0]): "neuralforest/_kernels/compiled"}
        assert (data["pure_python"], data["infer_tag"]) == (False, True)
    else:
        assert data == {"force_include": {}, "pure_python": True}
    assert not seen[0].exists()  # the temporary folder is removed
