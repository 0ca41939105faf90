"""The constructor's parameters: a rule for each, checked before any work is done."""

import math
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import Any, Self, get_args

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from neuralforest.exceptions import InvalidParameterError
from neuralforest.training import Callback, Checkpoint
from neuralforest.training.settings import Schedule

Contrast = tuple[float, float] | Sequence[tuple[float, float]]


@dataclass(eq=False, repr=False)
class Parameters(BaseEstimator):
    """The parameters of both estimators, with the regressor's defaults."""

    forest: Any = None
    _: KW_ONLY
    categorical_features: Any = "from_dtype"
    tune: str = "all"
    training: str = "auto"
    connectivity: str = "auto"
    contrast: Contrast = (2.0, 0.5)
    contrast_unit: str = "node"
    learning_rate: float | tuple[float, float, float] = 0.012
    schedule: str = "one_cycle"
    batch_size: int = 32
    max_epochs: int | str = "auto"
    stacking: str | None = "auto"
    weight_decay: float = 0.0
    loss: str = "auto"
    loss_parameter: float | None = None
    validation: str = "auto"
    validation_fraction: float = 0.25
    n_iter_no_change: int | None = None
    standardize: bool = True
    fold_contrast: bool = False
    weight_bound: float | None = None
    warm_start: bool = False
    callback: Callback | None = None
    checkpoint: Checkpoint | None = None
    n_jobs: int | None = None
    random_state: int | np.random.RandomState | None = None
    verbose: int = 0

    def set_params(self, **params: Any) -> Self:
        """Set parameters; those of the forest by nested names, such as forest__max_depth, where one is given."""
        nested = [name for name in params if name.startswith("forest__")]
        if nested and params.get("forest", self.forest) is None:
            raise InvalidParameterError(
                f"{nested[0]} needs a forest that has the parameter, and forest is None, the default forest, which "
                "chooses its parameters by the number of rows: pass forest=RandomForestRegressor(max_leaf_nodes=64), "
                "say, or RandomForestClassifier"
            )
        return super().set_params(**params)


Rule = tuple[Callable[[Any], bool], str]
"""Whether a value is right, and the words behind "must be"."""


def check_parameters(parameters: dict[str, Any], classifier: bool) -> None:
    """Refuse a parameter outside its range, with a message that names it and its range."""
    rules = _RULES | {"loss": _one_of("auto", "log_loss")} if classifier else _RULES
    for name, (is_right, words) in rules.items():
        if name in parameters and not is_right(parameters[name]):
            raise InvalidParameterError(f"{name} must be {words}, got {parameters[name]!r}")
    if parameters["loss"] == "quantile" and (parameters["loss_parameter"] or 1) >= 1:
        raise InvalidParameterError(
            "loss_parameter must be the level of the quantile for loss='quantile', above 0 and below 1, such as 0.5 "
            f"for the median, got {parameters['loss_parameter']!r}"
        )


def contrast_pairs(contrast: Any) -> list[tuple[float, float]]:
    """Return the contrasts to try: one pair, or several of which the best on validation is kept."""
    return [(float(splits), float(leaves)) for splits, leaves in np.atleast_2d(np.asarray(contrast, np.float64))]


def enough_epochs(n_rows: float, batch_size: int, classifier: bool) -> int:
    """Return how many epochs of n_rows make 3,800 steps of training, or where rows are few up to 6,000.

    They are at most 400, and at least 5, or for many rows as many as make 50,000 steps of 32 rows, at least 2.
    """
    fewest = np.clip(np.ceil(1_600_000 / n_rows), 2, 5)
    steps = np.clip((10_000_000 if classifier else 3_800_000) / n_rows, 3_800, 6_000)
    return int(np.clip(np.ceil(steps * batch_size / n_rows), fewest, 400))


def _one_of(*names: str) -> Rule:
    *others, last = map(repr, names)
    words = f"{', '.join(others)} or {last}" if others else last
    return lambda value: isinstance(value, str) and value in names, words


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)


def _number_above(low: float) -> Rule:
    return lambda value: _is_number(value) and value > low, f"a number above {low:g}"


def _whole_number(low: int) -> Rule:
    return (
        lambda value: isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= low,
        f"a whole number of at least {low}",
    )


