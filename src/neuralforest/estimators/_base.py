"""What both estimators share: from rows to a forest, its network, training and the guard."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import Tags, check_random_state, get_tags
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, has_fit_parameter, validate_data

from neuralforest.convert import convert
from neuralforest.estimators import forests, scaling
from neuralforest.estimators.report import epoch_lines, summary
from neuralforest.estimators.validation import Split, choose_split
from neuralforest.exceptions import InvalidParameterError
from neuralforest.importance import feature_importances
from neuralforest.network import ForestNetwork
from neuralforest.training import BlockRows, Checkpoint, Settings, Trained, TrainingData, guard, train
from neuralforest.training.loop import Callback

Contrast = tuple[float, float] | Sequence[tuple[float, float]]


@dataclass(frozen=True, eq=False)
class Table:
    """The rows of a fit, those for validation behind the others."""

    X: Any  # dense or sparse (rows, features)
    target: NDArray[Any]  # numbers or labels, as the forest takes them
    weight: NDArray[np.float64]  # (rows,)
    weighted: bool  # whether the user gave weights
    n_rows: int  # rows without those of X_val


class NeuralForest(BaseEstimator):  # type: ignore[misc]
    """The common part of NeuralForestRegressor and NeuralForestClassifier."""

    _classifier = False

    def __init__(
        self,
        forest: Any = None,
        *,
        training: str = "independent",
        connectivity: str = "full",
        contrast: Contrast = ((1.0, 1.0), (3.0, 1.0), (10.0, 1.0)),
        learning_rate: float | tuple[float, float, float] = 0.003,
        schedule: str = "one_cycle",
        batch_size: int = 32,
        max_epochs: int = 100,
        weight_decay: float = 0.0,
        loss: str = "auto",
        loss_parameter: float | None = None,
        validation: str = "auto",
        validation_fraction: float = 0.25,
        n_iter_no_change: int | None = None,
        standardize: bool = True,
        folded: bool = False,
        bound: float | None = None,
        warm_start: bool = False,
        callback: Callback | None = None,
        checkpoint: Checkpoint | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.forest = forest
        self.training = training
        self.connectivity = connectivity
        self.contrast = contrast
        self.learning_rate = learning_rate
        self.schedule = schedule
        self.batch_size = batch_size
        self.max_epochs = max_epochs
        self.weight_decay = weight_decay
        self.loss = loss
        self.loss_parameter = loss_parameter
        self.validation = validation
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.standardize = standardize
        self.folded = folded
        self.bound = bound
        self.warm_start = warm_start
        self.callback = callback
        self.checkpoint = checkpoint
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        X_val: ArrayLike | None = None,
        y_val: ArrayLike | None = None,
        sample_weight_val: ArrayLike | None = None,
    ) -> Self:
        """Grow the forest, unless a fitted one was given, then train its network.

        Parameters
        ----------
        X : array-like or sparse matrix (rows, features)
            NaN is a missing value where the forest takes them.
        y : array-like (rows,) or (rows, outputs)
        sample_weight : array-like (rows,), optional
        X_val, y_val, sample_weight_val : optional
            Rows that judge the network. Neither it nor a forest grown here sees them.

        Returns
        -------
        self
        """
        started = time.perf_counter()
        seeds = check_random_state(self.random_state).randint(np.iinfo(np.int32).max, size=3)
        settings = self._settings(int(seeds[2]))
        table = self._table(X, y, sample_weight, (X_val, y_val, sample_weight_val))
        if self.warm_start and hasattr(self, "network_"):
            return self._resume(table, settings, seeds, started)
        forest, split = self._forest_and_split(table, seeds)
        if forest is not self.forest:
            _fit_forest(forest, table, split)
        network = convert(forest)
        self.forest_ = forest
        data = self._training_data(network, table, split)
        best: Trained | None = None
        for contrast in self._contrasts():
            trained = self._train(self._soften(network, contrast, table, split), data, settings)
            if best is None or trained.validation_loss < best.validation_loss:
                best, self.contrast_ = trained, contrast
        assert best is not None
        return self._keep(best, data, started)

    def partial_fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None, n_epochs: int = 1) -> Self:
        """Go on training the network on new rows; the forest stays as it is.

        A tree that was kept as it was, because its network was no better, is trained along, and gives way to its network
        once that is the better one on the new rows. When nothing has been fitted yet, this is `fit`.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.
        n_epochs : int
            Passes over the rows.
        """
        if not hasattr(self, "network_"):
            return self.fit(X, y, sample_weight)
        seed = check_random_state(self.random_state).randint(np.iinfo(np.int32).max)
        settings = replace(self._settings(int(seed)), max_epochs=n_epochs, schedule="constant", n_iter_no_change=None)
        table = self._table(X, y, sample_weight, (None, None, None), reset=False)
        rows = BlockRows.shared(np.arange(table.n_rows), table.weight, self.network_.n_blocks)
        data = TrainingData(self.network_.check_X(table.X), self._columns(table.target), rows, rows)
        trained = self._train(self.network_, data, settings, keep_last=True)
        self.network_, self.history_ = trained.network, trained.history
        return self

    # The steps of a fit.

    def _settings(self, seed: int) -> Settings:
        if self.validation not in ("auto", "oob", "fraction"):
            raise InvalidParameterError(f"validation must be 'auto', 'oob' or 'fraction', got {self.validation!r}")
        if not 0 < self.validation_fraction < 1:
            raise InvalidParameterError(f"validation_fraction must be between 0 and 1, got {self.validation_fraction!r}")
        return Settings(
            max_epochs=self.max_epochs,
            batch_size=self.batch_size,
            learning_rate=self.learning_rate,
            schedule=self.schedule,  # type: ignore[arg-type]
            weight_decay=self.weight_decay,
            n_iter_no_change=self.n_iter_no_change,
            bound=self.bound,
            seed=seed,
        )

    def _contrasts(self) -> list[tuple[float, float]]:
        """Return the contrasts to try: one pair, or several of which the best on validation is kept."""
        pairs = np.atleast_2d(np.asarray(self.contrast, dtype=np.float64))
        if pairs.ndim != 2 or pairs.shape[1] != 2 or not len(pairs):
            raise InvalidParameterError(
                f"contrast must be a pair of positive numbers, or several pairs to choose from, got {self.contrast!r}"
            )
        return [(float(first), float(second)) for first, second in pairs]

    def _table(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None, given: tuple[Any, Any, Any], reset: bool = True
    ) -> Table:
        """Check the rows, and put those for validation behind the others."""
        X, target = self._check_rows(X, y, reset=reset)
        n_rows = X.shape[0]
        weights = [_check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)]
        if given[0] is not None:
            if given[1] is None:
                raise InvalidParameterError("X_val needs y_val, got X_val alone: pass both or neither")
            X_val, y_val = self._check_rows(given[0], given[1], reset=False)
            weights.append(_check_sample_weight(given[2], X_val, dtype=np.float64, ensure_non_negative=True))
            stack = scipy.sparse.vstack if scipy.sparse.issparse(X) else np.vstack
            X, target = stack([X, X_val]), np.concatenate([target, y_val])
        elif given[1] is not None or given[2] is not None:
            raise InvalidParameterError("y_val and sample_weight_val need X_val, got none: pass all or none of them")
        for name, weight in zip(("sample_weight", "sample_weight_val"), weights, strict=False):
            if not weight.any():
                raise InvalidParameterError(f"{name} must have a positive entry, got zeros only")
        weight = self._reweighted(target, np.concatenate(weights), n_rows)
        weighted = sample_weight is not None or getattr(self, "class_weight", None) is not None
        return Table(X, target, weight, weighted, n_rows)

    def _check_rows(self, X: ArrayLike, y: ArrayLike, reset: bool) -> tuple[Any, NDArray[Any]]:
        allow_nan = get_tags(self).input_tags.allow_nan
        X, y = validate_data(
            self,
            X,
            y,
            reset=reset,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            ensure_all_finite="allow-nan" if allow_nan else True,
            multi_output=not self._classifier,
            y_numeric=not self._classifier,
        )
        return X, self._check_target(y, reset)

    def _forest_and_split(self, table: Table, seeds: NDArray[np.int64]) -> tuple[Any, Split]:
        """Return the forest, fitted if it was given so, and the rows that it and its network learn from."""
        forest = self.forest
        fitted = forest is not None and forests.is_fitted(forest)
        if forest is None:
            forest = forests.default_forest(self._classifier, table.X.shape[1])
        if not fitted:
            forest = forests.prepare_forest(forest, int(seeds[0]), self.n_jobs)
        possible = self.training == "independent" and forests.has_out_of_bag_rows(forest)
        if fitted and self.validation == "auto":
            possible = possible and forests.n_rows_seen(forest) == table.n_rows
        validation = self.validation
        if validation == "auto":
            validation = "oob" if possible else "fraction"
        elif validation == "oob" and not possible:
            raise InvalidParameterError(
                "validation='oob' needs training='independent' and a forest whose trees leave rows out (bootstrap=True), "
                f"got training={self.training!r} and {forest!r}: use validation='fraction'"
            )
        given = table.X.shape[0] - table.n_rows
        labels = table.target[: table.n_rows] if self._classifier else None
        split = choose_split(
            validation, self.validation_fraction, table.n_rows, given, table.weight, labels, int(seeds[1])
        )
        return forest, split

    def _training_data(self, network: ForestNetwork, table: Table, split: Split) -> TrainingData:
        X, y = network.check_X(table.X), self._columns(table.target)
        n_blocks = network.ensemble.n_trees if self.training == "independent" else 1
        if not split.out_of_bag:
            rows = (BlockRows.shared(part, table.weight[part], n_blocks) for part in (split.fit, split.validation))
            return TrainingData(X, y, *rows)
        counts = forests.bag_counts(self.forest_, table.n_rows)
        every_row = [np.arange(table.n_rows)] * n_blocks
        unseen = [np.where(count == 0, table.weight, 0.0) for count in counts]
        return TrainingData(X, y, BlockRows.own(every_row, counts), BlockRows.own(every_row, unseen))

    def _soften(
        self, network: ForestNetwork, contrast: tuple[float, float], table: Table, split: Split
    ) -> ForestNetwork:
        units: dict[str, Any] = {}
        if self.standardize:
            rows, weight = network.check_X(table.X[split.fit]), table.weight[split.fit]
            units["center"], units["scale"] = scaling.center_and_spread(rows, weight)
            if not self._classifier:
                y = self._columns(table.target)[split.fit]
                units["output_center"], units["output_scale"] = scaling.center_and_spread(y, weight)
        return network.soften(
            contrast,
            training=self.training,  # type: ignore[arg-type]
            connectivity=self.connectivity,  # type: ignore[arg-type]
            folded=self.folded,
            **units,
        )

    def _train(
        self, network: ForestNetwork, data: TrainingData, settings: Settings, keep_last: bool = False
    ) -> Trained:
        return train(
            network,
            data,
            settings,
            loss=self.loss,
            loss_parameter=self.loss_parameter,
            n_jobs=self.n_jobs,
            callback=epoch_lines(self.callback) if self.verbose > 1 else self.callback,
            checkpoint=None if keep_last else self.checkpoint,
            keep_last=keep_last,
        )

    def _resume(self, table: Table, settings: Settings, seeds: NDArray[np.int64], started: float) -> Self:
        """Train the network that is there some more, on the rows of a second call of fit."""
        _, split = self._forest_and_split(table, seeds)
        data = self._training_data(self.network_, table, split)
        return self._keep(self._train(self.network_, data, settings), data, started)

    def _keep(self, trained: Trained, data: TrainingData, started: float) -> Self:
        """Set what a fit leaves behind."""
        self.network_ = trained.network
        self.history_ = trained.history
        self.forest_loss_ = trained.forest_loss
        self.validation_loss_ = trained.validation_loss
        self._after_fit(data)
        if self.verbose:
            print(summary(self, trained, time.perf_counter() - started))
        return self

    # What the two estimators do differently.

    def _check_target(self, y: NDArray[Any], reset: bool) -> NDArray[Any]:
        raise NotImplementedError

    def _columns(self, target: NDArray[Any]) -> NDArray[np.float64]:
        """Return the targets as the network is trained on them, (rows, outputs)."""
        raise NotImplementedError

    def _reweighted(self, target: NDArray[Any], weight: NDArray[np.float64], n_rows: int) -> NDArray[np.float64]:
        return weight

    def _after_fit(self, data: TrainingData) -> None:
        pass

    # What a fitted estimator offers.

    def _check_X(self, X: ArrayLike) -> NDArray[np.floating]:
        check_is_fitted(self, "network_")
        X = validate_data(
            self,
            X,
            reset=False,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            ensure_all_finite="allow-nan" if get_tags(self).input_tags.allow_nan else True,
        )
        return self.network_.check_X(X)

    def apply(self, X: ArrayLike) -> NDArray[np.int32]:
        """Return the leaf of each row in each tree of the forest, (rows, trees), counted from left to right."""
        return self.network_.apply(self._check_X(X))

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Importances of the features in the trained network, (features,); see `importance.feature_importances`."""
        check_is_fitted(self, "network_")
        return feature_importances(self.network_)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        forest = self.forest if self.forest is not None else forests.default_forest(self._classifier, 1)
        tags.input_tags.allow_nan = get_tags(forest).input_tags.allow_nan
        tags.input_tags.sparse = get_tags(forest).input_tags.sparse
        return tags


def _fit_forest(forest: Any, table: Table, split: Split) -> None:
    """Grow the forest on its rows; weights are passed on where the user gave some."""
    weights = {}
    if table.weighted:
        if not has_fit_parameter(forest, "sample_weight"):
            raise InvalidParameterError(
                f"sample_weight needs a forest that takes weights, and {type(forest).__name__} does not"
            )
        weights["sample_weight"] = table.weight[split.fit]
    forest.fit(table.X[split.fit], table.target[split.fit], **weights)
