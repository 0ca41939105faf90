"""NeuralForestRegressor."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin
from sklearn.utils.validation import column_or_1d

from neuralforest.base_models.error_scale import with_error_scale
from neuralforest.estimators import scaling
from neuralforest.estimators._base import NeuralForest
from neuralforest.estimators._docs import with_parameters
from neuralforest.network import ForestNetwork
from neuralforest.selection import Residuals, Selected
from neuralforest.training import TrainingData


@with_parameters
@dataclass(eq=False, repr=False)  # so that errors of the constructor name this class
class NeuralForestRegressor(RegressorMixin, NeuralForest):
    """A random forest, rewritten as a neural network and trained further.

    The network starts with the predictions of the forest, is softened, and is trained by gradient descent. By default,
    base models are stacked with it where that improves held-out predictions. The result is never worse than the forest
    on validation rows.

    Examples
    --------
    >>> from neuralforest import NeuralForestRegressor
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = NeuralForestRegressor(max_epochs=20, contrast=(3, 1), random_state=0).fit(X, y)
    >>> model.validation_loss_ <= model.forest_loss_
    True
    >>> model.predict(X[:2]).shape
    (2,)
    """

    def predict(self, X: ArrayLike) -> NDArray[np.float64]:
        """Predict the target, (rows,) or (rows, outputs)."""
        network, X = self._network_and_rows(X)
        return self._predict(network, X)

    def _predict(self, network: ForestNetwork, X: NDArray[np.floating]) -> NDArray[np.float64]:
        prediction = network.predict_checked(X, self.n_jobs)
        if np.isnan(self._constant).all():
            return prediction
        # a mean of equal numbers may differ from them in the last digit
        constant = np.where(np.isnan(self._constant), prediction.reshape(len(X), -1), self._constant)
        return constant.reshape(prediction.shape)

    def predict_quantiles(self, X: ArrayLike, quantiles: ArrayLike = (0.05, 0.95)) -> NDArray[np.float64]:
        """Predict quantiles of the target, for intervals that hold it with a given probability.

        The quantiles are conformal: errors on the validation (or out-of-bag) rows of `fit`, divided by the expected
        size of the error of each of these rows, and multiplied by that of the rows of X. A cross-fitted model learns
        this size from the errors if that improves the intervals significantly, so that rows of any size of error are
        covered alike; otherwise, it is the disagreement of the trees. The coverage is marginal, over all rows together.
        Extreme quantiles need many rows: 0.05 and 0.95 need at least 19.

        Parameters
        ----------
        X : array-like (rows, features)
        quantiles : float or array-like
            Between 0 and 1.

        Returns
        -------
        array (rows, quantiles), or (rows, outputs, quantiles) for several targets

        Examples
        --------
        >>> from neuralforest import NeuralForestRegressor
        >>> from sklearn.datasets import load_diabetes
        >>> X, y = load_diabetes(return_X_y=True)
        >>> model = NeuralForestRegressor(max_epochs=20, contrast=(3, 1), random_state=0).fit(X, y)
        >>> low, high = model.predict_quantiles(X[:1], (0.05, 0.95))[0]
        >>> bool(low < model.predict(X[:1])[0] < high)
        True
        """
        network, X = self._network_and_rows(X)
        prediction = self._predict(network, X)
        result = self._residuals.quantiles(network, X, prediction.reshape(len(X), -1), quantiles)
        return result[:, 0] if prediction.ndim == 1 else result

    def _check_target(self, y: NDArray[Any], reset: bool) -> NDArray[np.float64]:
        if y.ndim == 2 and y.shape[1] == 1:
            y = column_or_1d(y, warn=True)
        y = np.asarray(y, np.float64)
        scaling.check_target(y.reshape(len(y), -1), check_range=reset)
        return y

    def _columns(self, network: ForestNetwork, target: NDArray[np.float64]) -> NDArray[np.float64]:
        return target.reshape(len(target), -1)

    def _after_fit(self, data: TrainingData, trained: Selected) -> None:
        self._constant = _constants(data)
        measured = Residuals.measure(self.network_, data, trained.predictions)
        none = np.zeros(data.X.shape[1], np.int64)
        n_categories = none if self._encoder is None else self._encoder.n_categories
        self._residuals = with_error_scale(measured, data, trained, self._split_seed, self.n_jobs, n_categories)

    def _after_partial_fit(self, data: TrainingData) -> None:
        self._constant = np.where(_constants(data) == self._constant, self._constant, np.nan)


def _constants(data: TrainingData) -> NDArray[np.float64]:
    """Return the one value of each target that has only one, (outputs,), and NaN for the others."""
    is_used = np.zeros(len(data.y), np.bool_)
    is_used[data.fit.row] = is_used[data.validation.row] = True
    y = data.y[is_used]
    return np.where((y == y[0]).all(axis=0), y[0], np.nan)
