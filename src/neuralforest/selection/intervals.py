"""Prediction intervals: conformal quantiles of the validation errors, in units of the disagreement of the trees.

Or in units of a learned scale of the errors, where that makes the intervals better on validation rows.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuralforest.exceptions import InvalidParameterError
from neuralforest.network import ForestNetwork
from neuralforest.selection.predictions import OutOfSamplePredictions
from neuralforest.training import SubnetworkRows, TrainingData

_PRIOR = 10.0  # trees that the disagreement of all rows counts for in that of one row
_MOST_ERRORS = 20_000  # that are kept; enough for quantiles of 0.0001
_LARGEST_EXCESS = 0.75  # of the squared errors, that is corrected for
_SMALLEST_SCALE = 0.1  # of the root of the scale, relative to its mean
_LEVEL = 0.9  # of the intervals that are compared
_SIGNIFICANT = 2.0  # standard errors by which a scale must make intervals better
_ROWS_OF_BIN = 200  # of rows that are sorted by their scale
_MOST_BINS = 12


@dataclass(frozen=True, eq=False)
class Residuals:
    """Errors of validation rows, target minus prediction, in units of the disagreement of the trees there.

    Out-of-bag, one or two trees may predict a row, whose disagreement is a poor estimate: it is shrunk towards that of
    all rows.
    Half of the floor is added to the disagreement of a row, so that unanimous trees are not taken as certain. With a
    prior of 0, errors are divided by the disagreement of a row's own trees plus the floor.

    With a scale, a model of the root of absolute errors, the unit is its square, and the floor is the smallest root.
    What is learned from noise varies less than the noise, so that the unit is also multiplied by a factor that makes
    the coverage of rows of any scale the same. It is linear between the middles of bins.
    """

    relative: NDArray[np.float64]  # (rows, outputs), each column sorted
    floor: NDArray[np.float64]  # (outputs,): the disagreement of all rows together
    prior: float = _PRIOR  # the number of trees that the floor counts for in the disagreement of a row
    scale: ForestNetwork | None = None  # hard: predicts roots of absolute errors, (rows, outputs)
    middle: NDArray[np.float64] | None = None  # (outputs, bins), with a scale: increasing
    factor: NDArray[np.float64] | None = None  # (outputs, bins), with a scale

    @classmethod
    def measure(cls, network: ForestNetwork, data: TrainingData, predictions: OutOfSamplePredictions) -> "Residuals":
        """Take the errors of a trained network on its validation rows."""
        return cls.of(*_of_validation_rows(network, data, predictions), data, predictions)

    @classmethod
    def of(
        cls,
        squares: NDArray[np.float64],  # (rows, outputs): see `deviations`
        count: NDArray[np.float64],  # (rows, 1)
        data: TrainingData,
        predictions: OutOfSamplePredictions,
    ) -> "Residuals":
        """Take the errors of predictions, given the disagreement of the trees for the same rows."""
        floor = np.sqrt(squares.sum(axis=0) / max((count - 1).sum(), 1))
        floor = np.where(floor > 0, floor, 1.0)  # a single tree: all rows are alike
        unit = _unit(squares, count, floor, _PRIOR)
        return cls(_thinned(np.sort(expected_errors(data, predictions) / unit, axis=0)), floor)

    def units(
        self, network: ForestNetwork, data: TrainingData, predictions: OutOfSamplePredictions
    ) -> NDArray[np.float64]:
        """Return the disagreement of the trees for each validation row, (rows, outputs)."""
        return _unit(*_of_validation_rows(network, data, predictions), self.floor, self.prior)

    def or_scaled(
        self,
        data: TrainingData,
        predictions: OutOfSamplePredictions,
        units: NDArray[np.float64],  # (rows, outputs): those of these residuals
        roots: NDArray[np.float64],  # (rows, outputs): predictions of models that were not fitted to these rows
        scale: ForestNetwork,  # the model that predicts other rows
    ) -> tuple["Residuals", NDArray[np.float64]]:
        """Return errors in units of a scale, where intervals are better on validation rows by more than chance.

        Also their units. Otherwise both stay as they are.
        """
        errors = expected_errors(data, predictions)
        floor = _SMALLEST_SCALE * np.sqrt(np.abs(errors)).mean(axis=0)
        gain = _interval_scores(errors, units) - _interval_scores(errors, _cross_fitted_unit(roots, floor, errors))
        part = predictions.weight / predictions.weight.sum()
        mean = (part * gain).sum()
        if mean <= _SIGNIFICANT * np.sqrt((part**2 * (gain - mean) ** 2).sum()):
            return self, units
        errors = _expected_by_unit(np.maximum(roots, floor) ** 2, data, predictions)
        bins = _bins(roots, floor, errors)
        unit = _scaled_unit(roots, floor, *bins)
        return Residuals(_thinned(np.sort(errors / unit, axis=0)), floor, self.prior, scale, *bins), unit

    def quantiles(
        self, network: ForestNetwork, X: NDArray[np.floating], prediction: NDArray[np.float64], quantiles: ArrayLike
    ) -> NDArray[np.float64]:
        """Return quantiles of the target, (rows, outputs, quantiles)."""
        levels = _levels(quantiles)
        steps = _conformal(self.relative, levels)
        if self.scale is None or self.middle is None or self.factor is None:
            unit = _unit(*_deviations(network, X), self.floor, self.prior)
        else:
            unit = _scaled_unit(self.scale.prediction(X), self.floor, self.middle, self.factor)
        return prediction[:, :, None] + unit[:, :, None] * steps.T[None]


def _bins(
    roots: NDArray[np.float64], floor: NDArray[np.float64], errors: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the middles of bins of rows of similar units, and how many units the 90% of smaller errors there have."""
    unit = np.maximum(roots, floor) ** 2
    middle, factor = np.empty((2, unit.shape[1], _n_bins(unit)))
    for output, (own, error) in enumerate(zip(unit.T, np.abs(errors).T, strict=True)):
        for number, rows in enumerate(_by_size(own)):
            middle[output, number] = np.median(own[rows])
            factor[output, number] = np.quantile(error[rows] / own[rows], _LEVEL)
    factor /= np.maximum(factor.mean(axis=1, keepdims=True), np.finfo(np.float64).tiny)
    return middle, np.maximum(factor, _SMALLEST_SCALE)  # where most errors are 0


