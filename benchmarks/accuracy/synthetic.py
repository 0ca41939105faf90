"""Synthetic data sets, whose true function is known, and two data sets that come with scikit-learn (digits, wine)."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn import datasets

from benchmarks.data import Dataset

Rows = tuple[NDArray[Any], NDArray[Any]]


def load(name: str) -> Dataset:
    """Return a data set by its name; the same rows every time."""
    X, y = (REGRESSION | CLASSIFICATION)[name]()
    frame = pd.DataFrame({f"x{number}": column for number, column in enumerate(np.asarray(X, np.float64).T)})
    if name in REGRESSION:
        return Dataset(f"synthetic.{name}", frame, y.astype(np.float64), "regression")
    return Dataset(f"synthetic.{name}", frame, y.astype(str), "classification")


def _steps() -> Rows:
    """Return a piecewise constant target; four of ten features are informative."""
    random = np.random.default_rng(0)
    X = random.uniform(size=(1500, 10))
    y = 3 * np.where(X[:, 0] > 0.5, X[:, 1] > 0.3, X[:, 2] > 0.7) + np.floor(4 * X[:, 3])
    return X, y + 0.3 * random.normal(size=1500)


def _product() -> Rows:
    """Return a product and an absolute value; three of fifty features are informative."""
    random = np.random.default_rng(0)
    X = random.normal(size=(1500, 50))
    return X, X[:, 0] * X[:, 1] + np.abs(X[:, 2]) + random.normal(size=1500)


def _counts() -> Rows:
    """Return features with four distinct values each."""
    random = np.random.default_rng(0)
    X = random.integers(0, 4, size=(1500, 6))
    return X, X[:, 0] * X[:, 1] - X[:, 2] ** 2 + random.normal(size=1500)


def _heavy() -> Rows:
    """Return a heavy-tailed target."""
    random = np.random.default_rng(0)
    X = random.normal(size=(1500, 8))
    return X, np.exp(1.5 * X[:, 0] + 0.5 * X[:, 1] * X[:, 2] + 0.5 * random.normal(size=1500))


REGRESSION: dict[str, Callable[[], Rows]] = {
    "friedman1": lambda: datasets.make_friedman1(2000, 10, noise=1.0, random_state=0),
    "friedman1_few_rows": lambda: datasets.make_friedman1(500, 10, noise=1.0, random_state=0),
    "friedman1_many_features": lambda: datasets.make_friedman1(1000, 100, noise=1.0, random_state=0),
    "friedman2": lambda: datasets.make_friedman2(1500, noise=50.0, random_state=0),
    "friedman3": lambda: datasets.make_friedman3(1500, noise=0.1, random_state=0),
    "linear": lambda: datasets.make_regression(1500, 20, n_informative=8, noise=20.0, random_state=0),
    "linear_many_features": lambda: datasets.make_regression(300, 100, n_informative=10, noise=20.0, random_state=0),
    "uncorrelated": lambda: datasets.make_sparse_uncorrelated(1500, 20, random_state=0),
    "swiss_roll": lambda: datasets.make_swiss_roll(1500, noise=0.3, random_state=0),
    "steps": _steps,
    "product": _product,
    "counts": _counts,
    "heavy": _heavy,
}

CLASSIFICATION: dict[str, Callable[[], Rows]] = {
    "digits": lambda: datasets.load_digits(return_X_y=True),
    "wine": lambda: datasets.load_wine(return_X_y=True),
    "hastie": lambda: datasets.make_hastie_10_2(3000, random_state=0),
    "moons": lambda: datasets.make_moons(1500, noise=0.3, random_state=0),
    "circles": lambda: datasets.make_circles(1500, noise=0.15, factor=0.5, random_state=0),
    "clusters": lambda: datasets.make_classification(
        2000, 20, n_informative=5, n_redundant=5, flip_y=0.05, random_state=0
    ),
    "three_classes": lambda: datasets.make_classification(2000, 20, n_informative=8, n_classes=3, random_state=1),
    "rare_class": lambda: datasets.make_classification(3000, 15, n_informative=6, weights=[0.95], random_state=2),
    "apart": lambda: datasets.make_classification(
        1500, 20, n_informative=10, class_sep=2.0, flip_y=0.0, random_state=3
    ),
    "shells": lambda: datasets.make_gaussian_quantiles(n_samples=2000, n_features=6, n_classes=3, random_state=0),
    "blobs": lambda: datasets.make_blobs(1500, 8, centers=6, cluster_std=4.0, random_state=0),
}
