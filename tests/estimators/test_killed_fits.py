"""A fit that is killed and resumed in a new process equals the uninterrupted one."""

import json
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

SCRIPT = """
import json, sys, time
import numpy as np, neuralforest as nf
from sklearn.datasets import load_diabetes
from sklearn.ensemble import RandomForestRegressor

options, path, pause = json.loads(sys.argv[1]), sys.argv[2], float(sys.argv[3])
X, y = load_diabetes(return_X_y=True)
forest = RandomForestRegressor(3, max_leaf_nodes=6, random_state=0)
checkpoint = nf.Checkpoint(path, every=2) if path else None

def slow(epoch, history):
    print("epoch", epoch, flush=True)
    time.sleep(pause)

model = nf.NeuralForestRegressor(forest, max_epochs=30, random_state=0, checkpoint=checkpoint, callback=slow, **options)
model.fit(X, y)
print("done", json.dumps(model.predict(X[:20]).tolist()), model.validation_loss_, flush=True)
"""
MODES = [{"training": "independent", "connectivity": "full"}, {"training": "joint", "connectivity": "sparse"}]


def start(options, path, pause=0.0):
    command = [sys.executable, "-c", SCRIPT, json.dumps(options), str(path or ""), str(pause)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def epochs_and_result(process):
    with process:
        lines = process.communicate(timeout=120)[0].splitlines()
    return [int(line.split()[1]) for line in lines if line.startswith("epoch")], lines[-1]


@pytest.mark.parametrize("options", MODES, ids=lambda options: "-".join(options.values()))
def test_a_killed_fit_resumes_in_a_new_process(options, tmp_path):
    _, whole = epochs_and_result(start(options, None))
    rng, last = np.random.default_rng(len(str(options))), 0
    for _ in range(2):
        with start(options, tmp_path / "fit", pause=0.02) as process:
            first = process.stdout.readline()  # it trains
            time.sleep(rng.uniform(0.0, 0.15))
            process.send_signal(signal.SIGKILL)
            lines = [first, *process.stdout.read().splitlines()]
        last = max([last, *(int(line.split()[1]) for line in lines if line.startswith("epoch"))])
    epochs, resumed = epochs_and_result(start(options, tmp_path / "fit"))
    assert resumed == whole
    assert not epochs or epochs[0] > last - 2  # at most `every` epochs are repeated
