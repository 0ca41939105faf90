"""Taking entries out of a file one by one, each checked for its type, until nothing is left."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from neuralforest.exceptions import ModelFileError

Value = TypeVar("Value")
Arrays = dict[str, NDArray[Any]]
Shape = tuple[int | None, ...]


class Fields:
    """A JSON object of a file; `where` is its name in messages."""

    def __init__(self, value: Any, where: str) -> None:
        if type(value) is not dict:
            raise ModelFileError(f"{where} must be a JSON object")
        self._left, self._where = dict(value), where

    def take(self, name: str, *types: type) -> Any:
        """Return an entry of one of these types; a bool is not an int."""
        if name not in self._left:
            raise ModelFileError(f"{self._where} must have {name!r}")
        value = self._left.pop(name)
        if type(value) not in types:
            expected = " or ".join("null" if kind is type(None) else kind.__name__ for kind in types)
            raise ModelFileError(f"{name!r} of {self._where} must be of the type {expected}, got {value!r:.80}")
        return value

    def choice(self, name: str, allowed: Sequence[str]) -> Any:
        """Return an entry that is one of these strings."""
        value = self.take(name, str)
        if value not in allowed:
            raise ModelFileError(f"{name!r} of {self._where} must be one of {', '.join(allowed)}, got {value!r:.80}")
        return value

    def choices(self, allowed: dict[str, tuple[str, ...]]) -> dict[str, Any]:
        """Return entries that are each one of some strings."""
        return {name: self.choice(name, strings) for name, strings in allowed.items()}

    def count(self, name: str, least: int = 1, most: int = 2**31 - 1) -> int:
        """Return an entry that is an integer in a range."""
        value = self.take(name, int)
        if not least <= value <= most:
            raise ModelFileError(f"{name!r} of {self._where} must be from {least} to {most}, got {value!r:.20}")
        return int(value)

    def strings(self, name: str) -> tuple[str, ...] | None:
        """Return an entry that is a list of strings, or null."""
        values = self.take(name, list, type(None))
        if values is not None and not all(type(value) is str for value in values):
            raise ModelFileError(f"{name!r} of {self._where} must be a list of strings")
        return None if values is None else tuple(values)

    def inner(self, name: str) -> "Fields":
        return Fields(self.take(name, dict), f"{name!r} of {self._where}")

    def optional(self, name: str, read: Callable[["Fields"], Value]) -> Value | None:
        """Return the result of `read` for an entry, or None where the entry is null."""
        value = self.take(name, dict, type(None))
        return None if value is None else read(Fields(value, f"{name!r} of {self._where}"))

    def close(self) -> None:
        if self._left:
            raise ModelFileError(f"{self._where} has unknown entries: {', '.join(map(repr, sorted(self._left)[:5]))}")


class ArrayFields:
    """The arrays of a file."""

    def __init__(self, arrays: Arrays) -> None:
        self._left = dict(arrays)

    def any(self, name: str) -> NDArray[Any]:
        """Return an array of any dtype and shape."""
        if name not in self._left:
            raise ModelFileError(f"the array {name!r} is missing")
        return self._left.pop(name)

    def holds(self, name: str) -> bool:
        return name in self._left

    def take(self, name: str, dtype: Any, shape: Shape) -> NDArray[Any]:
        """Return an array of this dtype and shape; None stands for any length."""
        array = self.any(name)
        fits = len(shape) == array.ndim and all(map(lambda want, got: want in (None, got), shape, array.shape))
        if array.dtype != dtype or not fits:
            sizes = ", ".join("any" if size is None else str(size) for size in shape)
            raise ModelFileError(
                f"array {name!r} must be {np.dtype(dtype).name} of shape ({sizes}), got {array.dtype} of {array.shape}"
            )
        return array

    def finite(self, name: str, shape: Shape, dtype: Any = np.float64, positive: bool = False) -> NDArray[Any]:
        """Return an array of finite numbers."""
        array = self.take(name, dtype, shape)
        if not np.isfinite(array).all() or (positive and not (array > 0).all()):
            raise ModelFileError(f"array {name!r} must hold finite numbers{' above 0' if positive else ''} only")
        return array

    def offsets(self, name: str) -> NDArray[np.int64]:
        """Return offsets that rise from 0. Neighbours are compared: a difference of int64 can overflow."""
        array = self.take(name, np.int64, (None,))
        if len(array) < 2 or array[0] != 0 or (array[1:] < array[:-1]).any():
            raise ModelFileError(f"array {name!r} must hold at least two offsets that rise from 0")
        return array

    def close(self) -> None:
        if self._left:
            raise ModelFileError(f"the array {min(self._left)!r:.99} is unknown")
