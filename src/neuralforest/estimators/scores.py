"""Validation scores of a fit in user units: the one place that turns losses of training into them."""

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from neuralforest.estimators._steps import FitSteps


def validation_scores(estimator: "FitSteps") -> tuple[str, float, float]:
    """Return the name of the validation score, that of the forest and that of the fitted model."""
    forest, model = (in_user_units(estimator, loss) for loss in (estimator.forest_loss_, estimator.validation_loss_))
    return score_name(estimator), forest, model


def validation_standard_error(estimator: "FitSteps") -> float | None:
    """Return the standard error of the model's validation score; None where it is not known."""
    known = getattr(estimator, "_uncertainty", None)  # estimators of a cluster do not have it
    loss = estimator.validation_loss_
    if known is None or not math.isfinite(known.standard_error) or loss <= 0:
        return None
    if not _is_squared(estimator):
        return known.standard_error
    if estimator.network_.soft is None and estimator.network_.n_outputs > 1:
        return None  # each target counts in its own spread, which only the fit knows
    return in_user_units(estimator, loss) * known.standard_error / (2 * loss)  # of a root


def score_name(estimator: "FitSteps") -> str:
    """Return the name of the score that `in_user_units` returns."""
    if estimator._classifier:
        return "log loss"
    if not _is_squared(estimator):
        return f"{estimator.loss} loss"
    return "RMSE" if estimator.network_.n_outputs == 1 else "RMSE (in units of each target's spread)"


def in_user_units(estimator: "FitSteps", loss: float) -> float:
    """Return a loss of training as a score: a squared error as its root, for one target in the target's units.

    Trees that stay trees (`tune`) have no units of training: their squared error is in the target's own already.
    """
    soft = estimator.network_.soft
    if not _is_squared(estimator):
        return float(loss)
    if soft is None:
        return float(loss) ** 0.5
    return float(loss) ** 0.5 * (float(soft.output_scale[0]) if len(soft.output_scale) == 1 else 1.0)


def _is_squared(estimator: "FitSteps") -> bool:
    return not estimator._classifier and estimator.loss in ("auto", "squared_error")
