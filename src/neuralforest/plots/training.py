"""Training evolution: the losses of every epoch, as in the paper's figure."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from neuralforest.estimators._base import NeuralForest
from neuralforest.exceptions import InvalidParameterError
from neuralforest.plots import _style
from neuralforest.plots._subject import trained_estimator
from neuralforest.plots._words import number
from neuralforest.training.history import History, _filled

_BAND = (0.1, 0.9)  # quantiles of the trees
_FAR = 3.0  # a line this many times above the curves would flatten them: it is told in the legend instead


@dataclass(eq=False, repr=False)
class TrainingDisplay:
    """Training and validation loss of every epoch, and the forest's as a line.

    Made by :meth:`from_estimator`. Epoch 0 is the softened start: what the network says before it is trained, which
    differs from the forest because its units are smooth. Training losses are means over an epoch, taken as it went on.

    Parameters
    ----------
    training : float array (epochs + 1, networks)
        NaN at epoch 0. There is one network a tree in independent training, and one in joint training.
    validation : float array (epochs + 1, networks)
    forest : float array (networks,)
        Validation loss of each network's own trees.
    best_epoch : int array (networks,)
        The epoch that was kept; -1 for the trees themselves.
    together : pair of floats
        Validation loss of the forest and of the neural forest as a whole.
    label : str
        What a loss is, with its unit.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
    lines_ : dict of matplotlib lines
        "training", "validation", "forest", and in independent training "whole forest" and "whole neural forest".

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
    ((11, 5), 'RMSE (units of the target)')
    """

    training: NDArray[np.float64]
    validation: NDArray[np.float64]
    forest: NDArray[np.float64]
    best_epoch: NDArray[np.int64]
    together: tuple[float, float]
    label: str

    size = (6.4, 4.6)
    """Width and height of the figure that is made when no axes are given, in inches."""

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """Draw the history of a fitted NeuralForestRegressor or NeuralForestClassifier.

        Parameters
        ----------
        estimator : fitted estimator
        ax : matplotlib axes, optional
        """
        return cls._read(estimator).plot(ax)

    @classmethod
    def _read(cls, estimator: Any) -> Self:
        estimator = trained_estimator(estimator, "TrainingDisplay")
        history: History | None = getattr(estimator, "history_", None)
        if history is None:
            raise InvalidParameterError(
                "TrainingDisplay needs a model with its history_, and this one was kept without: fit it again"
            )
        label, unit, power = loss_units(estimator)
        judged = np.isfinite(history.forest_loss)  # the others have no validation rows
        training = np.vstack([np.full((1, len(judged)), np.nan), history.training_loss])
        curves = [unit * _filled(losses[:, judged]) ** power for losses in (training, history.validation_loss)]
        whole = [float(unit * loss**power) for loss in (estimator.forest_loss_, estimator.validation_loss_)]
        forest = unit * history.forest_loss[judged] ** power
        return cls(curves[0], curves[1], forest, history.best_epoch[judged], (whole[0], whole[1]), label)

    @property
    def independent(self) -> bool:
        """Whether there are several networks, of which means are drawn."""
        return len(self.forest) > 1

    def plot(self, ax: Any = None) -> Self:
        """Draw on the given axes, or on new ones."""
        with _style.style():
            self.ax_ = ax = _style.new_axes(*self.size) if ax is None else ax
            self.figure_ = ax.figure
            self.lines_: dict[str, Any] = {}
            who = "networks of the trees" if self.independent else "network"
            self._curve("validation", self.validation, f"{who}, validation rows", "-")
            self._curve("training", self.training, f"{who}, training rows", "--")
            self._forest_lines()
            self._mark_best()
            ax.set_xlabel("epoch (0 is the softened start)")
            ax.set_ylabel(self.label)
            ax.xaxis.get_major_locator().set_params(integer=True)
            ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.17), ncols=1, alignment="left")
        return self

    def _curve(self, name: str, losses: NDArray[np.float64], label: str, linestyle: str) -> None:
        epochs = np.arange(len(losses))
        if self.independent:
            label += ": mean"
            low, high = np.quantile(losses, _BAND, axis=1)
            band = f"middle {100 * (_BAND[1] - _BAND[0]):.0f}% of them" if name == "training" else None
            options = {"color": _style.NETWORK, "alpha": 0.15, "linewidth": 0, "label": band}
            self.ax_.fill_between(epochs, low, high, **options)
        (line,) = self.ax_.plot(epochs, losses.mean(axis=1), linestyle, color=_style.NETWORK, label=label)
        self.lines_[name] = line

    def _forest_lines(self) -> None:
        """Draw what does not change with the epochs."""
        if self.independent:
            self._level("forest", float(self.forest.mean()), "the trees, validation rows: mean", _style.FOREST, "-")
            self._level("whole forest", self.together[0], "forest as a whole", _style.FOREST, ":")
            self._level("whole neural forest", self.together[1], "neural forest as a whole", _style.NETWORK, ":")
        else:
            self._level("forest", self.together[0], "forest, validation rows", _style.FOREST, "-")

    def _level(self, name: str, loss: float, label: str, color: str, linestyle: str) -> None:
        if not np.isfinite(loss):
            return
        curves = np.concatenate([self.training[1:].mean(axis=1), self.validation.mean(axis=1)])
        far = loss > _FAR * np.nanmax(curves)
        ends = [np.nan, np.nan] if far else [loss, loss]
        label += f"{'' if label.endswith('mean') else ':'} {number(loss)}" + (", above the picture" if far else "")
        style = {"color": color, "linestyle": linestyle, "linewidth": 2.2 if linestyle == ":" else 1.5}
        (self.lines_[name],) = self.ax_.plot([0, len(self.validation) - 1], ends, label=label, **style)

    def _mark_best(self) -> None:
        if self.independent or not len(self.best_epoch) or self.best_epoch[0] < 0:
            return
        epoch = int(self.best_epoch[0])
        loss = self.validation[epoch, 0]
        label = f"kept: epoch {epoch}, {number(loss)}"
        self.ax_.plot([epoch], [loss], "o", color=_style.NETWORK, markersize=7, label=label, clip_on=False)


def loss_units(estimator: NeuralForest) -> tuple[str, float, float]:
    """Return what the losses are called, and the factor and power that bring them into that unit."""
    network = estimator.network_
    if network.classes is not None:
        return "log loss (nats a row)", 1.0, 1.0
    if estimator.loss not in ("auto", "squared_error"):
        return f"{estimator.loss} loss (target in spreads)", 1.0, 1.0
    if network.ensemble.n_outputs > 1:
        return "RMSE (spreads of the targets)", 1.0, 0.5
    scale = 1.0 if network.soft is None else float(network.soft.output_scale[0])
    return "RMSE (units of the target)", scale, 0.5
