"""Several targets: a base model is fitted for each target by itself, and the models are joined into one."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from neuralforest.base_models.cross_fitting import Stages, Task
from neuralforest.ensemble import concatenated
from neuralforest.network import BaseModel, ForestNetwork, LinearModel
from neuralforest.selection import Candidate

MOST_TARGETS = 20
"""Targets that base models are fitted to: each takes as long as one alone."""


def for_every_target(fit: Callable[[Task], Stages], task: Task) -> Stages:
    """Fit a base model to each target; a stage is complete when it is for all of them."""
    if task.classifier or task.data.y.shape[1] == 1:
        yield from fit(task)
        return
    columns = [[number] for number in range(task.data.y.shape[1])]
    tasks = [
        task._replace(data=replace(task.data, y=task.data.y[:, own]), target=task.data.y[:, own[0]]) for own in columns
    ]
    stages = [fit(each) for each in tasks]
    current: list[Candidate | None] = [None] * len(stages)
    while True:
        for number, each in enumerate(current):
            if each is None or not each.is_complete:
                current[number] = next(stages[number], None)
        complete = [each for each in current if each is not None]
        if len(complete) < len(current):
            return  # the model does not suit these rows
        joined = _joined(complete)
        yield joined
        if joined.is_complete:
            return


def _joined(candidates: Sequence[Candidate]) -> Candidate:
    """Return candidates for one target each, with predictions of the same rows, as one for all targets."""
    first = candidates[0].predictions
    fields = {
        name: np.concatenate([getattr(each.predictions, name) for each in candidates], axis=-1)
        for name in ("prediction", "excess_variance", "halves")
    }
    together = first._replace(**fields)
    is_complete, is_part = all(each.is_complete for each in candidates), any(each.is_part for each in candidates)
    model = _model([each.model for each in candidates])
    refit = partial(_refitted, candidates) if any(each.refit for each in candidates) else None
    return Candidate(candidates[0].name, model, together, is_complete, refit, is_part)


def _refitted(candidates: Sequence[Candidate]) -> BaseModel:
    """Fit the models that are stacked instead, one for each target."""
    return _model([each.model if each.refit is None else each.refit() for each in candidates])


def _model(models: Sequence[BaseModel]) -> BaseModel:
    parts: Sequence[Any] = models
    if isinstance(parts[0], LinearModel):
        coef, intercept = np.hstack([each.coef for each in parts]), np.concatenate([each.intercept for each in parts])
        return replace(parts[0], coef=coef, intercept=intercept)
    ensembles = [each.ensemble for each in parts]
    is_mean, n_trees = ensembles[0].aggregation == "mean", sum(e.n_trees for e in ensembles)
    widened = []
    for number, e in enumerate(ensembles):
        value = np.zeros((e.n_leaves, len(ensembles)))
        value[:, number] = e.value[:, 0] * (n_trees / e.n_trees if is_mean else 1.0)  # a tree adds to its own target
        widened.append(replace(e, value=value, base_score=np.zeros(len(ensembles))))
    base_score = np.concatenate([e.base_score for e in ensembles])
    return ForestNetwork(replace(concatenated(widened), base_score=base_score))
