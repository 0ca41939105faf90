"""An estimator as arrays and JSON, and back: its parameters where a file can hold them, and its fitted state."""

from contextlib import suppress
from dataclasses import fields as fields_of
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from neuralforest._frames import Column, TableEncoder
from neuralforest.ensemble import TreeEnsemble
from neuralforest.estimators import NeuralForestClassifier, NeuralForestRegressor, forests
from neuralforest.estimators._base import NeuralForest
from neuralforest.estimators.modes import training_of
from neuralforest.exceptions import ModelFileError
from neuralforest.network import ForestNetwork
from neuralforest.persistence._fields import ArrayFields, Arrays, Fields
from neuralforest.persistence._network import restore_network, restore_trees_like, store_network, store_trees_like
from neuralforest.persistence._plain import from_json, restore_labels, store_labels, to_json
from neuralforest.persistence.stored_forest import MAX_DRAWS, Bags, StoredForest
from neuralforest.selection.intervals import Residuals
from neuralforest.selection.source import SOURCE
from neuralforest.training import History

ESTIMATORS: dict[str, type[NeuralForest]] = {"regressor": NeuralForestRegressor, "classifier": NeuralForestClassifier}
"""The kinds of estimators, as a file names them; it names no class."""

_BINS = ("middle", "factor")  # of residuals in units of a learned scale
_SCALE = "error_scale."  # the prefix of the arrays of its trees
_NOT_STORED = ("forest", "callback", "checkpoint")


def store_estimator(estimator: NeuralForest, arrays: Arrays) -> dict[str, Any]:
    """Add the arrays of a fitted estimator to the others, and return the rest of it for the JSON."""
    check_is_fitted(estimator, "network_")
    names = getattr(estimator, "feature_names_in_", None)
    arrays["fit.contrast"] = np.array(estimator.contrast_, np.float64)
    arrays["fit.losses"] = np.array([estimator.forest_loss_, estimator.validation_loss_], np.float64)
    for item in fields_of(History):
        arrays[f"history.{item.name}"] = getattr(estimator.history_, item.name)
    labels = None
    if isinstance(estimator, NeuralForestClassifier):
        labels = store_labels(estimator.classes_, "fit.classes", arrays)
    else:
        arrays["fit.constant"] = estimator._constant
        for name in ("relative", "floor", "prior"):
            arrays[f"residuals.{name}"] = np.atleast_1d(getattr(estimator._residuals, name))
    return {
        "parameters": _plain_parameters(estimator),
        "forest": _store_forest(estimator, arrays),
        "feature_names": None if names is None else [str(name) for name in names],
        "classes": labels,
        "error_scale": _store_scale(estimator, arrays),
        "split_seed": int(estimator._split_seed),
        "rows_digest": estimator._rows_digest,
        "columns": None if estimator._encoder is None else _store_columns(estimator._encoder, arrays),
        "network": store_network(estimator.network_, arrays),
    }


def _store_columns(encoder: TableEncoder, arrays: Arrays) -> list[dict[str, Any]]:
    arrays |= {f"column.{i}.means": each.means for i, each in enumerate(encoder.columns) if each.means is not None}
    return [
        {"name": each.name, "categories": None if each.categories is None else each.categories.tolist()}
        for each in encoder.columns
    ]


def _restore_columns(stored: list[Any] | None, arrays: ArrayFields, n_features: int) -> TableEncoder | None:
    """Return the encoder of a table; categories must be sorted, because they are found by bisection."""
    if stored is None:
        return None
    columns = []
    for i, each in enumerate(stored):
        fields, means = Fields(each, f"column {i}"), None
        name, categories = fields.take("name", str), fields.strings("categories")
        fields.close()
        if arrays.holds(f"column.{i}.means"):
            means = arrays.finite(f"column.{i}.means", (len(categories or ()) + 1,))
        labels = None if categories is None else np.array(categories, np.str_)
        if labels is not None and (labels[1:] <= labels[:-1]).any():
            raise ModelFileError(f"the categories of column {i} must be different and in ascending order")
        columns.append(Column(name, labels, means))
    if len(columns) != n_features:
        raise ModelFileError(f"a table must have {n_features} columns, got {len(columns)}")
    return TableEncoder(tuple(columns))


def _plain_parameters(estimator: NeuralForest) -> dict[str, Any]:
    """Return the parameters that a file can hold; the others are restored as their defaults."""
    plain = {}
    for name, value in estimator.get_params(deep=False).items():
        if name not in _NOT_STORED:
            with suppress(ModelFileError):  # a RandomState: its default, None, is random as well
                plain[name] = to_json(value)
    return plain


