"""The measurements, each under a name; a run that is on record is not repeated."""

import hashlib
import json
import os
import random
import resource
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dask.dataframe
import joblib
import numpy as np
from distributed import Client, LocalCluster

from benchmarks.scaling import data
from benchmarks.scaling.costs import measured
from neuralforest import NeuralForestRegressor
from neuralforest.dask import DaskNeuralForestRegressor

RESULTS = Path(__file__).parents[1] / "results" / "scaling.json"
N_BLOCKS, N_ROWS = 20, 50_000


def results() -> dict[str, dict[str, Any]]:
    return json.loads(RESULTS.read_text()) if RESULTS.exists() else {}


def record(name: str, **values: Any) -> None:
    RESULTS.write_text(json.dumps(results() | {name: values}, indent=1) + "\n")
    print(name, values, flush=True)


@contextmanager
def cluster(n_workers: int, memory_limit: str | int = 0, threads: int = 1) -> Iterator[Client]:
    with (
        LocalCluster(
            n_workers=n_workers, threads_per_worker=threads, memory_limit=memory_limit, dashboard_address=":0"
        ) as local,
        Client(local) as client,
    ):
        client.run(_warm_up)
        yield client


def _warm_up() -> None:
    """Compile or load the kernels, which a long-lived worker has done before."""
    X, y = data.block(1, 0, 300)
    NeuralForestRegressor(stacking=None, max_epochs=2, random_state=0).fit(X, y)


def _used() -> dict[str, float]:
    usage, status = resource.getrusage(resource.RUSAGE_SELF), Path("/proc/self/status").read_text()
    peak = float(status.partition("VmHWM:")[2].split()[0]) / 1024  # ru_maxrss includes that of the parent process
    return {"peak_mb": peak, "seconds": usage.ru_utime + usage.ru_stime}


def rmse(model: Any, X: Any, y: Any) -> float:
    return float(np.sqrt(np.mean((model.predict(X) - y) ** 2)))


def digest(model: Any) -> str:
    return hashlib.sha256(model.network_.soft.parameters.tobytes()).hexdigest()[:16]


def accuracy(name: str, seed: int = 0) -> None:
    """Test error, time and memory: the local estimator on a part and on all rows, and Dask by workers and sizes."""
    kind, _, size = name.partition(" ")
    X_test, y_test = data.block(99, 0, 100_000)
    before, started, phases = _used(), time.perf_counter(), {}
    if kind.startswith("local"):
        X, y = data.in_memory(seed, N_BLOCKS, N_ROWS)
        if size != "all":
            rows = np.random.default_rng(seed).permutation(len(X))[: int(size)]
            X, y = X[rows], y[rows]
        started = time.perf_counter()
        stacking = "auto" if kind == "local+stack" else None
        local = NeuralForestRegressor(random_state=seed, stacking=stacking, n_jobs=2).fit(X, y)
        wall, used = time.perf_counter() - started, [_used()]
        used[0]["seconds"] -= before["seconds"]
    else:
        n_workers, _, most = size.partition(" ")
        with cluster(int(n_workers)) as client:
            idle = client.run(_used)
            started = time.perf_counter()
            model = DaskNeuralForestRegressor(random_state=seed, max_rows_per_tree=int(most))
            local = model.fit(*data.lazy(seed, N_BLOCKS, N_ROWS)).to_local()
            wall, after = time.perf_counter() - started, client.run(_used)
            used = [each | {"seconds": each["seconds"] - idle[key]["seconds"]} for key, each in after.items()]
            phases = critical_path(client)
    record(
        f"accuracy {name}",
        rmse=rmse(local, X_test, y_test),
        excess=float(np.sqrt(max(rmse(local, X_test, y_test) ** 2 - 1.0, 0.0))),
        wall=wall,
        processor=sum(each["seconds"] for each in used),
        peak_mb=max(each["peak_mb"] for each in used),
        trees=local.network_.ensemble.n_trees,
        digest=digest(local),
        phases=phases,
    )


PHASES = {
    "statistics": ("partition_statistics", "merged"),
    "trees": ("draw_samples", "collected", "of_tree", "joined", "grow_tree"),
    "training": ("train_tree", "losses_of"),
    "selection": ("finish_tree", "choose"),
}
"""The kinds of tasks between two moments at which the client waits for all of them."""


