"""The example of joint training by two processes: the same weights as by one, within float32 rounding."""

import os
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import neuralforest as nf

EXAMPLE = Path(__file__).parents[2] / "examples" / "ddp.py"


@pytest.mark.usefixtures("one_thread")
def test_two_processes_train_as_one_does(tmp_path):
    pytest.importorskip("torch")
    source = str(Path(nf.__file__).parents[1])
    # torchrun chooses the port itself: one that was free before the processes start may not be free when they do.
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=2", "--rdzv-backend=c10d"]
    local = ["--rdzv-endpoint=127.0.0.1:0", "--local-addr=127.0.0.1"]
    loopback = {"GLOO_SOCKET_IFNAME": "lo"} if sys.platform == "linux" else {}
    for _ in range(3):  # where processors are busy, gloo may abort a process that has ended its work
        run = subprocess.run(
            [*torchrun, *local, str(EXAMPLE), str(tmp_path / "two.nforest")],
            env=os.environ | {"PYTHONPATH": source, "OMP_NUM_THREADS": "1"} | loopback,
            capture_output=True,
            text=True,
            timeout=200,
        )
        if "terminate called without an active exception" not in run.stderr:
            break
    assert run.returncode == 0, run.stderr
    example = runpy.run_path(str(EXAMPLE))
    start = example["initial_model"]()
    one = example["train"](example["initial_model"](), *example["rows_of"](0, 1), 1)
    two = nf.load(tmp_path / "two.nforest")
    weights, others, initial = (each.network_.soft.parameters for each in (one, two, start))
    assert np.abs(weights - initial).max() > 0.05
    np.testing.assert_allclose(others, weights, rtol=0, atol=2e-5)
    X, y = example["rows_of"](0, 1)
    errors = [np.mean((each.predict(X) - y) ** 2) for each in (start, two)]
    assert errors[1] < 0.9 * errors[0]
