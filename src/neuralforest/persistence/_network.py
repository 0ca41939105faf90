"""A ForestNetwork as arrays and JSON, and back. Trees pass the checks of TreeEnsemble, the rest those below."""

from collections.abc import Iterable
from dataclasses import fields as fields_of
from dataclasses import replace
from typing import Any, get_args

import numpy as np

from neuralforest.ensemble import Aggregation, CompareDtype, Link, TreeEnsemble
from neuralforest.exceptions import InvalidEnsembleError, InvalidParameterError, ModelFileError
from neuralforest.network import ForestNetwork, LinearModel, ParameterLayout, Softening, StackedModel
from neuralforest.network.columns import InputColumns
from neuralforest.network.structure import Connectivity, build_structure
from neuralforest.network.subnetworks import Training, partition
from neuralforest.persistence._fields import ArrayFields, Arrays, Fields
from neuralforest.persistence._plain import restore_labels, store_labels

_SPLITS = {"feature": np.int32, "threshold": np.float64, "missing_left": np.bool_, "middle": np.int32}
_OFFSETS = ("first_split", "first_leaf", "groups")
_TREES = (*_SPLITS, *_OFFSETS, "value", "weight", "base_score")
_CATEGORIES = {"first_category": np.int64, "category_left": np.bool_}  # stored where a split tests a category
_AGGREGATION = {"aggregation": get_args(Aggregation), "link": get_args(Link)}
_OPTIONS = _AGGREGATION | {"compare_dtype": get_args(CompareDtype)}
_SOFT_OPTIONS = {"training": get_args(Training), "connectivity": get_args(Connectivity)}
_SOFT = [item.name for item in fields_of(Softening) if item.name not in _SOFT_OPTIONS]
_LINEAR = [item.name for item in fields_of(LinearModel)]


def store_network(network: ForestNetwork, arrays: Arrays) -> dict[str, Any]:
    """Add the arrays of a network to the others, and return the rest of it for the JSON."""
    e, soft = network.ensemble, network.soft
    _store_trees(e, arrays)
    if not np.isnan(e.missing_range).all():
        arrays["missing_range"] = e.missing_range
    if soft is not None:
        _store_arrays(soft, _SOFT, arrays)
    return {
        "n_features": int(e.n_features),
        "second_at_zero": bool(e.second_at_zero),
        "feature_names": None if e.feature_names is None else [str(name) for name in e.feature_names],
        "classes": None if e.classes is None else store_labels(e.classes, "classes", arrays),
        "categories": None if e.categories is None else _store_categories(e.categories, arrays),
        **{name: getattr(e, name) for name in _OPTIONS},
        "soft": None if soft is None else {name: getattr(soft, name) for name in _SOFT_OPTIONS},
        "base_models": [_store_base_model(each, i, arrays) for i, each in enumerate(network.base_models)],
        "temperature": float(network.temperature),
    }


def restore_network(fields: Fields, arrays: ArrayFields) -> ForestNetwork:
    """Return the network that `store_network` was given."""
    options = fields.choices(_OPTIONS) | {
        "n_features": fields.count("n_features"),
        "second_at_zero": fields.take("second_at_zero", bool),
        "classes": fields.optional("classes", lambda labels: restore_labels(labels, "classes", arrays)),
        "feature_names": fields.strings("feature_names"),
        "categories": _restore_categories(fields.take("categories", list, type(None)), arrays),
    }
    if arrays.holds("missing_range"):
        options["missing_range"] = arrays.take("missing_range", np.float64, (options["n_features"], 2))
    try:
        ensemble = TreeEnsemble(**_restore_trees(arrays), **options)
        soft = fields.optional("soft", lambda soft: _restore_softening(soft, arrays, ensemble))
        base_models = tuple(
            _restore_base_model(Fields(each, "a base model"), i, arrays, ensemble)
            for i, each in enumerate(fields.take("base_models", list))
        )
        temperature = fields.take("temperature", float)
        fields.close()
        return ForestNetwork(ensemble, soft, base_models, temperature)
    except InvalidEnsembleError as error:
        raise ModelFileError(f"its trees are not valid: {error}") from error
    except InvalidParameterError as error:
        raise ModelFileError(f"its parts do not fit together: {error}") from error


def _store_trees(e: TreeEnsemble, arrays: Arrays, prefix: str = "") -> None:
    _store_arrays(e, [*_TREES, *(_CATEGORIES if len(e.category_left) else ())], arrays, prefix)


def _store_categories(categories: tuple[Any, ...], arrays: Arrays) -> list[Any]:
    return [
        None if labels is None else store_labels(np.asarray(labels), f"categories.{i}", arrays)
        for i, labels in enumerate(categories)
    ]


def _restore_categories(stored: list[Any] | None, arrays: ArrayFields) -> tuple[Any, ...] | None:
    if stored is None:
        return None
    return tuple(
        None if labels is None else restore_labels(Fields(labels, "categories"), f"categories.{i}", arrays)
        for i, labels in enumerate(stored)
    )


def _store_arrays(source: object, names: Iterable[str], arrays: Arrays, prefix: str = "") -> None:
    arrays.update({prefix + name: np.asarray(getattr(source, name)) for name in names})


