"""Compilation: the one wrapper around numba that every kernel goes through.

A kernel releases the GIL, runs on one thread, propagates NaN and infinity, and is cached on disk. The cache is a folder
named after a digest of all kernel sources, because numba's own check covers only the file of the kernel, not the files
of the functions that it calls. Without a writable folder, kernels are compiled in every process.
"""

import gc
import hashlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba
import numpy as np
from numba import types
from numba.core import event
from numba.extending import intrinsic

Function = TypeVar("Function", bound=Callable[..., Any])

FAST_MATH = {"reassoc", "contract", "arcp", "nsz"}
"""LLVM flags that allow sums to be vectorised and preserve NaN and infinity."""


def _cache_directory() -> str | None:
    """Return a writable folder for compiled kernels, or None; NEURALFOREST_CACHE=0 turns caching off."""
    if os.environ.get("NEURALFOREST_CACHE", "1") == "0":
        return None
    here = Path(__file__).parent
    digest = hashlib.sha256()
    for source in sorted(here.rglob("*.py")):
        digest.update(source.read_bytes())
    name = f"kernels-{digest.hexdigest()[:16]}"
    home = Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser() / "neuralforest"
    bases = [home, here / "__pycache__"]  # the first survives another installation of the package
    if numba.config.CACHE_DIR:
        bases.insert(0, Path(numba.config.CACHE_DIR))
    for base in bases:
        folder = base / name
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):
                return str(folder)
        except OSError:
            continue
    return None


_CACHE_DIRECTORY = _cache_directory()
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
    """Return the folder of compiled kernels; None where they are compiled in every process."""
    return _CACHE_DIRECTORY


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
    previous = numba.config.CACHE_DIR
    if _CACHE_DIRECTORY is not None:
        numba.config.CACHE_DIR = _CACHE_DIRECTORY
    try:
        _KERNELS.append(numba.njit(**_OPTIONS, cache=_CACHE_DIRECTORY is not None)(function))
        return _KERNELS[-1]  # type: ignore[no-any-return]
    finally:
        numba.config.CACHE_DIR = previous


def part(function: Function) -> Function:
    """Compile a function that kernels call, not Python: always inlined, never cached by itself.

    A function that is not inlined would be shared by all loaded kernels, each of which optimises it differently:
    results would differ in the last bits between a fresh and a cached compilation.
    """
    return numba.njit(**_OPTIONS, forceinline=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)(function)  # type: ignore[no-any-return]


if numba.config.DISABLE_JIT:

    def invert_none(argument):  # type: ignore[no-redef,no-untyped-def]
        return 1 if argument is None else None
