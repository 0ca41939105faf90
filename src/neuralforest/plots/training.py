"""Training curves: the losses of every epoch, as in the paper's figure."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from neuralforest.estimators.scores import in_user_units, validation_scores
from neuralforest.exceptions import InvalidParameterError
from neuralforest.plots import arguments, style
from neuralforest.plots.text import number
from neuralforest.training import History

_BAND = (0.1, 0.9)  # quantiles of the trees
_FAR = 3.0  # a line this many times above the curves would flatten them: it is in the legend only


@dataclass(eq=False, repr=False)
class TrainingDisplay:
    """Training and validation loss of every epoch, with the loss of the forest as a line.

    Made by :meth:`from_estimator`. Epoch 0 is the softened network before training, which differs from the forest
    because its units are smooth. Training losses are means over the batches of an epoch.

    Parameters
    ----------
    training : float array (epochs + 1, subnetworks)
        NaN at epoch 0. There is one subnetwork per tree in independent training, and one in joint training.
    validation : float array (epochs + 1, subnetworks)
    forest : float array (subnetworks,)
        Validation loss of the trees of each subnetwork.
    best_epoch : int array (subnetworks,)
        The selected epoch; -1 where the trees are used.
    whole : pair of floats
        Validation loss of the whole forest and of the whole model, with its base models.
    label : str
        Name of the loss, with its unit.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
    lines_ : dict of matplotlib lines
        "training", "validation", "forest", and in independent training "whole forest" and "whole model".

    Examples
    --------
    >>> from neuralforest import NeuralForestRegressor
    >>> from neuralforest.plots import TrainingDisplay
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.ensemble import RandomForestRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> forest = RandomForestRegressor(5, max_depth=3, random_state=0)
    >>> model = NeuralForestRegressor(forest, max_epochs=10, contrast=(3, 1), random_state=0).fit(X, y)
    >>> display = TrainingDisplay.from_estimator(model)
    >>> display.validation.shape, display.label
    ((11, 5), 'RMSE')
    """

    training: NDArray[np.float64]
    validation: NDArray[np.float64]
    forest: NDArray[np.float64]
    best_epoch: NDArray[np.int64]
    whole: tuple[float, float]
    label: str

    size = (6.4, 4.6)
    """Width and height of a new figure, in inches."""

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None, draw: bool = True) -> Self:
        """Draw the history of a fitted NeuralForestRegressor or NeuralForestClassifier.

        Parameters
        ----------
        estimator : fitted estimator
        ax : matplotlib axes, optional
        draw : bool
            False leaves the drawing to :meth:`plot`.
        """
        estimator = arguments.trained_estimator(estimator, "TrainingDisplay")
        history: History | None = getattr(estimator, "history_", None)
        if history is None:
            raise InvalidParameterError(
                "TrainingDisplay needs a model with its history_, and this one was saved without it: fit it again"
            )
        in_units = np.vectorize(lambda loss: in_user_units(estimator, loss), otypes=[np.float64])
        validated = np.isfinite(history.forest_loss)  # the others have no validation rows
        training = np.vstack([np.full((1, len(validated)), np.nan), history.training_loss])
        curves = [in_units(_filled(losses[:, validated])) for losses in (training, history.validation_loss)]
        label, *whole = validation_scores(estimator)
        forest = in_units(history.forest_loss[validated])
        display = cls(curves[0], curves[1], forest, history.best_epoch[validated], (whole[0], whole[1]), label)
        return display.plot(ax) if draw else display

    @property
    def independent(self) -> bool:
        """Whether there are several subnetworks, of which means are drawn."""
        return len(self.forest) > 1

    def plot(self, ax: Any = None) -> Self:
        """Draw on the given axes, or on new ones."""
        with style.style():
            self.ax_ = ax = style.new_figure(self.size).add_subplot() if ax is None else ax
            self.figure_ = ax.figure
            self.lines_: dict[str, Any] = {}
            who = "subnetworks" if self.independent else "network"
            self._curve("validation", self.validation, f"{who}, validation", "-")
            self._curve("training", self.training, f"{who}, training", "--")
            self._draw_levels()
            if not self.independent and (self.best_epoch >= 0).any():
                epoch = int(self.best_epoch[0])
                loss = self.validation[epoch, 0]
                label = f"selected epoch {epoch}: {number(loss)}"
                ax.plot([epoch], [loss], "o", color=style.MODEL, markersize=7, label=label, clip_on=False)
            ax.set_xlabel("epoch (0: before training)")
            ax.set_ylabel(self.label)
            ax.xaxis.get_major_locator().set_params(integer=True)
            ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.17), ncols=1, alignment="left")
        return self

    def _curve(self, name: str, losses: NDArray[np.float64], label: str, linestyle: str) -> None:
        epochs = np.arange(len(losses))
        if self.independent:
            label += ": mean"
            low, high = np.quantile(losses, _BAND, axis=1)
            band = f"middle {100 * (_BAND[1] - _BAND[0]):.0f}% of the subnetworks" if name == "training" else None
            options = {"color": style.MODEL, "alpha": 0.15, "linewidth": 0, "label": band}
            self.ax_.fill_between(epochs, low, high, **options)
        (line,) = self.ax_.plot(epochs, losses.mean(axis=1), linestyle, color=style.MODEL, label=label)
        self.lines_[name] = line

    def _draw_levels(self) -> None:
        """Draw the losses that are constant over the epochs."""
        forest, model = self.whole
        levels = [("forest", forest, "forest, validation:", style.FOREST, "-")]
        if self.independent:
            levels = [
                ("forest", float(self.forest.mean()), "trees, validation: mean", style.FOREST, "-"),
                ("whole forest", forest, "whole forest, validation:", style.FOREST, ":"),
                ("whole model", model, "whole model, validation:", style.MODEL, ":"),
            ]
        for name, loss, label, color, linestyle in levels:
            if np.isfinite(loss):
                curves = np.concatenate([self.training[1:].mean(axis=1), self.validation.mean(axis=1)])
                far = loss > _FAR * np.nanmax(curves)
                ends = [np.nan, np.nan] if far else [loss, loss]
                label = f"{label} {number(loss)}" + (" (above the axes)" if far else "")
                options = {"color": color, "linestyle": linestyle, "linewidth": 2.2 if linestyle == ":" else 1.5}
                (self.lines_[name],) = self.ax_.plot([0, len(self.validation) - 1], ends, label=label, **options)


def _filled(losses: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return losses with every NaN replaced by the last number before it: a subnetwork that has stopped."""
    last = np.maximum.accumulate(np.where(np.isnan(losses), 0, np.arange(len(losses))[:, None]), axis=0)
    return np.take_along_axis(losses, last, axis=0)
