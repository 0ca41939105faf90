"""Feature importances of the forest and of the trained model, side by side."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from neuralforest.exceptions import InvalidParameterError
from neuralforest.network import feature_importances
from neuralforest.plots import style
from neuralforest.plots.arguments import feature_names, forest_of, network_of
from neuralforest.plots.text import short


@dataclass(eq=False, repr=False)
class ImportanceDisplay:
    """Bar chart of the feature importances of the forest and of the trained model.

    Made by :meth:`from_estimator`. Both are the mean decrease in impurity of
    :func:`neuralforest.network.feature_importances`, so the two bars of a feature can be compared. Those of the model
    include its base models.

    Parameters
    ----------
    forest, model : float arrays (features,)
        Each sums to 1.
    names : tuple of str
    max_features : int
        Number of features to draw, the most important ones of either.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
    bars_ : pair of matplotlib containers
        Of the model and of the forest, features from top to bottom.

    Examples
    --------
    >>> from neuralforest import NeuralForestRegressor
    >>> from neuralforest.plots import ImportanceDisplay
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.ensemble import RandomForestRegressor
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> forest = RandomForestRegressor(5, max_depth=3, random_state=0)
    >>> model = NeuralForestRegressor(forest, max_epochs=10, contrast=(3, 1), random_state=0).fit(X, y)
    >>> display = ImportanceDisplay.from_estimator(model)
    >>> sorted(display.names[i] for i in display.order[:2])
    ['bmi', 's5']
    """

    forest: NDArray[np.float64]
    model: NDArray[np.float64]
    names: tuple[str, ...]
    max_features: int = 15

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, feature_names: Sequence[str] | None = None, max_features: int = 15, ax: Any = None
    ) -> Self:
        """Compute and draw the importances.

        Parameters
        ----------
        estimator : fitted estimator, ForestNetwork, or a tree model that `convert` takes
        feature_names : sequence of str, optional
            Names that replace those of the estimator.
        max_features : int
        ax : matplotlib axes, optional
        """
        return cls.compute(estimator, feature_names, max_features).plot(ax)

    @classmethod
    def compute(cls, estimator: Any, names: Sequence[str] | None = None, max_features: int = 15) -> Self:
        """Compute the importances without drawing them; see :meth:`from_estimator`."""
        network = network_of(estimator)
        if max_features < 1:
            raise InvalidParameterError(f"max_features must be at least 1, got {max_features}")
        both = feature_importances(forest_of(network)), feature_importances(network)
        return cls(*both, feature_names(estimator, names), max_features)

    @property
    def order(self) -> NDArray[np.int64]:
        """The features that are drawn, the most important one of the model first."""
        top = np.argsort(-np.maximum(self.forest, self.model), kind="stable")[: self.max_features]
        return top[np.argsort(-self.model[top], kind="stable")]

    @property
    def size(self) -> tuple[float, float]:
        """Width and height of a new figure, in inches."""
        return 6.4, 1.4 + 0.36 * min(len(self.names), self.max_features)

    def plot(self, ax: Any = None) -> Self:
        """Draw on the given axes, or on new ones."""
        with style.style():
            self.ax_ = ax = style.new_axes(*self.size) if ax is None else ax
            self.figure_ = ax.figure
            order = self.order
            place = np.arange(len(order))
            self.bars_ = tuple(
                ax.barh(
                    place + shift, 100 * values[order], 0.38, color=color, hatch=hatch, edgecolor="white", label=label
                )
                for values, shift, color, hatch, label in (
                    (self.model, -0.2, style.MODEL, "", "model"),
                    (self.forest, 0.2, style.FOREST, "////", "forest"),
                )
            )
            labels = [short(self.names[i], 22) for i in order]
            ax.set_yticks(place, labels, parse_math=False)
            ax.set_ylim(len(order) - 0.4, -0.6)
            ax.set_xlim(left=0, right=None if max(self.model.max(), self.forest.max()) > 0 else 100)
            ax.tick_params(axis="y", length=0)
            ax.set_xlabel("importance (percent)")
            ax.set_ylabel("feature")
            n_omitted = len(self.names) - len(order)
            title = f"{n_omitted} less important features are not drawn" if n_omitted else None
            ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2, title=title, alignment="left")
        return self
