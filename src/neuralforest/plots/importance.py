"""Feature importances of the forest and of the trained model, side by side."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from neuralforest.exceptions import InvalidParameterError
from neuralforest.network import feature_importances
from neuralforest.plots import arguments, style
from neuralforest.plots.arguments import Names
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
        cls, estimator: Any, *, feature_names: Names = None, max_features: int = 15, ax: Any = None, draw: bool = True
    ) -> Self:
        """Compute and draw the importances.

        Parameters
        ----------
        estimator : fitted estimator, ForestNetwork, or a tree model that `convert` takes
        feature_names : sequence of str, optional
            Names that replace those of the estimator.
        max_features : int
        ax : matplotlib axes, optional
        draw : bool
            False leaves the drawing to :meth:`plot`.
        """
        network, names = arguments.network_of(estimator), arguments.feature_names(estimator, feature_names)
        if max_features < 1:
            raise InvalidParameterError(f"max_features must be at least 1, got {max_features}")
        forest = feature_importances(arguments.forest_of(network))
        display = cls(forest, feature_importances(network), names, max_features)
        return display.plot(ax) if draw else display

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
            self.ax_ = ax = style.new_figure(self.size).add_subplot() if ax is None else ax
            self.figure_ = ax.figure
            order = self.order
            place = np.arange(len(order))
            bars = {"height": 0.38, "edgecolor": "white"}
            self.bars_ = (
                ax.barh(place - 0.2, 100 * self.model[order], color=style.MODEL, label="model", **bars),
                ax.barh(
                    place + 0.2, 100 * self.forest[order], color=style.FOREST, label="forest", hatch="////", **bars
                ),
            )
            ax.set_yticks(place, [short(self.names[i], 22) for i in order], parse_math=False)
            ax.set_ylim(len(order) - 0.4, -0.6)
            ax.set_xlim(left=0, right=None if max(self.model.max(), self.forest.max()) > 0 else 100)
            ax.tick_params(axis="y", length=0)
            ax.set_xlabel("importance (percent)")
            ax.set_ylabel("feature")
            n_omitted = len(self.names) - len(order)
            title = f"{n_omitted} feature{'s' if n_omitted > 1 else ''} not shown" if n_omitted else None
            ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2, title=title, alignment="left")
        return self
