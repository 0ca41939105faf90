"""The last step of a fit: the given model and base models, stacked with the trained network."""

import warnings
from typing import TYPE_CHECKING

import numpy as np

from neuralforest.base_models import FALLBACK, Task, candidates
from neuralforest.estimators import screening
from neuralforest.estimators.rows import FitRows
from neuralforest.estimators.sources import Source
from neuralforest.exceptions import ConvergenceWarning
from neuralforest.selection import OutOfSamplePredictions, Selected, stacked_with_source, stacking
from neuralforest.training import Loss, TrainingData

if TYPE_CHECKING:
    from neuralforest.estimators._steps import FitSteps, Split


def stacked_model(
    estimator: "FitSteps",
    trained: Selected,
    data: TrainingData,
    table: FitRows,
    split: "Split",
    seed: int,
    source: Source | None,  # the given model, unless the network is made of all of it
) -> Selected:
    """Stack the given model, if there is one, and base models with the network, by out-of-sample predictions."""
    if source is None and estimator.forest is not None:
        return trained
    loss = estimator._resolved_loss(trained.network)
    if source is not None:
        estimator._source_model, estimator._source_predictions = source.model, source.predictions
        trained = stacked_with_source(
            trained, source.network, source.predictions, data, loss, either=estimator.stacking is None
        )
    if estimator.stacking is None or estimator.max_epochs == 0 or trained.interrupted:
        return trained
    if loss.name not in ("squared_error", "log_loss") or trained.network.link != "identity":
        return trained
    of_source = None if source is None else source.predictions
    return _with_base_models(estimator, trained, loss, data, table, split, seed, of_source)


def _with_base_models(
    estimator: "FitSteps",
    trained: Selected,
    loss: Loss,
    data: TrainingData,
    table: FitRows,
    split: "Split",
    seed: int,
    of_source: OutOfSamplePredictions | None,
) -> Selected:
    """Add base models to a network, or to its stack with the given model, as far as they lower the loss."""
    training = split.fit[table.weight[split.fit] > 0]
    rows = data, table.target, table.weight, training, split.validation, table.n_weighted_rows
    none = np.zeros(table.X.shape[1], np.int64)
    n_categories = none if estimator._encoder is None else estimator._encoder.n_categories
    task = Task(estimator._classifier, *rows, seed, estimator.n_jobs, n_categories)
    try:
        models = candidates(task, trained.predictions, screening.used_features(trained.network.ensemble))
        best = stacking.stack(
            trained.network, models, trained.predictions, data, loss, FALLBACK, task.row_weight, of_source
        )
    except KeyboardInterrupt:
        warnings.warn(
            "the fit was interrupted while base models were fitted; the network is kept without them",
            ConvergenceWarning,
            stacklevel=5,
        )
        return trained._replace(interrupted=True)
    if best is None:
        return trained
    return trained._replace(
        network=best.network,
        predictions=best.predictions,
        validation_loss=best.loss,
        forest_loss=best.forest_loss,
        of_network=trained.predictions,
    )
