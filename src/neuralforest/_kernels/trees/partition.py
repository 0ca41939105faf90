"""Rows of a node parted by a split, in place: those that go left before those that go right, both in their order."""

import numpy as np

from neuralforest._kernels.jit import part


@part
def part_row(row, left, rows, middle, waiting, n_waiting):  # type: ignore[no-untyped-def]
    """Put a row behind those that go left, or let it wait; return where both now end.

    It is written to both, and one of them forgets it: a branch would be taken at random.
    """
    rows[np.uint64(middle)] = row
    waiting[np.uint64(n_waiting)] = row
    return middle + left, n_waiting + (not left)


@part
def append_waiting(rows, middle, waiting, n_waiting):  # type: ignore[no-untyped-def]
    """Put the rows that go right behind the others."""
    for i in range(n_waiting):
        rows[middle + i] = waiting[i]
