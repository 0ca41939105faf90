"""Linear functions beside a network: one that competes with it, and one for where nobody knows anything.

All work on standardised features, a missing value counts as the mean, and none extrapolates.
"""

import threading

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import RidgeCV
from threadpoolctl import threadpool_limits  # which scikit-learn depends on

from neuralforest.companion import Linear
from neuralforest.estimators.folds import Candidate, Folds
from neuralforest.estimators.scaling import center_and_spread, ends
from neuralforest.training.steady_mean import steady_mean

_RIDGES = np.logspace(-1, 4, 11)
_ONE_THREAD = threading.Lock()  # limits of threads hold for the whole process


def ridge_regression(folds: Folds) -> Candidate:
    """Fit ridge regressions on the folds, and take their mean."""
    rows = np.concatenate(folds.unseen)
    center, scale = center_and_spread(folds.X[rows])
    low, high = ends(folds.X[rows], center)
    slopes, intercepts = [], []
    with _ONE_THREAD, threadpool_limits(1, "blas"):  # so that the digits do not depend on the number of threads
        for learnt in folds.learnt:
            seen = np.nan_to_num((folds.X[learnt].astype(np.float64) - center) / scale)
            model = RidgeCV(_RIDGES).fit(seen, folds.y[learnt])
            slopes.append(folds.scale * model.coef_[:, None])
            intercepts.append(np.array([folds.center + folds.scale * model.intercept_]))
    pairs = zip([*slopes, np.mean(slopes, axis=0)], [*intercepts, np.mean(intercepts, axis=0)], strict=True)
    *functions, mean = (Linear(low, high, center, scale, slope, intercept) for slope, intercept in pairs)
    return Candidate(mean, folds.judged(functions, mean))


def careful_line(X: NDArray[np.floating], y: NDArray[np.float64]) -> Linear:
    """Return the mean of d + 1 predictions from d features: the mean of the target, and each feature's own line.

    Where a signal is too weak to be found, no choice of features or of a penalty is better than chance. An average
    without a choice is: each line counts little, so that noise costs less than it does in the mean itself, and what
    several features have in common adds up (D. E. Rapach, J. K. Strauss and G. Zhou, "Out-of-sample equity premium
    prediction: combination forecasts and links to the real economy", 2010).

    Parameters
    ----------
    X : array (rows, features)
        May hold NaN.
    y : float64 array (rows, outputs)

    Examples
    --------
    >>> import numpy as np
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([[10.0], [12.0], [14.0], [16.0]])
    >>> careful_line(X, y).output(X).ravel()  # half of the way from 13 to the line
    array([11.5, 12.5, 13.5, 14.5])
    """
    (center, scale), (level, unit) = center_and_spread(X), center_and_spread(y)
    low, high = ends(X, center)
    deviation, slope = (y - level) / unit, np.zeros((X.shape[1], y.shape[1]))
    for feature in range(X.shape[1]):  # not a product of matrices, whose rounding varies with the number of threads
        seen = (X[:, feature].astype(np.float64) - center[feature]) / scale[feature]
        known = ~np.isnan(seen)
        if known.any():
            slope[feature] = unit * (seen[known, None] * deviation[known]).mean(axis=0) / (X.shape[1] + 1)
    return Linear(low, high, center, scale, slope, steady_mean(y))