def _store_forest(estimator: NeuralForest, arrays: Arrays) -> dict[str, Any]:
    forest, tags = estimator.forest_, get_tags(estimator)
    n_rows, bags = forests.n_rows_seen(forest), None
    training = training_of(estimator.training, estimator.network_.ensemble)
    if training == "independent" and n_rows is not None and forests.has_out_of_bag_rows(forest):
        is_stored = isinstance(forest, StoredForest)
        bags = forest._bags if is_stored else Bags.of(forest.estimators_samples_, forests.sample_seeds(forest), n_rows)
    if bags is not None:
        arrays["forest.bags"] = bags.drawn
    return {
        "given": estimator.forest is not None,
        "n_folds": int(estimator._n_folds),
        "n_rows": None if n_rows is None else int(n_rows),
        "n_drawn": None if bags is None else bags.n_drawn,
        "replacement": bags is None or bags.replacement,
        "draws_by_weight": forests.draws_by_weight(forest),
        "allow_nan": bool(tags.input_tags.allow_nan),
        "sparse": bool(tags.input_tags.sparse),
        "multi_output": bool(tags.target_tags.multi_output),
    }


def restore_estimator(kind: type[NeuralForest], fields: Fields, arrays: ArrayFields) -> NeuralForest:
    """Return the estimator that `store_estimator` was given."""
    network = restore_network(fields.inner("network"), arrays)
    estimator = kind(**_restore_parameters(kind, fields.take("parameters", dict)))
    is_soft = network.soft is not None or estimator.tune in ("leaves", "splits")  # whose networks are trees
    if not is_soft or (network.classes is not None) != kind._classifier:
        raise ModelFileError("an estimator must have a soft network for its own task")
    given, n_folds, forest = _restore_forest(fields.inner("forest"), arrays, network.ensemble)
    estimator._n_folds = n_folds
    estimator.forest_, estimator._source_model, estimator._source_predictions = forest, None, None
    for each in network.base_models:
        if each.name == SOURCE and isinstance(each.model, ForestNetwork):
            estimator._source_model = StoredForest.of(each.model.ensemble, None, None, False, forest._accepts)
    estimator.forest = estimator.source_ if given else None
    estimator.network_, estimator.n_features_in_ = network, network.ensemble.n_features
    names = fields.strings("feature_names")
    if names is not None:
        if len(names) != estimator.n_features_in_:
            raise ModelFileError(f"feature_names must be {estimator.n_features_in_} names, got {len(names)}")
        estimator.feature_names_in_ = np.array(names, object)
    labels = fields.optional("classes", lambda labels: restore_labels(labels, "fit.classes", arrays))
    scale = fields.optional("error_scale", lambda scale: restore_trees_like(network.ensemble, scale, arrays, _SCALE))
    if kind._classifier:
        estimator.classes_ = _check_labels(labels, network)
    else:
        _restore_regression(estimator, arrays, network.ensemble.n_outputs, scale)
    estimator._split_seed = fields.count("split_seed", 0)
    estimator._rows_digest = fields.take("rows_digest", str, type(None))
    estimator._uncertainty = None
    columns = fields.take("columns", list, type(None))
    estimator._encoder = _restore_columns(columns, arrays, network.ensemble.n_features)
    fields.close()
    estimator.contrast_ = tuple(arrays.finite("fit.contrast", (2,), positive=True).tolist())
    losses = arrays.take("fit.losses", np.float64, (2,))
    if np.isnan(losses).any():
        raise ModelFileError("array 'fit.losses' must not hold NaN")
    estimator.forest_loss_, estimator.validation_loss_ = losses.tolist()
    estimator.history_ = _restore_history(arrays, network.n_subnetworks)
    return estimator


def _restore_parameters(kind: type[NeuralForest], values: dict[str, Any]) -> dict[str, Any]:
    unknown = sorted(set(values) - (set(kind().get_params(deep=False)) - set(_NOT_STORED)))
    if unknown:
        raise ModelFileError(
            f"{kind.__name__} has no parameter {unknown[0]!r:.99}: a newer neuralforest may read the file"
        )
    parameters = {name: from_json(value) for name, value in values.items()}
    if type(parameters.get("n_jobs")) not in (int, type(None)):
        raise ModelFileError(f"the parameter n_jobs must be an integer or None, got {parameters['n_jobs']!r:.80}")
    return parameters


