"""Converted models of other libraries against the libraries' own prediction, with the same threads."""

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestRegressor

import neuralforest as nf
from benchmarks.speed.common import Row, best_times, seconds, timer

Predict = Callable[[Any, NDArray[np.float64], int], Any]


def rows(quick: bool) -> Iterator[Row]:
    """Compare 100,000 rows of 20 features, for the defaults of each library."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100_000, 20))
    y = X[:, 0] * X[:, 1] + np.sin(3 * X[:, 2]) + 0.1 * rng.normal(size=len(X))
    n = 5_000 if quick else 20_000
    for name, model, predict, bound in _models():
        model.fit(X[:n], y[:n])
        started = time.perf_counter()
        network = nf.convert(model)
        converted = time.perf_counter() - started
        for threads in (1, 2):
            timers = {
                "ours": timer(lambda network=network, t=threads: network.predict(X, n_jobs=t), 1),  # type: ignore[misc]
                "theirs": timer(lambda model=model, p=predict, t=threads: p(model, X, t), 1),  # type: ignore[misc]
            }
            best = best_times(timers, 2 if quick else 5)
            ours, theirs = best["ours"], best["theirs"]
            what = f"converted {name}, 100,000 rows, threads {threads}: its own predict"
            yield Row(what, seconds(ours), seconds(theirs), ours / theirs, at_most=bound)
        trees = network.ensemble.n_trees
        yield Row(f"conversion of {name}, {trees} trees: one second", seconds(converted), "1 s", converted, at_most=1.0)


def _models() -> Iterator[tuple[str, Any, Predict, float]]:
    from catboost import CatBoostRegressor
    from lightgbm import LGBMRegressor
    from xgboost import XGBRegressor

    def forest(model: Any, X: NDArray[np.float64], threads: int) -> Any:
        return model.set_params(n_jobs=threads).predict(X)

    def lightgbm(model: Any, X: NDArray[np.float64], threads: int) -> Any:
        return model.predict(X, num_threads=threads)

    def xgboost(model: Any, X: NDArray[np.float64], threads: int) -> Any:
        model.get_booster().set_param({"nthread": threads})
        return model.predict(X)

    def catboost(model: Any, X: NDArray[np.float64], threads: int) -> Any:
        return model.predict(X, thread_count=threads)

    yield (
        "RandomForest, 64 leaves",
        RandomForestRegressor(100, max_leaf_nodes=64, n_jobs=2, random_state=0),
        forest,
        1 / 3,
    )
    yield "LightGBM", LGBMRegressor(verbose=-1), lightgbm, 1.0
    yield "LightGBM, 1,000 trees", LGBMRegressor(n_estimators=1000, verbose=-1), lightgbm, 1.0
    yield "XGBoost", XGBRegressor(), xgboost, 1.0
    yield "CatBoost", CatBoostRegressor(verbose=0, allow_writing_files=False), catboost, 2.0
