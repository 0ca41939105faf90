"""Prediction surfaces over two features: of the forest and of the trained model, on one colour scale."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from neuralforest.exceptions import InvalidParameterError
from neuralforest.network import ForestNetwork, feature_importances
from neuralforest.plots import arguments, style
from neuralforest.plots._categories import CategoryNames
from neuralforest.plots.text import short

_TICKS = 12  # categories beyond which not every one has a label
_DOTS = 200  # the largest number of rows that are drawn
_MARGIN = 0.05  # of the range of a feature, on either side


@dataclass(eq=False, repr=False)
class SurfaceDisplay:
    """Predictions over two features, of the forest on the left and of the trained model on the right.

    Made by :meth:`from_estimator`. All other features are held at their medians in X, categories at the most frequent.

    Parameters
    ----------
    x, y : float arrays (grid,)
        Values of the two features.
    forest, model : float arrays (grid, grid)
        Predictions, rows along y.
    names : pair of str
    points : float array (rows, 2)
        Some rows of X, to show where there are data; their other features are not at the median.
    label : str
        Label of the colour scale.
    categories : pair of (list of str or None)
        Names of the categories, whose values are their codes; None for a number.

    Attributes
    ----------
    axes_ : array of two matplotlib axes
    figure_ : matplotlib figure
    surfaces_ : pair of matplotlib meshes

    Examples
    --------
    >>> from neuralforest import NeuralForestRegressor
    >>> from neuralforest.plots import SurfaceDisplay
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.ensemble import RandomForestRegressor
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> forest = RandomForestRegressor(5, max_depth=3, random_state=0)
    >>> model = NeuralForestRegressor(forest, max_epochs=10, contrast=(3, 1), random_state=0).fit(X, y)
    >>> display = SurfaceDisplay.from_estimator(model, X, features=("bmi", "s5"))
    >>> display.forest.shape
    (100, 100)
    """

    x: NDArray[np.float64]
    y: NDArray[np.float64]
    forest: NDArray[np.float64]
    model: NDArray[np.float64]
    names: tuple[str, str]
    points: NDArray[np.float64]
    label: str
    categories: tuple[list[str] | None, list[str] | None] = (None, None)

    size = (7.2, 3.6)
    """Width and height of a new figure, in inches."""

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        *,
        features: Sequence[int | str] | None = None,
        target: Any = None,
        grid: int = 100,
        feature_names: Sequence[str] | None = None,
        ax: Any = None,
        draw: bool = True,
    ) -> Self:
        """Compute and draw both surfaces.

        Parameters
        ----------
        estimator : fitted estimator, ForestNetwork, or a tree model that `convert` takes
        X : array-like (rows, features)
            Gives the ranges of the two features and the medians of the others.
        features : pair of ints or names, optional
            Default: the two most important ones of the model.
        target : optional
            A class by its label, or an output by its number; default the last class or the first output.
        grid : int
            Number of values of each feature; a category has its own number of values.
        feature_names : sequence of str, optional
            Names that replace those of the estimator.
        ax : pair of matplotlib axes, optional
        draw : bool
            False leaves the drawing to :meth:`plot`.
        """
        network, names = arguments.network_of(estimator), arguments.feature_names(estimator, feature_names, X)
        if grid < 2:
            raise InvalidParameterError(f"grid must be at least 2, got {grid}")
        column, label = arguments.target_of(network, target)
        first, second = two = _two_features(network, features, names)
        rows = np.asarray(arguments.rows_of(estimator, X), np.float64)
        categories = [_categories(CategoryNames(estimator, network), i) for i in two]
        x, y = (_values(rows[:, i], grid, names[i], labels) for i, labels in zip(two, categories, strict=True))
        points = np.tile(_center(network, rows), (len(x) * len(y), 1))
        points[:, first], points[:, second] = np.tile(x, len(y)), np.repeat(y, len(x))
        shown = rows[np.unique(np.linspace(0, len(rows) - 1, _DOTS).astype(int))][:, two]
        both = arguments.forest_of(network), network
        predictions = [each.predict(points) if each.classes is None else each.predict_proba(points) for each in both]
        forest, model = (values.reshape(len(y), len(x), -1)[:, :, column] for values in predictions)
        display = cls(x, y, forest, model, (names[first], names[second]), shown, label, (categories[0], categories[1]))
        return display.plot(ax) if draw else display

    @property
    def limits(self) -> tuple[float, float]:
        """The range of the common colour scale; wider than differences that are due to rounding."""
        both = np.concatenate([self.forest.ravel(), self.model.ravel()])
        low, high = float(both.min()), float(both.max())
        room = 1e-6 * max(abs(low), abs(high), 1e-300)
        return (low, high) if high - low > room else (low - 0.5 * abs(low) - 0.5, high + 0.5 * abs(high) + 0.5)

    def plot(self, ax: Any = None) -> Self:
        """Draw on a pair of axes, or on new ones."""
        with style.style():
            if ax is None:
                ax = style.new_figure(self.size).subplots(1, 2, sharex=True, sharey=True)
            self.axes_ = np.ravel(np.asarray(ax, dtype=object))
            if len(self.axes_) != 2:
                raise InvalidParameterError(f"ax must be two axes, for forest and model, got {len(self.axes_)}")
            self.figure_ = self.axes_[0].figure
            low, high = self.limits
            self.surfaces_ = tuple(
                self._panel(*panel, low, high)
                for panel in zip(self.axes_, (self.forest, self.model), ("forest", "model"), strict=True)
            )
            self.axes_[0].set_ylabel(short(self.names[1], 32), parse_math=False)
            bar = self.figure_.colorbar(self.surfaces_[1], ax=list(self.axes_), fraction=0.05, pad=0.02)
            bar.set_label(self.label, parse_math=False)
            bar.outline.set_visible(False)
        return self

    def _panel(self, ax: Any, surface: NDArray[np.float64], title: str, low: float, high: float) -> Any:
        colours = {"cmap": style.SEQUENTIAL, "vmin": low, "vmax": high}
        mesh = ax.pcolormesh(self.x, self.y, surface, shading="nearest", rasterized=True, **colours)
        edge = {"edgecolor": "white", "linewidth": 0.5}
        ax.scatter(*self.points.T, s=9, color=style.INK, alpha=0.6, label="rows of the data", **edge)
        ax.set(xlim=(self.x[0], self.x[-1]), ylim=(self.y[0], self.y[-1]), title=title)
        ax.set_xlabel(short(self.names[0], 32), parse_math=False)
        ax.locator_params(axis="x", nbins=3)
        ax.locator_params(axis="y", nbins=5)
        for axis, labels in zip("xy", self.categories, strict=True):
            if labels is not None:
                codes = range(0, len(labels), 1 + len(labels) // _TICKS)
                ax.set(**{f"{axis}lim": (-0.5, len(labels) - 0.5)})
                texts = [short(labels[code], 10) for code in codes]
                getattr(ax, f"set_{axis}ticks")(codes, texts, rotation=90 if axis == "x" else 0, parse_math=False)
        return mesh


def _two_features(network: ForestNetwork, features: Sequence[int | str] | None, names: Sequence[str]) -> list[int]:
    if features is None:
        if len(names) < 2:
            raise InvalidParameterError("a surface needs two features, and this model has one")
        return [int(i) for i in np.argsort(-feature_importances(network), kind="stable")[:2]]
    if isinstance(features, str) or len(features) != 2:
        raise InvalidParameterError(f"features must be two names or numbers, got {features!r}")
    chosen = [arguments.feature_number(feature, names) for feature in features]
    if chosen[0] == chosen[1]:
        raise InvalidParameterError(f"features must be two different ones, got {features!r}")
    return chosen


def _categories(names: CategoryNames, feature: int) -> list[str] | None:
    """Return the names of at least two categories of a feature, None for a number."""
    n = names.n_known(feature)
    return [names.name(feature, code) for code in range(max(n, 2))] if n else None


def _center(network: ForestNetwork, rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the medians of numbers and the most frequent categories, (features,)."""
    center, _ = arguments.medians_and_deviations(rows)
    for feature in np.flatnonzero((np.diff(network.columns.first) > 1) & ~np.isnan(center)):
        codes, counts = np.unique(rows[~np.isnan(rows[:, feature]), feature], return_counts=True)
        center[feature] = codes[counts.argmax()]
    return center


def _values(column: NDArray[np.float64], grid: int, name: str, labels: list[str] | None) -> NDArray[np.float64]:
    """Return evenly spaced values over the range of a feature, with a margin, or the codes of its categories."""
    if labels is not None:
        return np.arange(len(labels), dtype=np.float64)
    if np.isnan(column).all():
        raise InvalidParameterError(f"a surface needs values of its features, and X has none of {name!r}")
    low, high = np.nanmin(column), np.nanmax(column)
    margin = _MARGIN * (high - low) if high > low else 0.5
    return np.linspace(low - margin, high + margin, grid)
