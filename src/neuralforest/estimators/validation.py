"""Which rows a network is trained on and which validate it: given, held out, or out-of-bag."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuralforest.estimators import forests
from neuralforest.estimators.rows import FitRows
from neuralforest.exceptions import InvalidParameterError
from neuralforest.training import SubnetworkRows


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
        counts = forests.bag_counts(forest, table.n_rows)
        bags = [np.flatnonzero(count) for count in counts]
        out_of_bag = [_every_other_first(np.flatnonzero((count == 0) & (table.weight > 0))) for count in counts]
        if not any(map(len, out_of_bag)):
            raise InvalidParameterError(
                "validation='oob' needs trees that leave rows of positive weight out, and none does, with n_samples = "
                f"{np.count_nonzero(table.weight)}; pass more rows, or X_val and y_val, or use validation='fraction'"
            )
        weight = np.ones(table.n_rows) if forests.draws_by_weight(forest) else table.weight
        drawn = [count[bag] * weight[bag] for count, bag in zip(counts, bags, strict=True)]
        weights = [table.weight[rows] for rows in out_of_bag]
        return SubnetworkRows.own(bags, drawn), SubnetworkRows.own(out_of_bag, weights)


def _every_other_first(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Order rows so that both halves of them (see `selection.guard`) are alike even where the table is sorted."""
    return np.concatenate([rows[::2], rows[1::2]])


def out_of_bag_is_chosen(validation: str, training: str, forest: Any, fitted: bool, n_rows: int) -> bool:
    """Decide between out-of-bag rows and a fraction of them, for the parameter `validation`.

    Where the forest was given fitted, it matters whether it was fitted on the n_rows of fit(X, y).
    """
    if validation == "fraction":
        return False
    if training != "independent" or not forests.has_out_of_bag_rows(forest):
        problem = f"training={training!r} and {' '.join(repr(forest).split())}"
    elif fitted and forests.n_rows_seen(forest) != n_rows:
        problem = f"{n_rows} rows for a forest that was fitted on {forests.n_rows_seen(forest)}"
    else:
        return True
    if validation == "oob":
        raise InvalidParameterError(
            "validation='oob' needs training='independent', a forest whose trees leave rows out (bootstrap=True) and "
            f"the rows that it was fitted on; got {problem}: pass X_val and y_val, or use validation='fraction'"
        )
    return False


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
