"""A ForestNetwork as arrays and JSON, and back: it has passed the checks of TreeEnsemble, and those below."""

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from neuralforest.companion import Companion, Linear
from neuralforest.ensemble import Aggregation, CompareDtype, Link, TreeEnsemble
from neuralforest.exceptions import InvalidEnsembleError, InvalidParameterError, ModelFileError
from neuralforest.network import ForestNetwork
from neuralforest.persistence._fields import ArrayFields, Arrays, Fields
from neuralforest.persistence._plain import restore_labels, store_labels
from neuralforest.softening import FAR, Softening
from neuralforest.structure import Connectivity, Training, build_structure

_SPLITS = {"feature": np.int32, "threshold": np.float64, "missing_left": np.bool_, "middle": np.int32}
_OFFSETS = ("first_split", "first_leaf")
_WORDS = {"aggregation": get_args(Aggregation), "link": get_args(Link), "compare_dtype": get_args(CompareDtype)}
_BESIDE = "companion.{}."
_BESIDE_2 = "companion."  # in files of format 2, which hold one companion at most: a mean of trees
_LINEAR = tuple(part.name for part in dataclasses.fields(Linear))
_SOFT_WORDS = {"training": get_args(Training), "connectivity": get_args(Connectivity)}


def store_network(network: ForestNetwork, arrays: Arrays) -> dict[str, Any]:
    """Put the arrays of a network among the others, and return the rest of it for the JSON."""
    e, soft = network.ensemble, network.soft
    _store_trees(e, arrays)
    if soft is not None:
        arrays["contrast"] = np.array(soft.contrast, np.float64)
        for name in ("center", "scale", "low", "high", "spread", "output_center", "output_scale", "parameters", "hard"):
            arrays[name] = getattr(soft, name)
    rest = {
        "n_features": int(e.n_features),
        "second_at_zero": bool(e.second_at_zero),
        "feature_names": None if e.feature_names is None else [str(name) for name in e.feature_names],
        "classes": None if e.classes is None else store_labels(e.classes, "classes", arrays),
        "soft": None if soft is None else {name: getattr(soft, name) for name in _SOFT_WORDS},
    } | {name: getattr(e, name) for name in _WORDS}
    if network.companions:
        rest["companions"] = [_store_companion(each, i, arrays) for i, each in enumerate(network.companions)]
    return rest


def _store_companion(companion: Companion, number: int, arrays: Arrays) -> str:
    """Put a companion among the arrays, and return its kind."""
    prefix = _BESIDE.format(number)
    arrays[prefix + "share"] = np.array([companion.share], np.float64)
    if isinstance(companion.source, Linear):
        arrays.update({prefix + name: getattr(companion.source, name) for name in _LINEAR})
        return "stopgap" if companion.stopgap else "linear"
    _store_trees(companion.source, arrays, prefix)  # all else they have in common with the network's own
    return f"{companion.source.aggregation} {companion.source.link}"


def _store_trees(e: TreeEnsemble, arrays: Arrays, prefix: str = "") -> None:
    for name in (*_SPLITS, "value", "weight", *_OFFSETS, "base_score"):
        arrays[prefix + name] = getattr(e, name)


def restore_network(fields: Fields, arrays: ArrayFields) -> ForestNetwork:
    """Return the network that `store_network` was given."""
    ensemble = _restore_ensemble(fields, arrays)
    soft = fields.optional("soft", lambda soft: _restore_softening(soft, arrays, ensemble))
    kinds = fields.texts("companions") if "companions" in fields else None
    prefixes = {_BESIDE.format(number): kind for number, kind in enumerate(kinds or [])}
    if _BESIDE_2 + "share" in arrays:
        prefixes = {_BESIDE_2: "mean identity"}
    companions = tuple(_restore_companion(kind, prefix, arrays, ensemble) for prefix, kind in prefixes.items())
    fields.close()
    with _refused():
        return ForestNetwork(ensemble, soft, companions)


