"""The winsorized mean: a robust constant prediction for targets with heavy tails.

Few extreme values determine the plain mean, and new rows hold others. So values beyond a limit on either side are moved
to it: the bias grows, and the variance falls by more.
"""

import numpy as np
from numpy.typing import NDArray


def winsorized_mean(y: NDArray[np.float64], weight: NDArray[np.floating] | None = None) -> NDArray[np.float64]:
    """Return the mean of each column of y (rows, outputs) after winsorizing.

    Parameters
    ----------
    y : float64 array (rows, outputs)
        At least one row, no NaN.
    weight : array (rows,), optional
        Sample weights, at least one of them positive. Without it, all rows count equally.

    Notes
    -----
    Of all upper limits K, the best leaves the mean the least expected squared error, bias squared plus variance / n.
    It is as far above the mean as all that is cut off together:

        K - mean of min(y, K) = sum of max(y - K, 0)

    (P. N. Kokic and P. A. Bell, "Optimal winsorizing cutoffs for a stratified finite population estimator", 1994). The
    lower limit is that of -y. Where tails are not heavy, they change little.

    Examples
    --------
    >>> import numpy as np
    >>> from neuralforest.selection.winsorized_mean import winsorized_mean
    >>> winsorized_mean(np.array([[0.0]] * 99 + [[1000.0]])).round(1)  # 1000 counts as 502.5
    array([5.1])
    >>> winsorized_mean(np.arange(101.0)[:, None])
    array([50.])
    """
    counts = np.ones(len(y)) if weight is None else weight.astype(np.float64)
    counts /= counts.max()  # their sum might be infinite
    part = counts / counts.sum()
    limits = ((-_limit(-column, part), _limit(column, part)) for column in y.T)
    means = [(part * np.clip(column, *ends)).sum() for column, ends in zip(y.T, limits, strict=True)]
    return np.array(means)  # not products of vectors, whose rounding varies with the number of threads


def _limit(y: NDArray[np.float64], part: NDArray[np.float64]) -> float:
    """Return the best upper limit of y; `part` are the weights, which sum to 1.

    The equation for it is linear once it is known how many values are cut off. To cut off others than those above K
    would take away less, so of the limits for any k largest values the highest is the right one. Of rows that do not
    count the same there are only as many as their squared parts say.
    """
    order = np.argsort(-y, kind="stable")
    cut, sums = np.cumsum(part[order]), np.cumsum((part * y)[order])
    rest = 1.0 / (part**2).sum() - 1.0  # of each unit that is cut off, its part is taken from the mean too
    return float(((sums[-1] + rest * sums) / (1.0 + rest * cut)).max())
