"""The steps of a fit: from rows to a forest, its network, training, the guard and stacking."""

import time
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from neuralforest._frames import TableEncoder
from neuralforest.estimators import cost, forests, scaling, screening, sources, validation
from neuralforest.estimators.cross_fitting import CrossFittedForest, CrossValidationSplit, in_folds
from neuralforest.estimators.modes import connectivity_of, training_of
from neuralforest.estimators.parameters import Parameters, contrast_pairs, enough_epochs, seeds_of
from neuralforest.estimators.rows import FitRows
from neuralforest.estimators.stacked import stacked_model
from neuralforest.estimators.summary import reporting, summary, write
from neuralforest.estimators.tuned import check_trainable, fit_tuned
from neuralforest.estimators.validation import TrainValidationSplit
from neuralforest.exceptions import InvalidParameterError
from neuralforest.network import ForestNetwork
from neuralforest.network.subnetworks import partition
from neuralforest.selection import (
    OutOfSamplePredictions,
    Selected,
    train_guarded,
    with_calibrated_probabilities,
)
from neuralforest.selection.evidence import Uncertainty, uncertainty
from neuralforest.training import Checkpoint, Loss, Settings, TrainingData, resolve_loss

Split = TrainValidationSplit | CrossValidationSplit


class FitSteps(Parameters):
    """The part of an estimator that fits."""

    _classifier = False
    _encoder: TableEncoder | None = None  # of a table with categories
    _n_folds = 0  # of the cross-validation that the forest was fitted in; 0 for none
    _source_model: Any = None  # the given model, where it is stacked with the network
    _source_predictions: OutOfSamplePredictions | None = None  # of the same; not stored in files
    _rows_digest: str | None = None  # of the rows that the forest was grown on; None where they are unknown
    _uncertainty: Uncertainty | None = None  # of validation_loss_, of the last fit; not stored in files

    def _start(self, table: FitRows) -> Self:
        """Grow the forest unless it is fitted, train its network with every contrast, keep the best, and stack it."""
        started = time.perf_counter()
        seeds = seeds_of(self.random_state)
        given = forests.source_of(self.forest, self._classifier)
        given_fitted = forests.is_fitted(given)
        self._split_seed, self._rows_digest, self._source_model, self._n_folds = seeds[1], table.digest, None, 0
        self._source_predictions = None
        source = None
        if self.tune == "all" and sources.is_kept_whole(self, given):
            source = sources.kept_whole(self, table, given, given_fitted, seeds[0])
        forest, fitted = (given, given_fitted) if source is None else (None, False)
        if forest is None:
            forest = self._default_forest(table)
        if not fitted:
            forest = forests.prepare_forest(forest, seeds[0], self.n_jobs)
        if self.tune != "all":
            return fit_tuned(self, table, forest, fitted, seeds)
        self.forest_ = forest
        split = self._grow(table, fitted, seeds[0], source is not None)
        network = sources.converted(self, self.forest_, table)
        self._check_source(network, table)
        whole = network.ensemble
        network = (
            ForestNetwork(sources.trained_part(self, whole))
            if source is None
            else sources.in_terms_of(source.network, network)
        )
        if fitted:
            validation.warn_of_seen_rows(given, split, table)
        data = self._training_data(network, table, split)
        settings = self._settings(seeds[2], data)
        trained, self.contrast_ = self._train_contrasts(network, data, table, split, settings)
        if source is None:
            source = sources.partly_trained(self, given, given_fitted, whole, trained, data, table, split, seeds[0])
        stacked = stacked_model(self, trained, data, table, split, seeds[3], source)
        return self._keep(stacked, data, started)

    @property
    def source_(self) -> Any:
        """The given model, fitted on all rows; the forest of the network where that is the given one, or none is."""
        return self.forest_ if self._source_model is None else self._source_model

    def _default_forest(self, table: FitRows) -> Any:
        """Return the forest that is grown where none is given, or a given sum of trees is kept as it is."""
        n_categories = None if self._encoder is None else self._encoder.n_categories
        shape, any_rows = (table.n_weighted_rows, table.X.shape[1]), not forests.can_be_bagged(table)
        features = screening.relevant_features(table, self._classifier)
        n_classes = len(self.classes_) if self._classifier else None
        return forests.default_forest(self._classifier, *shape, n_categories, any_rows, features, n_classes)

    def _grow(self, table: FitRows, fitted: bool, seed: int, is_default: bool) -> Split:
        """Fit the forest, unless it came fitted and can be validated, and return the rows of the fit."""
        split = self._split(table, fitted, self.forest_, is_default)
        names = getattr(self, "feature_names_in_", None)
        if isinstance(split, CrossValidationSplit):
            if fitted:
                validation.warn_of_refit(self.forest_, split, table)
                self.forest_ = forests.prepare_forest(self.forest_, seed, self.n_jobs)
            self._n_folds = len(split.folds)
            self.forest_ = CrossFittedForest.grow(self.forest_, table, split, names, self._encoder)
        elif not fitted:
            forests.grow(self.forest_, table, split.fit, names, self._encoder)
        return split

    @property
    def _has_temperature(self) -> bool:
        return bool(self.standardize and self.max_epochs != 0)  # not with the paper's settings, nor without training

    def _resolved_loss(self, network: ForestNetwork) -> Loss:
        return resolve_loss(self.loss, self.loss_parameter, network.ensemble)

    def _go_on(self, table: FitRows) -> Self:
        """Continue training of the fitted network and fit its base models anew, on the rows of a second call of fit."""
        started = time.perf_counter()
        check_trainable(self)
        before, soft = self.history_, self.network_.soft
        assert soft is not None
        e = self.network_.ensemble
        wanted = training_of(self.training, e), connectivity_of(self.connectivity, e)
        if (soft.training, soft.connectivity) != wanted:
            raise InvalidParameterError(
                "warm_start=True continues with the fitted network, so training and connectivity must stay "
                f"{soft.training!r} and {soft.connectivity!r}, got {self.training!r} and {self.connectivity!r}"
            )
        are_same = table.digest == self._rows_digest
        split = self._split(table, True, self.forest_, self._is_default, are_known=are_same, goes_on=True)
        source = sources.again(self, table, split, are_same)
        if not are_same:
            validation.warn_of_other_rows(split, table)
        data, seeds = self._training_data(self.network_, table, split), seeds_of(self.random_state)
        settings = self._settings(seeds[2] + before.n_epochs, data)
        with reporting(self.callback, self.verbose, settings.max_epochs) as callback:
            checkpoint = self._checkpoint(f".{before.n_epochs}")
            trained = self._train(data, settings, callback=callback, checkpoint=checkpoint)
        stacked = stacked_model(self, trained, data, table, split, seeds[3], source)
        stacked = stacked._replace(history=before.followed_by(trained.history))
        return self._keep(stacked, data, started)

    def _settings(self, seed: int, data: TrainingData) -> Settings:
        epochs, n_rows = self.max_epochs, float(np.mean(data.fit.end - data.fit.begin))
        return Settings(
            max_epochs=enough_epochs(n_rows, self.batch_size, self._classifier) if epochs == "auto" else int(epochs),
            batch_size=self.batch_size,
            learning_rate=self.learning_rate,
            schedule=self.schedule,  # type: ignore[arg-type]
            weight_decay=self.weight_decay,
            n_iter_no_change=self.n_iter_no_change,
            weight_bound=self.weight_bound,
            seed=seed,
        )

    @property
    def _is_default(self) -> bool:
        """Whether the network is that of the default forest."""
        return self.forest is None or (self._source_model is not None and not self._n_folds)

    def _split(
        self,
        table: FitRows,
        fitted: bool,
        forest: Any,
        is_default: bool = False,
        are_known: bool = True,
        goes_on: bool = False,
    ) -> Split:
        """Return the training rows and the validation rows; out-of-bag only for the rows that the forest was given."""
        rows = np.arange(table.X.shape[0])
        if len(rows) > table.n_rows:
            return TrainValidationSplit(rows[: table.n_rows], rows[table.n_rows :])
        if self._n_folds and are_known:
            return in_folds(table, self._classifier, self._split_seed, self._n_folds)
        n_rows = table.n_rows if are_known else None
        can_be_fitted = not goes_on and (is_default or forests.can_be_fitted(self.forest))
        wanted = "auto" if is_default and self.validation == "cv" and self.forest is not None else self.validation
        chosen = validation.chosen_validation(wanted, self.training, forest, fitted, n_rows, can_be_fitted)
        if chosen == "oob":
            return TrainValidationSplit(rows, rows[:0])
        if chosen == "cv":
            return in_folds(table, self._classifier, self._split_seed)
        return validation.hold_out(
            table, self.validation_fraction, table.target if self._classifier else None, self._split_seed
        )

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

    def _training_data(self, network: ForestNetwork, table: FitRows, split: Split) -> TrainingData:
        y = self._columns(network, table.target)
        if y.shape[1] != network.ensemble.n_outputs:
            raise InvalidParameterError(
                f"y must have the {network.ensemble.n_outputs} outputs that the forest was fitted on, got {y.shape[1]}"
            )
        n_subnetworks = len(partition(network.ensemble, training_of(self.training, network.ensemble))) - 1
        return TrainingData(network.check_X(table.X), y, *split.training_rows(table, self.forest_, n_subnetworks))

    def _train_contrasts(
        self,
        network: ForestNetwork,
        data: TrainingData,
        table: FitRows,
        split: Split,
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
            full=connectivity_of(self.connectivity, network.ensemble) == "full",
        )
        kept: tuple[Selected, tuple[float, float]] | None = None
        with reporting(self.callback, self.verbose, settings.max_epochs * len(pairs)) as callback:
            for number, contrast in enumerate(pairs):
                soft = network.soften(
                    contrast,
                    training=training_of(self.training, network.ensemble),
                    connectivity=connectivity_of(self.connectivity, network.ensemble),
                    fold_contrast=self.fold_contrast,
                    **units,
                )
                if not number:
                    self._announce(soft, data, settings, len(pairs))
                checkpoint = self._checkpoint(f".{number}" if len(pairs) > 1 else "")
                trained = self._train(data, settings, soft, callback=callback, checkpoint=checkpoint)
                if kept is None or trained.validation_loss < kept[0].validation_loss:
                    kept = trained, contrast
                if trained.interrupted:
                    break
        assert kept is not None
        return kept

    def _announce(self, network: ForestNetwork, data: TrainingData, settings: Settings, times: int) -> None:
        """Print the estimated cost of training, or warn where a silent fit would take minutes."""
        seconds = times * cost.estimated_seconds(network, data, settings, self.n_jobs)
        if self.verbose:
            write(cost.describe(network, seconds))
        elif self.callback is None:
            cost.warn_of_silence(network, seconds)

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
        """Calibrate probabilities, and set what a fit leaves behind."""
        loss = self._resolved_loss(trained.network)
        if self._has_temperature:
            trained = with_calibrated_probabilities(trained, data, loss)
        self.network_ = trained.network
        self.history_ = trained.history
        self.forest_loss_ = trained.forest_loss
        self.validation_loss_ = trained.validation_loss
        self._uncertainty = uncertainty(trained.network, trained.predictions, data, loss)
        self._after_fit(data, trained)
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

    def _after_fit(self, data: TrainingData, trained: Selected) -> None:
        pass

    def _after_partial_fit(self, data: TrainingData) -> None:
        pass
