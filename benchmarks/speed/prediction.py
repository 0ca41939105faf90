"""Default models against LightGBM, CatBoost and XGBoost with their defaults, all on one thread: prediction, and fits.

Generated rows of 20 features, and all data sets of the data folder, whose rows are repeated up to 100,000.
"""

import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import neuralforest as nf
from benchmarks.data import encode, load, names
from benchmarks.speed.common import Row, least_processor_seconds, seconds

_ROWS = 100_000
_MOST_TRAINING_ROWS = 20_000
_FEWEST_ROWS_OF_FIT = 1_000  # on fewer, fits take a second or two


class Case(NamedTuple):
    """Rows that models are fitted on, and that they predict."""

    name: str
    X: NDArray[np.float64]
    y: NDArray[Any]
    is_regression: bool
    is_generated: bool = False


def rows(quick: bool) -> Iterator[Row]:
    """Compare 1, 100,000 and, if generated, 1,000 rows; the network alone with CatBoost, the stack with LightGBM.

    Fits are compared with CatBoost.
    """
    _load_kernels()
    for case in _cases(quick):
        models, fit_times = _fitted(case)
        if len(case.X) > _FEWEST_ROWS_OF_FIT:
            note = ", ".join(f"{name} {seconds(fit_times[name])}" for name in ("LightGBM", "XGBoost"))
            what = f"fit, {case.name}, {len(case.X):,} rows x {case.X.shape[1]}: CatBoost"
            yield _row(what, fit_times["ours"], fit_times["CatBoost"], 1.0, note)
        ours = models["ours"]
        alone = ours.network_.with_base_models()
        for n in (1, 1_000, _ROWS) if case.is_generated else (1, _ROWS):
            X = np.resize(case.X, (n, case.X.shape[1]))
            times = _times(models, alone, X, 2 if quick else 5)
            what = f"predict, {case.name}, {n:,} rows"
            note = ", ".join(f"{name} {seconds(times[name])}" for name in ("CatBoost", "XGBoost"))
            bound = None if n == 1_000 else 1.0
            yield _row(f"{what}, default model: LightGBM", times["ours"], times["LightGBM"], bound, note)
            if n == _ROWS:
                yield _row(f"{what}, network alone: CatBoost", times["alone"], times["CatBoost"], 2.0)


def _row(what: str, ours: float, theirs: float, at_most: float | None, note: str = "") -> Row:
    return Row(what, seconds(ours), seconds(theirs), ours / theirs, at_most=at_most, note=note)


def _times(models: dict[str, Any], alone: nf.ForestNetwork, X: NDArray[np.float64], rounds: int) -> dict[str, float]:
    """Return the processor time of each model for the rows of X."""
    calls: dict[str, Callable[[], Any]] = {
        "ours": lambda: models["ours"].predict(X),
        "alone": lambda: alone.predict(X, n_jobs=1),
        "LightGBM": lambda: models["LightGBM"].predict(X, num_threads=1),
        "CatBoost": lambda: models["CatBoost"].predict(X, thread_count=1),
        "XGBoost": lambda: models["XGBoost"].predict(X),
    }
    repeats = 200 if len(X) == 1 else 20 if len(X) <= 1_000 else 1
    return least_processor_seconds(calls, rounds, repeats)


def _load_kernels() -> None:
    """Fit a few rows, so that the times of the first case do not include the loading of libraries and kernels."""
    X = np.random.default_rng(0).normal(size=(300, 5))
    y = X[:, 0] + X[:, 1] ** 2
    _fitted(Case("few rows", X, y, True))
    _fitted(Case("few rows", X, (y > 1).astype(int), False))


def _fitted(case: Case) -> tuple[dict[str, Any], dict[str, float]]:
    """Return default models, on one thread each, and the processor times of their fits."""
    from catboost import CatBoostClassifier, CatBoostRegressor
    from lightgbm import LGBMClassifier, LGBMRegressor
    from xgboost import XGBClassifier, XGBRegressor

    first = case.is_regression
    models = {
        "ours": (nf.NeuralForestRegressor if first else nf.NeuralForestClassifier)(random_state=0, n_jobs=1),
        "LightGBM": (LGBMRegressor if first else LGBMClassifier)(verbose=-1, n_jobs=1),
        "CatBoost": (CatBoostRegressor if first else CatBoostClassifier)(
            verbose=0, allow_writing_files=False, thread_count=1
        ),
        "XGBoost": (XGBRegressor if first else XGBClassifier)(n_jobs=1),
    }
    times = {}
    for name, model in models.items():
        started = time.process_time()
        model.fit(case.X, case.y)
        times[name] = time.process_time() - started
    return models, times


def _cases(quick: bool) -> Iterator[Case]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5_000 if quick else _MOST_TRAINING_ROWS, 20))
    signal = X[:, 0] * X[:, 1] + np.sin(3 * X[:, 2]) + X[:, 3]
    noisy = signal + 0.5 * rng.normal(size=len(X))
    yield Case("generated, regression", X, noisy, True, True)
    yield Case("generated, 2 classes", X, (noisy > 0).astype(int), False, True)
    yield Case("generated, 10 classes", X, np.digitize(noisy, np.quantile(signal, np.arange(1, 10) / 10)), False, True)
    every = () if quick else [name for folder in ("paper", "regression", "classification") for name in names(folder)]
    for name in every:
        dataset = load(name)
        features = np.asarray(encode(dataset.X), np.float64)[:_MOST_TRAINING_ROWS]
        is_regression = dataset.task == "regression"
        y = dataset.y if is_regression else np.unique(dataset.y, return_inverse=True)[1]
        yield Case(name, features, y[:_MOST_TRAINING_ROWS], is_regression)