def _restore_forest(fields: Fields, arrays: ArrayFields, e: TreeEnsemble) -> tuple[bool, int, StoredForest]:
    n_folds = fields.count("n_folds", 0)
    given, draws_by_weight = fields.take("given", bool), fields.take("draws_by_weight", bool)
    n_rows, n_drawn = fields.take("n_rows", int, type(None)), fields.take("n_drawn", int, type(None))
    replacement = fields.take("replacement", bool)
    accepts = fields.take("allow_nan", bool), fields.take("sparse", bool), fields.take("multi_output", bool)
    fields.close()
    bags = None
    if n_drawn is not None:
        if n_rows is None or not (0 < n_rows < 2**31 and 0 < n_drawn <= MAX_DRAWS * n_rows):
            raise ModelFileError(
                f"a bootstrap sample must be of at least one row, and at most {MAX_DRAWS} times the number of rows"
            )
        drawn = _check_bags(arrays.any("forest.bags"), e.n_trees, n_rows, n_drawn)
        if not replacement and n_drawn > n_rows:
            raise ModelFileError(f"{n_drawn} of {n_rows} rows cannot be drawn without replacement")
        bags = Bags(drawn, n_rows, n_drawn, replacement)
    return given, n_folds, StoredForest.of(e, bags, n_rows, draws_by_weight, accepts)


def _check_bags(drawn: NDArray[Any], n_trees: int, n_rows: int, n_drawn: int) -> NDArray[Any]:
    is_seeds = drawn.dtype == np.int64 and drawn.shape == (n_trees,) and ((drawn >= 0) & (drawn < 2**32)).all()
    is_counts = drawn.dtype in (np.uint8, np.uint16, np.uint32) and drawn.shape == (n_trees, n_rows)
    if not is_seeds and not (is_counts and drawn.sum(axis=1, dtype=np.uint64).max() <= n_drawn):
        raise ModelFileError("array 'forest.bags' must hold a seed for each tree, or how often each tree drew each row")
    return drawn


def _check_labels(labels: Any, network: ForestNetwork) -> Any:
    assert network.classes is not None
    try:
        rising = labels is not None and bool((labels[1:] > labels[:-1]).all())
    except TypeError:  # strings and numbers together
        rising = False
    if not rising or len(labels) != len(network.classes):
        raise ModelFileError(f"a classifier must have {len(network.classes)} labels in ascending order")
    return labels


def _store_scale(estimator: NeuralForest, arrays: Arrays) -> dict[str, Any] | None:
    """Store the model of the size of errors, where prediction intervals have one."""
    if not isinstance(estimator, NeuralForestRegressor) or estimator._residuals.scale is None:
        return None
    for name in _BINS:
        arrays[f"residuals.{name}"] = np.asarray(getattr(estimator._residuals, name))
    return store_trees_like(estimator._residuals.scale.ensemble, arrays, _SCALE)


def _restore_regression(
    estimator: NeuralForest, arrays: ArrayFields, n_outputs: int, scale: ForestNetwork | None
) -> None:
    constant = arrays.take("fit.constant", np.float64, (n_outputs,))
    relative = arrays.finite("residuals.relative", (None, n_outputs))
    if np.isinf(constant).any() or not len(relative) or (np.diff(relative, axis=0) < 0).any():
        raise ModelFileError("constants must not be infinite, and residuals must be sorted, at least one of them")
    prior = float(arrays.finite("residuals.prior", (1,))[0])
    if prior < 0:
        raise ModelFileError(f"array 'residuals.prior' must not be negative, got {prior:g}")
    floor = arrays.finite("residuals.floor", (n_outputs,), positive=True)
    bins = {}
    if scale is not None:
        bins = {name: arrays.finite(f"residuals.{name}", (n_outputs, None), positive=True) for name in _BINS}
        middle, factor = bins.values()
        if not middle.size or middle.shape != factor.shape or (np.diff(middle, axis=1) < 0).any():
            raise ModelFileError("the bins of residuals must have sorted middles and a factor each, at least one")
    estimator._constant, estimator._residuals = constant, Residuals(relative, floor, prior, scale, **bins)


def _restore_history(arrays: ArrayFields, n_subnetworks: int) -> History:
    seconds = arrays.finite("history.seconds", (None,))
    epochs = len(seconds)
    history = History(
        training_loss=arrays.take("history.training_loss", np.float64, (epochs, n_subnetworks)),
        validation_loss=arrays.take("history.validation_loss", np.float64, (epochs + 1, n_subnetworks)),
        forest_loss=arrays.take("history.forest_loss", np.float64, (n_subnetworks,)),
        best_epoch=arrays.take("history.best_epoch", np.int64, (n_subnetworks,)),
        seconds=seconds,
    )
    if ((history.best_epoch < -1) | (history.best_epoch > epochs)).any():
        raise ModelFileError(f"best epochs must be from -1 to {epochs}")
    return history
