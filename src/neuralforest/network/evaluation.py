"""Raw predictions of a network: hard subnetworks by bit vectors or by traversal, soft ones by the kernels."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, ndtr, ndtri, softmax

from neuralforest import _parallel
from neuralforest._kernels.network import evaluate
from neuralforest._kernels.simd import SIMD_WIDTH
from neuralforest.exceptions import InvalidParameterError
from neuralforest.network.structure import build_scratch

if TYPE_CHECKING:
    from neuralforest.network.forest_network import ForestNetwork

_PROBABILITIES = (1e-300, 1 - 1e-16)  # whose normal quantiles are finite
_WORTH_A_THREAD = 200_000  # pairs of row and tree below which a second thread costs more than it gains


class Selection(NamedTuple):
    """Subnetworks that are evaluated together: what does not depend on the rows."""

    trees: NDArray[np.int64]  # of hard subnetworks
    soft: NDArray[np.int64]  # subnetworks
    center: NDArray[np.float64]  # (all subnetworks, outputs), of soft subnetworks
    scale: NDArray[np.float64]
    n_trees: int  # of all these subnetworks
    n_groups: int
    groups: list[NDArray[np.int64]]  # subnetworks by group; empty where groups need not be evaluated one by one

    @classmethod
    def of(cls, network: "ForestNetwork", subnetworks: NDArray[np.int64]) -> "Selection":
        e, soft, all_trees = network.ensemble, network.soft, network.subnetworks.n_trees[:, None]
        hard, of_tree = network.hard[subnetworks], network.subnetworks.of_tree
        weight = all_trees if e.aggregation == "mean" else np.ones_like(all_trees)
        units = (0.0, 1.0) if soft is None else (soft.output_center, soft.output_scale)
        trees = np.flatnonzero(np.isin(of_tree, subnetworks))
        n_groups = len(np.unique(np.searchsorted(e.groups, trees, side="right")))
        group = np.searchsorted(e.groups, network.subnetworks.first_tree[subnetworks], side="right")
        several = [subnetworks[group == each] for each in np.unique(group)] if network.link == "probit" else []
        return cls(
            np.flatnonzero(np.isin(of_tree, subnetworks[hard])),
            subnetworks[~hard],
            np.asarray(units[0] * weight, np.float64),
            np.asarray(units[1] * weight, np.float64),
            len(trees),
            n_groups,
            several if len(several) > 1 else [],
        )


def raw_predictions(
    network: "ForestNetwork", X: NDArray[np.floating], chosen: Selection, n_jobs: int | None = 1
) -> NDArray[np.float64]:
    """Return the raw predictions of some subnetworks together, without base models; X as the trees compare it.

    Groups are averaged: their raw predictions, or for a probit their probabilities.
    """
    if chosen.groups:
        parts = [raw_predictions(network, X, Selection.of(network, each), n_jobs) for each in chosen.groups]
        return np.asarray(ndtri(np.clip(np.mean([ndtr(part) for part in parts], axis=0), *_PROBABILITIES)))
    out = np.zeros((len(X), network.n_outputs))
    worth = 1 + len(X) * network.ensemble.n_trees // _WORTH_A_THREAD
    threads = min(_parallel.effective_n_jobs(n_jobs), worth) if worth > 1 else 1
    if threads == 1:
        _add(network, X, chosen, out)
    else:
        with _parallel.team(threads) as run:
            run(
                lambda part: _add(network, X[slice(*part)], chosen, out[slice(*part)]),
                _parallel.ranges(len(X), threads, SIMD_WIDTH),
            )
    return _finish(network, out, chosen)


def check_temperature(temperature: float, classifies: bool) -> None:
    """Refuse a temperature that probabilities cannot have."""
    if not 0 < temperature < np.inf:
        raise InvalidParameterError(f"temperature must be positive and finite, got {temperature}")
    if temperature != 1.0 and not classifies:
        raise InvalidParameterError(f"temperature is of classifiers, and must be 1 for a regressor, got {temperature}")


def probabilities(link: str, out: NDArray[np.float64], temperature: float = 1.0) -> NDArray[np.float64]:
    """Return raw predictions of a classifier as probabilities of the classes, (rows, classes)."""
    if temperature != 1.0:
        p = probabilities(link, out)
        with np.errstate(under="ignore"):  # relative to the largest, of which any power is 1
            powers: NDArray[np.float64] = (p / p.max(axis=1, keepdims=True)) ** (1.0 / temperature)
        return powers / powers.sum(axis=1, keepdims=True)
    if link == "identity":
        return out
    if link == "softmax":
        return np.asarray(softmax(out, axis=1))
    second = (expit if link == "logit" else ndtr)(out[:, 0])
    return np.column_stack([1 - second, second])


def _add(network: "ForestNetwork", X: NDArray[np.floating], chosen: Selection, out: NDArray[np.float64]) -> None:
    """Add the outputs of the trees of the given subnetworks to `out`, each tree of a mean with weight 1."""
    network.hard_trees.add_values(chosen.trees, X, out)
    if len(chosen.soft):
        what = network.structure, network.kernel_parameters, chosen.soft, network.scaled(X)
        with _buffers(network) as buffers:
            evaluate.add_predictions(*what, chosen.center, chosen.scale, *buffers, out)


@contextmanager
def _buffers(network: "ForestNetwork") -> Iterator[tuple[Any, Any, Any]]:
    """Lend buffers that are used again, by one thread at a time: to allocate them takes as long as to predict a row."""
    try:
        buffers = network.buffers.pop()
    except IndexError:
        buffers = *build_scratch(network.structure, evaluate.CHUNKS), np.zeros(3, np.int64)
    try:
        yield buffers
    finally:
        network.buffers.append(buffers)


def _finish(network: "ForestNetwork", out: NDArray[np.float64], chosen: Selection) -> NDArray[np.float64]:
    """Return sums over the trees of subnetworks as raw predictions."""
    e, n_soft, n_groups = network.ensemble, len(chosen.soft), chosen.n_groups
    if e.aggregation == "mean":
        out /= chosen.n_trees
    else:
        if n_groups > n_soft:  # soft subnetworks, of a group each, carry the base score themselves
            out += (n_groups - n_soft) * e.base_score
        if n_groups > 1:
            out /= n_groups
    if n_soft and network.softmax_head:
        out /= out.sum(axis=1, keepdims=True)  # probabilities of the kernels sum to 1 up to float32's rounding
    return out