def _restore_ensemble(fields: Fields, arrays: ArrayFields) -> TreeEnsemble:
    names = fields.texts("feature_names")
    rest: dict[str, Any] = {
        "n_features": fields.count("n_features"),
        "second_at_zero": fields.take("second_at_zero", bool),
        "classes": fields.optional("classes", lambda labels: restore_labels(labels, "classes", arrays)),
        "feature_names": None if names is None else tuple(names),
    }
    words = {name: fields.choice(name, allowed) for name, allowed in _WORDS.items()}
    trees = _restore_trees(arrays)
    with _refused():
        return TreeEnsemble(**trees, **rest, **words)


def _restore_trees(arrays: ArrayFields, prefix: str = "") -> dict[str, Any]:
    value = arrays.finite(prefix + "value", np.float64, (None, None))
    return {
        **{name: arrays.take(prefix + name, dtype, (None,)) for name, dtype in _SPLITS.items()},
        **{name: arrays.take(prefix + name, np.int64, (None,)) for name in _OFFSETS},
        "value": value,
        "weight": arrays.finite(prefix + "weight", np.float64, (len(value),)),
        "base_score": arrays.finite(prefix + "base_score", np.float64, (value.shape[1],)),
    }


def _restore_companion(kind: str, prefix: str, arrays: ArrayFields, e: TreeEnsemble) -> Companion:
    share = float(arrays.finite(prefix + "share", np.float64, (1,))[0])
    if kind in ("linear", "stopgap"):
        shapes = {"slope": (e.n_features, e.n_outputs), "intercept": (e.n_outputs,)}
        parts = {name: arrays.finite(prefix + name, np.float64, shapes.get(name, (e.n_features,))) for name in _LINEAR}
        with _refused():
            return Companion(Linear(**parts), share, stopgap=kind == "stopgap")
    aggregation, _, link = kind.partition(" ")
    if aggregation not in _WORDS["aggregation"] or link not in _WORDS["link"]:
        raise ModelFileError(
            f"a companion must be linear, a stopgap, or a mean or sum of trees and its link, got {kind!r:.80}"
        )
    trees: dict[str, Any] = _restore_trees(arrays, prefix) | {"aggregation": aggregation, "link": link}
    with _refused():
        return Companion(dataclasses.replace(e, **trees), share)


@contextmanager
def _refused() -> Iterator[None]:
    try:
        yield
    except InvalidEnsembleError as error:
        raise ModelFileError(f"its trees are not trees: {error}") from error
    except InvalidParameterError as error:
        raise ModelFileError(f"its parts do not fit together: {error}") from error


def _restore_softening(fields: Fields, arrays: ArrayFields, e: TreeEnsemble) -> Softening:
    words = {name: fields.choice(name, allowed) for name, allowed in _SOFT_WORDS.items()}
    fields.close()
    if e.aggregation == "sum" and words["training"] == "independent" and e.n_trees > 1:
        raise ModelFileError("trees that are added up cannot be trained independently")
    contrast = arrays.finite("contrast", np.float64, (2,), positive=True).tolist()
    if max(contrast) > float(np.finfo(np.float32).max):
        raise ModelFileError("the contrasts must be numbers that float32 can hold")
    # Its size is computed, not allocated: what the parameters need is known before they are looked at.
    structure = build_structure(e, words["training"], words["connectivity"], (contrast[0], contrast[1]))
    with _refused():
        return Softening(
            contrast=(contrast[0], contrast[1]),
            center=arrays.finite("center", np.float64, (e.n_features,)),
            scale=arrays.finite("scale", np.float64, (e.n_features,), positive=True),
            low=_restore_newer("low", arrays, np.full(e.n_features, -FAR)),
            high=_restore_newer("high", arrays, np.full(e.n_features, FAR)),
            spread=_restore_newer("spread", arrays, np.ones(e.n_features), positive=True),
            output_center=arrays.finite("output_center", np.float64, (e.n_outputs,)),
            output_scale=arrays.finite("output_scale", np.float64, (e.n_outputs,), positive=True),
            parameters=arrays.finite("parameters", np.float32, (int(structure.first_parameter[-1]),)),
            hard=arrays.take("hard", np.bool_, (len(structure.block_tree) - 1,)),
            **words,
        )


def _restore_newer(
    name: str, arrays: ArrayFields, default: NDArray[np.float64], positive: bool = False
) -> NDArray[np.float64]:
    """Return an array that files have from some format on: ranges of features from 5, their spreads from 6."""
    return arrays.finite(name, np.float64, default.shape, positive=positive) if name in arrays else default
