"""Charts of a report that compare predictions with true values. They depend on no model."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import auc, average_precision_score, precision_recall_curve, roc_curve

from neuralforest.plots import style
from neuralforest.plots.text import number, short

_DOTS = 2000  # rows that are drawn; of more, evenly spaced ones
_MOST_CLASSES = 12  # of a confusion matrix; of more, the most frequent ones


def _some(n: int) -> NDArray[np.int64]:
    return np.unique(np.linspace(0, n - 1, min(n, _DOTS)).astype(np.int64))


@dataclass(frozen=True, eq=False)
class ActualChart:
    """Predicted against actual values, with the diagonal."""

    y: NDArray[np.float64]
    prediction: NDArray[np.float64]

    def plot(self, ax: Any) -> None:
        """Draw on the axes."""
        rows = _some(len(self.y))
        both = np.concatenate([self.y, self.prediction])
        ends = [float(both.min()), float(both.max())]
        ax.plot(ends, ends, ":", color=style.QUIET)
        ax.scatter(self.prediction[rows], self.y[rows], s=10, color=style.MODEL, alpha=0.45, lw=0, rasterized=True)
        ax.set_xlabel("predicted")
        ax.set_ylabel("actual")
        ax.locator_params(nbins=5)


@dataclass(frozen=True, eq=False)
class ResidualChart:
    """Histogram of the residuals of the forest and of the model."""

    forest: NDArray[np.float64]
    model: NDArray[np.float64]

    def plot(self, ax: Any) -> None:
        """Draw on the axes."""
        low, high = np.quantile(np.concatenate([self.forest, self.model]), (0.005, 0.995))
        edges = np.linspace(low, high, 31) if high > low else 10
        options = {"bins": edges, "histtype": "step", "linewidth": 1.6}
        ax.hist(self.forest, color=style.FOREST, label="forest", linestyle="--", **options)
        ax.hist(self.model, color=style.MODEL, label="model", **options)
        ax.axvline(0, color=style.QUIET, linewidth=0.8)
        ax.set_xlabel("residual: actual minus predicted")
        ax.set_ylabel("rows")
        ax.locator_params(axis="x", nbins=5)
        ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2)


@dataclass(frozen=True, eq=False)
class ConfusionChart:
    """Confusion matrix: rows of each actual class by predicted class."""

    counts: NDArray[np.int64]  # (classes, classes): actual, predicted
    labels: list[str]

    def plot(self, ax: Any) -> None:
        """Draw on the axes."""
        kept = np.sort(np.argsort(-self.counts.sum(axis=1), kind="stable")[:_MOST_CLASSES])
        counts, names = self.counts[np.ix_(kept, kept)], [short(self.labels[i], 12) for i in kept]
        share = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
        ax.imshow(share, cmap="Blues", vmin=0, vmax=1)
        size = 10.0 if len(kept) <= 4 else 8.0
        for (i, j), n in np.ndenumerate(counts):
            colour = "white" if share[i, j] > 0.5 else style.INK
            ax.text(j, i, f"{n:,}", ha="center", va="center", color=colour, size=size)
        ax.set_xticks(range(len(kept)), names, rotation=0 if max(map(len, names)) <= 4 else 90, parse_math=False)
        ax.set_yticks(range(len(kept)), names, parse_math=False)
        ax.tick_params(length=0)
        ax.set_xlabel("predicted class")
        ax.set_ylabel("actual class")


@dataclass(frozen=True, eq=False)
class CurvesChart:
    """One curve for each class, drawn with its area: ROC or precision-recall."""

    curves: list[tuple[NDArray[np.float64], NDArray[np.float64], str]]
    names: tuple[str, str]  # of the axes
    is_roc: bool

    def plot(self, ax: Any) -> None:
        """Draw on the axes."""
        styles = ["-", "--", "-.", ":"]
        colours = [style.MODEL, style.FOREST, style.HIGHLIGHT, style.INK]
        for i, (x, y, label) in enumerate(self.curves):
            look = {"color": colours[i % 4], "linestyle": styles[(i // 4 + i) % 4]}
            ax.plot(x, y, label=label, drawstyle="default" if self.is_roc else "steps-post", **look)
        if self.is_roc:
            ax.plot([0, 1], [0, 1], ":", color=style.QUIET, linewidth=1)
        ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
        ax.set_xlabel(self.names[0])
        ax.set_ylabel(self.names[1])
        legend = ax.legend(loc="upper left", bbox_to_anchor=(0, -0.18), ncols=1)
        for text in legend.get_texts():
            text.set_parse_math(False)


def curves(target: NDArray[np.int64], probabilities: NDArray[np.float64], labels: list[str]) -> list[CurvesChart]:
    """Return the ROC and the precision-recall curves: of the second of two classes, or of each class that occurs."""
    counts = np.bincount(target, minlength=len(labels))
    shown = [1] if len(labels) == 2 else [int(i) for i in np.argsort(-counts, kind="stable")[:4]]
    roc, pr = [], []
    for i in shown:
        event = target == i
        if event.all() or not event.any():
            continue
        name = short(labels[i], 14)
        false_positive, true_positive, _ = roc_curve(event, probabilities[:, i])
        roc.append((false_positive, true_positive, f"{name}: area {number(auc(false_positive, true_positive), 3)}"))
        precision, recall, _ = precision_recall_curve(event, probabilities[:, i])
        average = average_precision_score(event, probabilities[:, i])
        pr.append((recall[::-1], precision[::-1], f"{name}: average precision {number(average, 3)}"))
    if not roc:
        return []
    return [
        CurvesChart(roc, ("false positive rate", "true positive rate"), True),
        CurvesChart(pr, ("recall", "precision"), False),
    ]
