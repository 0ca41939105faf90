"""Calibration of classification: one temperature for the probabilities, fitted on out-of-sample predictions.

Means of many probability vectors are under-confident. Out-of-bag, a row is predicted by k of m subnetworks only, and
the fewer are averaged, the more confident is their mean, so that their best temperature is not that of all. The
subnetworks of a row are therefore divided into two halves: how the loss falls from k / 2 to k of them tells, to first
order in 1 / k, how far it falls from k to m. Rows that one subnetwork predicts show nothing of it, and are left out.

A temperature must pay by a standard error, and with half a pseudo-row that is misclassified, the prior of Jeffreys for
a proportion: no sample shows that a model is never wrong.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuralforest.network.evaluation import probabilities
from neuralforest.selection.guard import Selected
from neuralforest.selection.predictions import OutOfSamplePredictions, validation_loss
from neuralforest.training import Loss, TrainingData

_POWERS = 1.1 ** np.arange(-7, 22)  # 0.5 to 7.4, with 1 among them
_STANDARD_ERRORS = 1.0
_PSEUDO_ROWS = 0.5
_FEWEST_ROWS = 10
_MOST_ROWS = 20_000
_MOST_NUMBERS = 2_000_000  # rows times classes
_FLOOR = 1e-12  # of a probability


class Calibration(NamedTuple):
    """A temperature, and how much lower the log loss is with it, on validation rows."""

    temperature: float
    gain: float


NONE = Calibration(1.0, 0.0)


def with_calibrated_probabilities(selected: Selected, data: TrainingData, loss: Loss) -> Selected:
    """Return the classifier with a temperature; trees that the guard fell back to stay exactly what they are."""
    network = selected.network.with_temperature(1.0)
    selected = selected._replace(network=network)
    are_trees = network.hard.all() and not network.base_models
    if loss.name != "log_loss" or network.link == "probit" or not network.network_weight > 0 or are_trees:
        return selected
    both = selected.predictions
    found = fitted(both, data.y, network.link)
    if found.temperature == 1.0:
        return selected
    both = both._replace(prediction=_with_temperature(both.prediction, network.link, found.temperature))
    if data.validation.are_shared:
        found = found._replace(gain=selected.validation_loss - validation_loss(network, both, data, loss))
    return selected._replace(
        network=network.with_temperature(found.temperature),
        predictions=both,
        validation_loss=selected.validation_loss - found.gain,
    )


def _with_temperature(raw: NDArray[np.float64], link: str, temperature: float) -> NDArray[np.float64]:
    """Return raw predictions, which are probabilities where there is no link, with a temperature."""
    # means that are computed as differences from a centre may be below 0 by rounding
    return probabilities(link, np.maximum(raw, 0.0), temperature) if link == "identity" else raw / temperature


def fitted(
    predictions: OutOfSamplePredictions,
    y: NDArray[np.float64],  # (all rows, outputs)
    link: str,
) -> Calibration:
    """Return the temperature of the mean of all subnetworks, given out-of-sample predictions of few of them."""
    usable = predictions.weight > 0
    if (usable & predictions.has_halves).sum() >= _FEWEST_ROWS:
        usable &= predictions.has_halves
    if usable.sum() < _FEWEST_ROWS:
        return NONE
    predictions = predictions.restrict(predictions.row[usable])
    step = 1 + len(predictions.row) // min(_MOST_ROWS, 1 + _MOST_NUMBERS // y.shape[1])
    predictions = OutOfSamplePredictions._make(field[::step] for field in predictions)
    own, weight = _own_class(y[predictions.row]), predictions.weight / predictions.weight.sum()
    whole, *halves = (_logs(raw, link) for raw in (predictions.prediction, *predictions.halves.swapaxes(0, 1)))
    factor = _extrapolation(predictions)
    losses = np.stack([_extrapolated(whole, halves, own, power, factor) for power in _POWERS])
    return _best(losses, weight, _losses_if_wrong(whole))


def _logs(raw: NDArray[np.float64], link: str) -> NDArray[np.float64]:
    """Return the logarithms of probabilities, (rows, classes)."""
    return np.log(np.clip(probabilities(link, raw), _FLOOR, None))


def _own_class(y: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the class of each row, given its indicators or, for two classes, that of the second."""
    result: NDArray[np.int64] = y.argmax(axis=1) if y.shape[1] > 1 else y[:, 0].astype(np.int64)
    return result


def _log_loss(logs: NDArray[np.float64], own: NDArray[np.int64], power: float) -> NDArray[np.float64]:
    """Return the log loss of each row with probabilities raised to a power, (rows,)."""
    raised = np.exp(power * (logs - logs.max(axis=1, keepdims=True)))
    return -np.log(np.maximum(raised[np.arange(len(own)), own] / raised.sum(axis=1), 1e-16))


def _extrapolation(predictions: OutOfSamplePredictions) -> float:
    """Return how far it is from a row's k subnetworks to all, in units of the way from its halves to k of them.

    By variances: the excess of k over all, and that of halves over k.
    """
    distance = ((predictions.halves - predictions.prediction[:, None]) ** 2).mean(axis=1).sum()
    return float(min(predictions.excess_variance.sum() / distance, 1.0)) if distance > 0 else 0.0


def _extrapolated(
    whole: NDArray[np.float64],
    halves: list[NDArray[np.float64]],
    own: NDArray[np.int64],
    power: float,
    factor: float,
) -> NDArray[np.float64]:
    """Return the loss of each row if all subnetworks predicted it."""
    loss = _log_loss(whole, own, power)
    of_halves = np.mean([_log_loss(half, own, power) for half in halves], axis=0)
    result: NDArray[np.float64] = loss + factor * (loss - of_halves)
    return result


def _losses_if_wrong(logs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return, for each power, the loss of a row of median confidence whose class is the second most probable."""
    order = np.sort(logs, axis=1)
    typical = logs[np.argsort(order[:, -1], kind="stable")[len(logs) // 2]][None]
    second = np.argsort(typical, axis=1, kind="stable")[:, -2]
    return np.array([_log_loss(typical, second, power)[0] for power in _POWERS])


def _best(
    losses: NDArray[np.float64],  # (power, rows)
    weight: NDArray[np.float64],  # (rows,), sums to 1
    if_wrong: NDArray[np.float64],  # (power,)
) -> Calibration:
    """Return the temperature of the largest gain that can be relied on."""
    neutral = int(np.flatnonzero(_POWERS == 1.0)[0])
    gains = losses[neutral] - losses
    gain = gains @ weight
    n_effective = 1 / (weight**2).sum()
    error = np.sqrt((gains - gain[:, None]) ** 2 @ weight / n_effective)
    prior = _PSEUDO_ROWS / n_effective * np.maximum(if_wrong - if_wrong[neutral], 0.0)
    best = int(np.argmax(gain - _STANDARD_ERRORS * error - prior))
    return Calibration(float(1 / _POWERS[best]), float(gain[best])) if best != neutral else NONE
