"""Products with the matrix of leaf memberships, (rows, leaves of all trees), which is never stored."""

from neuralforest._kernels.jit import kernel


@kernel
def add_values(leaf, column, value, out):  # type: ignore[no-untyped-def]
    """Add the values of the leaves of each row, (leaves, outputs), to `out` (rows, outputs).

    `leaf` (rows, trees) counts the leaves of all trees; `column` (trees,) is the output of each tree, -1 for all.
    """
    n_outputs = out.shape[1]
    for i in range(len(leaf)):
        for tree in range(leaf.shape[1]):
            k, c = leaf[i, tree], column[tree]
            if c >= 0:
                out[i, c] += value[k, c]
            else:
                for o in range(n_outputs):
                    out[i, o] += value[k, o]


@kernel
def add_rows(leaf, column, row_value, out):  # type: ignore[no-untyped-def]
    """Add the numbers of each row, (rows, outputs), to those of its leaves in `out` (leaves, outputs)."""
    n_outputs = row_value.shape[1]
    for i in range(len(leaf)):
        for tree in range(leaf.shape[1]):
            k, c = leaf[i, tree], column[tree]
            if c >= 0:
                out[k, c] += row_value[i, c]
            else:
                for o in range(n_outputs):
                    out[k, o] += row_value[i, o]
