"""The hard network against its forest: prediction, conversion, memory."""

import time
from collections.abc import Iterator

import numpy as np
from sklearn.ensemble import RandomForestRegressor

import neuralforest as nf
from benchmarks.speed.common import Row, best_times, seconds, timer
from neuralforest.ensemble import TreeEnsemble


def rows(quick: bool) -> Iterator[Row]:
    rng = np.random.default_rng(0)
    n, n_trees = (4_000, 100) if quick else (20_000, 100)
    X = rng.random((n, 10), dtype=np.float32)
    y = np.sin(6 * X).sum(axis=1) + rng.normal(size=n)
    started = time.perf_counter()
    forest = RandomForestRegressor(n_trees, random_state=0, n_jobs=1).fit(X, y)
    fitted = time.perf_counter() - started
    network = nf.convert(forest)
    queries = rng.random((100_000, 10), dtype=np.float32)
    for threads in (1, 2):
        forest.set_params(n_jobs=threads)
        timers = {
            "ours": timer(lambda threads=threads: network.predict(queries, n_jobs=threads), 1),  # type: ignore[misc]
            "theirs": timer(lambda: forest.predict(queries), 1),
        }
        best = best_times(timers, 2 if quick else 5)
        what = f"hard predict, 100,000 rows, {n_trees} full trees, threads {threads}: the forest"
        yield Row(what, seconds(best["ours"]), seconds(best["theirs"]), best["ours"] / best["theirs"], at_most=1 / 3)
    forest.set_params(n_jobs=1)
    one = queries[:1]
    timers = {"ours": timer(lambda: network.predict(one), 1), "theirs": timer(lambda: forest.predict(one), 1)}
    best = best_times(timers, 5)
    ratio = best["theirs"] / best["ours"]
    yield Row("hard predict, one row: the forest", seconds(best["ours"]), seconds(best["theirs"]), ratio, at_least=10)
    converted = best_times({"ours": timer(lambda: nf.convert(forest), 1)}, 3)["ours"]
    yield Row("conversion: the fit", seconds(converted), seconds(fitted), converted / fitted, at_most=0.05)
    yield _memory(network.ensemble)


def _memory(ensemble: TreeEnsemble) -> Row:
    ours = sum(value.nbytes for value in vars(ensemble).values() if isinstance(value, np.ndarray))
    connections = 4 * int(ensemble.first_connection[-1])
    what = "memory of the converted trees: 4 bytes x sum of leaf depths"
    return Row(what, f"{ours / 1e6:.1f} MB", f"{connections / 1e6:.1f} MB", ours / connections, at_most=2.0)
