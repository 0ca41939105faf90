"""The runs of the paper's figures, stored in CSV files and never repeated. Draws nothing."""

import csv
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import BaggingRegressor
from sklearn.tree import DecisionTreeRegressor

import neuralforest as nf
from benchmarks.common import RESULTS, append_rows, rmse
from benchmarks.paper.models import SUBSAMPLE, Part, Parts, grow, load_forest, load_parts, neural_forest
from benchmarks.paper.plan import AUTHORS, SLOPE, Run
from neuralforest.datasets import make_additive, make_sines
from neuralforest.theory import bound_constant, consistency_schedule

EVOLUTION, GROWTH = RESULTS / "paper_evolution.csv", RESULTS / "paper_growth.csv"
DRAWS = 3
N_TEST = 10_000
CONSISTENCY_SCALE = 4.0  # factor on the number of leaves: 7 for 100 rows, 16 for 100,000
SIZES = {
    "asymptotic": tuple(round(10**exponent) for exponent in np.arange(2, 4.1, 0.5)),
    "consistency": tuple(round(10**exponent) for exponent in np.arange(2, 5.1, 0.5)),
}
SERIES = {
    "asymptotic": ("RF", "NRF2 full", "NRF2 full, slope"),
    "consistency": ("RF", "NRF1 sparse", "NRF2 sparse"),
}


class Point(NamedTuple):
    """One model, fitted on one draw of n training rows."""

    figure: str
    series: str
    n: int
    draw: int


Curves = dict[str, NDArray[np.float64]]  # (epochs,) or, with the error before training first, (epochs + 1,)


def points(figure: str) -> list[Point]:
    """Return the points of a figure, small training sets first."""
    return [Point(figure, series, n, draw) for n in SIZES[figure] for draw in range(DRAWS) for series in SERIES[figure]]


def read_points(path: Path = GROWTH) -> dict[Point, float]:
    """Return the errors of the finished points."""
    if not path.exists():
        return {}
    with path.open(encoding="utf-8", newline="") as file:
        return {
            Point(row["figure"], row["series"], int(row["n"]), int(row["draw"])): float(row["rmse"])
            for row in csv.DictReader(file)
        }


def compute_points(figure: str, path: Path = GROWTH, jobs: int = 1) -> Iterator[str]:
    """Compute the missing points; yield one line for each."""
    measure = {"asymptotic": asymptotic_error, "consistency": consistency_error}[figure]
    missing = [point for point in points(figure) if point not in read_points(path)]
    for place, point in enumerate(missing, 1):
        started = time.perf_counter()
        error = measure(point, jobs)
        seconds = time.perf_counter() - started
        append_rows(path, (*Point._fields, "rmse", "seconds"), [(*point, f"{error:.6g}", f"{seconds:.1f}")])
        yield f"[{place}/{len(missing)}] {figure}, {point.series}, n = {point.n}, draw {point.draw}: {error:.4f}"


def asymptotic_error(point: Point, jobs: int = 1) -> float:
    """Return the test error on the paper's sines; n / 2 further rows are for validation."""
    parts = _draw(make_sines, point)
    forest = grow(parts.train, AUTHORS, point.draw)
    if point.series == "RF":
        return rmse(forest.predict(parts.test.X), parts.test.y)
    run = Run("sines", "NRF2 full", SLOPE if point.series.endswith("slope") else AUTHORS, point.draw)
    model = neural_forest(run, forest, jobs)
    model.fit(*parts.train, X_val=parts.validation.X, y_val=parts.validation.y)
    return rmse(model.predict(parts.test.X), parts.test.y)


def consistency_error(point: Point, jobs: int = 1) -> float:
    """Return the distance to the true function; leaves, contrasts and weight bound meet Theorem 4.1."""
    parts = _draw(make_additive, point)
    schedule = consistency_schedule(point.n, CONSISTENCY_SCALE)
    tree = DecisionTreeRegressor(max_leaf_nodes=schedule.n_leaves, max_features=1 / 3)
    forest = BaggingRegressor(tree, 30, bootstrap=False, max_samples=SUBSAMPLE, random_state=point.draw)
    forest.fit(*parts.train)
    if point.series == "RF":
        return rmse(forest.predict(parts.test.X), parts.test.y)
    model = neural_forest(Run("additive", point.series, SLOPE, point.draw), forest, jobs)
    model.set_params(
        contrast=(schedule.gamma1, schedule.gamma2), weight_bound=bound_constant(float(np.abs(parts.train.y).max()))
    )
    model.fit(*parts.train, X_val=parts.validation.X, y_val=parts.validation.y)
    return rmse(model.predict(parts.test.X), parts.test.y)


def _draw(make: Callable[..., tuple[NDArray[np.float64], NDArray[np.float64]]], point: Point) -> Parts:
    """Draw n training rows, n / 2 for validation, and test rows without noise."""
    seeds = np.random.SeedSequence([point.n, point.draw]).generate_state(3)
    train = make(point.n, random_state=int(seeds[0]))
    validation = make(point.n // 2, random_state=int(seeds[1]))
    test = make(N_TEST, noise=0.0, random_state=int(seeds[2]))
    return Parts(Part(*train), Part(*validation), Part(*test))


def read_curves(path: Path = EVOLUTION) -> Curves:
    """Return the finished curves by name."""
    if not path.exists():
        return {}
    curves: dict[str, list[float]] = {}
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            curves.setdefault(row["series"], []).append(float(row["rmse"]))
    return {name: np.array(values) for name, values in curves.items()}


def compute_curves(path: Path = EVOLUTION, jobs: int = 1) -> Iterator[str]:
    """Compute the missing curves of Concrete; yield one line for each."""
    for name, make in (("NRF2 full", neural_forest_curves), ("NN2", network_curves)):
        if f"{name}, validation" in read_curves(path):
            continue
        curves = make(load_parts("concrete", 0), load_forest("concrete", 0, AUTHORS), jobs)
        rows = [(series, f"{error:.6g}") for series, errors in curves.items() for error in errors]
        append_rows(path, ("series", "rmse"), rows)
        yield f"evolution, {name}: {len(rows)} errors"


def neural_forest_curves(parts: Parts, forest: object, jobs: int = 1) -> Curves:
    """Return training and validation error of NRF2 full per epoch, and the forest's validation error."""
    model = neural_forest(Run("concrete", "NRF2 full", AUTHORS, 0), forest, jobs)
    model.fit(*parts.train, X_val=parts.validation.X, y_val=parts.validation.y)
    history = model.history_
    return {
        "RF, validation": np.sqrt(history.forest_loss),
        "NRF2 full, training": np.sqrt(history.training_loss[:, 0]),
        "NRF2 full, validation": np.sqrt(history.validation_loss[:, 0]),
    }


def network_curves(parts: Parts, forest: object, jobs: int = 1) -> Curves:
    """Return training and validation error per epoch of a standard network of the same size."""
    import torch

    from benchmarks.paper.networks import layer_sizes, train_network

    torch.set_num_threads(jobs)
    ensemble = nf.convert(forest).ensemble
    sizes = layer_sizes(ensemble.n_features, ensemble.n_splits, ensemble.n_leaves, n_hidden=2)
    _, history = train_network(sizes, parts.train, parts.validation)
    return {"NN2, training": history.training, "NN2, validation": history.validation}
