"""Reliability curve: predicted probabilities against observed frequencies."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuralforest.exceptions import InvalidParameterError
from neuralforest.plots import arguments, style

_Z = 1.96  # of a 95% interval


@dataclass(eq=False, repr=False)
class ReliabilityDisplay:
    """Reliability curve: how often an event happens where it is predicted with a given probability.

    Made by :meth:`from_estimator` or :meth:`from_predictions`. A calibrated model is on the diagonal; a curve that is
    flatter than the diagonal is over-confident, a steeper one under-confident. Bins hold equally many rows.

    Parameters
    ----------
    predicted : float array (bins,)
        Mean predicted probability of each bin.
    observed : float array (bins,)
        Fraction of its rows in which the event happened.
    count : int array (bins,)
        Rows of each bin.
    label : str
        The event.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
    line_ : matplotlib container of the curve with its 95% intervals

    Examples
    --------
    >>> import numpy as np
    >>> from neuralforest.plots import ReliabilityDisplay
    >>> rng = np.random.default_rng(0)
    >>> probability = rng.uniform(size=1000)
    >>> happened = rng.uniform(size=1000) < probability
    >>> display = ReliabilityDisplay.from_predictions(happened, probability, n_bins=4)
    >>> bool(abs(display.predicted - display.observed).max() < 0.05), display.count
    (True, array([250, 250, 250, 250]))
    """

    predicted: NDArray[np.float64]
    observed: NDArray[np.float64]
    count: NDArray[np.int64]
    label: str = "event"

    size = (4.6, 4.6)
    """Width and height of a new figure, in inches."""

    @classmethod
    def from_predictions(
        cls,
        happened: ArrayLike,
        probability: ArrayLike,
        *,
        n_bins: int = 10,
        label: str = "event",
        ax: Any = None,
        draw: bool = True,
    ) -> Self:
        """Compute and draw the curve of any predicted probabilities.

        Parameters
        ----------
        happened : bool array (rows,)
        probability : float array (rows,)
        n_bins : int
            Equal probabilities stay in one bin, so that there may be fewer.
        label : str
        ax : matplotlib axes, optional
        draw : bool
            False leaves the drawing to :meth:`plot`.
        """
        p, event = np.asarray(probability, np.float64), np.asarray(happened, bool)
        if p.ndim != 1 or p.shape != event.shape or not len(p):
            raise InvalidParameterError(
                f"happened and probability must have one value per row, got shapes {event.shape} and {p.shape}"
            )
        if not ((p >= 0) & (p <= 1)).all():
            raise InvalidParameterError(f"probability must be between 0 and 1, got {p.min():g} to {p.max():g}")
        if n_bins < 1:
            raise InvalidParameterError(f"n_bins must be at least 1, got {n_bins}")
        edges = np.unique(np.quantile(p, np.linspace(0, 1, n_bins + 1)[1:-1]))
        bins = np.unique(np.searchsorted(edges, p), return_inverse=True)[1]
        count = np.bincount(bins)
        display = cls(np.bincount(bins, p) / count, np.bincount(bins, event) / count, count, label)
        return display.plot(ax) if draw else display

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        *,
        target: Any = None,
        n_bins: int = 10,
        ax: Any = None,
        draw: bool = True,
    ) -> Self:
        """Compute and draw the curve of a fitted classifier on given rows, best those that it was not trained on.

        Parameters
        ----------
        estimator : fitted classifier with `predict_proba` and `classes_`
        X : array-like (rows, features)
        y : array-like (rows,)
            True labels.
        target : optional
            The class whose probability is shown, by its label. Default: the second of two classes; of more, whichever
            class is predicted, so that the curve shows the accuracy at each confidence.
        n_bins, ax, draw
            As in :meth:`from_predictions`.
        """
        classes = np.asarray(getattr(estimator, "classes_", ()))
        if not len(classes):
            raise InvalidParameterError(
                f"a reliability curve needs a fitted classifier, got {type(estimator).__name__}"
            )
        probabilities, labels = np.asarray(estimator.predict_proba(X)), np.asarray(y)
        if target is None and len(classes) > 2:
            top = probabilities.argmax(axis=1)
            happened, p, label = classes[top] == labels, probabilities.max(axis=1), "the predicted class is right"
        else:
            position = len(classes) - 1 if target is None else arguments.position_of_class(classes, target)
            happened, p = labels == classes[position], probabilities[:, position]
            label = f"class {classes[position]}"
        return cls.from_predictions(happened, np.clip(p, 0, 1), n_bins=n_bins, label=label, ax=ax, draw=draw)

    @property
    def interval(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Lower and upper ends of Wilson's 95% intervals of the observed frequencies, (bins,) each."""
        n, p = self.count, self.observed
        center = (p + _Z**2 / (2 * n)) / (1 + _Z**2 / n)
        half = _Z * np.sqrt(p * (1 - p) / n + _Z**2 / (4 * n**2)) / (1 + _Z**2 / n)
        return np.minimum(center - half, p), np.maximum(center + half, p)

    def plot(self, ax: Any = None) -> Self:
        """Draw on the given axes, or on new ones."""
        with style.style():
            self.ax_ = ax = style.new_figure(self.size).add_subplot() if ax is None else ax
            self.figure_ = ax.figure
            low, high = self.interval
            ax.plot([0, 1], [0, 1], ":", color=style.QUIET, label="calibrated")
            spread = np.stack([self.observed - low, high - self.observed])
            look = {"color": style.MODEL, "markersize": 4, "capsize": 2, "elinewidth": 1}
            self.line_ = ax.errorbar(
                self.predicted, self.observed, spread, fmt="o-", label="model, 95% intervals", **look
            )
            ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal")
            ax.set_xlabel("predicted probability")
            ax.set_ylabel("observed frequency")
            ax.legend(loc="upper left")
        return self
