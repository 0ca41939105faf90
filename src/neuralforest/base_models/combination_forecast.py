"""The combination forecast: the fallback model for targets without a detectable signal."""

import numpy as np
from numpy.typing import NDArray

from neuralforest._statistics import center_and_spread, value_ranges
from neuralforest.network import LinearModel
from neuralforest.selection.winsorized_mean import winsorized_mean


def combination_forecast(
    X: NDArray[np.floating], y: NDArray[np.float64], weight: NDArray[np.float64] | None = None
) -> LinearModel:
    """Return the mean of d univariate regressions, one per feature, and of the mean of the target.

    Where a signal is too weak to be detected, no selection of features or of a penalty beats chance. An average
    without a selection does: each regression has a small weight, so that its variance costs little, and what several
    features have in common adds up (D. E. Rapach, J. K. Strauss and G. Zhou, "Out-of-sample equity premium prediction:
    combination forecasts and links to the real economy", 2010).

    Parameters
    ----------
    X : array (rows, features)
        May hold NaN.
    y : float64 array (rows, outputs)
    weight : float64 array (rows,), optional
        Without it, all rows count equally.

    Examples
    --------
    >>> import numpy as np
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([[10.0], [12.0], [14.0], [16.0]])
    >>> combination_forecast(X, y).prediction(X).ravel()  # halfway from 13 to the regression
    array([11.5, 12.5, 13.5, 14.5])
    """
    (center, scale), (level, unit) = center_and_spread(X), center_and_spread(y)
    low, high = value_ranges(X, center)
    deviation, coef = (y - level) / unit, np.zeros((X.shape[1], y.shape[1]))
    for feature in range(X.shape[1]):  # not a product of matrices, whose rounding varies with the number of threads
        scaled = (X[:, feature].astype(np.float64) - center[feature]) / scale[feature]
        known = ~np.isnan(scaled)
        if known.any():
            products = scaled[known, None] * deviation[known]
            mean = np.average(products, axis=0, weights=None if weight is None else weight[known])
            coef[feature] = unit * mean / (X.shape[1] + 1)
    return LinearModel(low, high, center, scale, coef, winsorized_mean(y, weight))
