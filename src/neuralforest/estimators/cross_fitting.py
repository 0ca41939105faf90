"""A source without out-of-bag rows is fitted once for every fold, on the rows of the other folds.

The networks of a fold are trained on the rows of its model and validated on the rows of the fold, so that every row
trains and validates. The forest, and the network, predict the mean over the folds.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Tags

from neuralforest._frames import TableEncoder
from neuralforest.convert import convert
from neuralforest.ensemble import TreeEnsemble, concatenated, offsets
from neuralforest.estimators import forests
from neuralforest.estimators.ensemble_forest import EnsembleForest
from neuralforest.estimators.folds import stratified_folds
from neuralforest.estimators.rows import FitRows
from neuralforest.estimators.validation import every_other_first
from neuralforest.training import SubnetworkRows

N_FOLDS = 5


@dataclass(frozen=True, eq=False)
class CrossValidationSplit:
    """The rows of a fit in folds."""

    fit: NDArray[np.int64]  # all rows
    folds: tuple[NDArray[np.int64], ...]  # the rows that each fold leaves out
    validation: NDArray[np.int64]  # held out from all folds: none

    def training_rows(self, table: FitRows, forest: Any, n_subnetworks: int) -> tuple[SubnetworkRows, SubnetworkRows]:
        """Return the training rows and the validation rows of each subnetwork; every fold has as many of them."""
        fold = np.arange(n_subnetworks) * len(self.folds) // n_subnetworks
        left_out = [every_other_first(self.folds[i]) for i in fold]
        training = [np.setdiff1d(self.fit, self.folds[i]) for i in fold]
        fit, validation = (
            SubnetworkRows.own(rows, [table.weight[part] for part in rows]) for rows in (training, left_out)
        )
        return fit, validation


def in_folds(table: FitRows, classifier: bool, seed: int, n_folds: int = N_FOLDS) -> CrossValidationSplit:
    """Share the rows among folds at random, those of each class evenly; of few rows, each is a fold."""
    n_folds = max(2, min(n_folds, int(np.count_nonzero(table.weight[: table.n_rows]))))
    rows, folds = np.arange(table.n_rows), stratified_folds(table, classifier, n_folds, seed)
    return CrossValidationSplit(rows, tuple(fold.validation for fold in folds), rows[:0])


def fold_models(
    forest: Any,  # unfitted
    table: FitRows,
    split: CrossValidationSplit,
    names: NDArray[Any] | None,
    encoder: TableEncoder | None,
) -> list[Any]:
    """Fit a copy of the forest for every fold; of trees that are averaged, as many in all folds as it has."""
    parts = [np.setdiff1d(split.fit, fold) for fold in split.folds]
    return [_copy(forest, table, rows, len(parts), names, encoder) for rows in parts]


def pair_models(
    forest: Any,  # unfitted
    table: FitRows,
    split: CrossValidationSplit,
    names: NDArray[Any] | None,
    encoder: TableEncoder | None,
) -> tuple[list[Any], list[NDArray[np.int64]]]:
    """Fit copies that lack two folds each, none in common, and return them with the rows that each lacks."""
    n_folds = len(split.folds)
    left_out = [np.concatenate(split.folds[fold : fold + 2]) for fold in range(0, n_folds - 1, 2)]
    parts = [np.setdiff1d(split.fit, pair) for pair in left_out]
    return [_copy(forest, table, rows, n_folds, names, encoder) for rows in parts], left_out


def _copy(
    forest: Any,
    table: FitRows,
    rows: NDArray[np.int64],
    n_folds: int,
    names: NDArray[Any] | None,
    encoder: TableEncoder | None,
) -> Any:
    """Fit a copy of the forest to some rows."""
    model = forests.copy_of(forest)
    if forests.is_averaged(model):
        model.set_params(n_estimators=-(-model.get_params(deep=False)["n_estimators"] // n_folds))
    forests.grow(model, table, rows, names, encoder)
    return model


class CrossFittedForest(EnsembleForest):
    """Models that were each fitted on all folds but one, and predict their mean.

    Attributes
    ----------
    models_ : list of estimators
        One for each fold.
    ensemble_ : TreeEnsemble
        Their trees; those of a fold are a group, or the draws of a BART model are groups.
    """

    def __init__(self, models: Any = ()) -> None:
        self.models = models

    @classmethod
    def grow(
        cls,
        forest: Any,  # unfitted
        table: FitRows,
        split: CrossValidationSplit,
        names: NDArray[Any] | None,
        encoder: TableEncoder | None,
    ) -> "CrossFittedForest":
        """Fit a copy of the forest for every fold."""
        result = cls()
        result.models_ = fold_models(forest, table, split, names, encoder)
        options = forests.conversion_options(forest, table, encoder)
        result.ensemble_ = _grouped([convert(model, **options).ensemble for model in result.models_])
        result.n_features_in_ = result.ensemble_.n_features
        if result.ensemble_.classes is not None:
            result.classes_ = np.array(result.ensemble_.classes)
        return result

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.estimator_type = "classifier" if hasattr(self, "classes_") else "regressor"
        return tags


def _grouped(ensembles: list[TreeEnsemble]) -> TreeEnsemble:
    """Return the mean of ensembles: their groups side by side, all with the base score of the first."""
    base_score, parts = ensembles[0].base_score, []
    for e in ensembles:
        value = e.value.copy()
        if e.aggregation == "sum":
            for first in e.groups[:-1]:
                value[e.first_leaf[first] : e.first_leaf[first + 1]] += e.base_score - base_score
        parts.append(replace(e, value=value, base_score=base_score))
    groups = offsets(np.concatenate([np.diff(e.groups) for e in ensembles]))
    return replace(concatenated(parts), groups=groups)