def critical_path(client: Client) -> dict[str, float]:
    """Return, for each phase, the processor seconds of the worker that had most: its time if no core is shared.

    Rows are generated twice, for the statistics and for the samples.
    """
    workers = client.run(_processor_seconds)
    found = {}
    for phase, kinds in PHASES.items():
        both = 0.5 if phase in ("statistics", "trees") else 0.0
        found[phase] = max(
            sum(each.get(kind, 0.0) for kind in kinds) + both * each.get("block", 0.0) for each in workers.values()
        )
    return found


def _processor_seconds(dask_worker: Any) -> dict[str, float]:
    """Return the processor seconds of the tasks of a worker, by kind."""
    total: dict[str, float] = {}
    for key, value in dask_worker.digests_total.items():
        if isinstance(key, tuple) and key[0] == "execute" and "thread-cpu" in key:
            kind = str(key[-3])
            total[kind] = total.get(kind, 0.0) + value
    return total


def kills(number: int) -> None:
    """Four workers, two of them killed at random moments of a fit; again, where the fit was over before."""
    chance = random.Random(number)
    X, y = data.lazy(0, 12, 5_000)
    expected = results().get("kills none")
    attempts, in_time, same = 0, -1, True
    while same and in_time != (2 if expected else 0):
        attempts, killed = attempts + 1, list[int]()
        with cluster(4) as client:
            pids = list(client.run(os.getpid).values())
            victims = chance.sample(pids, 2) if expected else []
            moments = [chance.uniform(0.02, 0.9) * (expected or {"wall": 0.0})["wall"] for _ in victims]
            timers = [threading.Timer(when, _kill, (pid, killed)) for when, pid in zip(moments, victims, strict=True)]
            started = time.perf_counter()
            for timer in timers:
                timer.start()
            model = DaskNeuralForestRegressor(random_state=0, max_rows_per_tree=20_000).fit(X, y)
            wall, in_time = time.perf_counter() - started, len(killed)
            for timer in timers:
                timer.cancel()
        same = expected is None or digest(model) == expected["digest"]
    name = f"kills {number}" if expected else "kills none"
    record(name, wall=wall, killed=in_time, moments=moments, attempts=attempts, digest=digest(model))


def _kill(pid: int, killed: list[int]) -> None:
    os.kill(pid, signal.SIGKILL)
    killed.append(pid)


def out_of_core(folder: Path, n_files: int = 160, n_rows: int = 300_000) -> None:
    """Parquet files of 8 GB, and two workers of 2 GB."""
    data.write_parquet(folder, n_files, n_rows)
    size = sum(path.stat().st_size for path in folder.glob("*.parquet"))
    table = dask.dataframe.read_parquet(str(folder))
    X_test, y_test = data.block(99, 0, 100_000)
    with cluster(2, memory_limit="2GB") as client:
        started = time.perf_counter()
        model = DaskNeuralForestRegressor(random_state=0, max_rows_per_tree=200_000)
        model.fit(table.drop(columns="y"), table["y"])
        wall, used = time.perf_counter() - started, client.run(_used)
        restarts = sum(client.run_on_scheduler(_suspicious))
        local = model.to_local()
    frame = table.drop(columns="y").head(0).reindex(range(len(X_test)))
    frame[:] = X_test
    record(
        "out of core",
        bytes=size,
        rows=n_files * n_rows,
        memory_limit=2_000_000_000,
        wall=wall,
        peak_mb=max(each["peak_mb"] for each in used.values()),
        workers_lost=restarts,
        rmse=rmse(local, frame, y_test),
    )


def _suspicious(dask_scheduler: Any) -> list[int]:
    return [1 for _, event in dask_scheduler.get_events("all") if event.get("action") == "remove-worker"]


def joblib_backend() -> None:
    """The local estimator under joblib's Dask backend: what the cluster does, and whether the result is the same."""
    X, y = data.block(0, 0, 20_000)
    seconds, digests = {}, set()
    with cluster(2) as client:
        for name, config in (("threads", {"backend": "threading", "n_jobs": 2}), ("dask", {"backend": "dask"})):
            with joblib.parallel_config(**config):
                before = time.process_time()
                model = NeuralForestRegressor(random_state=0, stacking=None).fit(X, y)
                seconds[name] = time.process_time() - before
            digests.add(digest(model))
        of_workers = sum(sum(each.values()) for each in client.run(_processor_seconds).values())
    record("joblib", client_processor=seconds, workers_processor=of_workers, same_bits=len(digests) == 1)


def costs() -> None:
    """Costs of tasks, for the simulation."""
    record("costs", **measured(N_ROWS, 200_000, N_BLOCKS)._asdict())
