"""Which rows a network is trained on and which validate it: given, held out, or out-of-bag."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuralforest.convert import convert
from neuralforest.estimators import forests
from neuralforest.estimators.rows import FitRows
from neuralforest.exceptions import InvalidParameterError, ValidationWarning
from neuralforest.training import SubnetworkRows
from neuralforest.training.data import MOST_VALIDATION_ROWS


@dataclass(frozen=True, eq=False)
class TrainValidationSplit:
    """Training rows and validation rows of a fit."""

    fit: NDArray[np.int64]  # training rows of the forest and the network
    validation: NDArray[np.int64]  # held-out rows; empty when each tree is validated out-of-bag

    def training_rows(self, table: FitRows, forest: Any, n_subnetworks: int) -> tuple[SubnetworkRows, SubnetworkRows]:
        """Return the training rows and the validation rows of each subnetwork."""
        if len(self.validation):
            fit, validation = (
                SubnetworkRows.shared(part, table.weight[part], n_subnetworks) for part in (self.fit, self.validation)
            )
            return fit, validation
        counts, is_used = forests.bag_counts(forest, table.n_rows, n_subnetworks), _may_validate(table)
        is_weighted = table.weight > 0
        out_of_bag = [every_other_first(np.flatnonzero((count == 0) & is_used & is_weighted)) for count in counts]
        if not is_used.all() and all(count.max() == 1 for count in counts):
            counts = [np.maximum(count, (~is_used).astype(count.dtype)) for count in counts]
        if not any(map(len, out_of_bag)):
            raise InvalidParameterError(
                "validation='oob' needs trees that leave rows of positive weight out, and none does, with n_samples = "
                f"{np.count_nonzero(table.weight)}; pass more rows, or X_val and y_val, or use validation='fraction'"
            )
        weight = np.ones(table.n_rows) if forests.draws_by_weight(forest) else table.weight
        bags, drawn = map(np.flatnonzero, counts), (count[count > 0] * weight[count > 0] for count in counts)
        weights = (table.weight[rows] for rows in out_of_bag)
        return SubnetworkRows.own(bags, drawn), SubnetworkRows.own(out_of_bag, weights)


def _may_validate(table: FitRows) -> NDArray[np.bool_]:
    """Return whether each row may validate: of many rows, those of a sample that all trees share.

    The others train every network, even those of trees that were not grown on them.
    """
    if table.n_rows <= MOST_VALIDATION_ROWS:
        return np.ones(table.n_rows, np.bool_)
    sample = np.random.RandomState(0).permutation(table.n_rows)[:MOST_VALIDATION_ROWS]
    return np.asarray(np.bincount(sample, minlength=table.n_rows) > 0)


def every_other_first(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Order rows so that both halves of them (see `selection.guard`) are alike even where the table is sorted."""
    return np.concatenate([rows[::2], rows[1::2]])


def chosen_validation(
    validation: str, training: str, forest: Any, fitted: bool, n_rows: int | None, can_be_fitted: bool
) -> str:
    """Return "oob", "cv" or "fraction" for the parameter `validation`.

    Where the forest was given fitted, it matters whether it was fitted on the n_rows of fit(X, y); None are others. On
    rows that it has seen, nothing can be validated.
    """
    if validation == "fraction":
        return validation
    leaves_rows_out, n_seen = forests.has_out_of_bag_rows(forest), forests.n_rows_seen(forest)
    are_others = fitted and (n_rows is None or n_seen not in (None, n_rows))
    if validation != "cv" and training != "joint" and leaves_rows_out and not are_others:
        return "oob"
    if validation == "oob":
        problem = f"training={training!r} and {' '.join(repr(forest).split())}"
        if training != "joint" and leaves_rows_out:
            rows = "other rows" if n_rows is None else f"{n_rows} rows"
            problem = f"{rows} for a forest that was fitted on {n_seen}"
        raise InvalidParameterError(
            "validation='oob' needs training='independent', a forest whose trees leave rows out (bootstrap=True) and "
            f"the rows that it was fitted on; got {problem}: pass X_val and y_val, or use validation='cv'"
        )
    if validation == "auto" and (leaves_rows_out or are_others):
        return "fraction"
    if not can_be_fitted:
        convert(forest)  # what cannot be read has another problem
        raise InvalidParameterError(
            f"{type(forest).__name__} cannot be fitted again, and a model cannot be validated on rows that it may have "
            "seen: pass X_val and y_val that it has not seen; or, if it has seen none of the rows of X, use "
            "validation='fraction'"
        )
    return "cv"


def warn_of_refit(forest: Any, split: Any, table: FitRows) -> None:
    """Warn where copies of a fitted model are fitted, because its own rows cannot validate it."""
    warnings.warn(
        f"the given {type(forest).__name__} was fitted before, and cannot be compared with its network on rows that it "
        "has seen: copies of it are fitted on the folds of a cross-validation; pass X_val and y_val to avoid that",
        ValidationWarning,
        stacklevel=6,
    )


def warn_of_seen_rows(forest: Any, split: Any, table: FitRows) -> None:
    """Warn where rows of fit(X, y), which a fitted forest may have been fitted on, validate the network."""
    if len(split.validation) > 0 and table.X.shape[0] == table.n_rows:
        warnings.warn(
            "the forest was fitted before, and may have been fitted on the rows that are held out here to compare it "
            "with its network: pass X_val and y_val that it was not fitted on, or an unfitted forest",
            ValidationWarning,
            stacklevel=6,
        )


def warn_of_other_rows(split: Any, table: FitRows) -> None:
    """Warn where training goes on with other rows, and some of these, which may not be new, validate the network."""
    if len(split.validation) > 0 and table.X.shape[0] == table.n_rows:
        warnings.warn(
            "warm_start continues with other rows than those of the first fit; some of them are held out for "
            "validation, and must not have been among the rows of the first: pass X_val and y_val, or use partial_fit",
            ValidationWarning,
            stacklevel=6,
        )


def hold_out(table: FitRows, fraction: float, labels: NDArray[Any] | None, seed: int) -> TrainValidationSplit:
    """Hold a share of the rows out at random, of each class about the same share.

    Rows of weight 0 are never held out: they would not count. Of each class one row stays with the forest.
    """
    rows = np.arange(table.n_rows)
    order = np.random.RandomState(seed).permutation(rows[table.weight[: table.n_rows] > 0])
    group = np.zeros(len(order), np.int64) if labels is None else np.unique(labels[order], return_inverse=True)[1]
    sizes = np.bincount(group)
    together = np.argsort(group, kind="stable")
    rank = np.empty(len(order), np.int64)  # of each row among those of its class
    rank[together] = np.arange(len(order)) - (np.cumsum(sizes) - sizes)[group[together]]
    place = (rank + 0.5) / sizes[group]  # the first rows in this order are a fair share of every class
    candidates = np.flatnonzero(rank < sizes[group] - 1)
    if not len(candidates):
        kind = "" if labels is None else " of the same class"
        raise InvalidParameterError(
            f"fit needs at least 2 rows{kind} of positive weight, one of them for validation, got n_samples = "
            f"{len(order)}{'' if labels is None else f' in {len(sizes)} classes'}; pass more rows, or X_val and y_val"
        )
    n_held_out = min(max(round(fraction * len(order)), 1), len(candidates))
    chosen = order[candidates[np.argsort(place[candidates], kind="stable")[:n_held_out]]]
    return TrainValidationSplit(np.setdiff1d(rows, chosen), np.sort(chosen))