def _restore_trees(arrays: ArrayFields, prefix: str = "") -> dict[str, Any]:
    value = arrays.finite(prefix + "value", (None, None))
    categories: dict[str, Any] = dict.fromkeys(_CATEGORIES)
    if arrays.holds(prefix + "first_category"):
        categories = {name: arrays.take(prefix + name, dtype, (None,)) for name, dtype in _CATEGORIES.items()}
    return {
        **categories,
        **{name: arrays.take(prefix + name, dtype, (None,)) for name, dtype in _SPLITS.items()},
        **{name: arrays.offsets(prefix + name) for name in _OFFSETS},
        "value": value,
        "weight": arrays.finite(prefix + "weight", (len(value),)),
        "base_score": arrays.finite(prefix + "base_score", (value.shape[1],)),
    }


def _restore_softening(fields: Fields, arrays: ArrayFields, e: TreeEnsemble) -> Softening:
    options = fields.choices(_SOFT_OPTIONS)
    fields.close()
    first_tree = partition(e, options["training"], arrays.offsets("first_tree"))
    first, second = arrays.finite("contrast", (2,), positive=True).tolist()
    if max(first, second) > float(np.finfo(np.float32).max):
        raise ModelFileError("contrasts must fit into float32")
    center, parameters = arrays.finite("center", (None,)), arrays.finite("parameters", (None,), np.float32)
    # Inputs and connections are counted before any is allocated, and so are parameters: the structure has none.
    if len(center) < e.n_features:
        raise ModelFileError(f"array 'center' must be float64 of shape (inputs,), got {center.shape}")
    if InputColumns(e).first_weight[-1] > len(parameters):
        raise ModelFileError(f"array 'parameters' must be float32 of shape (parameters,), got {parameters.shape}")
    layout = ParameterLayout(build_structure(e, first_tree, options["connectivity"], (first, second)))
    inputs, outputs = (layout.structure.n_columns,), (e.n_outputs,)
    for name, array, size in (("center", center, inputs[0]), ("parameters", parameters, layout.size)):
        if len(array) != size:
            raise ModelFileError(f"array {name!r} must be {array.dtype} of shape ({size}), got {array.shape}")
    return Softening(
        contrast=(first, second),
        center=center,
        scale=arrays.finite("scale", inputs, positive=True),
        low=arrays.finite("low", inputs),
        high=arrays.finite("high", inputs),
        spread=arrays.finite("spread", inputs, positive=True),
        output_center=arrays.finite("output_center", outputs),
        output_scale=arrays.finite("output_scale", outputs, positive=True),
        first_tree=first_tree,
        parameters=parameters,
        hard=arrays.take("hard", np.bool_, (len(first_tree) - 1,)),
        **options,
    )


def store_trees_like(e: TreeEnsemble, arrays: Arrays, prefix: str) -> dict[str, Any]:
    """Store trees without what they have in common with those of the network."""
    _store_trees(e, arrays, prefix)
    return {name: getattr(e, name) for name in _AGGREGATION}


def restore_trees_like(e: TreeEnsemble, fields: Fields, arrays: ArrayFields, prefix: str) -> ForestNetwork:
    """Return the trees that `store_trees_like` was given, as a hard network; `e` are those of the network."""
    options = fields.choices(_AGGREGATION)
    fields.close()
    try:
        trees = ForestNetwork(replace(e, **_restore_trees(arrays, prefix), **options))
    except InvalidEnsembleError as error:
        raise ModelFileError(f"its trees are not valid: {error}") from error
    if trees.ensemble.n_outputs != e.n_outputs:
        raise ModelFileError(f"trees must have {e.n_outputs} outputs, got {trees.ensemble.n_outputs}")
    return trees


def _store_base_model(stacked: StackedModel, number: int, arrays: Arrays) -> dict[str, Any]:
    """Store a base model; trees without what they have in common with those of the network."""
    model, prefix = stacked.model, f"base_model.{number}."
    arrays[prefix + "stacking_weight"] = np.array([stacked.weight], np.float64)
    description = {"name": str(stacked.name), "kind": "linear", "is_fallback": bool(stacked.is_fallback)}
    if type(model) is LinearModel:
        _store_arrays(model, _LINEAR, arrays, prefix)
        return description
    if type(model) is not ForestNetwork:
        raise ModelFileError(
            f"a base model must be a LinearModel or a ForestNetwork to be saved, got {type(model).__name__}"
        )
    if model.soft is not None or model.base_models:
        raise ModelFileError(f"a base model must be a hard network without base models to be saved, got {model!r}")
    return description | {"kind": "trees"} | store_trees_like(model.ensemble, arrays, prefix)


def _restore_base_model(fields: Fields, number: int, arrays: ArrayFields, e: TreeEnsemble) -> StackedModel:
    prefix = f"base_model.{number}."
    name, is_fallback = fields.take("name", str), fields.take("is_fallback", bool)
    if fields.choice("kind", ("linear", "trees")) == "linear":
        shapes: dict[str, tuple[int, ...]] = dict.fromkeys(_LINEAR, (e.n_features,))
        shapes |= {"coef": (e.n_features, e.n_outputs), "intercept": (e.n_outputs,)}
        model: Any = LinearModel(**{part: arrays.finite(prefix + part, shape) for part, shape in shapes.items()})
    else:
        options = fields.choices(_AGGREGATION)
        model = ForestNetwork(replace(e, **_restore_trees(arrays, prefix), **options))
    fields.close()
    return StackedModel(name, model, float(arrays.finite(prefix + "stacking_weight", (1,))[0]), is_fallback)
