"""The kernels of the base models against LightGBM and scikit-learn: the same number of trees, on one thread."""

from collections.abc import Iterator
from functools import partial

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import BaggingRegressor, HistGradientBoostingRegressor
from sklearn.tree import ExtraTreeRegressor

from benchmarks.speed.common import Row, least_processor_seconds, seconds
from neuralforest._kernels.trees import boosting, extra_tree, histogram
from neuralforest.ensemble import FlatTrees

_ROUNDS, _TREES = 200, 20


def rows(quick: bool) -> Iterator[Row]:
    """Compare trees of 16 leaves in boosting, and fully grown extra trees."""
    from lightgbm import LGBMRegressor

    for n in (1_000, 10_000) if quick else (1_000, 10_000, 50_000):
        X, y = _rows(n)
        lightgbm = LGBMRegressor(n_estimators=_ROUNDS, num_leaves=16, n_jobs=1, verbose=-1)
        sklearn = HistGradientBoostingRegressor(max_iter=_ROUNDS, max_leaf_nodes=16, early_stopping=False)
        bagged = BaggingRegressor(ExtraTreeRegressor(), _TREES, max_samples=0.9, bootstrap=False)
        calls = {
            "boosting": partial(_boost, X, y),
            "LightGBM": partial(lightgbm.fit, X, y),
            "HistGradientBoosting": partial(sklearn.fit, X, y),
            "extra trees": partial(_grow, X, y),
            "ExtraTreeRegressor": partial(bagged.fit, X, y),
        }
        times = least_processor_seconds(calls, 2 if quick else 3)
        for ours, theirs in (
            ("boosting", "LightGBM"),
            ("boosting", "HistGradientBoosting"),
            ("extra trees", "ExtraTreeRegressor"),
        ):
            what = f"{ours}, {_ROUNDS if ours == 'boosting' else _TREES} trees, {n:,} rows x 20: {theirs}"
            yield Row(what, seconds(times[ours]), seconds(times[theirs]), times[theirs] / times[ours], at_least=1.0)


def _rows(n: int) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 20)).astype(np.float32)
    return X, X[:, 0] * X[:, 1] + np.sin(3 * X[:, 2]) + 0.5 * rng.normal(size=n)


def _boost(X: NDArray[np.float32], y: NDArray[np.float64]) -> None:
    """Bin the features, and boost trees of 16 leaves, all features considered at every split, as in LightGBM."""
    n, d = X.shape
    edges = np.quantile(X, np.arange(1, histogram.MISSING) / histogram.MISSING, axis=0)
    bins = np.stack([np.searchsorted(edges[:, f], X[:, f]) for f in range(d)]).astype(np.uint8)
    rows = np.arange(n, dtype=np.uint32)
    data = boosting.BinnedRows(bins, np.full(d, histogram.MISSING), y - y.mean(), np.ones(n), rows, rows[:0])
    plan = boosting.BoostingPlan(boosting.SQUARED, 0.1, 1.0, d, 20.0, 1.0, 0)
    room = (_ROUNDS, 15)
    model = boosting.BoostedTrees(
        score=np.zeros((n, 1)),
        n_splits=np.zeros(_ROUNDS, np.int64),
        feature=np.zeros(room, np.int32),
        bin=np.zeros(room, np.uint8),
        missing_left=np.zeros(room, np.bool_),
        middle=np.zeros(room, np.int32),
        value=np.zeros((_ROUNDS, 16)),
        weight=np.zeros((_ROUNDS, 16)),
        error=np.zeros(_ROUNDS),
    )
    boosting.boost(data, plan, model, 0, _ROUNDS)


def _grow(X: NDArray[np.float32], y: NDArray[np.float64]) -> None:
    """Grow extra trees on nine tenths of the rows each."""
    x, n = np.ascontiguousarray(X.T), len(X) * 9 // 10
    for seed in range(_TREES):
        rows = np.random.RandomState(seed).permutation(len(X))[:n].astype(np.uint32)
        extra_tree.grow(x, y, None, None, rows, len(x), seed, FlatTrees.room_for(n, n, 1))
