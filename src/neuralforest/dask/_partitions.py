"""Partitions: from Dask collections to lists of lazy blocks of rows, and from a block to checked rows."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import dask.array
import dask.dataframe
import numpy as np
import scipy.sparse
from dask.delayed import Delayed
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight

from neuralforest._frames import TableEncoder
from neuralforest.estimators._base import NeuralForest
from neuralforest.estimators.rows import read_X, refuse_target
from neuralforest.exceptions import InvalidParameterError


class Partitions(NamedTuple):
    """Lazy blocks of rows, in their order."""

    X: list[Delayed]
    y: list[Delayed]
    weight: list[Delayed | None]

    def __len__(self) -> int:
        return len(self.X)


class Rows(NamedTuple):
    """The checked rows of a partition."""

    X: NDArray[np.float32]  # (rows, features), categories as codes; trees compare in float32
    target: NDArray[Any]  # (rows,) or (rows, outputs): numbers or labels
    weight: NDArray[np.float64]  # (rows,), in the user's units, without class weights


def partitions_of(X: Any, y: Any, sample_weight: Any) -> Partitions:
    """Return the partitions of the collections of a fit, or refuse what does not fit together."""
    blocks, lengths = _blocks(X, "X", None), None
    if isinstance(X, dask.array.Array):
        check_dimensions(X)
        lengths = X.chunks[0]
    targets = _blocks(y, "y", lengths)
    weights: list[Any] = [None] * len(blocks)
    if sample_weight is not None:
        weights = _blocks(sample_weight, "sample_weight", lengths)
    for name, other in (("y", targets), ("sample_weight", weights)):
        if len(other) != len(blocks):
            raise InvalidParameterError(
                f"{name} must have the partitions of X, {len(blocks)}, got {len(other)}: repartition it"
            )
    return Partitions(blocks, targets, weights)


def check_dimensions(X: dask.array.Array) -> None:
    """Refuse an array that is no table."""
    if X.ndim != 2 or np.isnan(X.shape[1]):
        raise InvalidParameterError(f"X must have two dimensions, (rows, features), got the shape {X.shape}")


def _blocks(collection: Any, name: str, lengths: tuple[int, ...] | None) -> list[Any]:
    """Return the blocks of rows of a collection; arrays get the block lengths of X, where both are known."""
    if isinstance(collection, dask.array.Array):
        known = lengths is not None and not np.isnan([*lengths, *collection.chunks[0]]).any()
        if lengths is not None and known and collection.chunks[0] != lengths:
            if sum(lengths) != collection.shape[0]:
                raise InvalidParameterError(
                    f"{name} must have as many rows as X, {sum(lengths)}, got {collection.shape[0]}"
                )
            collection = collection.rechunk({0: lengths})
        if collection.ndim > 1 and collection.numblocks[1] > 1:
            collection = collection.rechunk({1: -1})
        return list(collection.to_delayed().ravel())
    if isinstance(collection, (dask.dataframe.DataFrame, dask.dataframe.Series)):
        # Not optimised: X and y of one table would be read apart, and with other partitions where columns are small.
        return list(collection.to_delayed(optimize_graph=False))
    raise TypeError(
        f"{name} must be a dask array or a dask data frame, got {type(collection).__name__}: for rows in memory, use "
        "the estimator without Dask, or dask.array.from_array"
    )


def categorical_columns(X: Any, categorical_features: Any) -> NDArray[np.bool_] | None:
    """Return which columns hold categories, by their dtypes or as chosen; None where all are numbers."""
    is_frame = isinstance(X, dask.dataframe.DataFrame)
    sample = X._meta if is_frame else np.empty((0, X.shape[1]))
    by_dtype = is_frame and isinstance(categorical_features, str)
    if by_dtype and (objects := [name for name in X.columns if sample[name].dtype == object]):
        raise InvalidParameterError(
            f"columns must have a dtype that says whether they hold numbers or categories, got object for {objects}: "
            "use astype('string'), 'category' or a number"
        )
    encoder = TableEncoder.learn(sample, categorical_features)
    return None if encoder is None else np.array([each.categories is not None for each in encoder.columns])


@contextmanager
def errors_name(partition: int) -> Iterator[None]:
    """Add the number of the partition to the message of an error."""
    try:
        yield
    except (ValueError, TypeError) as error:
        kind = TypeError if isinstance(error, TypeError) else InvalidParameterError
        raise kind(f"partition {partition}: {error}") from error


def read_partition(estimator: NeuralForest, partition: int, X: Any, y: Any, weight: Any, reset: bool) -> Rows | None:
    """Check and encode the rows of a partition; None for one without rows.

    With `reset`, the estimator takes columns, categories and names from the partition; it is changed.
    """
    with errors_name(partition):
        lengths = [len(each) for each in (X, y, weight) if each is not None]
        if len(set(lengths)) > 1:
            raise ValueError(f"X, y and sample_weight must have the same number of rows, got {lengths}")
        if not len(X):
            return None
        numeric = not estimator._classifier
        refuse_target(y, numeric)
        rows, target = read_X(estimator, X, y=y, reset=reset, multi_output=numeric, y_numeric=numeric)
        if numeric:
            target = np.asarray(target, np.float64)
            target = target[:, 0] if target.ndim == 2 and target.shape[1] == 1 else target
        else:
            check_classification_targets(target)
        weight = _check_sample_weight(
            weight, rows, dtype=np.float64, ensure_non_negative=True, allow_all_zero_weights=True
        )
        with np.errstate(over="ignore"):
            single = np.ascontiguousarray(rows.toarray() if scipy.sparse.issparse(rows) else rows, np.float32)
        if np.isinf(single).any():
            raise ValueError(f"Input X contains infinity or a value too large for {single.dtype!r}.")
        return Rows(single, target, weight)
