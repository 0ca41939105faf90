"""The steps of a fit: from rows to a forest, its network, training, the guard and stacking."""

import time
import warnings
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from neuralforest._frames import TableEncoder
from neuralforest.base_models import FALLBACK, Task, candidates
from neuralforest.convert import convert
from neuralforest.estimators import forests, scaling
from neuralforest.estimators.categories import aligned
from neuralforest.estimators.parameters import Parameters, contrast_pairs, enough_epochs
from neuralforest.estimators.rows import FitRows
from neuralforest.estimators.summary import reporting, summary, write
from neuralforest.estimators.validation import TrainValidationSplit, hold_out, out_of_bag_is_chosen
from neuralforest.exceptions import ConvergenceWarning, InvalidParameterError
from neuralforest.network import ForestNetwork, StackedModel
from neuralforest.network.subnetworks import partition
from neuralforest.selection import OutOfSamplePredictions, Selected, stacking, train_guarded
from neuralforest.selection.predictions import validation_loss
from neuralforest.training import Checkpoint, Loss, Settings, TrainingData, resolve_loss


class FitSteps(Parameters):
    """The part of an estimator that fits."""

    _classifier = False
    _encoder: TableEncoder | None = None  # of a table with categories
    _of_base_models: stacking.StackedPredictions | None = None  # of the last fit; not stored in files

    def _start(self, table: FitRows) -> Self:
        """Grow the forest unless it is fitted, train its network with every contrast, keep the best, and stack it."""
        started = time.perf_counter()
        seeds = seeds_of(self.random_state)
        forest = forests.source_of(self.forest, self._classifier)
        alone = forest is not None or self.stacking is None or self.max_epochs == 0
        fitted = forests.is_fitted(forest)
        if not fitted:
            if forest is None:
                bootstrap = not forests.can_be_bagged(table)
                n_categories = None if self._encoder is None else self._encoder.n_categories
                shape = table.n_rows, table.X.shape[1]
                forest = forests.default_forest(self._classifier, *shape, bootstrap, n_categories)
            forest = forests.prepare_forest(forest, seeds[0], self.n_jobs)
        self.forest_, self._split_seed = forest, seeds[1]
        split = self._split(table, fitted)
        if not fitted:
            forests.grow(forest, table, split.fit, getattr(self, "feature_names_in_", None), self._encoder)
        network = convert(forest, **forests.conversion_options(forest, table, self._encoder))
        self._check_source(network, table)
        network = ForestNetwork(aligned(network.ensemble, self._encoder))
        data = self._training_data(network, table, split)
        settings = self._settings(seeds[2], data)
        trained, self.contrast_ = self._train_contrasts(network, data, table, split, settings)
        self._of_base_models = None
        if not (alone or trained.interrupted):
            trained = self._stack(trained, data, table, split, seeds[3])
        return self._keep(trained, data, started)

    def _stack(
        self, trained: Selected, data: TrainingData, table: FitRows, split: TrainValidationSplit, seed: int
    ) -> Selected:
        """Stack base models with the network, with weights fitted on out-of-sample predictions."""
        loss = self._resolved_loss(trained.network)
        if loss.name not in ("squared_error", "log_loss") or not forests.can_be_bagged(table):
            return trained
        rows = data, table.target, table.weight, split.fit, split.validation, table.n_rows
        none = np.zeros(table.X.shape[1], np.int64)
        n_categories = none if self._encoder is None else self._encoder.n_categories
        task = Task(self._classifier, *rows, seed, self.n_jobs, n_categories)
        try:
            models = candidates(task, trained.predictions)
            best = stacking.stack(trained.network, models, trained.predictions, data, loss, FALLBACK)
        except KeyboardInterrupt:
            warnings.warn(
                "the fit was interrupted while base models were fitted; the network is kept without them",
                ConvergenceWarning,
                stacklevel=4,
            )
            return trained._replace(interrupted=True)
        if best is None:
            return trained
        self._of_base_models = best.of_base_models
        return trained._replace(
            network=best.network, predictions=best.predictions, validation_loss=best.loss, forest_loss=best.forest_loss
        )

    def _resolved_loss(self, network: ForestNetwork) -> Loss:
        return resolve_loss(self.loss, self.loss_parameter, network.ensemble)

    def _go_on(self, table: FitRows) -> Self:
        """Continue training of the fitted network, on the rows of a second call of fit."""
        started = time.perf_counter()
        before, soft = self.history_, self.network_.soft
        assert soft is not None
        if (soft.training, soft.connectivity) != (self.training, self.connectivity):
            raise InvalidParameterError(
                "warm_start=True continues with the fitted network, so training and connectivity must stay "
                f"{soft.training!r} and {soft.connectivity!r}, got {self.training!r} and {self.connectivity!r}"
            )
        data = self._training_data(self.network_, table, self._split(table, fitted=True))
        settings = self._settings(seeds_of(self.random_state)[2] + before.n_epochs, data)
        base_models = self.network_.base_models
        with reporting(self.callback, self.verbose, settings.max_epochs) as callback:
            checkpoint = self._checkpoint(f".{before.n_epochs}")
            trained = self._train(data, settings, callback=callback, checkpoint=checkpoint)
        if self._of_base_models is None or self._of_base_models.digest != stacking.digest_of(data):
            base_models = self._remaining_base_models(trained.network)
        elif base_models:
            weight = 1 - self.network_.network_weight
            predictions = stacking.blended(trained.predictions, self._of_base_models.predictions, weight)
            loss = validation_loss(trained.network, predictions, data, self._resolved_loss(trained.network))
            trained = trained._replace(predictions=predictions, validation_loss=loss)
        network, history = trained.network.with_base_models(base_models), before.followed_by(trained.history)
        return self._keep(trained._replace(network=network, history=history), data, started)

    def _remaining_base_models(self, trained: ForestNetwork) -> tuple[StackedModel, ...]:
        """Return the base models that stay after training on other rows: all but a fallback, unless trees were kept."""
        models = self.network_.base_models
        if trained.hard.all() or not any(each.is_fallback for each in models):
            return models
        self._of_base_models = None
        return tuple(each for each in models if not each.is_fallback)

    def _settings(self, seed: int, data: TrainingData) -> Settings:
        enough = self.max_epochs == "auto"
        return Settings(
            max_epochs=enough_epochs(data, self.batch_size, self._classifier) if enough else int(self.max_epochs),
            batch_size=self.batch_size,
            learning_rate=self.learning_rate,
            schedule=self.schedule,  # type: ignore[arg-type]
            weight_decay=self.weight_decay,
            n_iter_no_change=self.n_iter_no_change,
            weight_bound=self.weight_bound,
            seed=seed,
        )

    def _split(self, table: FitRows, fitted: bool) -> TrainValidationSplit:
        """Return the training rows and the validation rows."""
        rows = np.arange(table.X.shape[0])
        if len(rows) > table.n_rows:
            return TrainValidationSplit(rows[: table.n_rows], rows[table.n_rows :])
        if out_of_bag_is_chosen(self.validation, self.training, self.forest_, fitted, table.n_rows):
            return TrainValidationSplit(rows, rows[:0])
        return hold_out(table, self.validation_fraction, table.target if self._classifier else None, self._split_seed)

    def _check_source(self, network: ForestNetwork, table: FitRows) -> None:
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

    def _training_data(self, network: ForestNetwork, table: FitRows, split: TrainValidationSplit) -> TrainingData:
        y = self._columns(network, table.target)
        if y.shape[1] != network.ensemble.n_outputs:
            raise InvalidParameterError(
                f"y must have the {network.ensemble.n_outputs} outputs that the forest was fitted on, got {y.shape[1]}"
            )
        n_subnetworks = len(partition(network.ensemble, self.training)) - 1  # type: ignore[arg-type]
        return TrainingData(network.check_X(table.X), y, *split.training_rows(table, self.forest_, n_subnetworks))

    def _train_contrasts(
        self,
        network: ForestNetwork,
        data: TrainingData,
        table: FitRows,
        split: TrainValidationSplit,
        settings: Settings,
    ) -> tuple[Selected, tuple[float, float]]:
        """Train the network softened by each contrast, and return the best on validation, with its contrast."""
        pairs = contrast_pairs(self.contrast)
        units = scaling.measured_units(
            network,
            data,
            table.weight,
            split.fit,
            standardize=self.standardize,
            by_node=self.contrast_unit == "node",
            full=self.connectivity == "full",
        )
        kept: tuple[Selected, tuple[float, float]] | None = None
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
                trained = self._train(data, settings, soft, callback=callback, checkpoint=checkpoint)
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
        self, data: TrainingData, settings: Settings, network: ForestNetwork | None = None, **options: Any
    ) -> Selected:
        """Train a network, or the fitted one without its base models; options as those of `train_guarded`."""
        network = self.network_.with_base_models() if network is None else network
        scaling.check_scaled_target(data.scaled_y(network))
        loss, calibrate = self._resolved_loss(network), self.standardize and not options.get("keep_last")
        return train_guarded(network, data, settings, loss, n_jobs=self.n_jobs, calibrate=calibrate, **options)

    def _keep(self, trained: Selected, data: TrainingData, started: float) -> Self:
        """Set what a fit leaves behind."""
        self.network_ = trained.network
        self.history_ = trained.history
        self.forest_loss_ = trained.forest_loss
        self.validation_loss_ = trained.validation_loss
        self._after_fit(data, trained.predictions)
        if self.verbose:
            write(summary(self, time.perf_counter() - started))
        return self

    # What the two estimators do differently.

    def _check_target(self, y: NDArray[Any], reset: bool) -> NDArray[Any]:
        raise NotImplementedError

    def _columns(self, network: ForestNetwork, target: NDArray[Any]) -> NDArray[np.float64]:
        """Return the targets as the network is trained on them, (rows, outputs)."""
        raise NotImplementedError

    def _class_weights(self, target: NDArray[Any], n_rows: int) -> NDArray[np.float64] | None:
        """Return factors of the rows' weights; the first n_rows are those of fit(X, y)."""
        return None

    def _after_fit(self, data: TrainingData, predictions: OutOfSamplePredictions) -> None:
        pass

    def _after_partial_fit(self, data: TrainingData) -> None:
        pass


def seeds_of(random_state: int | np.random.RandomState | None) -> list[int]:
    """Return seeds for the forest, the split, the training and the base models."""
    return [int(seed) for seed in check_random_state(random_state).randint(np.iinfo(np.int32).max, size=4)]
