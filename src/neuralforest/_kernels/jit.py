"""Compilation: the one wrapper around numba that every kernel goes through.

A kernel releases the GIL, runs on one thread, propagates NaN and infinity, and is stored on disk (`cache.py`).
"""

import gc
from collections.abc import Callable
from typing import Any, TypeVar

import numba
import numpy as np
from numba import types
from numba.core import event
from numba.extending import intrinsic

from neuralforest._kernels.cache import KernelCache, installed_folder, user_folder

Function = TypeVar("Function", bound=Callable[..., Any])

FAST_MATH = {"reassoc", "contract", "arcp", "nsz"}
"""LLVM flags that allow sums to be vectorised and preserve NaN and infinity."""


_INSTALLED, _USER = installed_folder(), user_folder()
_KERNELS: list[Any] = []  # dispatchers
_OPTIONS = {"nogil": True, "fastmath": FAST_MATH, "error_model": "numpy"}


class _PauseCollector(event.Listener):  # type: ignore[misc]
    """Disables the garbage collector while one of these kernels is compiled.

    A compilation allocates millions of objects that live until its end; collections would take a tenth of its time.
    """

    def __init__(self) -> None:
        self._collecting: list[bool] = []  # whether it was enabled; one entry per nested compilation

    def on_start(self, compilation: Any) -> None:
        if _is_ours(compilation):
            self._collecting.append(gc.isenabled())
            gc.disable()

    def on_end(self, compilation: Any) -> None:
        if _is_ours(compilation) and self._collecting.pop():
            gc.enable()


def _is_ours(compilation: Any) -> bool:
    module: str | None = compilation.data["dispatcher"].py_func.__module__  # None for code generated at run time
    return module is not None and module.startswith(__package__)


event.register("numba:compile", _PauseCollector())


def kernel_directory() -> str | None:
    """Return the folder of kernels that are compiled on their first call; None where no folder is writable."""
    return None if _USER is None else str(_USER)


def compilations() -> int:
    """Return how many kernels were compiled in this process; those that were loaded do not count."""
    return sum(sum(each.stats.cache_misses.values()) for each in _KERNELS)


@intrinsic  # type: ignore[untyped-decorator]
def invert_none(context: Any, argument: Any) -> Any:
    """Return 1 for None, and None for any other argument.

    Numba prunes the branch `if argument is not None` for None, but never the branch `if argument is None`.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return (
            context.get_constant(types.int64, 1) if isinstance(argument, types.NoneType) else context.get_dummy_value()
        )

    return (types.int64 if isinstance(argument, types.NoneType) else types.none)(argument), generate


def kernel(function: Function) -> Function:
    """Compile a function that Python calls, on its first call."""
    if numba.config.DISABLE_JIT:
        return np.errstate(all="ignore")(function)  # compiled code emits no overflow warnings
    dispatcher = numba.njit(**_OPTIONS)(function)
    dispatcher._cache = KernelCache(function, _INSTALLED, _USER)
    _KERNELS.append(dispatcher)
    return dispatcher  # type: ignore[no-any-return]


def part(function: Function) -> Function:
    """Compile a function that kernels call, not Python: always inlined, never cached by itself.

    A function that is not inlined would be shared by all loaded kernels, each of which optimises it differently:
    results would differ in the last bits between a fresh and a cached compilation.

    It allocates nothing and has no access to numba's runtime, which would count the references to every array when a
    part is entered and left: a step of training would pay for a hundred atomic operations, on counters that all threads
    share.
    """
    options = _OPTIONS | {"_nrt": False, "forceinline": True, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    return numba.njit(**options)(function)  # type: ignore[no-any-return]


if numba.config.DISABLE_JIT:

    def invert_none(argument):  # type: ignore[no-redef,no-untyped-def]
        return 1 if argument is None else None
