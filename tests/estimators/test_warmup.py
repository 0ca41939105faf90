"""Warmup compiles what fits and predictions need, and fits have the same bits however their kernels came to be.

All kernels are compiled once here, under `python -OO`, which strips docstrings and assert statements: it shares no
compiled kernels with plain Python.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numba
import pytest

import neuralforest as nf
from neuralforest._kernels.jit import kernel_directory

SOURCE = Path(nf.__file__).parent

FIT = """
import hashlib, json
import numpy as np
import neuralforest as nf
from neuralforest._kernels.jit import compilations
def tables():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(700, 5))
    y = X[:, 0] + np.sin(3 * X[:, 1])
    yield X, X[:1], y, X[:, 0] > 0  # all boosted trees of the classes are symmetric
    X = rng.uniform(size=(120, 12))
    yield X, X, np.floor(6 * X[:, 0]), np.floor(6 * X[:, 0]) % 2
before, compiled, bits, weights = compilations(), [], [], []
for X, rows, number, label in tables():
    regressor = nf.NeuralForestRegressor(random_state=0, max_epochs=3).fit(X, number)
    classifier = nf.NeuralForestClassifier(random_state=0, max_epochs=3).fit(X, label)
    for prediction in (regressor.predict(rows), classifier.predict_proba(X)):
        bits.append(hashlib.sha256(prediction.tobytes()).hexdigest())
    for model in (regressor, classifier):
        weights.append(model.stacking_weights_)
        bits += [repr(model), len(model._repr_html_()) > 1000]
    compiled.append(compilations() - before)
print(json.dumps({"n_compiled": compiled[0], "bits": bits, "weights": weights}))
"""
WARMUP_AND_FIT = (
    """
from neuralforest.cli import main
assert False  # is not run
main(["warmup", "--json"])
"""
    + FIT
)
OPTIMIZED = ["-OO", "-W", "error", "-c"]


def run(environment, *arguments):
    done = subprocess.run([sys.executable, *arguments], env=environment, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Fits right after a warmup, after another installation of the package, and with this package in plain Python."""
    package, cache = tmp_path_factory.mktemp("site"), tmp_path_factory.mktemp("cache")
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("NUMBA_", "NEURALFOREST_"))}
    environment = inherited | {"PYTHONPATH": str(package), "XDG_CACHE_HOME": str(cache)}
    shutil.copytree(SOURCE, package / "neuralforest", ignore=shutil.ignore_patterns("__pycache__"))
    *warmup, fresh = run(environment, *OPTIMIZED, WARMUP_AND_FIT).splitlines()
    warmup = json.loads("\n".join(warmup))
    assert warmup["n_compiled"] > 5
    assert Path(warmup["folder"]).parent == cache / "neuralforest"
    shutil.rmtree(package)
    shutil.copytree(SOURCE, package / "neuralforest", ignore=shutil.ignore_patterns("__pycache__"))
    for file in package.rglob("*.py"):
        os.utime(file)
    stored = run(environment, *OPTIMIZED, FIT)
    nf.warmup()
    plain = run(os.environ | {"PYTHONPATH": str(SOURCE.parent)}, "-W", "error", "-c", FIT)
    return {"fresh": json.loads(fresh), "stored": json.loads(stored), "plain": json.loads(plain)}


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")
def test_after_a_warmup_other_fits_compile_nothing_even_when_the_package_was_installed_anew(runs):
    assert runs["fresh"]["n_compiled"] == 0
    assert runs["stored"]["n_compiled"] == 0
    assert runs["plain"]["n_compiled"] == 0 or kernel_directory() is None


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")
def test_default_fits_have_the_same_bits_with_fresh_and_stored_kernels_and_without_assert_statements(runs):
    assert runs["stored"]["bits"] == runs["fresh"]["bits"]
    assert runs["plain"]["bits"] == runs["fresh"]["bits"]
    assert any("gradient_boosting" in weights for weights in runs["plain"]["weights"])
