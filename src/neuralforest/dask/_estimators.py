"""DaskNeuralForestRegressor and DaskNeuralForestClassifier."""

import time
from copy import copy
from dataclasses import dataclass
from typing import Any, Self, TypeVar

import dask
import dask.array
import dask.dataframe
import numpy as np
from distributed import Client
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin, clone
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils.validation import check_is_fitted

from neuralforest.dask._cluster import client_of
from neuralforest.dask._fit import Result, fit
from neuralforest.dask._forests import check_forest
from neuralforest.dask._partitions import check_dimensions
from neuralforest.estimators import NeuralForestClassifier, NeuralForestRegressor, forests
from neuralforest.estimators._base import NeuralForest
from neuralforest.estimators._docs import with_parameters
from neuralforest.estimators.parameters import Contrast, Parameters, check_parameters
from neuralforest.estimators.summary import summary, write
from neuralforest.exceptions import InvalidParameterError
from neuralforest.persistence.stored_forest import StoredForest

_OWN = ("client", "max_rows_per_tree")
_FITTED = (
    "contrast_", "feature_names_in_", "forest_", "forest_loss_", "history_", "n_features_in_", "network_",
    "validation_loss_", "classes_",
)  # fmt: skip
_NOT_OFFERED = {
    "callback": (None, "workers cannot call functions of the client: watch Dask's dashboard"),
    "checkpoint": (None, "Dask repeats what a lost worker has done"),
    "stacking": (None, "base models would need the predictions of all networks for the same rows"),
    "training": (("auto", "independent"), "networks of single trees are what can be distributed; for joint training "
                 "of one network see docs/scaling.md"),
    "tune": ("all", "leaves and splits would be refitted on the rows of all trees together"),
    "validation": (("auto", "oob"), "each tree is validated on the rows of its sample that it leaves out"),
    "warm_start": (False, "continue with to_local() and partial_fit"),
}  # fmt: skip
_PARAMETERS = """client : distributed.Client, optional
    The client of the cluster; None is the current one.
max_rows_per_tree : int or None
    Rows of the sample that each tree is grown on, and its network trained and validated on; None for all rows. It takes
    the place of n_samples in the choice of the default forest.

Notes
-----
`training` must be "auto" or "independent", `tune` "all" and `stacking`, `callback`, `checkpoint` None; `validation`
cannot be "cv" or "fraction" and `warm_start` not True. The forest must be a RandomForest, ExtraTrees or Bagging, not
fitted, that leaves rows out. The threads of `n_jobs` are those of each task.
"""
Class = TypeVar("Class", bound=type)


def with_own_parameters(cls: Class) -> Class:
    """Describe the parameters of the local estimator, and those of a cluster, in a class's docstring."""
    cls = with_parameters(cls)
    if cls.__doc__ is not None:  # python -OO
        head, _, rest = cls.__doc__.partition("\nAttributes\n")
        parameters, _, notes = _PARAMETERS.partition("\nNotes\n")
        attributes, _, examples = rest.partition("\nExamples\n")
        body = f"{head.rstrip()}\n{parameters}\nAttributes\n{attributes.rstrip()}"
        cls.__doc__ = f"{body}\n\nNotes\n{notes}\nExamples\n{examples}"
    return cls


