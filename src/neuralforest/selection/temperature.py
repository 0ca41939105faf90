"""Calibration of classification: one temperature for the probabilities, fitted on out-of-sample predictions.

Means of many probability vectors are under-confident. Out-of-bag, a row is predicted by k of m subnetworks only, and
the fewer are averaged, the more confident is their mean, so that their best temperature is not that of all. The
subnetworks of a row are therefore divided into two halves: how the loss falls from k / 2 to k of them tells, to first
order in 1 / k, how far it falls from k to m.

A temperature must pay by a standard error, and with half a pseudo-row that is misclassified, the prior of Jeffreys for
a proportion: no sample shows that a model is never wrong.
"""

from collections.abc import Iterable
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

Outputs = Iterable[tuple[NDArray[np.integer], NDArray[np.floating], NDArray[np.float64]]]
"""Row numbers, weights and raw predictions of one subnetwork after the other."""


def with_calibrated_probabilities(
    selected: Selected, alone: OutOfSamplePredictions, data: TrainingData, loss: Loss
) -> Selected:
    """Return the classifier with a temperature; `alone` are the predictions of its network without a stack.

    Trees that the guard fell back to stay exactly what they are.
    """
    network = selected.network.with_temperature(1.0)
    selected = selected._replace(network=network)
    are_trees = network.hard.all() and not network.base_models
    if loss.name != "log_loss" or network.link == "probit" or not network.network_weight > 0 or are_trees:
        return selected
    both, rows = selected.predictions, data.validation
    if rows.are_shared:
        found = of_shared_rows(both, data.y, network.link)
    else:
        of_base_models = both.prediction - network.network_weight * alone.restrict(both.row).prediction
        outputs = (
            (*rows.of(each), network.network_weight * network.subnetwork_output(each, data.X[rows.of(each)[0]]))
            for each in range(network.n_subnetworks)
        )
        found = fitted(outputs, data.y, network.link, network.n_subnetworks, both.row, of_base_models)
    if found.temperature == 1.0:
        return selected
    both = both._replace(prediction=_with_temperature(both.prediction, network.link, found.temperature))
    if rows.are_shared:
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


def of_shared_rows(predictions: OutOfSamplePredictions, y: NDArray[np.float64], link: str) -> Calibration:
    """Return the temperature of predictions that all subnetworks together made."""
    return fitted([(predictions.row, predictions.weight, predictions.prediction)], y, link, 1, predictions.row)


def fitted(
    outputs: Outputs,
    y: NDArray[np.float64],  # (all rows, outputs)
    link: str,
    n_subnetworks: int,
    rows: NDArray[np.int64],  # to use, each predicted by a subnetwork
    added: NDArray[np.float64] | None = None,  # (rows, outputs): to the mean of the outputs of a row
) -> Calibration:
    """Return the temperature of the mean of all subnetworks, given what each predicts for its validation rows."""
    some = slice(None, None, 1 + len(rows) // min(_MOST_ROWS, 1 + _MOST_NUMBERS // y.shape[1]))
    rows = rows[some]
    place = np.full(len(y), -1)
    place[rows] = np.arange(len(rows))
    sums, counts = np.zeros((2, len(rows), y.shape[1])), np.zeros((2, len(rows)), np.int64)
    weight = np.zeros(len(rows))
    for row, row_weight, output in outputs:
        at = place[row]
        is_used, at = at >= 0, at[at >= 0]
        half = counts.sum(axis=0)[at] % 2
        sums[half, at] += output[is_used]
        counts[half, at] += 1
        weight[at] = row_weight[is_used]
    usable = weight > 0
    if usable.sum() < _FEWEST_ROWS:
        return NONE
    sums, counts, weight = sums[:, usable], counts[:, usable], weight[usable] / weight[usable].sum()
    base = 0.0 if added is None else added[some][usable]
    whole = _logs(sums.sum(axis=0) / counts.sum(axis=0)[:, None] + base, link)
    halves = [
        _logs(part / np.maximum(count, 1)[:, None] + base, link) for part, count in zip(sums, counts, strict=True)
    ]
    own = _own_class(y[rows[usable]])
    losses = np.stack([_extrapolated(whole, halves, counts, own, power, n_subnetworks) for power in _POWERS])
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


def _extrapolated(
    whole: NDArray[np.float64],
    halves: list[NDArray[np.float64]],
    counts: NDArray[np.int64],  # (2, rows): subnetworks in each half
    own: NDArray[np.int64],
    power: float,
    n_subnetworks: int,
) -> NDArray[np.float64]:
    """Return the loss of each row if all subnetworks predicted it: linear in 1 / (their number)."""
    k = counts.sum(axis=0)
    loss = _log_loss(whole, own, power)
    several = counts[1] > 0
    of_halves = sum(_log_loss(half, own, power) for half in halves) / 2
    inverse = (1 / counts[0] + 1 / np.maximum(counts[1], 1)) / 2
    factor = np.maximum(1 / k - 1 / n_subnetworks, 0.0) / np.where(several, inverse - 1 / k, 1.0)
    return np.where(several, loss + factor * (loss - of_halves), loss)


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
