"""Settings: how a network is trained, checked when they are made. The defaults are the paper's."""

import math
from bisect import bisect_right
from dataclasses import dataclass
from itertools import accumulate
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from neuralforest._kernels.network.arguments import Plan
from neuralforest.exceptions import InvalidParameterError
from neuralforest.training.losses import Loss

Schedule = Literal["constant", "cosine", "one_cycle", "cyclic"]

# Lengths of cycles. The first ends before most networks overfit; the last takes most of all epochs.
_CYCLES = 1, 2, 4, 8, 32


@dataclass(frozen=True)
class Settings:
    """How to train.

    Parameters
    ----------
    max_epochs : int
    batch_size : int
    learning_rate : float or three floats
        Step size of Adam; three for the layers of splits, leaves and output.
    schedule : "constant", "cosine", "one_cycle" or "cyclic"
        The learning rate over the epochs: as it is; falling to 0; rising for the first 30% of the time, then falling to
        0; or repeatedly in up to five cycles, the first four each twice as long as the one before, the last with two
        thirds of all epochs. "one_cycle" ends early when the network overfits: when, after 40% of the epochs, recent
        validation losses are far above the best one and training losses below it. "cyclic" ends when two cycles are no
        better than those before.
    betas, epsilon : floats
        Of Adam.
    weight_decay : float
        Pull towards the weights that the trees gave, as a fraction per step of the learning rate.
    n_iter_no_change : int, optional
        Stop a subnetwork after this many epochs without a better validation loss; None goes on to the last epoch.
    weight_bound : float, optional
        C of the theory's bound: after each step, weights are shrunk until max|W2| + max|b2| + sum|W_out| + |b_out| is
        at most C times the number of leaves.
    seed : int
        Of the shuffles.

    Examples
    --------
    >>> Settings(learning_rate=0.003, schedule="cosine").rate_at(0.5)
    0.5
    """

    max_epochs: int = 100
    batch_size: int = 32
    learning_rate: float | tuple[float, float, float] = 0.001
    schedule: Schedule = "constant"
    betas: tuple[float, float] = (0.9, 0.999)
    epsilon: float = 1e-8
    weight_decay: float = 0.0
    n_iter_no_change: int | None = None
    weight_bound: float | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        for name, least in (("max_epochs", 0), ("batch_size", 1), ("n_iter_no_change", 1)):
            value = getattr(self, name)
            is_whole = isinstance(value, (int, np.integer)) and value >= least
            if not (is_whole or (value is None and name == "n_iter_no_change")):
                raise InvalidParameterError(f"{name} must be a whole number of at least {least}, got {value!r}")
        if self.rates.shape != (3,) or not np.isfinite(self.rates).all() or (self.rates < 0).any():
            raise InvalidParameterError(
                f"learning_rate must be a number of at least 0, or three for the layers, got {self.learning_rate!r}"
            )
        if self.schedule not in get_args(Schedule):
            raise InvalidParameterError(
                f"schedule must be 'constant', 'cosine', 'one_cycle' or 'cyclic', got {self.schedule!r}"
            )
        if len(self.betas) != 2 or not all(0 <= beta < 1 for beta in self.betas):
            raise InvalidParameterError(f"betas must be two numbers in [0, 1), got {self.betas!r}")
        if not (self.epsilon > 0 and self.weight_decay >= 0 and math.isfinite(self.epsilon + self.weight_decay)):
            raise InvalidParameterError(
                f"epsilon must be positive and weight_decay at least 0, got {self.epsilon!r} and {self.weight_decay!r}"
            )
        if self.weight_bound is not None and not self.weight_bound > 0:
            raise InvalidParameterError(
                f"weight_bound must be positive, or None for no bound, got {self.weight_bound!r}"
            )
        if not isinstance(self.seed, (int, np.integer)) or not 0 <= self.seed < 2**63:
            raise InvalidParameterError(f"seed must be a whole number from 0 to 2**63 - 1, got {self.seed!r}")

    @property
    def rates(self) -> NDArray[np.float64]:
        rate = np.asarray(self.learning_rate, np.float64)
        return np.full(3, rate) if rate.ndim == 0 else rate

    @property
    def cycle_ends(self) -> tuple[int, ...]:
        """The numbers of epochs after which cycles end, the last of them `max_epochs`.

        Examples
        --------
        >>> Settings(max_epochs=100).cycle_ends, Settings(max_epochs=100, schedule="cyclic").cycle_ends
        ((100,), (2, 6, 15, 32, 100))
        """
        if self.schedule != "cyclic":
            return (self.max_epochs,)
        ends = {max(1, round(self.max_epochs * part / sum(_CYCLES))) for part in accumulate(_CYCLES)}
        return tuple(sorted({min(end, self.max_epochs) for end in ends}))

    def factors_of(self, epoch: int) -> tuple[float, float]:
        """Return the factor of the learning rate when an epoch, counted from 0, begins and when it ends."""
        ends = (0, *self.cycle_ends)
        cycle = bisect_right(ends, epoch)
        begin, length = ends[cycle - 1], ends[cycle] - ends[cycle - 1]
        return self.rate_at((epoch - begin) / length), self.rate_at((epoch + 1 - begin) / length)

    def rate_at(self, progress: float) -> float:
        """Return the factor of the learning rate after this share (0 to 1) of a cycle."""
        if self.schedule == "constant":
            return 1.0
        if self.schedule in ("one_cycle", "cyclic"):
            if progress < 0.3:
                return 0.04 + 0.96 * (1 - math.cos(math.pi * progress / 0.3)) / 2
            progress = (progress - 0.3) / 0.7
        return round((1 + math.cos(math.pi * progress)) / 2, 15)

    def plan(self, loss: Loss) -> Plan:
        """Return the settings as the kernels take them."""
        return Plan(
            batch_size=int(self.batch_size),
            loss=loss.code,
            loss_parameter=loss.parameter,
            rates=self.rates,
            beta1=float(self.betas[0]),
            beta2=float(self.betas[1]),
            epsilon=float(self.epsilon),
            weight_decay=float(self.weight_decay),
            weight_bound=None if self.weight_bound is None else float(self.weight_bound),
        )
