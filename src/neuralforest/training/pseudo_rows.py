"""Rows between training rows: where a trained network teaches trees what it predicts there.

Each is a training row that takes about half of its features from a near neighbour, the nearest of a few random rows.
Values of a feature are only exchanged, so that categories, counts and missing values stay what they are.
"""

import numpy as np
from numpy.typing import NDArray

_CANDIDATES = 10  # of which the nearest is the neighbour
_EXCHANGED = 0.5  # of the features
_BATCH = 4096  # rows whose candidates are in memory together


def pseudo_rows(X: NDArray[np.floating], n_rows: int, seed: int) -> NDArray[np.floating]:
    """Return n_rows rows between those of X.

    Examples
    --------
    >>> import numpy as np
    >>> from neuralforest.training.pseudo_rows import pseudo_rows
    >>> X = np.array([[0.0, 10.0], [1.0, 11.0], [2.0, 12.0]])
    >>> new = pseudo_rows(X, 100, seed=0)
    >>> new.shape, set(new[:, 0]) <= set(X[:, 0]), set(new[:, 1]) <= set(X[:, 1])
    ((100, 2), True, True)
    """
    rng = np.random.default_rng(seed)
    scaled = X.astype(np.float64)
    spread = np.nanstd(scaled, axis=0)
    scaled = np.nan_to_num((scaled - np.nanmean(scaled, axis=0)) / np.where(spread > 0, spread, 1.0))
    parts = []
    for start in range(0, n_rows, _BATCH):
        size = min(_BATCH, n_rows - start)
        own, candidate = rng.integers(0, len(X), size), rng.integers(0, len(X), (_CANDIDATES, size))
        distance = np.stack([((scaled[each] - scaled[own]) ** 2).sum(axis=1) for each in candidate])
        near = candidate[distance.argmin(axis=0), np.arange(size)]
        parts.append(np.where(rng.random((size, X.shape[1])) < _EXCHANGED, X[near], X[own]))
    return np.concatenate(parts).astype(X.dtype)