def _or_none(rule: Rule, meaning: str) -> Rule:
    return lambda value: value is None or rule[0](value), f"{rule[1]}, or None for {meaning}"


def _is_sequence_of_pairs(value: Any) -> bool:
    try:
        pairs = np.atleast_2d(np.asarray(value, np.float64))
    except (TypeError, ValueError):
        return False
    return (
        pairs.ndim == 2 and pairs.shape[1] == 2 and len(pairs) > 0 and bool((pairs > 0).all() & (pairs < np.inf).all())
    )


def _is_rate(value: Any) -> bool:
    rates = [value] if isinstance(value, Real) else value
    return (
        isinstance(rates, (list, tuple, np.ndarray))
        and len(rates) in ((1,) if isinstance(value, Real) else (3,))
        and all(_is_number(rate) and rate >= 0 for rate in rates)
        and any(rate > 0 for rate in rates)
    )


_BOOLEAN: Rule = (lambda value: isinstance(value, (bool, np.bool_)), "True or False")

_RULES: dict[str, Rule] = {
    "categorical_features": (
        lambda value: value == "from_dtype" if isinstance(value, str) else not np.isscalar(value),
        "'from_dtype', a list of names or numbers of columns, a mask, or None for no categories",
    ),
    "tune": _one_of("all", "leaves", "splits"),
    "training": _one_of("auto", "independent", "joint"),
    "connectivity": _one_of("auto", "sparse", "full"),
    "contrast": (
        _is_sequence_of_pairs,
        "a pair of positive numbers, for splits and leaves, or several such pairs to choose from",
    ),
    "learning_rate": (_is_rate, "a positive number, or three of at least 0 for splits, leaves and output"),
    "schedule": _one_of(*get_args(Schedule)),
    "batch_size": _whole_number(1),
    "stacking": _or_none(_one_of("auto"), "the network alone"),
    "contrast_unit": _one_of("node", "feature"),
    "max_epochs": (
        lambda value: (isinstance(value, str) and value == "auto") or _whole_number(0)[0](value),
        "a whole number of at least 0, or 'auto'",
    ),
    "n_epochs": _whole_number(0),  # of partial_fit
    "weight_decay": (lambda value: _is_number(value) and value >= 0, "a number of at least 0"),
    "loss": _one_of("auto", "squared_error", "huber", "quantile"),
    "loss_parameter": _or_none(_number_above(0), "the default of the Huber loss"),
    "validation": _one_of("auto", "oob", "cv", "fraction"),
    "validation_fraction": (lambda value: _is_number(value) and 0 < value < 1, "a number between 0 and 1"),
    "n_iter_no_change": _or_none(_whole_number(1), "training to the last epoch"),
    "standardize": _BOOLEAN,
    "fold_contrast": _BOOLEAN,
    "weight_bound": _or_none(_number_above(0), "no bound"),
    "warm_start": _BOOLEAN,
    "callback": (
        lambda value: value is None or (callable(value) and not isinstance(value, type)),
        "a function of an epoch's number and the history, or None",
    ),
    "checkpoint": (lambda value: value is None or isinstance(value, Checkpoint), "an nf.Checkpoint, or None"),
    "n_jobs": (
        lambda value: value is None or (isinstance(value, Integral) and not isinstance(value, bool) and value != 0),
        "a number of threads, negative to count from all processors, or None; 0 has no meaning",
    ),
    "random_state": (
        lambda value: (
            value is None or isinstance(value, np.random.RandomState) or (_whole_number(0)[0](value) and value < 2**32)
        ),
        "a whole number from 0 to 2**32 - 1, a RandomState, or None",
    ),
    "verbose": (
        lambda value: isinstance(value, (Integral, np.bool_)) and int(value) >= 0,
        "0 (nothing), 1 (a summary) or 2 (a line an epoch)",
    ),
    "class_weight": (
        lambda value: value is None or value == "balanced" or isinstance(value, dict),
        "a dictionary from classes to weights, 'balanced' or None",
    ),
}


def seeds_of(random_state: int | np.random.RandomState | None) -> list[int]:
    """Return seeds for the forest, the split, the training and the base models."""
    return [int(seed) for seed in check_random_state(random_state).randint(np.iinfo(np.int32).max, size=4)]
