"""A ForestNetwork as arrays and JSON, and back. Trees pass the checks of TreeEnsemble, the rest those below."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields as fields_of
from dataclasses import replace
from typing import Any, NamedTuple, get_args

import numpy as np

from neuralforest.ensemble import Aggregation, CompareDtype, Link, TreeEnsemble
from neuralforest.exceptions import InvalidEnsembleError, InvalidParameterError, ModelFileError
from neuralforest.network import (
    BaseModel,
    Connectivity,
    ForestNetwork,
    LinearModel,
    ParameterLayout,
    Softening,
    StackedModel,
    Training,
)
from neuralforest.network.structure import build_structure
from neuralforest.network.subnetworks import partition
from neuralforest.persistence._fields import ArrayFields, Arrays, Fields
from neuralforest.persistence._plain import restore_labels, store_labels

_SPLITS = {"feature": np.int32, "threshold": np.float64, "missing_left": np.bool_, "middle": np.int32}
_OFFSETS = ("first_split", "first_leaf", "groups")
_TREES = (*_SPLITS, *_OFFSETS, "value", "weight", "base_score")
_AGGREGATION = {"aggregation": get_args(Aggregation), "link": get_args(Link)}
_OPTIONS = _AGGREGATION | {"compare_dtype": get_args(CompareDtype)}
_SOFT_OPTIONS = {"training": get_args(Training), "connectivity": get_args(Connectivity)}
_LINEAR = tuple(item.name for item in fields_of(LinearModel))


def store_network(network: ForestNetwork, arrays: Arrays) -> dict[str, Any]:
    """Add the arrays of a network to the others, and return the rest of it for the JSON."""
    e, soft = network.ensemble, network.soft
    _store_arrays(e, _TREES, arrays)
    if soft is not None:
        _store_arrays(soft, [item.name for item in fields_of(soft) if item.name not in _SOFT_OPTIONS], arrays)
    return {
        "n_features": int(e.n_features),
        "second_at_zero": bool(e.second_at_zero),
        "feature_names": None if e.feature_names is None else [str(name) for name in e.feature_names],
        "classes": None if e.classes is None else store_labels(e.classes, "classes", arrays),
        **{name: getattr(e, name) for name in _OPTIONS},
        "soft": None if soft is None else {name: getattr(soft, name) for name in _SOFT_OPTIONS},
        "base_models": [_store_base_model(each, i, arrays) for i, each in enumerate(network.base_models)],
    }


def restore_network(fields: Fields, arrays: ArrayFields) -> ForestNetwork:
    """Return the network that `store_network` was given."""
    names = fields.strings("feature_names")
    options: dict[str, Any] = {name: fields.choice(name, allowed) for name, allowed in _OPTIONS.items()}
    options |= {
        "n_features": fields.count("n_features"),
        "second_at_zero": fields.take("second_at_zero", bool),
        "classes": fields.optional("classes", lambda labels: restore_labels(labels, "classes", arrays)),
        "feature_names": None if names is None else tuple(names),
    }
    with _refused():
        ensemble = TreeEnsemble(**_restore_trees(arrays), **options)
        soft = fields.optional("soft", lambda soft: _restore_softening(soft, arrays, ensemble))
        base_models = tuple(
            _restore_base_model(Fields(each, "a base model"), i, arrays, ensemble)
            for i, each in enumerate(fields.take("base_models", list))
        )
        fields.close()
        return ForestNetwork(ensemble, soft, base_models)


@contextmanager
def _refused() -> Iterator[None]:
    try:
        yield
    except InvalidEnsembleError as error:
        raise ModelFileError(f"its trees are not valid: {error}") from error
    except InvalidParameterError as error:
        raise ModelFileError(f"its parts do not fit together: {error}") from error


def _store_arrays(source: object, names: Any, arrays: Arrays, prefix: str = "") -> None:
    arrays.update({prefix + name: np.asarray(getattr(source, name)) for name in names})


def _restore_trees(arrays: ArrayFields, prefix: str = "") -> dict[str, Any]:
    value = arrays.finite(prefix + "value", np.float64, (None, None))
    return {
        **{name: arrays.take(prefix + name, dtype, (None,)) for name, dtype in _SPLITS.items()},
        **{name: arrays.offsets(prefix + name) for name in _OFFSETS},
        "value": value,
        "weight": arrays.finite(prefix + "weight", np.float64, (len(value),)),
        "base_score": arrays.finite(prefix + "base_score", np.float64, (value.shape[1],)),
    }


def _restore_softening(fields: Fields, arrays: ArrayFields, e: TreeEnsemble) -> Softening:
    options = {name: fields.choice(name, allowed) for name, allowed in _SOFT_OPTIONS.items()}
    fields.close()
    first_tree = partition(e, options["training"], arrays.offsets("first_tree"))
    if e.aggregation == "sum" and not np.array_equal(first_tree, e.groups):
        raise ModelFileError("trees that are summed must be one subnetwork, or one for each group")
    contrast = arrays.finite("contrast", np.float64, (2,), positive=True).tolist()
    if max(contrast) > float(np.finfo(np.float32).max):
        raise ModelFileError("contrasts must fit into float32")
    # The structure has no memory for parameters: their number is compared before any is allocated.
    layout = ParameterLayout(build_structure(e, first_tree, options["connectivity"], (contrast[0], contrast[1])))
    inputs, outputs = (e.n_features,), (e.n_outputs,)
    return Softening(
        contrast=(contrast[0], contrast[1]),
        center=arrays.finite("center", np.float64, inputs),
        scale=arrays.finite("scale", np.float64, inputs, positive=True),
        low=arrays.finite("low", np.float64, inputs),
        high=arrays.finite("high", np.float64, inputs),
        spread=arrays.finite("spread", np.float64, inputs, positive=True),
        output_center=arrays.finite("output_center", np.float64, outputs),
        output_scale=arrays.finite("output_scale", np.float64, outputs, positive=True),
        first_tree=first_tree,
        parameters=arrays.finite("parameters", np.float32, (layout.size,)),
        hard=arrays.take("hard", np.bool_, (len(first_tree) - 1,)),
        **options,
    )


# Base models: a kind for each type of model, with functions that store and restore it.


def _store_linear(model: LinearModel, prefix: str, arrays: Arrays) -> dict[str, Any]:
    _store_arrays(model, _LINEAR, arrays, prefix)
    return {}


def _restore_linear(fields: Fields, prefix: str, arrays: ArrayFields, e: TreeEnsemble) -> LinearModel:
    shapes = {"coef": (e.n_features, e.n_outputs), "intercept": (e.n_outputs,)}
    return LinearModel(
        **{name: arrays.finite(prefix + name, np.float64, shapes.get(name, (e.n_features,))) for name in _LINEAR}
    )


def _store_trees(model: ForestNetwork, prefix: str, arrays: Arrays) -> dict[str, Any]:
    """Store what the trees do not have in common with those of the network."""
    if model.soft is not None or model.base_models:
        raise ModelFileError(f"a base model must be a hard network without base models to be saved, got {model!r}")
    _store_arrays(model.ensemble, _TREES, arrays, prefix)
    return {name: getattr(model.ensemble, name) for name in _AGGREGATION}


def _restore_trees_model(fields: Fields, prefix: str, arrays: ArrayFields, e: TreeEnsemble) -> ForestNetwork:
    options = {name: fields.choice(name, allowed) for name, allowed in _AGGREGATION.items()}
    return ForestNetwork(replace(e, **_restore_trees(arrays, prefix), **options))


class _Kind(NamedTuple):
    model: type
    store: Callable[[Any, str, Arrays], dict[str, Any]]
    restore: Callable[[Fields, str, ArrayFields, TreeEnsemble], BaseModel]


_KINDS = {
    "linear": _Kind(LinearModel, _store_linear, _restore_linear),
    "trees": _Kind(ForestNetwork, _store_trees, _restore_trees_model),
}


def _store_base_model(stacked: StackedModel, number: int, arrays: Arrays) -> dict[str, Any]:
    kinds = [name for name, kind in _KINDS.items() if type(stacked.model) is kind.model]
    if not kinds:
        raise ModelFileError(
            f"a base model must be a LinearModel or a ForestNetwork to be saved, got {type(stacked.model).__name__}"
        )
    prefix = f"base_model.{number}."
    arrays[prefix + "stacking_weight"] = np.array([stacked.weight], np.float64)
    description = {"name": str(stacked.name), "kind": kinds[0], "is_fallback": bool(stacked.is_fallback)}
    return description | _KINDS[kinds[0]].store(stacked.model, prefix, arrays)


def _restore_base_model(fields: Fields, number: int, arrays: ArrayFields, e: TreeEnsemble) -> StackedModel:
    prefix = f"base_model.{number}."
    name, is_fallback = fields.take("name", str), fields.take("is_fallback", bool)
    model = _KINDS[fields.choice("kind", tuple(_KINDS))].restore(fields, prefix, arrays, e)
    fields.close()
    weight = float(arrays.finite(prefix + "stacking_weight", np.float64, (1,))[0])
    return StackedModel(name, model, weight, is_fallback)
