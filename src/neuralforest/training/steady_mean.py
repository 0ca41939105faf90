"""The steady mean: what to predict where nothing is known, of targets whose largest values are rare and far away.

Few such values decide the plain mean, and the next rows hold others. So values beyond a limit on either side are moved
to it: the error grows by the bias, and falls more by the variance.
"""

import numpy as np
from numpy.typing import NDArray


def steady_mean(y: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean of each column of y (rows, outputs) after values beyond its limits have been moved to them.

    Parameters
    ----------
    y : float64 array (rows, outputs)
        At least one row, no NaN.

    Notes
    -----
    Of all upper limits K, the best leaves the mean the least expected squared error, bias squared plus variance / n.
    It is as far above the mean as all that is cut off together:

        K - mean of min(y, K) = sum of max(y - K, 0)

    (P. N. Kokic and P. A. Bell, "Optimal winsorizing cutoffs for a stratified finite population estimator", 1994). The
    lower limit is that of -y. Where tails are not heavy, they change next to nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from neuralforest.training.steady_mean import steady_mean
    >>> steady_mean(np.array([[0.0]] * 99 + [[1000.0]])).round(1)  # 1000 counts as 502.5
    array([5.1])
    >>> steady_mean(np.arange(101.0)[:, None])
    array([50.])
    """
    return np.array([np.clip(column, -_limit(-column), _limit(column)).mean() for column in y.T])


def _limit(y: NDArray[np.float64]) -> float:
    """Return the best upper limit of y.

    The equation for it is linear once it is known how many values are cut off. To cut off others than those above K
    would take away less, so of the limits for any k largest values the highest is the right one.
    """
    k, sums = np.arange(1, len(y) + 1), np.cumsum(np.sort(y)[::-1])
    rest = 1.0 - 1.0 / len(y)  # of each unit that is cut off, one n-th is taken from the mean too
    return float(((y.mean() + rest * sums) / (1.0 + rest * k)).max())