def _n_bins(unit: NDArray[np.float64]) -> int:
    return int(np.clip(len(unit) // _ROWS_OF_BIN, 1, _MOST_BINS))


def _by_size(unit: NDArray[np.float64]) -> list[NDArray[np.int64]]:
    """Return the rows in bins of similar units, (rows,), from small to large."""
    return np.array_split(np.argsort(unit, kind="stable"), _n_bins(unit))


def _cross_fitted_unit(
    roots: NDArray[np.float64], floor: NDArray[np.float64], errors: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the unit of each row, with factors from the other half of the rows."""
    unit = np.empty_like(roots)
    for own in (slice(0, None, 2), slice(1, None, 2)):
        other = slice(1 - own.start, None, 2)
        unit[own] = _scaled_unit(roots[own], floor, *_bins(roots[other], floor, errors[other]))
    return unit


def _scaled_unit(
    roots: NDArray[np.float64],
    floor: NDArray[np.float64],
    middle: NDArray[np.float64],
    factor: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return the unit of each row from the predicted root of its absolute error, (rows, outputs)."""
    unit: NDArray[np.float64] = np.maximum(roots, floor) ** 2
    for output, own in enumerate(unit.T):
        unit[:, output] = own * np.interp(own, middle[output], factor[output])
    return unit


def _conformal(relative: NDArray[np.float64], levels: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return quantiles of sorted errors, (quantiles, outputs).

    Conformal: of one row more than there are, and outwards where the level falls between two.
    """
    n = len(relative)
    ranks = np.where(levels < 0.5, np.floor((n + 1) * levels), np.ceil((n + 1) * levels))
    result: NDArray[np.float64] = relative[np.clip(ranks.astype(np.int64) - 1, 0, n - 1)]
    return result


def _interval_scores(errors: NDArray[np.float64], unit: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the interval score of each row, (rows,): its width, plus what the error exceeds it by, many times.

    Several targets count in units of their mean width.
    """
    tail = (1.0 - _LEVEL) / 2
    low, high = _conformal(np.sort(errors / unit, axis=0), np.array([tail, 1.0 - tail]))
    low, high = low * unit, high * unit
    outside = np.maximum(low - errors, 0.0) + np.maximum(errors - high, 0.0)
    scale = np.abs(errors).mean(axis=0)
    result: NDArray[np.float64] = ((high - low + outside / tail) / scale).mean(axis=1)
    return result


def _thinned(errors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return evenly spaced ones of many sorted errors, (rows, outputs): models do not grow with their rows."""
    if len(errors) <= _MOST_ERRORS:
        return errors
    return errors[np.linspace(0, len(errors) - 1, _MOST_ERRORS).round().astype(np.int64)]


def expected_errors(data: TrainingData, predictions: OutOfSamplePredictions) -> NDArray[np.float64]:
    """Return the errors, as large as they would be if all subnetworks had predicted each row."""
    error, excess = _scaled_errors(data, predictions)
    mean = np.average(error**2, axis=0, weights=predictions.weight)
    own = np.average(excess, axis=0, weights=predictions.weight)
    return (data.y[predictions.row] - predictions.prediction) * _shrinkage(own, mean)


def _expected_by_unit(
    unit: NDArray[np.float64], data: TrainingData, predictions: OutOfSamplePredictions
) -> NDArray[np.float64]:
    """Return the expected errors, with the excess variance of rows of similar units: both grow with the noise.

    A row that one subnetwork predicts has no variance of its own, and that of all rows in its place: the excess of a
    bin is known from the rows that several predict, relative to all such rows.
    """
    errors = data.y[predictions.row] - predictions.prediction
    several, weight = predictions.has_halves, predictions.weight
    if not predictions.excess_variance[several].any():
        several[:] = True
    for output, (own, error, excess) in enumerate(
        zip(unit.T, *(each.T for each in _scaled_errors(data, predictions)), strict=True)
    ):
        relative = excess / max(_mean(excess[several], weight[several]), np.finfo(np.float64).tiny)
        for rows in _by_size(own):
            both = rows[several[rows]]
            of_bin = _mean(relative[both], weight[both]) if len(both) else 1.0
            expected = _mean(excess, weight) * of_bin
            errors[rows, output] *= _shrinkage(expected, _mean(error[rows] ** 2, weight[rows]))
    return errors


def _mean(values: NDArray[np.float64], weight: NDArray[np.float64]) -> float:
    """Return the weighted mean; that without weights where all of them are 0."""
    return float(np.average(values, weights=weight if weight.any() else None))


def _scaled_errors(
    data: TrainingData, predictions: OutOfSamplePredictions
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return errors and excess variances in units of the largest error: squares of large numbers would be infinite."""
    error = data.y[predictions.row] - predictions.prediction
    largest = np.abs(error).max(axis=0)
    scale = np.where(largest > 0, largest, 1.0)
    return error / scale, predictions.excess_variance / scale / scale


def _shrinkage(excess: Any, square: Any) -> Any:
    """Return the factor of errors that takes the excess variance out of their mean square."""
    share = np.divide(excess, square, out=np.zeros_like(square), where=square > 0)
    return np.sqrt(1.0 - np.minimum(share, _LARGEST_EXCESS))


def _unit(
    squares: NDArray[np.float64], count: NDArray[np.float64], floor: NDArray[np.float64], prior: float
) -> NDArray[np.float64]:
    """Return the disagreement for each row, where that of all rows counts as much as `prior` trees."""
    if prior == 0:
        return np.sqrt(squares / np.maximum(count, 1)) + floor
    return np.sqrt((squares + prior * floor**2) / (count - 1 + prior)) + floor / 2


def _levels(quantiles: ArrayLike) -> NDArray[np.float64]:
    try:
        levels = np.atleast_1d(np.asarray(quantiles, np.float64))
    except (TypeError, ValueError):
        levels = np.array([np.nan])
    if levels.ndim != 1 or not len(levels) or not ((levels > 0) & (levels < 1)).all():
        raise InvalidParameterError(f"quantiles must be numbers between 0 and 1, like (0.05, 0.95), got {quantiles!r}")
    return levels


def _of_validation_rows(
    network: ForestNetwork, data: TrainingData, predictions: OutOfSamplePredictions
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the deviations of the trees for the rows of predictions."""
    if data.validation.are_shared:
        return _deviations(network, data.X[predictions.row])
    squares, count = _deviations(network, data.X, data.validation)
    return squares[predictions.row], count[predictions.row]


def _deviations(
    network: ForestNetwork, X: NDArray[np.floating], rows: SubnetworkRows | None = None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return how far the forest's trees are from their mean: sums of squares (rows, outputs), and trees (rows, 1).

    Of the trees themselves, because those of a joint network do not predict by themselves. With `rows`, a tree counts
    only for its own (out-of-bag) rows: the others are its training rows.
    """
    e = network.ensemble
    if e.aggregation == "sum" and e.n_groups > 1:  # a part of a sum predicts nothing: all rows are alike
        return np.zeros((len(X), e.n_outputs)), np.ones((len(X), 1))
    leaves = network.apply_checked(X)
    subnetworks = np.arange(e.n_trees) * (0 if rows is None else len(rows.begin)) // e.n_trees
    own = [slice(None) if rows is None else rows.of(each)[0] for each in subnetworks.tolist()]
    values = (e.value[e.first_leaf[tree] + leaves[own[tree], tree]] for tree in range(e.n_trees))
    return deviations(zip(own, values, strict=True), (len(X), e.n_outputs))


def deviations(
    values: Iterable[tuple[Any, NDArray[np.float64]]], shape: tuple[int, int]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return sums of squares and counts of trees for each row, given rows and values of one tree after the other."""
    count = np.zeros((shape[0], 1))
    mean, squares = np.zeros(shape), np.zeros(shape)
    for own, value in values:
        count[own] += 1
        step = value - mean[own]
        mean[own] += step / count[own]
        squares[own] += step * (value - mean[own])
    return squares, count