@dataclass(eq=False, repr=False, kw_only=True)
class DaskNeuralForest(Parameters):
    """The common part of the two estimators."""

    _local_class = NeuralForest
    _classifier = False

    stacking: str | None = None
    client: Client | None = None
    max_rows_per_tree: int | None = 200_000

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit on the cluster. Rows stay on the workers; the client gets statistics, trees and the trained network.

        Parameters
        ----------
        X : dask array (rows, features) or dask data frame
            In blocks of rows. NaN is a missing value. Columns of strings or of a categorical dtype hold categories.
        y : dask array, series or data frame
            With the partitions of X.
        sample_weight : dask array or series, optional

        Returns
        -------
        self
        """
        started = time.perf_counter()
        self._check_parameters()
        local = self._local_class(**self._local_parameters())
        result = fit(local, client_of(self.client), X, y, sample_weight, self.max_rows_per_tree)
        _complete(local, result)
        for name in _FITTED:
            self.__dict__.pop(name, None)  # of an earlier fit
            if hasattr(local, name):
                setattr(self, name, getattr(local, name))
        self._local = local
        if self.verbose:
            write(summary(local, time.perf_counter() - started))
        return self

    def to_local(self) -> NeuralForest:
        """Return the fitted model as an ordinary estimator, which needs no cluster."""
        check_is_fitted(self, "network_")
        return copy(self._local)

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Importances of the features in the model, (features,)."""
        return self.to_local().feature_importances_

    def _local_parameters(self) -> dict[str, Any]:
        return {name: value for name, value in self.get_params(deep=False).items() if name not in _OWN}

    def _check_parameters(self) -> None:
        parameters = self._local_parameters()
        check_parameters(parameters, self._classifier)
        for name, (allowed, reason) in _NOT_OFFERED.items():
            options = allowed if isinstance(allowed, tuple) else (allowed,)
            if parameters[name] not in options:
                words = " or ".join(map(repr, options))
                raise InvalidParameterError(f"{name} must be {words} on a cluster, got {parameters[name]!r}: {reason}")
        most = self.max_rows_per_tree
        if most is not None and (isinstance(most, bool) or not isinstance(most, (int, np.integer)) or most < 10):
            raise InvalidParameterError(
                f"max_rows_per_tree must be a whole number of at least 10, or None for all rows, got {most!r}"
            )
        forest = forests.source_of(self.forest, self._classifier)
        if forest is not None:
            check_forest(forest)

    def _blockwise(self, X: Any, method: str, columns: Any = None, dtype: Any = np.float64) -> Any:
        """Call a method of the local estimator on every block, when the result is computed.

        `columns` are those of the result, or None for one number a row.
        """
        model = dask.delayed(self.to_local(), pure=False)
        if isinstance(X, dask.dataframe.DataFrame):
            import pandas

            meta: Any = pandas.Series(np.zeros(0, dtype), name="prediction")
            if columns is not None:
                meta = pandas.DataFrame(np.zeros((0, len(columns)), dtype), columns=columns)
            return X.map_partitions(_predicted_frame, model, method, meta, meta=meta)
        if isinstance(X, dask.array.Array):
            check_dimensions(X)
            X = X.rechunk({1: -1}) if X.numblocks[1] > 1 else X
            shape = {"drop_axis": 1} if columns is None else {"chunks": (X.chunks[0], (len(columns),))}
            meta = np.zeros((0,) if columns is None else (0, 0), dtype)
            return X.map_blocks(_predicted, model, method, dtype=dtype, meta=meta, **shape)
        raise TypeError(
            f"X must be a dask array or a dask data frame, got {type(X).__name__}: for rows in memory, use to_local()"
        )

    def __sklearn_clone__(self) -> Self:
        parameters = self.get_params(deep=False) | {"client": None}
        copied = type(self)(**{name: clone(value, safe=False) for name, value in parameters.items()})
        return copied.set_params(client=self.client)  # a connection cannot be copied

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "network_")

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"client": None}  # a connection cannot be stored


def _predicted(X: NDArray[Any], model: NeuralForest, method: str) -> NDArray[Any]:
    return np.asarray(getattr(model, method)(X)) if len(X) else getattr(model, method)(np.zeros((1, X.shape[1])))[:0]


def _predicted_frame(X: Any, model: NeuralForest, method: str, meta: Any) -> Any:
    if not len(X):
        return meta
    values = getattr(model, method)(X)
    return type(meta)(values, index=X.index, **({"name": meta.name} if meta.ndim == 1 else {"columns": meta.columns}))


def _complete(local: NeuralForest, result: Result) -> None:
    """Give a local estimator what a fit leaves behind."""
    chosen, n_rows = result.chosen, int(result.statistics.n_rows.sum())
    local.network_, local.history_, local.contrast_ = chosen.network, chosen.history, result.contrast
    local.forest_loss_, local.validation_loss_ = chosen.forest_loss, chosen.validation_loss
    local._split_seed = result.split_seed
    accepts = True, True, not local._classifier
    local.forest_ = StoredForest.of(result.ensemble, None, n_rows, False, accepts)
    if isinstance(local, NeuralForestRegressor):
        low, high = result.statistics.target_low, result.statistics.target_high
        assert chosen.residuals is not None
        local._constant, local._residuals = np.where(low == high, low, np.nan), chosen.residuals


