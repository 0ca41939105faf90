"""Which rows a network is trained on and which judge it: given, held out, or out-of-bag."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from neuralforest.exceptions import InvalidParameterError


@dataclass(frozen=True, eq=False)
class Split:
    """Rows of the table of a fit: first those of fit(X, y), then those of X_val, y_val."""

    fit: NDArray[np.int64]  # rows that the forest and the network learn from
    validation: NDArray[np.int64]  # rows that neither has seen; empty when each tree is judged out-of-bag

    @property
    def out_of_bag(self) -> bool:
        return not len(self.validation)


def choose_split(
    validation: str,
    fraction: float,
    n_rows: int,
    n_given: int,
    weight: NDArray[np.float64],
    labels: NDArray[np.generic] | None,
    seed: int,
) -> Split:
    """Decide on the rows.

    Parameters
    ----------
    validation : "oob" or "fraction"
        Ignored when validation rows were given.
    fraction : float
        Share of the rows that is held out.
    n_rows, n_given : int
        Rows of fit(X, y), and of X_val.
    weight : float64 array (n_rows + n_given,)
        Rows of weight 0 are never held out: they would judge nothing.
    labels : array (n_rows,), optional
        Classes to stratify by, where each has at least two rows.
    seed : int
    """
    rows = np.arange(n_rows)
    if n_given:
        return Split(rows, np.arange(n_rows, n_rows + n_given))
    if validation == "oob":
        return Split(rows, rows[:0])
    used = rows[weight[:n_rows] > 0]
    if len(used) < 2:
        raise InvalidParameterError(
            f"fit needs at least 2 rows of positive weight, one of them for validation, got n_samples = {len(used)}; "
            "pass X_val and y_val, or more rows"
        )
    strata = None
    if labels is not None:  # a class with a single row goes to the forest, which would not know it otherwise
        _, position, counts = np.unique(labels[used], return_inverse=True, return_counts=True)
        used, strata = used[counts[position] > 1], position[counts[position] > 1]
        if len(used) < 2:
            used, strata = rows[weight[:n_rows] > 0], None
    held_out = min(max(round(fraction * len(used)), 1), len(used) - 1)
    if strata is not None and min(held_out, len(used) - held_out) < len(np.unique(strata)):
        strata = None
    _, chosen = train_test_split(used, test_size=held_out, random_state=seed, stratify=strata)
    return Split(np.setdiff1d(rows, chosen), np.sort(chosen))
