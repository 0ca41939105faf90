"""Model files of other libraries, by their endings. Their trees are checked by `TreeEnsemble`, whatever a file holds.

XGBoost and CatBoost read files in C++, and a forged one can end the process or take all memory. They read in a process
of their own, with limited memory.
"""

import json
import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from neuralforest._extras import missing_extra
from neuralforest.ensemble import TreeEnsemble
from neuralforest.exceptions import InvalidEnsembleError, NeuralForestError, NotFittedError, UnsupportedModelError
from neuralforest.readers import read_ensemble
from neuralforest.readers.skops import read_skops

ENDINGS = {".json": "XGBoost", ".ubj": "XGBoost", ".txt": "LightGBM", ".cbm": "CatBoost", ".skops": "scikit-learn"}
"""The endings of model files, and their libraries."""

_LEAST_MEMORY, _MEMORY_FACTOR = 2**33, 200  # bytes, and bytes for each byte of a file
_OTHER_JSON = {
    "features_info": "a model of CatBoost: save it with save_model('model.cbm')",
    "tree_info": "a dump of a model of LightGBM: save it with booster.save_model('model.txt')",
}


def read_model_file(path: str) -> tuple[str, TreeEnsemble]:
    """Return what a model file holds, in words, and its trees."""
    library = ENDINGS.get(Path(path).suffix.lower())
    if library is None:
        endings = ", ".join(f"{ending} ({name})" for ending, name in ENDINGS.items())
        raise _refusal(path, f"the name of the file must end in one of {endings}, which determines the library")
    if library == "scikit-learn":
        model = read_skops(path)
        with _errors_name(path, library):
            return type(model).__name__, read_ensemble(model)
    with open(path, "rb") as file:
        data = file.read()
    _check_content(path, data)
    if library == "LightGBM":
        return "LightGBM model", _read(path, library)
    try:
        with ProcessPoolExecutor(1, get_context("spawn"), _confine, (len(data),)) as pool:
            return f"{library} model", pool.submit(_read, path, library).result()
    except BrokenProcessPool as error:
        raise _refusal(path, f"it is damaged: {library} ended without an error while it read the file") from error


def _check_content(path: str, data: bytes) -> None:
    """Refuse a file whose content cannot be that of its ending, and sizes that the file cannot hold."""
    if path.lower().endswith(".json"):
        try:
            content = json.loads(data)
        except (ValueError, RecursionError) as error:
            raise _refusal(path, "it is not a JSON file") from error
        if not isinstance(content, dict) or "learner" not in content:
            keys = content if isinstance(content, dict) else ()
            other = "no model of XGBoost, whose save_model('model.json') writes one"
            raise _refusal(path, f"it is {next((text for key, text in _OTHER_JSON.items() if key in keys), other)}")
    elif path.lower().endswith(".txt"):
        if not data.startswith(b"tree"):
            raise _refusal(path, "it is no model of LightGBM, whose booster.save_model('model.txt') writes one")
        if b"\nend of trees" not in data:
            raise _refusal(path, "it is incomplete: save or copy it again")
        n_outputs = data.partition(b"\nnum_tree_per_iteration=")[2].partition(b"\n")[0]
        if not n_outputs.isdigit() or not 0 < int(n_outputs[:9]) <= max(data.count(b"\nTree="), 1):
            raise _refusal(path, f"it is damaged: num_tree_per_iteration is {n_outputs[:20]!r}")


def _read(path: str, library: str) -> TreeEnsemble:
    """Read a file, in a process of its own where the library is in C++."""
    try:
        reader: Any = import_module(f"neuralforest.readers.{library.lower()}")
    except ImportError as error:
        raise missing_extra(library.lower(), library.lower()) from error
    with _errors_name(path, library):
        ensemble: TreeEnsemble = reader.read_file(path)
        return ensemble


@contextmanager
def _errors_name(path: str, library: str) -> Iterator[None]:
    """Make every error a sentence about the file."""
    try:
        yield
    except (InvalidEnsembleError, NotFittedError, UnsupportedModelError) as error:
        raise _refusal(path, str(error)) from None
    except (NeuralForestError, OSError):
        raise
    except Exception as error:  # a forged file can cause any error
        reason = str(error).strip().partition("\n")[0][:200]
        raise _refusal(path, f"{library} cannot read it ({type(error).__name__}: {reason})") from None


def _confine(n_bytes: int) -> None:
    """Limit the memory of this process, where the system can, and its messages: a small file can state any size."""
    for stream in (1, 2):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
    with suppress(ImportError, ValueError, OSError):
        import resource

        limit = _LEAST_MEMORY + _MEMORY_FACTOR * n_bytes
        resource.setrlimit(resource.RLIMIT_AS, (limit, resource.getrlimit(resource.RLIMIT_AS)[1]))


def _refusal(path: str, reason: str) -> UnsupportedModelError:
    return UnsupportedModelError(f"{path!r} cannot be converted: {reason}")
