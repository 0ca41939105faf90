"""What both estimators share: from rows to a forest, its network, training and the guard."""

import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted

from neuralforest.network.stacking import StackedModel
from neuralforest.convert import convert
from neuralforest.estimators import companion as base_models
from neuralforest.estimators import forests, scaling
from neuralforest.base_models import candidates
from neuralforest.base_models.cross_fitting import Task
from neuralforest.estimators.parameters import check_parameters, contrast_pairs, enough_epochs
from neuralforest.estimators.summary import reporting, say, summary
from neuralforest.estimators.rows import Rows, Table, given_rows, read_table, read_X
from neuralforest.estimators.validation import Split, hold_out, out_of_bag_is_chosen
from neuralforest.exceptions import ConvergenceWarning, InvalidParameterError
from neuralforest.network.importance import feature_importances
from neuralforest.network import ForestNetwork
from neuralforest.training import Checkpoint, Settings, Trained, TrainingData, guard, train
from neuralforest.selection.guard import OutOfSamplePredictions
from neuralforest.training.loop import Callback
from neuralforest.training.losses import Loss, resolve_loss

Contrast = tuple[float, float] | Sequence[tuple[float, float]]


class NeuralForest(BaseEstimator):
    """The common part of NeuralForestRegressor and NeuralForestClassifier."""

    _classifier = False
    network_: ForestNetwork
    _beside: base_models.Beside | None = None  # of the last fit; not stored in files

    def __init__(
        self,
        forest: Any = None,
        *,
        training: str = "independent",
        connectivity: str = "full",
        contrast: Contrast = (2.0, 0.5),
        contrast_unit: str = "cell",
        learning_rate: float | tuple[float, float, float] = 0.012,
        schedule: str = "one_cycle",
        batch_size: int = 32,
        max_epochs: int | str = "auto",
        companion: str | None = "auto",
        weight_decay: float = 0.0,
        loss: str = "auto",
        loss_parameter: float | None = None,
        validation: str = "auto",
        validation_fraction: float = 0.25,
        n_iter_no_change: int | None = None,
        standardize: bool = True,
        fold_contrast: bool = False,
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
        self.contrast_unit = contrast_unit
        self.learning_rate = learning_rate
        self.schedule = schedule
        self.batch_size = batch_size
        self.max_epochs = max_epochs
        self.companion = companion
        self.weight_decay = weight_decay
        self.loss = loss
        self.loss_parameter = loss_parameter
        self.validation = validation
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.standardize = standardize
        self.fold_contrast = fold_contrast
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
        with _unchanged_on_error(self):
            check_parameters(self.get_params(deep=False), self._classifier)
            given = given_rows(X_val, y_val, sample_weight_val)
            goes_on = self.warm_start and hasattr(self, "network_")
            table = read_table(self, Rows(X, y, sample_weight), given, reset=not goes_on)
            return self._go_on(table) if goes_on else self._start(table)

    def partial_fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None, n_epochs: int = 1
    ) -> Self:
        """Go on training the network on new rows; the forest stays as it is, and so do its base_models.

        Only a line that stood in for a network which knew nothing leaves. A tree that was kept as it was, because its
        network was no better, is trained along, and gives way to its network once that is the better one on the new
        rows. Features keep the range of the rows of `fit`. `history_` becomes that of this call; validation scores and
        the errors behind prediction intervals stay those of `fit`. When nothing has been fitted yet, this is `fit`.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.
        n_epochs : int
            Passes over the rows.

        Returns
        -------
        self
        """
        if not hasattr(self, "network_"):
            return self.fit(X, y, sample_weight)
        with _unchanged_on_error(self):
            check_parameters(self.get_params(deep=False) | {"n_epochs": n_epochs}, self._classifier)
            table = read_table(self, Rows(X, y, sample_weight), reset=False)
            data = self._training_data(self.network_, table, Split(np.arange(table.n_rows), np.arange(table.n_rows)))
            settings = replace(self._settings(_seeds(self.random_state)[2], data), max_epochs=n_epochs)
            settings = replace(settings, schedule="constant", n_iter_no_change=None)
            with reporting(self.callback, self.verbose, n_epochs) as callback:
                trained = self._train(self.network_.with_base_models(), data, settings, callback, keep_last=True)
            self.network_ = trained.network.with_base_models(self._still_beside(trained.network))
            self.history_ = trained.history
            self._after_partial_fit(data)
            return self

    # The steps of a fit.

    def _start(self, table: Table) -> Self:
        """Grow the forest unless it is there, and train its network with every contrast; keep the best."""
        started = time.perf_counter()
        seeds = _seeds(self.random_state)
        forest = forests.source_of(self.forest, self._classifier)
        alone = forest is not None or self.companion is None or self.max_epochs == 0
        fitted = forests.is_fitted(forest)
        if not fitted:
            forest = self._default_forest(table) if forest is None else forest
            forest = forests.prepare_forest(forest, seeds[0], self.n_jobs)
        self.forest_, self._split_seed = forest, seeds[1]
        split = self._split(table, fitted)
        if not fitted:
            forests.grow(forest, table, split.fit, getattr(self, "feature_names_in_", None))
        network = convert(forest)
        self._check_source(network, table)
        data = self._training_data(network, table, split)
        settings = self._settings(seeds[2], data)
        trained, self.contrast_ = self._train_contrasts(network, data, table, split, settings)
        self._beside = None
        if not (alone or trained.interrupted):
            trained = self._with_companions(trained, data, table, split, seeds[3])
        return self._keep(trained, data, started)

    def _with_companions(self, trained: Trained, data: TrainingData, table: Table, split: Split, seed: int) -> Trained:
        """Put others beside the network, with the shares that they deserve."""
        loss = self._resolved_loss(trained.network)
        if loss.name not in ("squared_error", "log_loss") or not forests.can_be_bagged(table):
            return trained
        try:
            is_promising = partial(base_models.is_promising, trained.judged, y=data.y)
            task = Task(self._classifier, data, table, split, seed, self.n_jobs, is_promising)
            choice = base_models.choose(trained.network, candidates(task), trained.judged, data, loss)
        except KeyboardInterrupt:
            warnings.warn(
                "the fit was interrupted while base_models of the network were fitted, which is kept without them",
                ConvergenceWarning,
                stacklevel=4,
            )
            return trained._replace(interrupted=True)
        if choice is None:
            return trained
        self._beside = choice.beside
        return trained._replace(
            network=choice.network,
            judged=choice.judged,
            validation_loss=choice.loss,
            forest_loss=choice.forest_loss,
        )

    def _resolved_loss(self, network: ForestNetwork) -> Loss:
        return resolve_loss(self.loss, self.loss_parameter, network.ensemble)

    def _default_forest(self, table: Table) -> Any:
        bootstrap = not forests.can_be_bagged(table)
        return forests.default_forest(self._classifier, table.n_rows, table.X.shape[1], bootstrap)

    def _go_on(self, table: Table) -> Self:
        """Train the network that is there some more, on the rows of a second call of fit."""
        started = time.perf_counter()
        before, soft = self.history_, self.network_.soft
        assert soft is not None
        if (soft.training, soft.connectivity) != (self.training, self.connectivity):
            raise InvalidParameterError(
                "warm_start=True goes on with the network that is there, so training and connectivity must stay "
                f"{soft.training!r} and {soft.connectivity!r}, got {self.training!r} and {self.connectivity!r}"
            )
        data = self._training_data(self.network_, table, self._split(table, fitted=True))
        settings = self._settings(_seeds(self.random_state)[2] + before.n_epochs, data)
        beside, alone = self.network_.base_models, self.network_.with_base_models()
        with reporting(self.callback, self.verbose, settings.max_epochs) as callback:
            trained = self._train(alone, data, settings, callback, self._checkpoint(f".{before.n_epochs}"))
        if self._beside is None or self._beside.digest != base_models.digest_of(data):
            beside = self._still_beside(trained.network)
        elif beside:
            judged = base_models.blended(trained.judged, self._beside.judged, 1 - self.network_.network_weight)
            loss = guard.validation_loss(trained.network, judged, data, self._resolved_loss(trained.network))
            trained = trained._replace(judged=judged, validation_loss=loss)
        network, history = trained.network.with_base_models(beside), before.followed_by(trained.history)
        return self._keep(trained._replace(network=network, history=history), data, started)

    def _still_beside(self, trained: ForestNetwork) -> tuple[StackedModel, ...]:
        """Return the base_models that stay when a network has learnt from other rows; all of them if trees were kept."""
        beside = self.network_.base_models
        if trained.hard.all() or not any(each.is_fallback for each in beside):
            return beside
        self._beside = None  # what all of them said
        return tuple(each for each in beside if not each.is_fallback)

    def _settings(self, seed: int, data: TrainingData) -> Settings:
        enough = self.max_epochs == "auto"
        return Settings(
            max_epochs=enough_epochs(data, self.batch_size, self._classifier) if enough else int(self.max_epochs),
            batch_size=self.batch_size,
            learning_rate=self.learning_rate,
            schedule=self.schedule,  # type: ignore[arg-type]
            weight_decay=self.weight_decay,
            n_iter_no_change=self.n_iter_no_change,
            bound=self.bound,
            seed=seed,
        )

    def _split(self, table: Table, fitted: bool) -> Split:
        """Return which rows are learnt from and which judge."""
        rows = np.arange(table.X.shape[0])
        if len(rows) > table.n_rows:
            return Split(rows[: table.n_rows], rows[table.n_rows :])
        if out_of_bag_is_chosen(self.validation, self.training, self.forest_, fitted, table.n_rows):
            return Split(rows, rows[:0])
        return hold_out(table, self.validation_fraction, table.target if self._classifier else None, self._split_seed)

    def _check_source(self, network: ForestNetwork, table: Table) -> None:
        """Refuse a forest that was made for other rows; only one that came fitted can be."""
        e = network.ensemble
        if (e.classes is not None) != self._classifier:
            raise InvalidParameterError(
                f"forest must {'be a classifier' if self._classifier else 'predict numbers'}, got {self.forest_!r}"
            )
        names = getattr(self, "feature_names_in_", None)
        if names is not None and e.feature_names is not None and tuple(names) != e.feature_names:
            raise InvalidParameterError(
                f"X must have the columns that the forest was fitted on, in the same order, {list(e.feature_names)}, "
                f"got {list(names)}"
            )
        if table.X.shape[1] != e.n_features:
            raise InvalidParameterError(
                f"X must have the {e.n_features} features that the forest was fitted on, got {table.X.shape[1]}"
            )

    def _training_data(self, network: ForestNetwork, table: Table, split: Split) -> TrainingData:
        y = self._columns(network, table.target)
        if y.shape[1] != network.ensemble.n_outputs:
            raise InvalidParameterError(
                f"y must have the {network.ensemble.n_outputs} outputs that the forest was fitted on, got {y.shape[1]}"
            )
        n_subnetworks = network.ensemble.n_trees if self.training == "independent" else 1
        return TrainingData(network.check_X(table.X), y, *split.training_rows(table, self.forest_, n_subnetworks))

    def _train_contrasts(
        self, network: ForestNetwork, data: TrainingData, table: Table, split: Split, settings: Settings
    ) -> tuple[Trained, tuple[float, float]]:
        """Train the network softened by each contrast, and return the best on validation, with its contrast."""
        pairs = contrast_pairs(self.contrast)
        units = scaling.measured_units(
            network,
            data,
            table.weight,
            split.fit,
            standardize=self.standardize,
            cells=self.contrast_unit == "cell",
            full=self.connectivity == "full",
        )
        kept: tuple[Trained, tuple[float, float]] | None = None
        with reporting(self.callback, self.verbose, settings.max_epochs * len(pairs)) as callback:
            for number, contrast in enumerate(pairs):
                soft = network.soften(
                    contrast,
                    training=self.training,  # type: ignore[arg-type]
                    connectivity=self.connectivity,  # type: ignore[arg-type]
                    fold_contrast=self.fold_contrast,
                    **units,
                )
                checkpoint = self._checkpoint(f".{number}" if len(pairs) > 1 else "")
                trained = self._train(soft, data, settings, callback, checkpoint)
                if kept is None or trained.validation_loss < kept[0].validation_loss:
                    kept = trained, contrast
                if trained.interrupted:
                    break
        assert kept is not None
        return kept

    def _checkpoint(self, ending: str) -> Checkpoint | None:
        """Return a checkpoint for one of the trainings of a fit, which must not share a file."""
        return None if self.checkpoint is None else replace(self.checkpoint, path=f"{self.checkpoint.path}{ending}")

    def _train(
        self,
        network: ForestNetwork,
        data: TrainingData,
        settings: Settings,
        callback: Callback | None,
        checkpoint: Checkpoint | None = None,
        keep_last: bool = False,
    ) -> Trained:
        scaling.check_scaled_target(data.scaled_y(network))
        return train(
            network,
            data,
            settings,
            loss=self.loss,
            loss_parameter=self.loss_parameter,
            n_jobs=self.n_jobs,
            callback=callback,
            checkpoint=checkpoint,
            keep_last=keep_last,
            shrink=self.standardize and not keep_last,
        )

    def _keep(self, trained: Trained, data: TrainingData, started: float) -> Self:
        """Set what a fit leaves behind."""
        self.network_ = trained.network
        self.history_ = trained.history
        self.forest_loss_ = trained.forest_loss
        self.validation_loss_ = trained.validation_loss
        self._after_fit(data, trained.judged)
        if self.verbose:
            say(summary(self, trained, time.perf_counter() - started))
        return self

    # What the two estimators do differently.

    def _check_target(self, y: NDArray[Any], reset: bool) -> NDArray[Any]:
        raise NotImplementedError

    def _columns(self, network: ForestNetwork, target: NDArray[Any]) -> NDArray[np.float64]:
        """Return the targets as the network is trained on them, (rows, outputs)."""
        raise NotImplementedError

    def _class_weights(self, target: NDArray[Any], n_rows: int) -> NDArray[np.float64] | None:
        """Return what the rows' weights are multiplied with; the first n_rows are those of fit(X, y)."""
        return None

    def _after_fit(self, data: TrainingData, judged: OutOfSamplePredictions) -> None:
        pass

    def _after_partial_fit(self, data: TrainingData) -> None:
        pass

    # What a fitted estimator offers.

    def _network_and_rows(self, X: ArrayLike) -> tuple[ForestNetwork, NDArray[np.floating]]:
        """Return the network, and X as it takes it."""
        check_is_fitted(self, "network_")
        return self.network_, self.network_.check_X(read_X(self, X, reset=False))

    def apply(self, X: ArrayLike) -> NDArray[np.int32]:
        """Return the leaf of each row in each tree of the forest, (rows, trees), counted from left to right."""
        network, X = self._network_and_rows(X)
        return network.apply(X)

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Importances of the features in the trained network, (features,); see `importance.feature_importances`."""
        check_is_fitted(self, "network_")
        return feature_importances(self.network_)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        forest = forests.tags_of(self.forest, self._classifier)
        tags.input_tags.allow_nan = forest.input_tags.allow_nan
        tags.input_tags.sparse = forest.input_tags.sparse
        tags.target_tags.multi_output = forest.target_tags.multi_output and not self._classifier
        return tags


def _seeds(random_state: int | np.random.RandomState | None) -> list[int]:
    """Return seeds for the forest, the split, the training and the companion."""
    return [int(seed) for seed in check_random_state(random_state).randint(np.iinfo(np.int32).max, size=4)]


@contextmanager
def _unchanged_on_error(estimator: BaseEstimator) -> Iterator[None]:
    """Leave an estimator as it was when its fit fails, or is interrupted before there is a network."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise
