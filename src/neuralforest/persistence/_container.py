"""The file format: arrays and a JSON string in one file, with a checksum. Independent of models.

The layout is that of safetensors, so that any reader of that format shows the arrays:

    8 bytes     length of the header, little-endian
    header      JSON: {"__metadata__": {"sha256": ..., "neuralforest": the JSON}, "name of an array": {dtype, shape,
                data_offsets}, ...}, padded with spaces to a multiple of 8 bytes
    the rest    the arrays, end to end, little-endian

safetensors has no checksum. Ours is at a fixed position: the SHA-256 of the whole file, with its own 64 digits written
as zeros. It detects damage, not tampering: who forges a file can forge its checksum, so that everything in a file is
checked where it is used.
"""

import hashlib
import json
import math
import os
import stat
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from neuralforest._atomic import write_atomically
from neuralforest.exceptions import ModelFileError
from neuralforest.persistence._fields import Arrays

_START = b'{"__metadata__":{"sha256":"'
_CHECKSUM = slice(8 + len(_START), 8 + len(_START) + 64)
_ZEROS = b"0" * 64

MAX_HEADER = 16 * 2**20
"""Bytes. Parsed JSON takes many times its size in memory, and 100,000 column names need less than this."""
MAX_ARRAYS = 128

_DTYPES = {"BOOL": np.dtype("bool")} | {
    f"{kind}{8 * n_bytes}": np.dtype(f"<{kind.lower()}{n_bytes}")
    for kind, sizes in {"I": (1, 2, 4, 8), "U": (1, 2, 4, 8), "F": (2, 4, 8)}.items()
    for n_bytes in sizes
}
_NAMES = {dtype: name for name, dtype in _DTYPES.items()}


def write(path: str | os.PathLike[str], arrays: Arrays, text: str) -> None:
    """Write a file, atomically."""
    if len(arrays) > MAX_ARRAYS:
        raise ModelFileError(f"a file may hold {MAX_ARRAYS} arrays, got {len(arrays)}: use fewer base models")
    write_atomically(path, content(arrays, text))


def content(arrays: Arrays, text: str) -> Iterator[bytes | memoryview]:
    """Yield the bytes of a file in parts; the same arrays and text give the same bytes."""
    native = {name: np.ascontiguousarray(array, array.dtype.newbyteorder("<")) for name, array in arrays.items()}
    names = sorted(native, key=lambda name: (-native[name].dtype.itemsize, name))  # each is aligned
    entries, offset = {}, 0
    for name in names:
        array, begin = native[name], offset
        offset += array.nbytes
        entries[name] = {"dtype": _NAMES[array.dtype], "shape": list(array.shape), "data_offsets": [begin, offset]}
    metadata = {"sha256": _ZEROS.decode(), "neuralforest": text}
    header = json.dumps({"__metadata__": metadata} | entries, separators=(",", ":")).encode()
    header += b" " * (-len(header) % 8)
    if len(header) > MAX_HEADER:
        raise ModelFileError(
            f"names, labels and parameters must fit into {MAX_HEADER} bytes, got {len(header)}: shorten the names of "
            "features, labels or categories"
        )
    head = len(header).to_bytes(8, "little") + header
    parts = [native[name].reshape(-1).view(np.uint8).data for name in names]
    digest = hashlib.sha256(head)
    for part in parts:
        digest.update(part)
    yield head[: _CHECKSUM.start] + digest.hexdigest().encode() + head[_CHECKSUM.stop :]
    yield from parts


