"""Atomic file writes: a file is written completely or not at all. Imports nothing from the package."""

import os
import secrets
from collections.abc import Iterable
from pathlib import Path


def write_atomically(path: str | os.PathLike[str], parts: Iterable[bytes | memoryview]) -> None:
    """Write a file; a file that exists at the path is replaced once the new one is complete on disk.

    Parameters
    ----------
    path : path of a file
        A symbolic link is followed: it keeps pointing to the file, which is replaced.
    parts : iterable of bytes-like objects
        The content, in order.

    Examples
    --------
    >>> path = getfixture("tmp_path") / "file"
    >>> write_atomically(path, [b"two ", b"parts"])
    >>> path.read_text()
    'two parts'
    """
    target = Path(os.path.realpath(path))
    unfinished = target.with_name(f".neuralforest-{secrets.token_hex(8)}.unfinished")
    descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
    try:
        with open(descriptor, "wb") as file:
            file.writelines(parts)
            file.flush()
            os.fsync(file.fileno())
        os.replace(unfinished, target)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise
    _sync_folder(target.parent)


def _sync_folder(folder: Path) -> None:
    """Flush the new name to disk, where the system can open a folder (Windows cannot)."""
    if os.name == "posix":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
