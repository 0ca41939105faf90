"""The first call in a fresh process: import, kernels compiled on the first call, by the installation, and loaded."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.speed.common import Row, seconds

_SOURCE = str(Path(__file__).parents[2] / "src")

_PROGRAM = """
import json, sys, time
started = time.perf_counter()
from numba.core import event
with event.install_recorder("numba:compile") as compiled:
    import neuralforest as nf
    import neuralforest.training as training
imported = time.perf_counter() - started
import numpy as np
from sklearn.ensemble import RandomForestRegressor
rng = np.random.default_rng(0)
X = rng.random((200, 8), dtype=np.float32)
y = X.sum(axis=1)
forest = RandomForestRegressor(5, max_depth=4, random_state=0).fit(X, y)
started = time.perf_counter()
network = nf.convert(forest).soften(connectivity=sys.argv[1])
rows = training.SubnetworkRows.shared(np.arange(200), np.ones(200), network.n_subnetworks)
loss = training.resolve_loss("auto", None, network.ensemble)
data = training.TrainingData(X, y[:, None], rows, rows)
trained = training.train(network, data, training.Settings(max_epochs=2), loss)
network.with_parameters(trained.parameters, network.hard).predict(X)
print(json.dumps([imported, len(compiled.buffer), time.perf_counter() - started]))
"""


_FIT = """
import json, sys, time
import numpy as np
import neuralforest as nf
rng = np.random.default_rng(0)
X = rng.normal(size=(600, 8))
y = X[:, 0] * X[:, 1] + X[:, 2] + 0.1 * rng.normal(size=600)
started = time.process_time()
if sys.argv[1] == "NeuralForestRegressor":
    nf.NeuralForestRegressor(random_state=0).fit(X, y).predict(X)
else:
    nf.NeuralForestClassifier(random_state=0).fit(X, y > 0).predict(X)
print(json.dumps([time.process_time() - started]))
"""


def rows(quick: bool) -> Iterator[Row]:
    kinds = ("sparse",) if quick else ("sparse", "full")
    for connectivity in kinds:
        firsts = []
        for _ in range(1 if quick else 3):  # the best of several rounds, as in the other parts
            with tempfile.TemporaryDirectory() as folder:
                firsts.append(_fresh_process(connectivity, folder))
                _, _, warm = _fresh_process(connectivity, folder)
        imported, compiled, cold = min(firsts, key=lambda first: first[2])
        if connectivity == kinds[0]:
            label = "import: kernels compiled by it, and its time"
            yield Row(
                label, f"{compiled:.0f} kernels", seconds(imported), None, note="met" if not compiled else "missed"
            )
        label = f"first convert + soften + train + predict, {connectivity}, empty cache: 10 s"
        yield Row(label, seconds(cold), "10 s", cold / 10, at_most=1.0, note=f"with a cache {seconds(warm)}")
    with tempfile.TemporaryDirectory() as installed:
        _install(installed)
        for name in ("NeuralForestRegressor", "NeuralForestClassifier"):
            with tempfile.TemporaryDirectory() as folder:
                (first,) = _fresh_process(name, folder, _FIT, installed)
                (cold,) = _fresh_process(name, folder, _FIT)
            what = f"first fit + predict of a default {name}, processor time"
            note = "kernels are compiled by the installation"
            yield Row(
                f"{what}, installed from the sources: 5 s", seconds(first), "5 s", first / 5, at_most=1.0, note=note
            )
            yield Row(f"{what}, kernels compiled on the first call", seconds(cold), "", None)


def _install(folder: str) -> None:
    """Install the package, without what it depends on, into a folder."""
    root = str(Path(__file__).parents[2])
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", folder, root]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def _fresh_process(argument: str, cache: str, program: str = _PROGRAM, source: str = _SOURCE) -> list[float]:
    paths = os.pathsep.join([source, os.environ.get("PYTHONPATH", "")])
    environment = os.environ | {"NUMBA_CACHE_DIR": cache, "PYTHONPATH": paths}
    done = subprocess.run(
        [sys.executable, "-c", program, argument], env=environment, check=True, capture_output=True, text=True
    )
    return list(json.loads(done.stdout))