def read(path: str | os.PathLike[str]) -> tuple[Arrays, str]:
    """Read a file; any defect is a ModelFileError.

    Returns
    -------
    arrays : dict of str to array
        Of the shapes that the header states; together they fill the file.
    text : str
    """
    name = os.fspath(path)
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise ModelFileError(f"{name!r} is not a regular file: use a file that nf.save wrote")
    with open(path, "rb") as file:
        data = file.read()
    if data[8 : _CHECKSUM.start] != _START:
        state = "is empty" if not data else "is not a neuralforest model file"
        raise ModelFileError(f"{name!r} {state}: use a file that nf.save or 'neuralforest fit' wrote")
    view = memoryview(data)
    digest = hashlib.sha256(view[: _CHECKSUM.start])
    digest.update(_ZEROS)
    digest.update(view[_CHECKSUM.stop :])
    if digest.hexdigest().encode() != data[_CHECKSUM]:
        raise ModelFileError(f"{name!r} is damaged or incomplete, its checksum does not match: copy or save it again")
    try:
        return _unpack(view)
    except ModelFileError as error:
        raise ModelFileError(f"{name!r} is not a valid model file: {error}") from error


def _unpack(view: memoryview) -> tuple[Arrays, str]:
    length = int.from_bytes(view[:8], "little")
    if length > min(MAX_HEADER, len(view) - 8):
        raise ModelFileError(f"the header must be at most {MAX_HEADER} bytes and inside the file, got {length}")
    header = parse_json(bytes(view[8 : 8 + length]))
    metadata = header.pop("__metadata__")
    if sorted(metadata) != ["neuralforest", "sha256"] or type(metadata["neuralforest"]) is not str:
        raise ModelFileError("__metadata__ must hold the strings 'sha256' and 'neuralforest' only")
    if len(header) > MAX_ARRAYS:
        raise ModelFileError(f"a file may hold {MAX_ARRAYS} arrays, got {len(header)}")
    body = view[8 + length :]
    entries = {name: _entry(name, entry, len(body)) for name, entry in header.items()}
    ranges = sorted((begin, end) for _, _, begin, end in entries.values())
    if any(end != begin for (_, end), (begin, _) in pairwise([(0, 0), *ranges, (len(body), len(body))])):
        raise ModelFileError("the arrays must fill the file without gaps or overlaps")
    arrays = {}
    for name, (dtype, shape, begin, end) in entries.items():
        data = np.frombuffer(body[begin:end], dtype)
        if dtype == np.bool_ and (data.view(np.uint8) > 1).any():
            raise ModelFileError(f"array {name!r} is boolean and must hold 0 and 1 only")
        arrays[name] = data.astype(dtype.newbyteorder("=")).reshape(shape)  # a copy: aligned and writable
    return arrays, metadata["neuralforest"]


def _entry(name: str, entry: Any, n_bytes: int) -> tuple[np.dtype[Any], tuple[int, ...], int, int]:
    """Return dtype, shape, begin and end of an array, after checking that they are consistent and inside the file."""
    if type(entry) is not dict or sorted(entry) != ["data_offsets", "dtype", "shape"]:
        raise ModelFileError("an array must be described by dtype, shape and data_offsets")
    dtype = _DTYPES.get(entry["dtype"]) if type(entry["dtype"]) is str else None
    shape, offsets = entry["shape"], entry["data_offsets"]
    if dtype is None or type(shape) is not list or type(offsets) is not list or len(shape) > 2 or len(offsets) != 2:
        raise ModelFileError(f"array {name!r:.99} must have a known dtype, at most two dimensions and two offsets")
    begin, end = offsets
    if not all(type(n) is int and 0 <= n < 2**48 for n in (*shape, begin, end)) or not begin <= end <= n_bytes:
        raise ModelFileError(f"array {name!r:.99} must lie inside the file")
    if end - begin != math.prod(shape) * dtype.itemsize:
        raise ModelFileError(f"array {name!r:.99} must have as many bytes as its shape needs")
    return dtype, tuple(shape), begin, end


def parse_json(data: bytes | str) -> dict[str, Any]:
    """Return a JSON object; infinities, repeated names and excessive nesting are refused."""
    try:
        text = data if isinstance(data, str) else data.decode()
        value = json.loads(text, object_pairs_hook=_without_repetition, parse_constant=_finite, parse_float=_finite)
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"its header is not plain JSON ({str(error)[:200]})") from error
    if type(value) is not dict:
        raise ModelFileError("its header must be a JSON object")
    return value


def _without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ValueError("a name is repeated in an object")
    return value


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text[:20]} is not a number")
    return number
