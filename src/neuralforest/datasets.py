"""Synthetic regression problems on the unit cube. No files, no network; the benchmarks read files by themselves."""

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from neuralforest.exceptions import InvalidParameterError

Table = tuple[NDArray[np.float64], NDArray[np.float64]]
Seed = int | np.random.RandomState | None


def make_sines(n_samples: int, d: int = 2, noise: float = 0.01, random_state: Seed = None) -> Table:
    """Draw the paper's synthetic data: y = sum_j sin(20 x_j - 10) + noise, x uniform on the unit cube.

    Parameters
    ----------
    n_samples : int
    d : int, default=2
        Number of features.
    noise : float, default=0.01
        Standard deviation of the Gaussian noise.
    random_state : int, RandomState or None, default=None

    Returns
    -------
    X : float64 array (n_samples, d)
    y : float64 array (n_samples,)

    Examples
    --------
    >>> from neuralforest.datasets import make_sines
    >>> X, y = make_sines(1000, random_state=0)
    >>> X.shape, y.shape
    ((1000, 2), (1000,))
    """
    rng, X = _uniform(n_samples, d, noise, random_state)
    y = np.sin(20 * X - 10).sum(axis=1) + noise * rng.standard_normal(n_samples)
    return X, y


def make_additive(n_samples: int, d: int = 2, noise: float = 0.1, random_state: Seed = None) -> Table:
    """Draw data that Theorem 4.1 covers: y = sum_j sin(2 pi x_j) / j + noise, x uniform on the unit cube.

    The function is additive and continuous. The noise is uniform on [-noise, noise], because the theorem asks for a
    bounded target; with ``noise=0`` the target is the function itself, which is what errors are measured against.

    Parameters
    ----------
    n_samples : int
    d : int, default=2
        Number of features; later ones matter less.
    noise : float, default=0.1
        Largest absolute noise.
    random_state : int, RandomState or None, default=None

    Returns
    -------
    X : float64 array (n_samples, d)
    y : float64 array (n_samples,)

    Examples
    --------
    >>> from neuralforest.datasets import make_additive
    >>> X, y = make_additive(1000, d=3, random_state=0)
    >>> bool(abs(y).max() <= 1 + 1 / 2 + 1 / 3 + 0.1)
    True
    """
    rng, X = _uniform(n_samples, d, noise, random_state)
    y = (np.sin(2 * np.pi * X) / np.arange(1, d + 1)).sum(axis=1) + noise * rng.uniform(-1, 1, size=n_samples)
    return X, y


def _uniform(n_samples: int, d: int, noise: float, seed: Seed) -> tuple[np.random.RandomState, NDArray[np.float64]]:
    """Check the arguments, and return a random generator with the first numbers that it has drawn."""
    for name, count in (("n_samples", n_samples), ("d", d)):
        if not isinstance(count, int | np.integer) or isinstance(count, bool) or count < 1:
            raise InvalidParameterError(f"{name} must be a whole number of at least 1, got {count!r}")
    if not 0 <= noise < np.inf:
        raise InvalidParameterError(f"noise must be finite and not negative, got {noise!r}")
    rng = check_random_state(seed)
    return rng, rng.uniform(size=(n_samples, d))
