"""A spinning barrier for the threads of joint training, inside a kernel.

Threads synchronise several times in a training step of a fraction of a millisecond, too often for `threading.Barrier`.
They spin on two counters in shared memory, and yield the processor when another thread is late.
"""

import sys
import threading
import time
from typing import Any, NamedTuple

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from neuralforest._kernels.jit import part

_yield = types.ExternalFunction("SwitchToThread" if sys.platform == "win32" else "sched_yield", types.int32())
_SPINS = 2000  # reads of the counter before the processor is yielded


def _pointer(context: Any, builder: Any, array_type: Any, array: Any, index: Any) -> Any:
    return builder.gep(context.make_array(array_type)(context, builder, array).data, [index])


@intrinsic  # type: ignore[untyped-decorator]
def _add(context: Any, array: Any, index: Any, number: Any) -> Any:
    """Add to an int64 of an array atomically; return the previous value."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = _pointer(context, builder, signature.args[0], *arguments[:2])
        return builder.atomic_rmw("add", pointer, arguments[2], "seq_cst")

    return types.int64(array, types.intp, types.int64), generate


@intrinsic  # type: ignore[untyped-decorator]
def _read(context: Any, array: Any, index: Any) -> Any:
    """Read an int64 of an array atomically."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> ir.Instruction:
        return builder.load_atomic(_pointer(context, builder, signature.args[0], *arguments), "seq_cst", 8)

    return types.int64(array, types.intp), generate


if numba.config.DISABLE_JIT:  # the same operations in plain Python
    _lock = threading.Lock()
    _SPINS = 1

    def _add(array, index, number):  # type: ignore[no-redef,no-untyped-def]
        with _lock:
            array[index] += number
            return array[index] - number

    def _read(array, index):  # type: ignore[no-redef,no-untyped-def]
        return array[index]

    def _yield():  # type: ignore[no-redef,no-untyped-def]
        time.sleep(0)


class Team(NamedTuple):
    """The threads that share a subnetwork, as one of them sees it."""

    worker: int | np.int64  # number of this thread
    workers: int | np.int64
    counters: NDArray[np.int64]  # (3,), shared, initially 0: threads that wait, completed waits, 1 to abort training


@part
def wait(team):  # type: ignore[no-untyped-def]
    """Wait until all workers have called this function, or training is aborted because a worker never started."""
    counters, workers = team.counters, team.workers
    if workers == 1:
        return
    generation = _read(counters, 1)
    if _add(counters, 0, 1) == workers - 1:
        _add(counters, 0, -workers)
        _add(counters, 1, 1)
        return
    spins = 0
    while _read(counters, 1) == generation and _read(counters, 2) == 0:
        spins += 1
        if spins >= _SPINS:
            spins = 0
            _yield()
