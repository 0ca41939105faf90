"""Ridge regression, cross-fitted: the mean of five, on standardised features with missing values at their mean."""

import threading

import numpy as np
from sklearn.linear_model import RidgeCV
from threadpoolctl import threadpool_limits  # which scikit-learn depends on

from neuralforest._statistics import center_and_spread, value_ranges
from neuralforest.base_models.cross_fitting import Folds, Stages, Task
from neuralforest.network import LinearModel

_ALPHAS = np.logspace(-1, 4, 11)
_MOST_PRODUCTS = 2e9  # rows x features x the fewer of both: a few seconds
_ONE_THREAD = threading.Lock()  # limits of threads hold for the whole process


def ridge(task: Task) -> Stages:
    """Fit ridge regressions on the folds, and average them; for regression only."""
    if task.classifier or task.n_categories.any() or not Folds.possible(task):
        return  # codes of categories are no numbers
    folds = Folds.of(task)
    if len(folds.training[0]) * folds.X.shape[1] * min(folds.X.shape) > _MOST_PRODUCTS:
        return
    rows = np.concatenate(folds.left_out)
    center, scale = center_and_spread(folds.X[rows])
    low, high = value_ranges(folds.X[rows], center)
    coefs, intercepts = [], []
    with _ONE_THREAD, threadpool_limits(1, "blas"):  # so that rounding does not depend on the number of threads
        for training in folds.training:
            scaled = np.nan_to_num((folds.X[training].astype(np.float64) - center) / scale)
            weight = folds.weight[training] if folds.is_weighted else None
            model = RidgeCV(_ALPHAS).fit(scaled, folds.y[training], weight)
            coefs.append(folds.scale * model.coef_[:, None])
            intercepts.append(np.array([folds.center + folds.scale * model.intercept_]))
    pairs = zip([*coefs, np.mean(coefs, axis=0)], [*intercepts, np.mean(intercepts, axis=0)], strict=True)
    *models, mean = (LinearModel(low, high, center, scale, coef, intercept) for coef, intercept in pairs)
    yield folds.candidate("ridge", models, mean)
