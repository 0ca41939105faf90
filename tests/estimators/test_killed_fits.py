"""A fit that is killed and resumed in a new process equals the uninterrupted one."""

import itertools
import multiprocessing
import multiprocessing.forkserver
import os
import signal
import sys
import time
from contextlib import contextmanager

import numpy as np
import pytest

import fits_to_kill

N_KILLS = 5  # per mode
MODES = [
    {"training": training, "connectivity": connectivity}
    for training, connectivity in itertools.product(["independent", "joint"], ["sparse", "full"])
]


@pytest.fixture(scope="module")
def processes():
    """Start new processes as forks of one that has imported the package, and has fitted nothing."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["fits_to_kill"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
        multiprocessing.forkserver.ensure_running()
    return context


@contextmanager
def fit(processes, *arguments):
    """Start a fit; yield its process and the end of the pipe that it sends its epochs and its result to."""
    receiving, sending = processes.Pipe(duplex=False)
    process = processes.Process(target=fits_to_kill.fit, args=(sending, *arguments))
    process.start()
    sending.close()
    with receiving:
        yield process, receiving
    process.join(120)


def messages(receiving):
    """Yield what a process sends until it ends."""
    while True:
        try:
            yield receiving.recv()
        except (EOFError, OSError):  # its end, maybe within a message
            return


def test_fits_are_killed_at_20_moments():
    assert N_KILLS * len(MODES) == 20


@pytest.mark.parametrize("options", MODES, ids=lambda options: "-".join(options.values()))
def test_a_killed_fit_resumes_in_a_new_process(options, processes, tmp_path):
    with fit(processes, options) as (_, receiving):
        *_, whole = messages(receiving)
    assert len(whole) == 2  # predictions and loss: it has not failed
    rng, last = np.random.default_rng(len(str(options))), 0
    for _ in range(N_KILLS):
        with fit(processes, options, tmp_path / "fit", 0.02) as (process, receiving):
            first = receiving.recv()  # it trains
            time.sleep(rng.uniform(0.0, 0.1))
            process.kill()
            epochs = [first, *messages(receiving)]
        assert process.exitcode == -signal.SIGKILL
        assert first > last - 2  # at most `every` epochs are repeated
        last = max(last, *epochs)
    with fit(processes, options, tmp_path / "fit") as (process, receiving):
        *epochs, resumed = messages(receiving)
    assert process.exitcode == 0
    assert resumed == whole
    assert not epochs or epochs[0] > last - 2
