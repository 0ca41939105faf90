"""Stacking: base models whose predictions are blended with those of a network by fixed weights. They are not trained.

Predictions and probabilities are blended; where the network has a link, the scores before it, of models of that link.

The protocol `BaseModel` is all that a network, the selection of stacking weights and the importances ask of a base
model. Files and exports have a table from the type of a base model to how it is written.
"""

from dataclasses import dataclass
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from neuralforest.ensemble import TreeEnsemble
from neuralforest.exceptions import InvalidParameterError


class BaseModel(Protocol):
    """What can be stacked with a network: a hard `ForestNetwork`, or a `LinearModel`."""

    @property
    def n_features(self) -> int: ...
    @property
    def n_outputs(self) -> int: ...
    @property
    def classes(self) -> NDArray[Any] | None: ...
    @property
    def link(self) -> str: ...
    @property
    def compare_dtype(self) -> str | None: ...

    def prediction(self, X: NDArray[np.floating], n_jobs: int | None = None) -> NDArray[np.float64]:
        """Return what is blended: the predictions of a regression, or probabilities, (rows, outputs)."""

    def importances(self) -> NDArray[np.float64]:
        """Return the importances of the features, (features,), which sum to 1 or are all 0."""


@dataclass(frozen=True, eq=False)
class StackedModel:
    """A base model and its stacking weight.

    A fallback replaces over-dispersed predictions where there is no detectable signal. It is dropped when training goes
    on with other rows.
    """

    name: str  # such as "gradient_boosting"; a key of `stacking_weights`
    model: BaseModel
    weight: float  # between 0 and 1; the network has what all base models leave
    is_fallback: bool = False


def stackable(model: BaseModel, link: str, X: NDArray[np.floating], n_jobs: int | None = None) -> NDArray[np.float64]:
    """Return what a model adds to a stack with a network of this link: scores, or predictions where it has none."""
    if link == "identity":
        return model.prediction(X, n_jobs)
    scores: NDArray[np.float64] = cast(Any, model).stacked_output(X, n_jobs)  # a network: it has the same link
    return scores


def check_base_models(e: TreeEnsemble, models: tuple[StackedModel, ...]) -> None:
    """Refuse base models that cannot be stacked with a network of these trees."""
    weights = [each.weight for each in models]
    if not (all(weight >= 0 for weight in weights) and sum(weights) <= 1 + 1e-9):
        raise InvalidParameterError(f"stacking weights must be at least 0 and at most 1 in total, got {weights}")
    for each in models:
        _check_model(e, each.model)


def _check_model(e: TreeEnsemble, model: BaseModel) -> None:
    if e.link != "identity" and (e.link, e.n_outputs) != (model.link, model.n_outputs):
        raise InvalidParameterError(
            f"a network with the link {e.link!r} is stacked before the link, with models of the same link and as many "
            f"outputs, {e.n_outputs}; got the link {model.link!r} and {model.n_outputs} outputs"
        )
    if e.link == "probit" and e.n_groups > 1:
        raise InvalidParameterError("a network that averages probabilities of several draws cannot be stacked")
    if getattr(model, "temperature", 1.0) != 1.0:
        raise InvalidParameterError("a base model must have the temperature 1: that of the stack is the network's")
    labels = [None if each is None else each.tolist() for each in (e.classes, model.classes)]
    shapes = [(part.n_features, None if e.classes is not None else part.n_outputs) for part in (e, model)]
    if labels[0] != labels[1] or shapes[0] != shapes[1]:
        raise InvalidParameterError(
            "a base model must have the features, the classes and, in regression, the outputs of the network, "
            f"{shapes[0]} and {labels[0]}, got {shapes[1]} and {labels[1]}"
        )
    if model.classes is None and model.link != e.link:
        raise InvalidParameterError(f"a base model must have the link of the network, {e.link!r}, got {model.link!r}")
    if model.compare_dtype not in (None, e.compare_dtype):
        raise InvalidParameterError(
            f"a base model must compare in the dtype of the network, {e.compare_dtype}, got {model.compare_dtype}"
        )
