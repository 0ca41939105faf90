"""Rows and comparisons for the tests of Dask estimators."""

import dask.array as da
import numpy as np

_TREES = (
    "feature", "threshold", "missing_left", "middle", "value", "weight", "first_split", "first_leaf", "first_category",
    "category_left",
)  # fmt: skip
_SOFT = ("center", "scale", "low", "high", "spread", "output_center", "output_scale", "hard", "parameters")
_HISTORY = ("training_loss", "validation_loss", "forest_loss", "best_epoch")


def make_rows(n=700, n_features=5, noise=0.3, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, n_features))
    return X, X[:, 0] * X[:, 1] + noise * random.normal(size=n)


def blocks(array, n_blocks=1):
    """Return a dask array in this many blocks of rows."""
    return da.from_array(array, chunks=(-(-len(array) // n_blocks), *array.shape[1:]))


def assert_same_bits(one, other):
    """Check that two local estimators have the same trees, weights, history, losses and intervals."""
    for part, names in (("ensemble", _TREES), ("soft", _SOFT)):
        for name in names:
            arrays = (getattr(getattr(each.network_, part), name) for each in (one, other))
            np.testing.assert_array_equal(*arrays, err_msg=name, strict=True)
    for name in _HISTORY:
        np.testing.assert_array_equal(getattr(one.history_, name), getattr(other.history_, name), err_msg=name)
    assert (one.forest_loss_, one.validation_loss_, one.contrast_) == (
        other.forest_loss_,
        other.validation_loss_,
        other.contrast_,
    )
    if hasattr(one, "_residuals"):
        np.testing.assert_array_equal(one._residuals.relative, other._residuals.relative)
        np.testing.assert_array_equal(one._constant, other._constant)
    else:
        np.testing.assert_array_equal(one.classes_, other.classes_, strict=True)
