"""On real clusters: the same bits whatever the workers, lost workers, cancelled fits, wrong workers, bad rows."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import dask.array as da
import numpy as np
import pytest
from distributed import Client, Future
from sklearn.ensemble import BaggingRegressor
from sklearn.tree import DecisionTreeRegressor

import neuralforest
from dask_models import assert_same_bits, blocks, make_rows
from neuralforest.dask import DaskNeuralForestClassifier, DaskNeuralForestRegressor, _cluster
from neuralforest.dask._cluster import CancelledFitError, ClusterError

pytestmark = pytest.mark.usefixtures("one_thread")
FOREST = BaggingRegressor(DecisionTreeRegressor(max_leaf_nodes=32), 5, max_samples=0.8)
SETTINGS = {"random_state": 1, "max_rows_per_tree": 400, "max_epochs": 8, "forest": FOREST}
SOURCE = str(Path(neuralforest.__file__).parents[1])


@pytest.fixture(scope="module")
def expected():
    """The model of one worker with one thread."""
    with Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=":0") as client:
        return fitted(client)


def fitted(client, **parameters):
    X, y = make_rows(1500)
    model = DaskNeuralForestRegressor(client=client, **SETTINGS | parameters)
    return model.fit(blocks(X, 7), blocks(y, 7)).to_local()


def test_any_number_of_workers_and_threads_gives_the_same_bits(threads, processes, expected):
    assert_same_bits(fitted(threads), expected)
    assert_same_bits(fitted(processes), expected)
    assert_same_bits(fitted(processes, n_jobs=2), expected)
    assert not np.array_equal(
        fitted(threads, random_state=2).network_.soft.parameters, expected.network_.soft.parameters
    )


def test_workers_that_are_killed_change_nothing(processes, expected):
    workers = [each["pid"] for each in processes.run(lambda dask_worker: {"pid": os.getpid()}).values()]
    killed = threading.Timer(0.3, os.kill, (workers[0], signal.SIGKILL))
    killed.start()
    result = [fitted(processes, max_epochs=8, learning_rate=0.012) for _ in range(2)]
    killed.join()
    assert workers[0] not in [each["pid"] for each in processes.run(lambda dask_worker: {"pid": os.getpid()}).values()]
    for each in result:
        assert_same_bits(each, expected)


def test_a_worker_that_is_lost_while_it_is_asked_is_asked_no_more():
    class Client:
        answers = [{"a": OSError("Stream is closed"), "b": {}}, {"b": {"python": "3"}}]  # noqa: RUF012

        def run(self, *_, **__):
            return self.answers.pop(0)

    assert _cluster._asked(Client()) == {"b": {"python": "3"}}


def test_a_cancelled_fit_frees_the_cluster(processes):
    X, y = make_rows(3000)
    model = DaskNeuralForestRegressor(client=processes, random_state=0, max_epochs=100_000, n_iter_no_change=None)
    failed = []

    def fit():
        try:
            model.fit(blocks(X, 2), blocks(y, 2))
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=fit, daemon=True)
    thread.start()
    wait_until(lambda: any("train_tree" in key for keys in processes.processing().values() for key in keys))
    processes.cancel([Future(key, processes) for key in list(processes.futures) if "train_tree" in key], force=True)
    thread.join(20)
    assert [type(error) for error in failed] == [CancelledFitError]
    wait_until(lambda: not any(processes.processing().values()))
    wait_until(lambda: not any(processes.run(lambda dask_worker: len(dask_worker.state.executing)).values()))
    assert not hasattr(model, "network_")


def wait_until(condition, seconds=20):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.fixture(scope="module")
def scheduler(tmp_path_factory):
    """The address file of a scheduler that was started from the command line."""
    path = tmp_path_factory.mktemp("scheduler") / "scheduler.json"
    process = dask_command("scheduler", "--port", "0", "--dashboard-address", ":0", "--scheduler-file", path)
    wait_until(path.exists)
    yield str(path)
    process.terminate()
    process.wait(20)


def dask_command(*arguments, python_path=SOURCE):
    return subprocess.Popen(
        [sys.executable, "-m", "dask", *map(str, arguments)],
        env=os.environ | {"PYTHONPATH": python_path},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def worker_of(scheduler, **options):
    return dask_command(
        "worker", "--scheduler-file", scheduler, "--nthreads", "1", "--no-dashboard", "--no-nanny", **options
    )


def test_workers_from_the_command_line(scheduler, expected):
    workers = [worker_of(scheduler) for _ in range(2)]
    try:
        with Client(scheduler_file=scheduler) as client:
            client.wait_for_workers(2, timeout=30)
            assert_same_bits(fitted(client), expected)
    finally:
        for worker in workers:
            worker.terminate()
            worker.wait(20)


@pytest.mark.parametrize(
    ("text", "message"),
    [("raise ImportError", "has neuralforest None"), ("__version__ = '0.0.1'", "has neuralforest 0.0.1")],
)
def test_a_worker_without_the_package_or_with_another_version_is_an_error(scheduler, tmp_path, text, message):
    (tmp_path / "neuralforest").mkdir()
    (tmp_path / "neuralforest" / "__init__.py").write_text(text)
    worker = worker_of(scheduler, python_path=str(tmp_path))
    try:
        with Client(scheduler_file=scheduler) as client:
            client.wait_for_workers(1, timeout=30)
            with pytest.raises(ClusterError, match=message):
                fitted(client)
    finally:
        worker.terminate()
        worker.wait(20)


def test_errors_name_the_partition(threads):
    X, y = make_rows(2000)
    y[1795] = np.nan
    with pytest.raises(ValueError, match="partition 17: Input y contains NaN"):
        DaskNeuralForestRegressor().fit(blocks(X, 20), blocks(y, 20))
    labels = np.array(["a", "b"] * 1000, object)
    labels[1234] = None
    with pytest.raises(ValueError, match="partition 12: y must have a value for every row, got None in row 34"):
        DaskNeuralForestClassifier().fit(blocks(X, 20), blocks(labels, 20))
    with pytest.raises(ValueError, match=r"partition \d+: y must hold numbers, got datetime64"):
        DaskNeuralForestRegressor().fit(blocks(X, 20), blocks(np.arange(2000).astype("M8[s]"), 20))
    unknown = da.concatenate([blocks(np.ones(1000)), blocks(np.ones(900))])
    unknown._chunks = ((np.nan, np.nan),)
    with pytest.raises(ValueError, match=r"partition 1: X, y and sample_weight must have the same number of rows"):
        DaskNeuralForestRegressor().fit(blocks(X, 2), unknown)
    X[305, 0] = np.inf
    with pytest.raises(ValueError, match="partition 3: Input X contains infinity"):
        DaskNeuralForestClassifier().fit(blocks(X, 20), blocks(np.ones(2000), 20))
    wait_until(lambda: threads.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks)) == 0)
