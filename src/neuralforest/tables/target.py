"""The target column: which task it implies, and its values as an estimator takes them."""

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from neuralforest.exceptions import TableError
from neuralforest.tables.columns import refuse, to_numbers, to_strings

if TYPE_CHECKING:
    import pandas

Task = Literal["classification", "regression"]

MAX_CLASSES = 10
"""An integer target with at most this many distinct values is a classification target."""


def guess_task(values: "pandas.Series") -> tuple[Task, str]:
    """Return the task that a target implies, and the reason: strings and few distinct integers are classes."""
    numbers, not_numeric = to_numbers(values)
    if values.dtype.kind == "b" or not_numeric.any():
        return "classification", f"the target holds {'booleans' if values.dtype.kind == 'b' else 'strings'}"
    known = np.unique(numbers[~np.isnan(numbers)])
    if (known != np.rint(known)).any():
        return "regression", "the target holds fractions"
    task: Task = "classification" if len(known) <= MAX_CLASSES else "regression"
    return task, f"the target holds {len(known)} distinct integers"


def read_target(values: "pandas.Series", task: Task) -> NDArray[Any]:
    """Return the target as an estimator takes it: numbers, or labels that are integers, booleans or strings."""
    if not len(values):
        raise TableError("the table must have at least one row, got none: add rows below the column names")
    refuse(values, values.isna().to_numpy(), "is the target and must not have missing values", "fill or drop such rows")
    numbers, not_numeric = to_numbers(values)
    if task == "regression":
        refuse(values, not_numeric, "must hold numbers for regression", "correct it, or choose the task classification")
        refuse(values, np.isinf(numbers), "must hold finite numbers", "correct it")
        return numbers
    if not_numeric.any():
        labels = np.array(to_strings(values).tolist())
    elif values.dtype.kind == "b":
        labels = np.asarray(values)
    else:
        fraction = ~(np.abs(numbers) < 2**53) | (numbers != np.rint(numbers))
        refuse(values, fraction, "must hold strings or integers for classification", "choose the task regression")
        labels = numbers.astype(np.int64)
    if (labels == labels[0]).all():
        raise TableError(
            f"column {values.name!r} must hold at least two classes, got only {labels[0]!s:.80}: add rows of another"
        )
    return labels
