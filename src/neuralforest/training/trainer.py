"""One epoch over all subnetworks, with threads: over several subnetworks, or inside a single one."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuralforest import _parallel
from neuralforest._kernels.network.arguments import Plan, Rows, Scratch, Structure, Tiles, middle_of
from neuralforest._kernels.network.epoch import train_epoch
from neuralforest._kernels.network.evaluate import PARTS, add_losses
from neuralforest.network import ForestNetwork
from neuralforest.network.structure import build_scratch
from neuralforest.training.data import TrainingData
from neuralforest.training.losses import Loss
from neuralforest.training.settings import Settings
from neuralforest.training.state import State


@dataclass(frozen=True, eq=False)
class Trainer:
    """Trains and evaluates the subnetworks of a network."""

    structure: Structure
    fit: Rows
    validation: Rows
    settings: Settings
    plan: Plan
    threads: int
    buffers: list[tuple[Scratch, Tiles | None]]  # one a thread
    run: Callable[[Callable[[Any], None], Any], None]

    @property
    def joint(self) -> bool:
        """Whether all threads work on one subnetwork."""
        return len(self.structure.first_tree) == 2

    def train_epoch(self, state: State) -> NDArray[np.float64]:
        """Train every subnetwork that has not stopped for one epoch; return the training losses, (subnetworks,)."""
        losses = np.full(len(state.stopped), np.nan)
        rates = self.settings.factors_of(state.epoch)
        counters = np.zeros(3, np.int64)
        parts = self._parts(state)

        def work(thread: int) -> None:
            subnetworks, buffers, worker, workers = (
                (parts[0], self.buffers[0], thread, self.threads)
                if self.joint
                else (parts[thread], self.buffers[thread], 0, 1)
            )
            what = self.structure, self.fit, state.weights, self.plan, *buffers, subnetworks
            train_epoch(*what, self.settings.seed, state.epoch, *rates, losses, worker, workers, counters)

        try:
            self.run(work, range(self.threads if self.joint else len(parts)))
        except BaseException:
            counters[2] = 1  # a thread that never started must not keep the others waiting
            raise
        return losses

    def validation_losses(self, state: State) -> NDArray[np.float64]:
        """Return the validation loss of every subnetwork, and that of each half of its rows, (3, subnetworks).

        NaN where training has stopped, where there are no validation rows, and for the halves of a single subnetwork;
        infinite where a prediction is no number.
        """
        n_subnetworks = len(state.stopped)
        sums = np.full((n_subnetworks, PARTS), np.nan)
        counters = np.zeros(3, np.int64)
        parts = self._parts(state)
        tasks = (
            [(i, parts[0], part) for i, part in enumerate(_parallel.ranges(PARTS, self.threads))]
            if self.joint
            else [(i, subnetworks, (0, PARTS)) for i, subnetworks in enumerate(parts)]
        )

        def work(task: tuple[int, NDArray[np.int64], tuple[int, int]]) -> None:
            thread, subnetworks, part = task
            what = self.structure, self.validation, state.parameters, self.plan, *self.buffers[thread], subnetworks
            add_losses(*what, *part, counters, sums)

        self.run(work, tasks)
        totals = np.concatenate([[0.0], np.cumsum(self.validation.weight, dtype=np.float64)])
        begin, end = self.validation.begin, self.validation.end
        first, second = np.diff(totals[[begin, middle_of(begin, end), end]], axis=0)
        weights = np.array([first + second, first, second])
        halves = np.full((2, n_subnetworks), np.nan) if self.joint else sums[:, :2].T
        with np.errstate(invalid="ignore"):  # a subnetwork without validation rows: 0 / 0
            losses = np.array([sums.sum(axis=1), *halves]) / weights
        losses[np.isnan(losses) & (weights > 0) & ~state.stopped] = np.inf
        return losses

    def _parts(self, state: State) -> list[NDArray[np.int64]]:
        """Share the subnetworks that are still trained among the threads."""
        active = np.flatnonzero(~state.stopped)
        return [active[start:stop] for start, stop in _parallel.ranges(len(active), 1 if self.joint else self.threads)]


@contextmanager
def trainer(
    network: ForestNetwork, data: TrainingData, settings: Settings, loss: Loss, n_jobs: int | None
) -> Iterator[Trainer]:
    """Set a trainer up, with its threads and buffers."""
    structure = network.structure
    joint = network.n_subnetworks == 1
    threads = _parallel.effective_n_jobs(n_jobs)
    if joint:  # threads that wait for each other must all be running, and the bound needs all weights
        threads = 1 if settings.weight_bound else min(threads, network.ensemble.n_trees, os.cpu_count() or 1)
    else:
        threads = min(threads, network.n_subnetworks)
    fit, validation = data.kernel_rows(network)
    buffers = [build_scratch(structure, threads if joint else 1, not joint or i == 0) for i in range(threads)]
    with _parallel.team(threads) as run:
        yield Trainer(structure, fit, validation, settings, settings.plan(loss), threads, buffers, run)
