"""Stable in-place partition of the rows of a node: rows that go left before rows that go right, both in their order."""

import numpy as np

from neuralforest._kernels.jit import part


@part
def assign_row(row, left, rows, n_left, right_rows, n_right):  # type: ignore[no-untyped-def]
    """Append a row to the left rows or to the buffer of the right rows; return the new ends of both.

    It is written to both, and only one end advances: a branch would be mispredicted half the time.
    """
    rows[np.uint64(n_left)] = row
    right_rows[np.uint64(n_right)] = row
    return n_left + left, n_right + (not left)


@part
def append_right(rows, middle, right_rows, n_right):  # type: ignore[no-untyped-def]
    """Copy the buffered right rows behind the left rows."""
    for i in range(n_right):
        rows[middle + i] = right_rows[i]