@with_own_parameters
@dataclass(eq=False, repr=False, kw_only=True)
class DaskNeuralForestRegressor(RegressorMixin, DaskNeuralForest):
    """`NeuralForestRegressor` on a Dask cluster, for rows that do not fit one machine.

    Each tree is grown on a sample of the rows, and its network trained and validated on the same worker. Results depend
    on the partitions and on `random_state`, not on the workers.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from neuralforest.dask import DaskNeuralForestRegressor
    >>> client = Client(processes=False, dashboard_address=":0")
    >>> X = da.random.default_rng(0).normal(size=(2_000, 4), chunks=(500, 4))
    >>> y = X[:, 0] * X[:, 1]
    >>> model = DaskNeuralForestRegressor(max_rows_per_tree=1_000, max_epochs=5, random_state=0).fit(X, y)
    >>> model.predict(X)
    dask.array<_predicted, shape=(2000,), dtype=float64, chunksize=(500,), chunktype=numpy.ndarray>
    >>> type(model.to_local()).__name__
    'NeuralForestRegressor'
    >>> client.close()
    """

    _local_class = NeuralForestRegressor

    def predict(self, X: Any) -> Any:
        """Predict the target, lazily: a dask array, or for a data frame a series with its index."""
        n_outputs = check_fitted_network(self).n_outputs
        return self._blockwise(X, "predict", None if n_outputs == 1 else range(n_outputs))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return R2; predictions and targets are computed, and come to the client."""
        computed = dask.compute(y, self.predict(X), sample_weight)
        return float(r2_score(*computed[:2], sample_weight=computed[2]))


@with_own_parameters
@dataclass(eq=False, repr=False, kw_only=True)
class DaskNeuralForestClassifier(ClassifierMixin, DaskNeuralForest):
    """`NeuralForestClassifier` on a Dask cluster, for rows that do not fit one machine.

    Each tree is grown on a sample of the rows, stratified by class, and its network trained and validated on the same
    worker. Results depend on the partitions and on `random_state`, not on the workers.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from neuralforest.dask import DaskNeuralForestClassifier
    >>> client = Client(processes=False, dashboard_address=":0")
    >>> X = da.random.default_rng(0).normal(size=(2_000, 4), chunks=(500, 4))
    >>> y = (X[:, 0] * X[:, 1] > 0).astype(int)
    >>> forest = RandomForestClassifier(10, max_leaf_nodes=32)
    >>> model = DaskNeuralForestClassifier(forest, max_rows_per_tree=500, max_epochs=3, random_state=0).fit(X, y)
    >>> model.predict_proba(X)
    dask.array<_predicted, shape=(2000, 2), dtype=float64, chunksize=(500, 2), chunktype=numpy.ndarray>
    >>> client.close()
    """

    _local_class = NeuralForestClassifier
    _classifier = True

    class_weight: Any = None
    contrast: Contrast = NeuralForestClassifier.contrast
    learning_rate: float | tuple[float, float, float] = NeuralForestClassifier.learning_rate
    schedule: str = NeuralForestClassifier.schedule

    def predict(self, X: Any) -> Any:
        """Return the most probable label for each row, lazily: a dask array, or for a data frame a series."""
        check_fitted_network(self)
        return self._blockwise(X, "predict", dtype=self.classes_.dtype)

    def predict_proba(self, X: Any) -> Any:
        """Return the probability of each class, lazily, (rows, classes), in the order of `classes_`."""
        check_fitted_network(self)
        return self._blockwise(X, "predict_proba", self.classes_)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy; predictions and labels are computed, and come to the client."""
        computed = dask.compute(y, self.predict(X), sample_weight)
        return float(accuracy_score(*computed[:2], sample_weight=computed[2]))


def check_fitted_network(estimator: DaskNeuralForest) -> Any:
    """Return the network of a fitted estimator."""
    check_is_fitted(estimator, "network_")
    return estimator.network_
