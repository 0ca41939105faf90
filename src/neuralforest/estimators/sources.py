"""The model that a user brings: what is trained of it, and its out-of-sample predictions, by which it is stacked.

Trees that are averaged are trained. Large ones are cut back for that, because the weights of a network grow with the
square of the leaves. A sum of trees (boosting, BART) is kept as it is and stacked with the network of the default
forest, which takes a fraction of the time of training its own trees jointly. `stacking=None` or `training="joint"`
train its trees. In all these cases the whole model stays a base model.
"""

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuralforest._frames import TableEncoder
from neuralforest.convert import convert
from neuralforest.ensemble import TreeEnsemble
from neuralforest.estimators import forests, validation
from neuralforest.estimators.categories import aligned
from neuralforest.estimators.cross_fitting import CrossValidationSplit, fold_models, pair_models
from neuralforest.estimators.ensemble_forest import EnsembleForest
from neuralforest.estimators.rows import FitRows, warn_of_lost_digits
from neuralforest.exceptions import CostWarning, InvalidParameterError
from neuralforest.network import ForestNetwork
from neuralforest.network.cutting import cut_back, first_trees
from neuralforest.network.stacking import stackable
from neuralforest.selection import (
    OutOfSamplePredictions,
    Selected,
    out_of_sample_predictions,
    validation_predictions,
)
from neuralforest.selection.learning_curve import as_of_all_rows, probabilities_as_of_all_rows
from neuralforest.selection.source import SOURCE
from neuralforest.training import TrainingData
from neuralforest.training.evaluation import all_hard

if TYPE_CHECKING:
    from neuralforest.estimators._steps import FitSteps, Split

_LEAVES = 64  # of a tree that is trained; larger ones are cut back
_FEWEST_ROWS = 50  # on which copies of a model are compared
_TREES = 30  # networks; more of them are hardly more accurate in a stack with the whole forest


class Source(NamedTuple):
    """A given model that is stacked with a network."""

    model: Any  # fitted
    network: ForestNetwork  # hard
    predictions: OutOfSamplePredictions


class CutForest(EnsembleForest):
    """The first trees of a forest, cut back, with the rows that each was grown on."""

    def __init__(self, forest: Any = None) -> None:
        self.forest = forest

    @classmethod
    def of(cls, forest: Any, ensemble: TreeEnsemble) -> "CutForest":
        result = cls(forest)
        result.ensemble_, result.n_features_in_ = ensemble, ensemble.n_features
        if ensemble.classes is not None:
            result.classes_ = np.array(ensemble.classes)
        return result

    @property
    def bootstrap(self) -> bool:
        return forests.has_out_of_bag_rows(self.forest)

    @property
    def estimators_samples_(self) -> list[NDArray[np.int64]]:
        assert self.ensemble_ is not None
        return list(self.forest.estimators_samples_[: self.ensemble_.n_trees])

    @property
    def estimators_(self) -> list[Any]:
        """The trees as they were grown, whose seeds determine their rows."""
        assert self.ensemble_ is not None
        return list(self.forest.estimators_[: self.ensemble_.n_trees])

    def __getattr__(self, name: str) -> Any:
        if name in ("_n_samples", "_seeds", "_sample_weight") and "forest" in vars(self):
            value = getattr(self.forest, name)
            return value[: self.ensemble_.n_trees] if name == "_seeds" and self.ensemble_ is not None else value
        raise AttributeError(name)


def is_kept_whole(estimator: "FitSteps", forest: Any) -> bool:
    """Return whether a given model is kept as it is, and stacked with the network of the default forest."""
    if estimator.forest is None or estimator.stacking is None or estimator.training != "auto":
        return False
    return forests.is_sum(forest)


