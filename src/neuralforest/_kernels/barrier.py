"""A meeting point for the threads of joint training, inside a kernel.

Threads meet several times in a training step of a fraction of a millisecond, far too often for Python's own barrier.
They spin on two counters in shared memory, and give the processor away when a partner is late.
"""

import sys
import threading
import time
from typing import Any

import numba
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from neuralforest._kernels._jit import part

_yield = types.ExternalFunction("SwitchToThread" if sys.platform == "win32" else "sched_yield", types.int32())
_PATIENCE = 2000  # looks at the counter before the processor is given away


def _pointer(context: Any, builder: Any, array_type: Any, array: Any, index: Any) -> Any:
    return builder.gep(context.make_array(array_type)(context, builder, array).data, [index])


@intrinsic  # type: ignore[untyped-decorator]
def _add(context: Any, array: Any, index: Any, number: Any) -> Any:
    """Add to an int64 of an array in one indivisible step; return what was there before."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = _pointer(context, builder, signature.args[0], *arguments[:2])
        return builder.atomic_rmw("add", pointer, arguments[2], "seq_cst")

    return types.int64(array, types.intp, types.int64), generate


@intrinsic  # type: ignore[untyped-decorator]
def _read(context: Any, array: Any, index: Any) -> Any:
    """Read an int64 of an array as other threads left it."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> ir.Instruction:
        return builder.load_atomic(_pointer(context, builder, signature.args[0], *arguments), "seq_cst", 8)

    return types.int64(array, types.intp), generate


if numba.config.DISABLE_JIT:  # the same in plain Python
    _lock = threading.Lock()
    _PATIENCE = 1

    def _add(array, index, number):  # type: ignore[no-redef,no-untyped-def]
        with _lock:
            array[index] += number
            return array[index] - number

    def _read(array, index):  # type: ignore[no-redef,no-untyped-def]
        return array[index]

    def _yield():  # type: ignore[no-redef,no-untyped-def]
        time.sleep(0)


@part
def meet(counters, workers):  # type: ignore[no-untyped-def]
    """Wait until all workers have come here, or the work is called off.

    `counters` is an int64 array of three zeros, shared by the workers: how many wait here, how often they have met, and
    whether the work is called off (not 0: a worker never came).
    """
    if workers == 1:
        return
    round_ = _read(counters, 1)
    if _add(counters, 0, 1) == workers - 1:
        _add(counters, 0, -workers)
        _add(counters, 1, 1)
        return
    looks = 0
    while _read(counters, 1) == round_ and _read(counters, 2) == 0:
        looks += 1
        if looks >= _PATIENCE:
            looks = 0
            _yield()
