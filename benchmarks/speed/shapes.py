"""Default fits of tables with many features, targets or classes: processor time, memory and error."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks.speed.common import Row, seconds

_PROGRAM = """
import json, resource, sys, time
import numpy as np, scipy.sparse
import neuralforest as nf
name, kind = sys.argv[1:]
rng = np.random.default_rng(0)
n = 7_000
model = nf.NeuralForestRegressor(random_state=0)
if kind == "200 targets":
    X = rng.normal(size=(n, 20))
    y = np.sin(X) @ rng.normal(size=(20, 200)) + rng.normal(size=(n, 200))
elif kind == "1,024 classes":
    X, y = rng.normal(size=(n, 20)), rng.permutation(n) % 1024
    X[:, 0] += 3 * (y % 32)
    X[:, 1] += 3 * (y // 32)
    model = nf.NeuralForestClassifier(random_state=0)
elif kind.startswith("sparse"):
    X = scipy.sparse.random(n, 5_000, 0.01, format="csr", random_state=0)
    y = 3 * np.asarray(X[:, :30].sum(axis=1)).ravel() + 0.1 * rng.normal(size=n)
else:
    X = rng.normal(size=(n, int(kind.split()[0].replace(",", "")))).astype(np.float32)
    y = X[:, 0] * X[:, 1] + 2 * np.sin(3 * X[:, 2]) + 0.3 * (X[:, :20] @ rng.normal(size=20)) + 0.5 * rng.normal(size=n)
if name == "LightGBM":
    from lightgbm import LGBMRegressor
    model = LGBMRegressor(verbose=-1)
else:
    model.__class__(max_epochs=2, random_state=0).fit(np.asarray(rng.normal(size=(600, 8))), np.arange(600) % 7)
before, started = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
model.fit(X[:5_000], y[:5_000])
used, memory = time.process_time() - started, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
prediction, true = model.predict(X[5_000:]), y[5_000:]
error = np.mean(prediction != true) if "classes" in kind else np.sqrt(np.mean((prediction - true) ** 2) / np.var(true))
print(json.dumps([used, memory / 1024, float(error)]))
"""
_KINDS = {"2,000 features": True, "10,000 features": False, "sparse, 5,000 features": True, "200 targets": False,
          "1,024 classes": False}  # fmt: skip  # whether LightGBM is fitted, too: it takes minutes, or has no such fit


def rows(quick: bool) -> Iterator[Row]:
    """Compare fits of 5,000 rows with a minute of processor time, and with LightGBM where it can."""
    for kind, compared in _KINDS.items():
        results = {name: _fit(name, kind) for name in (("ours", "LightGBM") if compared and not quick else ("ours",))}
        what = "share of wrong classes" if "classes" in kind else "error in spreads of y"
        note = ", ".join(
            f"{name} {own[0]:.3g} s, {own[1]:.0f} MB, {what} {own[2]:.4f}" for name, own in results.items()
        )
        used = results["ours"][0]
        yield Row(f"fit, 5,000 rows, {kind}: a minute", seconds(used), "60 s", used / 60, at_most=1.0, note=note)


def _fit(name: str, kind: str) -> list[float]:
    paths = os.pathsep.join([str(Path(__file__).parents[2] / "src"), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-W", "ignore", "-c", _PROGRAM, name, kind]
    done = subprocess.run(command, env=os.environ | {"PYTHONPATH": paths}, check=True, capture_output=True, text=True)
    return list(json.loads(done.stdout.splitlines()[-1]))
