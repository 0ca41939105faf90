"""Where compiled kernels are stored: with the installed package, and in a folder of the user.

An installation from the sources compiles the kernels for its processor (`hatch_build.py`). Those are only read. What
they lack, or what was compiled for another processor or version of Numba, is compiled on the first call and stored in
the user's folder. Both folders are named after a digest of all kernel sources, because numba's own check covers only
the file of the kernel, not the files of the functions that it calls.
"""

import hashlib
import os
import sys
import tempfile
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import numba
from numba.core.caching import CompileResultCacheImpl, FunctionCache, NullCache, _CacheLocator

_HERE = Path(__file__).parent


@cache
def _name() -> str:
    digest = hashlib.sha256()
    for source in sorted(_HERE.rglob("*.py")):
        digest.update(source.read_bytes())
    return f"kernels-{digest.hexdigest()[:16]}"


def is_enabled() -> bool:
    """Return whether compiled kernels are stored; NEURALFOREST_CACHE=0 switches it off."""
    return os.environ.get("NEURALFOREST_CACHE", "1") != "0"


def user_folder() -> Path | None:
    """Return a writable folder for compiled kernels; None where they are compiled in every process."""
    if not is_enabled():
        return None
    home = Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser() / "neuralforest"
    bases = [home, _HERE / "__pycache__"]  # the first survives another installation of the package
    if numba.config.CACHE_DIR:
        bases.insert(0, Path(numba.config.CACHE_DIR))
    for base in bases:
        folder = base / _name()
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):
                return folder
        except OSError:
            continue
    return None


def installed_folder() -> Path | None:
    """Return the folder of the kernels that were compiled when the package was installed; None where none were."""
    folder = _HERE / "compiled" / _name()
    return folder if is_enabled() and folder.is_dir() else None


class KernelCache(NullCache):  # type: ignore[misc]
    """Loads a kernel from the first folder that has it, and saves new ones in the user's folder."""

    def __init__(self, function: Callable[..., Any], installed: Path | None, user: Path | None) -> None:
        self._read_only = None if installed is None else _FolderCache(function, installed)
        self._writable = None if user is None else _FolderCache(function, user)

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        for each in (self._read_only, self._writable):
            loaded = None if each is None else each.load_overload(signature, target_context)
            if loaded is not None:
                return loaded
        return None

    def save_overload(self, signature: Any, compiled: Any) -> None:
        if self._writable is not None:
            self._writable.save_overload(signature, compiled)


class _FolderCache(FunctionCache):  # type: ignore[misc]
    """The cache of one function in a folder, wherever its source is installed."""

    def __init__(self, function: Callable[..., Any], folder: Path) -> None:
        self._impl_class = partial(_Files, folder=folder)
        super().__init__(function)


class _Files(CompileResultCacheImpl):  # type: ignore[misc]
    """The names of the files of a function. The interpreter is part of them."""

    def __init__(self, function: Callable[..., Any], folder: Path) -> None:
        self._locator = _Location(folder)
        code = function.__code__
        source = Path(code.co_filename)
        full_name = f"{source.parent.name}.{source.stem}.{function.__qualname__}-{code.co_firstlineno}"
        self._filename_base = f"{full_name}.{sys.implementation.cache_tag}{getattr(sys, 'abiflags', '')}"


class _Location(_CacheLocator):  # type: ignore[misc]
    """A folder, whose name stands for the sources."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def get_cache_path(self) -> str:
        return str(self._folder)

    def get_source_stamp(self) -> str:
        return self._folder.name

    def get_disambiguator(self) -> str:
        return ""