def kept_whole(estimator: "FitSteps", table: FitRows, forest: Any, fitted: bool, seed: int) -> Source | None:
    """Fit a model that is kept as it is, and predict rows that it has not seen; None where it cannot be stacked."""
    split = estimator._split(table, fitted, forest)
    if fitted:
        (validation.warn_of_refit if isinstance(split, CrossValidationSplit) else validation.warn_of_seen_rows)(
            forest, split, table
        )
    model = _on_all_rows(estimator, table, forest, fitted, split.fit, seed)
    network = converted(estimator, model, table)
    estimator.forest_ = model
    estimator._check_source(network, table)
    if network.classes is None and network.link != "identity":
        return None
    if isinstance(split, CrossValidationSplit):
        predictions = _of_folds(estimator, table, forest, split, seed)
        if network.classes is not None:
            y = estimator._columns(network, table.target)
            y = np.hstack([1 - y, y]) if y.shape[1] == 1 else y  # a model with a logit link has one output
            return Source(model, network, probabilities_as_of_all_rows(predictions, y))
        return Source(model, network, _of_all_rows(estimator, predictions, network, table, forest, split, seed))
    return Source(model, network, _predictions([network], [split.validation], table))


def _of_folds(
    estimator: "FitSteps", table: FitRows, forest: Any, split: CrossValidationSplit, seed: int
) -> OutOfSamplePredictions:
    """Return what copies of a model, fitted without a fold, predict for the rows of the fold."""
    forest = forests.prepare_forest(forest, seed, estimator.n_jobs)
    copies = fold_models(forest, table, split, *_columns(estimator))
    return _predictions([converted(estimator, each, table) for each in copies], split.folds, table)


def _predictions(
    networks: Sequence[ForestNetwork], parts: Sequence[NDArray[np.int64]], table: FitRows
) -> OutOfSamplePredictions:
    """Return what each network predicts for its rows, in the order of the rows."""
    rows = np.concatenate(parts)
    prediction = np.concatenate(
        [each.prediction(each.check_X(table.X[part])) for each, part in zip(networks, parts, strict=True)]
    )
    order = np.argsort(rows, kind="stable")
    rows, prediction = rows[order], prediction[order]
    return OutOfSamplePredictions.of_all(rows, prediction, table.weight[rows])


def _of_all_rows(
    estimator: "FitSteps",
    predictions: OutOfSamplePredictions,
    network: ForestNetwork,
    table: FitRows,
    forest: Any,
    split: CrossValidationSplit,
    seed: int,
) -> OutOfSamplePredictions:
    """Return predictions of the copies for folds, corrected for the rows that they lack; those of classes as they are.

    Of classes, means of few trees are corrected for these, and both corrections together would be too uncertain.
    """
    if network.classes is not None or network.link != "identity":
        return predictions
    y = estimator._columns(network, table.target)
    if len(predictions.row) < _FEWEST_ROWS:
        return as_of_all_rows(predictions, None, y, len(split.folds))
    forest = forests.prepare_forest(forest, seed, estimator.n_jobs)
    copies, parts = pair_models(forest, table, split, *_columns(estimator))
    of_fewer_rows = _predictions([converted(estimator, each, table) for each in copies], parts, table)
    return as_of_all_rows(predictions, of_fewer_rows, y, len(split.folds))


def partly_trained(
    estimator: "FitSteps",
    forest: Any,  # as it was given
    fitted: bool,
    whole: TreeEnsemble,
    trained: Selected,
    data: TrainingData,
    table: FitRows,
    split: "Split",
    seed: int,
) -> Source | None:
    """Return a given model whose network holds only a part of it: cut trees, or copies of it that were fitted on folds.

    None where the network is made of the whole model.
    """
    in_folds = isinstance(split, CrossValidationSplit)
    if estimator.forest is None or not (in_folds or isinstance(estimator.forest_, CutForest)):
        return None
    if in_folds and (estimator.stacking is None or trained.network.link == "probit"):
        return None
    if whole.aggregation == "sum":
        predictions = validation_predictions(all_hard(trained.network), data, estimator.n_jobs)
    else:
        grown = estimator.forest_.forest if isinstance(estimator.forest_, CutForest) else estimator.forest_
        rows = split.training_rows(table, grown, whole.n_trees)[1]
        predictions = out_of_sample_predictions(((ForestNetwork(whole), rows),), data, estimator.n_jobs)
    if not isinstance(split, CrossValidationSplit):
        return Source(estimator.forest_.forest, ForestNetwork(whole), predictions)
    predictions = _of_all_rows(estimator, predictions, trained.network, table, forest, split, seed)
    model = _on_all_rows(estimator, table, forest, fitted, split.fit, seed)
    return Source(model, converted(estimator, model, table), predictions)


