"""How a kernel is compiled: the one wrapper around numba that every kernel goes through.

A kernel releases the GIL, runs on one thread, keeps NaN and infinity honest, and is cached on disk. The cache lives in
a folder named after a digest of all kernel sources, because numba's own check sees only the file that holds the kernel
and not those that it calls. Where no folder can be written, kernels are compiled anew in every process.
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
"""Rewritings that vectorise sums and keep NaN and infinity as they are."""


def _cache_directory() -> str | None:
    """Return a writable folder for compiled kernels, or None; NEURALFOREST_CACHE=0 turns caching off."""
    if os.environ.get("NEURALFOREST_CACHE", "1") == "0":
        return None
    here = Path(__file__).parent
    digest = hashlib.sha256()
    for source in sorted(here.glob("*.py")):
        digest.update(source.read_bytes())
    name = f"kernels-{digest.hexdigest()[:16]}"
    bases = [here / "__pycache__", Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser() / "neuralforest"]
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
_OPTIONS = {"nogil": True, "fastmath": FAST_MATH, "error_model": "numpy"}


class _Quiet(event.Listener):  # type: ignore[misc]
    """Puts the garbage collector off while a kernel of ours is compiled.

    A compilation makes millions of objects that live until its end; to search them again and again takes a tenth of it.
    """

    def __init__(self) -> None:
        self._collecting: list[bool] = []  # whether it was on; one entry for every compilation inside another

    def on_start(self, compilation: Any) -> None:
        if _is_ours(compilation):
            self._collecting.append(gc.isenabled())
            gc.disable()

    def on_end(self, compilation: Any) -> None:
        if _is_ours(compilation) and self._collecting.pop():
            gc.enable()


def _is_ours(compilation: Any) -> bool:
    module: str | None = compilation.data["dispatcher"].py_func.__module__  # None for code that was made at run time
    return module is not None and module.startswith(__package__)


event.register("numba:compile", _Quiet())


@intrinsic  # type: ignore[untyped-decorator]
def absent(context: Any, thing: Any) -> Any:
    """Return None for a thing, and something for None.

    Numba leaves a branch out where an argument is None. Where it is something, `if thing is None` is compiled too.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return context.get_constant(types.int64, 1) if isinstance(thing, types.NoneType) else context.get_dummy_value()

    return (types.int64 if isinstance(thing, types.NoneType) else types.none)(thing), generate


def kernel(function: Function) -> Function:
    """Compile a function that Python calls, on its first call."""
    if numba.config.DISABLE_JIT:
        return np.errstate(all="ignore")(function)  # compiled code does not warn of an overflow either
    previous = numba.config.CACHE_DIR
    if _CACHE_DIRECTORY is not None:
        numba.config.CACHE_DIR = _CACHE_DIRECTORY
    try:
        return numba.njit(**_OPTIONS, cache=_CACHE_DIRECTORY is not None)(function)  # type: ignore[no-any-return]
    finally:
        numba.config.CACHE_DIR = previous


def part(function: Function) -> Function:
    """Compile a function that kernels call, as a part of them: not cached, without an entrance from Python.

    It is always inlined. A copy of its own would be shared by the kernels that happen to be loaded, each of which has
    optimised it in its own way: results would differ in the last bits between a fresh and a cached compilation.
    """
    return numba.njit(**_OPTIONS, forceinline=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)(function)  # type: ignore[no-any-return]


if numba.config.DISABLE_JIT:

    def absent(thing):  # type: ignore[no-redef,no-untyped-def]
        return 1 if thing is None else None
