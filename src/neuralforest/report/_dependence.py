"""Partial dependence: the mean prediction of forest and model as one feature varies and the others stay."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuralforest.network import ForestNetwork
from neuralforest.plots import arguments, style
from neuralforest.plots._categories import CategoryNames
from neuralforest.plots.text import short

_ROWS, _GRID, _MOST_CATEGORIES = 200, 24, 10


@dataclass(frozen=True, eq=False)
class DependenceChart:
    """The partial dependence of one feature."""

    values: NDArray[np.float64]  # of the feature, or codes of its categories
    forest: NDArray[np.float64]
    model: NDArray[np.float64]
    name: str
    label: str  # of the prediction
    limits: tuple[float, float]  # of all features of the report
    categories: list[str] | None = None

    def plot(self, ax: Any) -> None:
        """Draw on the axes."""
        place = np.arange(len(self.values)) if self.categories else self.values
        lines, markers = (("none", "none"), "so") if self.categories else (("--", "-"), ("", ""))
        pairs = ((self.forest, style.FOREST, "forest"), (self.model, style.MODEL, "model"))
        for (means, colour, label), line, marker in zip(pairs, lines, markers, strict=True):
            ax.plot(place, means, linestyle=line, marker=marker, color=colour, label=label)
        ax.set_ylim(*self.limits)
        ax.set_xlabel(short(self.name, 32), parse_math=False)
        ax.set_ylabel(self.label, parse_math=False)
        if self.categories:
            ax.set_xticks(place, [short(name, 12) for name in self.categories], rotation=90, parse_math=False)
        else:
            ax.locator_params(axis="x", nbins=5)
        ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2)


def dependence(
    estimator: Any, rows: NDArray[np.floating], names: Sequence[str], features: Sequence[int]
) -> list[DependenceChart]:
    """Return the charts of some features, given rows as the trees compare them."""
    network = estimator.network_
    both = arguments.forest_of(network), network
    column, label = arguments.target_of(network)
    label = "mean prediction" if network.classes is None else f"mean {label}"
    some = rows[np.unique(np.linspace(0, len(rows) - 1, min(len(rows), _ROWS)).astype(np.int64))]
    found = []
    for feature in features:
        values, categories = _values(CategoryNames(estimator, network), rows[:, feature], feature)
        if len(values):
            forest, model = (_means(each, some, feature, values, column) for each in both)
            found.append((values, forest, model, names[feature], categories))
    if not found:
        return []
    all_means = np.concatenate([np.concatenate(each[1:3]) for each in found])
    room = 0.06 * float(np.ptp(all_means)) or 0.5
    limits = float(all_means.min()) - room, float(all_means.max()) + room
    return [DependenceChart(v, f, m, name, label, limits, categories) for v, f, m, name, categories in found]


def _values(
    names: CategoryNames, column: NDArray[np.floating], feature: int
) -> tuple[NDArray[np.float64], list[str] | None]:
    """Return the values of a feature to predict at, and their names where they are categories."""
    known = np.asarray(column[~np.isnan(column)], np.float64)
    if names.n_known(feature):
        codes, counts = np.unique(known[known >= 0], return_counts=True)
        codes = np.sort(codes[np.argsort(-counts, kind="stable")[:_MOST_CATEGORIES]])
        return codes, [names.name(feature, int(code)) for code in codes]
    if not len(known):
        return known, None
    return np.unique(np.quantile(known, np.linspace(0.02, 0.98, _GRID))), None


def _means(
    network: ForestNetwork, rows: NDArray[np.floating], feature: int, values: NDArray[np.float64], column: int
) -> NDArray[np.float64]:
    """Return the mean prediction at each value of a feature, (values,)."""
    points = np.tile(rows, (len(values), 1))
    points[:, feature] = np.repeat(values, len(rows))
    predicted = network.predict(points) if network.classes is None else network.predict_proba(points)
    return np.asarray(predicted.reshape(len(values), len(rows), -1)[:, :, column].mean(axis=1), np.float64)