def trained_part(estimator: "FitSteps", whole: TreeEnsemble) -> TreeEnsemble:
    """Return the trees that become networks: all of a given forest, or the first ones, cut back, with a warning.

    `stacking=None` trains all trees, unless they are large.
    """
    largest = int(np.diff(whole.first_leaf).max())
    many = estimator.stacking is not None and whole.n_trees > _TREES
    if estimator.forest is None or whole.aggregation != "mean" or not (largest > _LEAVES or many):
        return whole
    part = cut_back(first_trees(whole, max(1, _TREES // whole.n_groups)), _LEAVES)
    cut = f", cut back from up to {largest} leaves to {_LEAVES}," if largest > _LEAVES else ""
    instead = f"give max_leaf_nodes={_LEAVES} and stacking=None" if cut else "use stacking=None"
    warnings.warn(
        f"{part.n_trees} of the {whole.n_trees} trees of {type(estimator.forest).__name__}{cut} are trained, and the "
        f"whole forest is stacked with their network: more takes longer, and is hardly more accurate; {instead} to "
        "train all trees",
        CostWarning,
        stacklevel=5,
    )
    estimator.forest_ = CutForest.of(estimator.forest_, part)
    return part


def again(estimator: "FitSteps", table: FitRows, split: "Split", are_same: bool) -> Source | None:
    """Return the model that a fitted network is stacked with, for more training; None where there is none."""
    network = estimator.network_
    stacked = [each.model for each in network.base_models if each.name == SOURCE]
    if not stacked:
        return None
    source = stacked[0]
    assert isinstance(source, ForestNetwork)
    rows = split.validation
    if len(rows):
        prediction = stackable(source, network.link, network.check_X(table.X[rows]))
        of_rows = OutOfSamplePredictions.of_all(rows, prediction, table.weight[rows])
        return Source(estimator._source_model, source, of_rows)
    if not are_same or estimator._source_predictions is None:
        raise InvalidParameterError(
            "warm_start of a model that is stacked with the given one needs rows that the latter has not seen, and "
            "its predictions are not part of a model file: pass X_val and y_val, use partial_fit, or fit anew"
        )
    return Source(estimator._source_model, source, estimator._source_predictions)


def in_terms_of(source: ForestNetwork, network: ForestNetwork) -> ForestNetwork:
    """Return the network of another forest as it is stacked with a source: both read rows in the same way."""
    e = source.ensemble
    return ForestNetwork(replace(network.ensemble, compare_dtype=e.compare_dtype, missing_range=e.missing_range))


def converted(estimator: "FitSteps", model: Any, table: FitRows) -> ForestNetwork:
    """Return a fitted model as a hard network, with the categories of the table."""
    options = forests.conversion_options(model, table, estimator._encoder)
    e = aligned(convert(model, **options).ensemble, estimator._encoder)
    names = tuple(getattr(estimator, "feature_names_in_", ()))
    if e.compare_dtype == "float32":
        warn_of_lost_digits(table.X, names)
    if e.feature_names == tuple(str(name).replace(" ", "_") for name in names):  # as LightGBM has them
        e = replace(e, feature_names=names)
    return ForestNetwork(e)


def _on_all_rows(
    estimator: "FitSteps", table: FitRows, forest: Any, fitted: bool, rows: NDArray[np.int64], seed: int
) -> Any:
    """Return a given model, fitted on all training rows unless it came fitted."""
    if fitted:
        return forest
    model = forests.prepare_forest(forest, seed, estimator.n_jobs)
    forests.grow(model, table, rows, *_columns(estimator))
    return model


def _columns(estimator: "FitSteps") -> tuple[NDArray[Any] | None, TableEncoder | None]:
    """Return the names of the features, and the encoder of categories."""
    return getattr(estimator, "feature_names_in_", None), estimator._encoder
