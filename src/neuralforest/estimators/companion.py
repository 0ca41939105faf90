"""Companions beside a network: each gets the share of the prediction that suits rows which neither has seen.

But for a careful line, which is fitted to all rows that the network learns from, as the mean of a target is.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuralforest.companion import Companion
from neuralforest.estimators import lines
from neuralforest.estimators.folds import Candidate
from neuralforest.network import ForestNetwork
from neuralforest.training import TrainingData, guard
from neuralforest.training.guard import Judged
from neuralforest.training.losses import Loss
from neuralforest.training.shrinking import STEPS, shrink_factors
from neuralforest.training.steady_mean import steady_mean

_LEAST = 0.05  # a smaller share is not worth the memory
_FEWEST_ROWS = 10  # that can tell which of two is better
_MOST = 0.95  # so that what deep trees call impossible stays possible, and a network can still be heard
_SURE = 1.0  # standard errors that a share must be above 0
_SURE_OF_ITSELF = 2.0  # the same beside the mean of the target: who knows nothing does not help by chance
_SURE_OF_CLASSES = 2.0  # shares are the best ones for squared errors, and log loss punishes more
_HOPE = 1.0  # standard errors by which a candidate that is not yet complete may be better than it seems


class Beside(NamedTuple):
    """What all companions say on validation rows, in the mean by their shares, and which rows these belong to."""

    judged: Judged
    digest: str


class Choice(NamedTuple):
    """A network with companions, what all say on validation rows, the loss of that, and what the companions say."""

    network: ForestNetwork
    judged: Judged
    loss: float
    forest_loss: float  # on the same rows
    beside: Beside


def choose(
    network: ForestNetwork, candidates: Iterable[Candidate], own: Judged, data: TrainingData, loss: Loss
) -> Choice | None:
    """Give candidates the shares that they deserve; return None where they deserve none.

    Parameters
    ----------
    candidates : iterable of Candidate
    own : Judged
        What the network says on validation rows.
    """
    learnt, before = data.learnt[0], guard.validation_output(guard.all_hard(network), data)
    mean = _known(own, np.tile(steady_mean(data.y[learnt]), (len(own.row), 1)))
    said, left = own, [each for each in candidates if best_share(mean, each.judged, data.y, _SURE_OF_ITSELF)]
    chosen: list[Companion] = []
    beside: Judged | None = None
    if (wanted := _wanted_share_of_a_line(network, own, data, loss)) >= _LEAST:
        line = lines.careful_line(data.X[learnt], data.y[learnt])
        careful = _known(own, line.output(data.X[own.row]))
        if share := _affordable_share(network, wanted, own, careful, before, data, loss):
            said, beside, chosen = mixed(own, careful, share), careful, [Companion(line, share, stopgap=True)]
    while offers := _offers(network, said, left, data, loss):
        _, place, share = min(offers)
        candidate = left.pop(place)
        said = mixed(said, candidate.judged, share)
        chosen = [replace(other, share=(1 - share) * other.share) for other in chosen]
        chosen.append(Companion(candidate.source, share))
        total = sum(other.share for other in chosen)
        beside = candidate.judged if beside is None else mixed(beside, candidate.judged, share / total)
    if beside is None:
        return None
    forest_loss, after = (guard.judged_loss(network, each.on(said.row), data, loss) for each in (before, said))
    if after > forest_loss:
        return None
    return Choice(network.with_companions(tuple(chosen)), said, after, forest_loss, Beside(beside, digest_of(data)))


def _known(own: Judged, output: NDArray[np.float64]) -> Judged:
    """Return something without noise that is said on the rows which judge the network."""
    return own._replace(output=output, noise=np.zeros_like(output))


def _wanted_share_of_a_line(network: ForestNetwork, own: Judged, data: TrainingData, loss: Loss) -> float:
    """Return how much of the prediction should be left to a careful line, where others say more than they know.

    A network has been shrunk by then, if features are standardised: its slope is near 1, unless it knows nothing. Trees
    that were kept have not.
    """
    if loss.name != "squared_error" or network.soft is None:
        return 0.0
    (factor,) = shrink_factors(network, own, data)
    return float(min(1.0 - factor, _MOST))


def _affordable_share(
    network: ForestNetwork, wanted: float, own: Judged, other: Judged, before: Judged, data: TrainingData, loss: Loss
) -> float:
    """Return the largest part of a wanted share with which the loss does not rise above that of the trees."""
    forest_loss = guard.judged_loss(network, before, data, loss)
    for share in wanted * np.linspace(1.0, 0.0, STEPS, endpoint=False):
        if share >= _LEAST and guard.judged_loss(network, mixed(own, other, share), data, loss) <= forest_loss:
            return float(share)
    return 0.0


def digest_of(data: TrainingData) -> str:
    """Return a fingerprint of the rows of a fit."""
    parts = (data.X, data.y, data.validation.row, data.validation.weight)
    return hashlib.sha256(b"".join(np.ascontiguousarray(part).tobytes() for part in parts)).hexdigest()


def _offers(
    network: ForestNetwork, said: Judged, candidates: list[Candidate], data: TrainingData, loss: Loss
) -> list[tuple[float, int, float]]:
    """Return the loss that each candidate would leave, its place and its share, where that is worth having."""
    offers = []
    for place, candidate in enumerate(candidates):
        share = best_share(said, candidate.judged, data.y, _SURE if loss.name == "squared_error" else _SURE_OF_CLASSES)
        if share >= _LEAST:
            both = mixed(said, candidate.judged, share)
            after, before = (guard.whole_loss(network, each, data, loss).expected for each in (both, said.on(both.row)))
            offers += [(after, place, share)] if after < before else []
    return offers


def may_help(own: Judged, other: Judged, y: NDArray[np.float64]) -> bool:
    """Return whether the other may deserve a share, as far as these rows can tell."""
    share, error = _share(own, other, y)
    return share + _HOPE * error >= _LEAST


def best_share(own: Judged, other: Judged, y: NDArray[np.float64], sure: float = _SURE) -> float:
    """Return the share of the other with which the squared error is least; 0 unless it is `sure` standard errors above.

    The errors are those of the mean over all trees: the noise of the few that judge a row is taken out.
    """
    share, error = _share(own, other, y)
    return min(share, _MOST) if share > sure * error else 0.0


def _share(own: Judged, other: Judged, y: NDArray[np.float64]) -> tuple[float, float]:
    """Return the share of the other with which the squared error is least, and its standard error: inf if unknown."""
    rows = np.intersect1d(own.row, other.row, assume_unique=True)
    own, other = own.on(rows), other.on(rows)
    towards, missing = other.output - own.output, y[own.row] - own.output
    unit = np.abs(missing).max(initial=0.0)  # squares of large numbers would be infinite
    if len(rows) < _FEWEST_ROWS or not unit > 0:
        return 0.0, np.inf
    weight, towards, missing = own.weight[:, None], towards / unit, missing / unit
    own_noise, other_noise = own.noise / unit / unit, other.noise / unit / unit
    gain = (weight * (towards * missing - own_noise)).sum()
    distance = (weight * (towards**2 - own_noise - other_noise)).sum()
    if not distance > 0:
        return 0.0, np.inf
    share = gain / distance
    rest = (weight * towards * (missing - share * towards)).sum(axis=1)  # of several columns, one number a row
    return float(share), float(np.sqrt((rest**2).sum()) / distance)


def mixed(own: Judged, other: Judged, share: float) -> Judged:
    """Return what two say together on the rows that both judge."""
    rows = np.intersect1d(own.row, other.row, assume_unique=True)
    own, other = own.on(rows), other.on(rows)
    return Judged(
        own.row,
        (1 - share) * own.output + share * other.output,
        own.weight,
        (1 - share) ** 2 * own.noise + share**2 * other.noise,
    )
