"""NeuralForestRegressor."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin
from sklearn.utils import Tags
from sklearn.utils.validation import column_or_1d

from neuralforest.estimators import scaling
from neuralforest.estimators._base import NeuralForest
from neuralforest.estimators._docs import with_parameters
from neuralforest.estimators.intervals import Residuals
from neuralforest.training import TrainingData


@with_parameters
class NeuralForestRegressor(RegressorMixin, NeuralForest):  # type: ignore[misc]
    """A random forest that is rewritten as a neural network and trained on.

    It starts as exactly the forest, is softened, trained by gradient descent, and is never worse than the forest on
    validation rows.

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
        X = self._check_X(X)
        prediction = self.network_.predict(X, self.n_jobs)
        if self._constant is not None:  # a mean of equal numbers may differ from them in the last digit
            prediction = np.where(np.isnan(self._constant), prediction, self._constant)
        return prediction

    def predict_quantiles(self, X: ArrayLike, quantiles: ArrayLike = (0.05, 0.95)) -> NDArray[np.float64]:
        """Predict quantiles of the target, for intervals that hold it with a given probability.

        They come from the errors on the validation (or out-of-bag) rows, each divided by how much the trees disagree
        there, and multiplied with how much they disagree about X.

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
        prediction = self.predict(X)
        columns = prediction.reshape(len(prediction), -1)
        result = self._residuals.quantiles(self.network_, self._check_X(X), columns, quantiles)
        return result[:, 0] if prediction.ndim == 1 else result

    def _check_target(self, y: NDArray[Any], reset: bool) -> NDArray[np.float64]:
        if y.ndim == 2 and y.shape[1] == 1:
            y = column_or_1d(y, warn=True)
        y = np.asarray(y, np.float64)
        if reset:
            scaling.check_target(y.reshape(len(y), -1))
        return y

    def _columns(self, target: NDArray[np.float64]) -> NDArray[np.float64]:
        return target.reshape(len(target), -1)

    def _after_fit(self, data: TrainingData) -> None:
        y = data.y[np.unique(data.fit.row)]
        constant = np.where(np.ptp(y, axis=0) == 0, y[0], np.nan)
        self._constant = None if np.isnan(constant).all() else constant if len(constant) > 1 else constant[0]
        self._residuals = Residuals.measure(self.network_, data, self.n_jobs)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = True
        return tags
