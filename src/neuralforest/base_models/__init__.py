"""Base models that can be stacked with a network: extra trees, gradient boosting, ridge regression.

A network is smooth. Extra trees adapt to near neighbours, boosted trees to steps and to few relevant features among
many, and ridge regression needs few rows. To add one: a function from a `Task` to stages in a file of its own, and an
entry in `_REGISTRY`.
"""

import warnings
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from neuralforest.base_models.combination_forecast import combination_forecast
from neuralforest.base_models.cross_fitting import Stages, Task
from neuralforest.base_models.extra_trees import extra_trees
from neuralforest.base_models.gradient_boosting import gradient_boosting, shallow_gradient_boosting
from neuralforest.base_models.ridge import ridge
from neuralforest.base_models.several_targets import MOST_TARGETS, for_every_target
from neuralforest.base_models.some_features import on_all_features
from neuralforest.exceptions import CostWarning
from neuralforest.selection import Candidate, OutOfSamplePredictions
from neuralforest.selection.stacking import is_promising, may_be_worthwhile

__all__ = ["FALLBACK", "Task", "candidates"]

_REGISTRY: tuple[Callable[[Task], Stages], ...] = (extra_trees, gradient_boosting, shallow_gradient_boosting, ridge)

FALLBACK = "combination_forecast", combination_forecast
"""Name and fit of the model for targets without a detectable signal."""


def candidates(
    task: Task, own: OutOfSamplePredictions, features: NDArray[np.int64] | None = None
) -> Iterator[Candidate]:
    """Fit every base model that suits a task; one is given up at the first stage that is not promising.

    `own` are the predictions of the network that base models would be stacked with. Given some features, base models
    use only those.
    """
    if features is not None:
        yield from (on_all_features(each, features, task) for each in candidates(task.restrict(features), own))
        return
    if task.classifier and len(np.unique(task.target[task.training])) < task.data.y.shape[1]:
        return  # no row of a class has a weight: base models would not predict it
    if not task.classifier and task.data.y.shape[1] > MOST_TARGETS:
        warnings.warn(
            f"y has {task.data.y.shape[1]} targets, and base models are fitted to each of them: with more than "
            f"{MOST_TARGETS}, the network is used alone",
            CostWarning,
            stacklevel=2,
        )
        return
    for fit in _REGISTRY:
        for stage in for_every_target(fit, task):
            if stage.is_complete:
                yield stage
                break
            arguments = own, stage.predictions, task.data.y, task.unit
            goes_on = may_be_worthwhile(*arguments, task.classifier) if stage.is_part else is_promising(*arguments)
            if not goes_on:
                break
