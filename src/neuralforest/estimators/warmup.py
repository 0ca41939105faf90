"""Compilation ahead of use, for images and continuous integration: small fits and predictions call every kernel."""

import time
from typing import NamedTuple

import numpy as np
from sklearn.tree import DecisionTreeRegressor

from neuralforest._kernels.jit import compilations, kernel_directory
from neuralforest.convert import convert
from neuralforest.estimators.classifier import NeuralForestClassifier
from neuralforest.estimators.regressor import NeuralForestRegressor

_ROWS = 600  # from 500 on, base models are fitted as for many rows
_LEAVES = (2, 8, 24, 48, 80)  # of trees that the kernels of hard trees treat differently; a tree of 2 is symmetric


class Warmup(NamedTuple):
    """What `warmup` has done."""

    n_compiled: int  # kernels, of those that were not in the folder yet
    seconds: float
    folder: str | None  # of compiled kernels; None where they are compiled in every process


def warmup() -> Warmup:
    """Compile the kernels of the default estimators and of converted trees, so that later processes load them.

    A kernel that the installation has not compiled is compiled when it is first called, which takes most of the time
    of a first fit. It is stored in the folder `NUMBA_CACHE_DIR`, or in that of the user's caches, by the processor that
    it is for: run this on the machine, or in the image, where models will be fitted.

    Returns
    -------
    Warmup
        The number of kernels that were compiled, the time, and the folder.

    Examples
    --------
    >>> import neuralforest as nf
    >>> nf.warmup().n_compiled >= 0
    True
    """
    started, before = time.perf_counter(), compilations()
    rng = np.random.default_rng(0)
    X = rng.normal(size=(_ROWS, 4))
    y = X[:, 0] * X[:, 1] + X[:, 2] + 0.1 * rng.normal(size=_ROWS)
    for estimator, target in ((NeuralForestRegressor, y), (NeuralForestClassifier, y > 0)):
        estimator(random_state=0, max_epochs=2).fit(X, target).predict(X)
    for n_leaves in _LEAVES:
        network = convert(DecisionTreeRegressor(max_leaf_nodes=n_leaves, random_state=0).fit(X, y))
        network.predict(X)
        network.predict(X[:1])
    return Warmup(compilations() - before, time.perf_counter() - started, kernel_directory())
