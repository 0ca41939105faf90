"""Warmup compiles what fits and predictions need, in a folder that outlives the installation."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numba
import pytest

import neuralforest as nf

SOURCE = Path(nf.__file__).parent

FIT = """
import json
import numpy as np
import neuralforest as nf
from neuralforest._kernels.jit import compilations
rng = np.random.default_rng(1)
X = rng.normal(size=(700, 5))
y = X[:, 0] + np.sin(3 * X[:, 1])
nf.NeuralForestRegressor(random_state=0, max_epochs=3).fit(X, y).predict(X[:1])
nf.NeuralForestClassifier(random_state=0, max_epochs=3).fit(X, y > 0).predict_proba(X)
print(json.dumps(compilations()))
"""


def run(package, cache, *arguments):
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("NUMBA_", "NEURALFOREST_"))}
    environment = inherited | {"PYTHONPATH": str(package), "XDG_CACHE_HOME": str(cache)}
    done = subprocess.run([sys.executable, *arguments], env=environment, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")
def test_after_a_warmup_other_fits_compile_nothing_even_when_the_package_was_installed_anew(tmp_path):
    package, cache = tmp_path / "site", tmp_path / "cache"
    shutil.copytree(SOURCE, package / "neuralforest", ignore=shutil.ignore_patterns("__pycache__"))
    first = run(package, cache, "-m", "neuralforest", "warmup", "--json")
    assert first["n_compiled"] > 5
    assert Path(first["folder"]).parent == cache / "neuralforest"
    shutil.rmtree(package)
    shutil.copytree(SOURCE, package / "neuralforest", ignore=shutil.ignore_patterns("__pycache__"))
    for file in package.rglob("*.py"):
        os.utime(file)
    assert run(package, cache, "-c", FIT) == 0
