"""The rows of a fit: one table, and for every subnetwork its training rows and its validation rows."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from neuralforest._kernels.network.arguments import Rows, middle_of
from neuralforest.exceptions import InvalidParameterError
from neuralforest.network import ForestNetwork

MOST_VALIDATION_ROWS = 250_000
"""Out-of-bag rows that are used: no decision gets better by more, and to predict them takes as long as an epoch."""
_ENTRIES_AT_ONCE = 1_000_000


@dataclass(frozen=True, eq=False)
class SubnetworkRows:
    """Row numbers and weights for every subnetwork, end to end; subnetworks may share theirs."""

    row: NDArray[np.int32]
    weight: NDArray[np.float32]
    begin: NDArray[np.int64]  # (subnetworks,)
    end: NDArray[np.int64]  # (subnetworks,)

    @classmethod
    def shared(cls, row: NDArray[np.integer], weight: NDArray[np.floating], n_subnetworks: int) -> "SubnetworkRows":
        """Give every subnetwork the same rows; rows of weight 0 are left out."""
        one = cls.own([row], [weight])
        return replace(one, begin=np.repeat(one.begin, n_subnetworks), end=np.repeat(one.end, n_subnetworks))

    @classmethod
    def own(cls, rows: Iterable[NDArray[np.integer]], weights: Iterable[NDArray[np.floating]]) -> "SubnetworkRows":
        """Give every subnetwork rows of its own; rows of weight 0 are left out.

        Both are taken one subnetwork after the other: of many rows, all of them at once would take much memory.
        """
        parts = [_of_positive_weight(row, weight) for row, weight in zip(rows, weights, strict=True)]
        row, weight = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        ends = np.cumsum([len(part[0]) for part in parts], dtype=np.int64)
        return cls(row, weight, np.concatenate([[0], ends[:-1]]).astype(np.int64), ends)

    def of(self, subnetwork: int) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """Return the rows of a subnetwork and their weights."""
        entries = slice(self.begin[subnetwork], self.end[subnetwork])
        return self.row[entries], self.weight[entries]

    @property
    def halves(self) -> "tuple[SubnetworkRows, SubnetworkRows]":
        """The first half of every subnetwork's rows, and the second."""
        middle = middle_of(self.begin, self.end)
        return replace(self, end=middle), replace(self, begin=middle)

    @property
    def are_shared(self) -> bool:
        """Whether all subnetworks have the same rows."""
        return bool((self.begin == self.begin[0]).all() and (self.end == self.end[0]).all())


def _of_positive_weight(
    row: NDArray[np.integer], weight: NDArray[np.floating]
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    single = weight.astype(np.float32)  # in which the smallest weights are 0, too
    return row[single > 0].astype(np.int32), single[single > 0]


@dataclass(frozen=True, eq=False)
class TrainingData:
    """All rows of a fit."""

    X: NDArray[np.floating]  # (rows, features) in the units of the source, in the dtype that its trees compare in
    y: NDArray[np.float64]  # (rows, outputs) in their own units; a column of 0 and 1 per class, or one for a log-odds
    fit: SubnetworkRows
    validation: SubnetworkRows

    def __post_init__(self) -> None:
        if (self.fit.end <= self.fit.begin).any():
            empty = int(np.flatnonzero(self.fit.end <= self.fit.begin)[0])
            raise InvalidParameterError(
                f"every subnetwork needs training rows of positive weight, and subnetwork {empty} has none"
            )
        if not len(self.validation.row):
            raise InvalidParameterError("validation needs at least one row of positive weight, got none")

    @property
    def training_rows(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The rows that any subnetwork is trained on, and the weight of each in all of them together."""
        weight = np.zeros(len(self.y))
        for start in range(0, len(self.fit.row), _ENTRIES_AT_ONCE):  # whose numbers numpy copies
            entries = slice(start, start + _ENTRIES_AT_ONCE)
            np.add.at(weight, self.fit.row[entries], self.fit.weight[entries])
        rows = np.flatnonzero(weight)  # all weights are positive
        return rows, weight[rows]

    def scaled_y(self, network: ForestNetwork) -> NDArray[np.float64]:
        """Return the targets in the units that the network is trained in."""
        return network.in_training_units(self.y)

    def kernel_rows(self, network: ForestNetwork) -> tuple[Rows, Rows]:
        """Return the training rows and the validation rows as the kernels take them."""
        X = network.scaled(self.X)
        y = np.ascontiguousarray(self.scaled_y(network), np.float32)
        return tuple(  # type: ignore[return-value]
            Rows(X, y, rows.row, rows.weight, rows.begin, rows.end) for rows in (self.fit, self.validation)
        )
