"""The cluster: which one, whether its workers can do the work, and what happens to its tasks when a fit ends.

It is independent of rows and networks.
"""

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib.metadata import version
from typing import Any, NamedTuple

import distributed
from distributed import Client, Future

from neuralforest import __version__
from neuralforest.exceptions import NeuralForestError

_ATTEMPTS, _PAUSE = 20, 0.5  # seconds: until the scheduler has noticed that a worker is lost
_LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba")


class ClusterError(NeuralForestError, RuntimeError):
    """A cluster that cannot run a fit."""


class CancelledFitError(ClusterError):
    """A fit whose tasks were cancelled, or whose client was closed."""


def client_of(client: Client | None) -> Client:
    """Return the given client, or the one that was created last."""
    if client is not None:
        if not isinstance(client, Client):
            raise TypeError(f"client must be a distributed.Client, or None for the current one, got {client!r}")
        return client
    try:
        return distributed.default_client()
    except ValueError as error:
        raise ClusterError(
            "there is no Dask client: create one, as in client = distributed.Client(), or pass client="
        ) from error


def check_workers(client: Client) -> None:
    """Refuse a cluster without workers, or with workers whose libraries differ from those of the client."""
    own = {"neuralforest": __version__, "python": f"{sys.version_info.major}.{sys.version_info.minor}"}
    own |= {name: version(name) for name in _LIBRARIES}
    found = _asked(client)
    if not found:
        raise ClusterError("the Dask cluster has no workers: start some, or wait for them with client.wait_for_workers")
    for address, theirs in found.items():
        if isinstance(theirs, BaseException):
            raise ClusterError(f"worker {address} cannot be asked for its libraries: {theirs!r}") from theirs
        wrong = [f"{name} {theirs.get(name)}" for name in own if theirs.get(name) != own[name]]
        if wrong:
            needed = ", ".join(f"{name} {number}" for name, number in own.items())
            raise ClusterError(
                f"worker {address} has {' and '.join(wrong)} (None: not installed), and the client {needed}: install "
                "the same versions on all workers, so that results do not depend on the worker"
            )


def _asked(client: Client) -> dict[str, Any]:
    """Return the versions of each worker, or its error; workers that are lost meanwhile are not asked again."""
    for _ in range(_ATTEMPTS):
        found: dict[str, Any] = client.run(_reporter(), on_error="return")
        if not any(isinstance(theirs, OSError) for theirs in found.values()):  # a closed connection
            break
        time.sleep(_PAUSE)
    return found


def _reporter() -> Callable[[], dict[str, str | None]]:
    """Return a function that is sent as code, because a worker without this package cannot import it from here."""

    def versions() -> dict[str, str | None]:
        import importlib
        import importlib.metadata
        import sys

        found: dict[str, str | None] = {"python": f"{sys.version_info.major}.{sys.version_info.minor}"}
        for name in ("numpy", "scipy", "scikit-learn", "numba"):
            try:
                found[name] = importlib.metadata.version(name)
            except importlib.metadata.PackageNotFoundError:
                found[name] = None
        try:
            found["neuralforest"] = importlib.import_module("neuralforest").__version__
        except ImportError:
            found["neuralforest"] = None
        return found

    versions.__module__ = "__main__"  # cloudpickle sends functions of other modules by their names
    return versions


class Tasks(NamedTuple):
    """The tasks of one fit."""

    client: Client
    futures: list[Future]

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future:
        """Run a function on a worker; its arguments may be futures. It must be pure, so that Dask can repeat it."""
        future = self.client.submit(function, *arguments, pure=False)
        self.futures.append(future)
        return future

    def compute(self, delayed: list[Any]) -> list[Future]:
        """Start lazy values, and keep their results on the workers."""
        futures: list[Future] = self.client.compute(delayed)
        self.futures.extend(futures)
        return futures

    def results(self, futures: Iterable[Future]) -> list[Any]:
        """Return results, in the order of the futures. The first error of a task is raised as it is."""
        futures = list(futures)
        try:
            for future in distributed.as_completed(futures):
                if future.status == "error":
                    future.result()
            return list(self.client.gather(futures))
        except (distributed.CancelledError, distributed.client.FutureCancelledError) as error:
            raise CancelledFitError(f"the fit was cancelled: {error}") from error


@contextmanager
def tasks_of(client: Client) -> Iterator[Tasks]:
    """Give a collection of tasks, which are cancelled when a fit ends, however it ends: the cluster is free again."""
    tasks = Tasks(client, [])
    try:
        yield tasks
    finally:
        if client.status == "running":
            client.cancel(tasks.futures, force=False)
        tasks.futures.clear()


def stop_if_cancelled() -> None:
    """End the task that calls this, if it was cancelled meanwhile: Dask itself does not interrupt running tasks."""
    try:
        worker, key = distributed.get_worker(), distributed.worker.thread_state.key
    except (ValueError, AttributeError):  # called outside of a task
        return
    task = worker.state.tasks.get(key)
    if task is None or task.state == "cancelled":
        raise distributed.Reschedule  # nobody waits for it; if somebody does again, it is repeated
