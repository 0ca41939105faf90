"""Processor time, peak memory and error of a default fit from 1,000 to 1,000,000 rows, each in a process of its own."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks.speed.common import Row, seconds

_PROGRAM = """
import json, resource, sys, time
import numpy as np
from sklearn.metrics import log_loss
name, n, is_regression = sys.argv[1], int(sys.argv[2]), sys.argv[3] == "regression"
rng = np.random.default_rng(0)
X = rng.normal(size=(n + 20_000, 20))
y = X[:, 0] * X[:, 1] + 2 * np.sin(3 * X[:, 2]) + X[:, 3] * (X[:, 4] > 0) + rng.normal(size=len(X))
y = y if is_regression else (y > 0).astype(int)
if name == "ours":
    import neuralforest as nf
    small = (nf.NeuralForestRegressor if is_regression else nf.NeuralForestClassifier)(max_epochs=2, random_state=0)
    small.fit(X[:600], y[:600]).predict(X[:100])  # compiles
    model = (nf.NeuralForestRegressor if is_regression else nf.NeuralForestClassifier)(random_state=0)
elif name == "CatBoost":
    from catboost import CatBoostClassifier, CatBoostRegressor
    model = (CatBoostRegressor if is_regression else CatBoostClassifier)(verbose=0, allow_writing_files=False)
elif name == "LightGBM":
    from lightgbm import LGBMClassifier, LGBMRegressor
    model = (LGBMRegressor if is_regression else LGBMClassifier)(verbose=-1)
elif name == "XGBoost":
    from xgboost import XGBClassifier, XGBRegressor
    model = (XGBRegressor if is_regression else XGBClassifier)()
else:
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
    model = (RandomForestRegressor if is_regression else RandomForestClassifier)(n_jobs=-1)
before, started = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
model.fit(X[:n], y[:n])
used, memory = time.process_time() - started, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
rest, true = X[n:], y[n:]
if is_regression:
    error = float(np.sqrt(np.mean((model.predict(rest) - true) ** 2)))
else:
    error = float(log_loss(true, model.predict_proba(rest)))
print(json.dumps([used, memory / 1024, error]))
"""
_PEERS = ("CatBoost", "LightGBM", "XGBoost", "RandomForest")
_FEWEST_ROWS_OF_MEMORY = 1_000_000  # of fewer, fits take less than what is in use before them
_MOST_ROWS_OF_FOREST = 100_000  # a fully grown forest of more takes longer than all others together


def rows(quick: bool) -> Iterator[Row]:
    """Compare default fits: time with CatBoost, and its memory; the errors are in the notes."""
    sizes = (1_000, 10_000) if quick else (1_000, 10_000, 100_000, 1_000_000)
    for task in ("regression", "2 classes"):
        for n in sizes:
            names = ["ours", *(name for name in _PEERS if name != "RandomForest" or n <= _MOST_ROWS_OF_FOREST)]
            results = {name: _fit(name, n, task) for name in names}
            note = ", ".join(
                f"{name} {each[0]:.3g} s, {each[1]:.0f} MB, error {each[2]:.4f}" for name, each in results.items()
            )
            ours, theirs = results["ours"], results["CatBoost"]
            bound = 1.0 if n > 1_000 else None
            what = f"fit, {task}, {n:,} rows x 20: CatBoost"
            yield Row(
                f"{what}, processor time",
                seconds(ours[0]),
                seconds(theirs[0]),
                ours[0] / theirs[0],
                at_most=bound,
                note=note,
            )
            if n >= _FEWEST_ROWS_OF_MEMORY:
                memory = f"{ours[1]:.0f} MB", f"{theirs[1]:.0f} MB", ours[1] / theirs[1]
                yield Row(f"{what}, memory", *memory, at_most=2.0)


def _fit(name: str, n: int, task: str) -> list[float]:
    paths = os.pathsep.join([str(Path(__file__).parents[2] / "src"), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-W", "ignore", "-c", _PROGRAM, name, str(n), task]
    done = subprocess.run(command, env=os.environ | {"PYTHONPATH": paths}, check=True, capture_output=True, text=True)
    return list(json.loads(done.stdout.splitlines()[-1]))
