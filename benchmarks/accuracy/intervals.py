"""Prediction intervals: interval scores at 90% in units of a learned scale, and of the disagreement of the trees.

    python -m benchmarks.accuracy.intervals [--seeds 0 1 2]

On three synthetic patterns of noise with 5,000 rows, relative to the interval score of the true quantiles, with the
coverage of each tenth of the rows by their noise; and on the regression sets of the data folder, at most 1,500 training
rows, relative to the disagreement of the trees. The table is written to `benchmarks/results/intervals.md`.
"""

import argparse
import warnings
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

import neuralforest as nf
from benchmarks.common import RESULTS, markdown_table, versions
from benchmarks.data import encode, load, names
from neuralforest.selection import Residuals, Selected
from neuralforest.training import TrainingData

Array = NDArray[np.float64]

NOISE: dict[str, Callable[[Array], Array]] = {
    "growing, 0.05 + x0": lambda X: 0.05 + X[:, 0],
    "smooth, 0.2 + 0.8 sin(pi x2)^2": lambda X: 0.2 + 0.8 * np.sin(np.pi * X[:, 2]) ** 2,
    "two groups, 0.1 or 1": lambda X: np.where(X[:, 3] > 0.5, 1.0, 0.1),
}
N_ROWS = 5_000
MOST_TRAINING_ROWS, MOST_TEST_ROWS = 1_500, 6_000


class Regressor(nf.NeuralForestRegressor):
    """Keeps the errors in units of the disagreement, too."""

    def _after_fit(self, data: TrainingData, trained: Selected) -> None:
        super()._after_fit(data, trained)
        self.by_disagreement = Residuals.measure(self.network_, data, trained.predictions)


def intervals(model: Regressor, X: Array) -> tuple[Array, Array]:
    """Return intervals with the learned scale, and without it."""
    learned = model.predict_quantiles(X)
    kept, model._residuals = model._residuals, model.by_disagreement
    plain = model.predict_quantiles(X)
    model._residuals = kept
    return learned, plain


def score(interval: Array, y: Array) -> float:
    """Return the interval score at 90%: the mean width, plus 20 times what is outside."""
    low, high = interval.T
    return float(np.mean(high - low + 20 * (np.maximum(low - y, 0) + np.maximum(y - high, 0))))


def drawn(noise: Callable[[Array], Array], seed: int) -> tuple[Array, Array, Array, Array]:
    """Return features, target, its mean and its noise."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(N_ROWS, 5))
    mean, spread = np.sin(6 * X[:, 0]) + 2 * X[:, 1], noise(X)
    return X, mean + spread * rng.normal(size=N_ROWS), mean, spread


def synthetic(name: str, seed: int) -> tuple[float, float, Array]:
    """Return scores relative to the true quantiles, with and without the scale, and the coverage by tenths."""
    X, y, _, _ = drawn(NOISE[name], seed)
    X_test, y_test, mean, spread = drawn(NOISE[name], 1000 + seed)
    learned, plain = intervals(Regressor(random_state=seed, n_jobs=1).fit(X, y), X_test)
    half = norm.ppf(0.95) * spread
    best = score(np.column_stack([mean - half, mean + half]), y_test)
    inside = (learned[:, 0] <= y_test) & (y_test <= learned[:, 1])
    tenths = np.array_split(np.argsort(spread, kind="stable"), 10)
    return (
        score(learned, y_test) / best,
        score(plain, y_test) / best,
        np.array([inside[part].mean() for part in tenths]),
    )


def real(name: str, seed: int) -> tuple[float, float, bool]:
    """Return the score relative to that without the scale, the coverage, and whether a scale was learned."""
    dataset = load(name)
    order = np.random.default_rng(seed).permutation(len(dataset.y))
    n = min(MOST_TRAINING_ROWS, len(order) * 3 // 4)
    train, test = order[:n], order[n : n + MOST_TEST_ROWS]
    X, y = encode(dataset.X), dataset.y.astype(np.float64)
    model = Regressor(random_state=seed, n_jobs=1).fit(X[train], y[train])
    learned, plain = intervals(model, X[test])
    inside = (learned[:, 0] <= y[test]) & (y[test] <= learned[:, 1])
    return score(learned, y[test]) / score(plain, y[test]), float(inside.mean()), model._residuals.scale is not None


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.accuracy.intervals", description=__doc__)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    options = parser.parse_args()
    lines = ["# Prediction intervals", "", f"Made by `benchmarks.accuracy.intervals`, {versions('scikit-learn')}.", ""]
    lines += [f"## Synthetic noise, {N_ROWS:,} rows, interval score at 90% relative to the true quantiles", ""]
    rows = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in NOISE:
            runs = {seed: synthetic(name, seed) for seed in options.seeds}
            means = [np.array([run[i] for run in runs.values()], np.float64).mean(axis=0) for i in range(3)]
            for seed, (learned, plain, tenths) in [*runs.items(), ("mean", means)]:
                rows.append([name, seed, f"{learned:.3f}", f"{plain:.3f}", " ".join(f"{each:.2f}" for each in tenths)])
        heads = ["noise", "seed", "learned scale", "disagreement", "coverage by tenths of the noise"]
        lines += [markdown_table(heads, rows), ""]
        lines += ["## Data sets, interval score at 90% relative to the disagreement of the trees", ""]
        rows, ratios = [], []
        for name in [name for folder in ("paper", "regression") for name in names(folder)]:
            measured = [real(name, seed) for seed in options.seeds]
            ratios.append(np.exp(np.mean(np.log([each[0] for each in measured]))))
            coverage, used = (np.mean([each[i] for each in measured]) for i in (1, 2))
            rows.append(
                [name, f"{ratios[-1]:.3f}", f"{coverage:.3f}", f"{used * len(measured):.0f} of {len(measured)}"]
            )
    rows.append(["geometric mean", f"{np.exp(np.mean(np.log(ratios))):.3f}", "", ""])
    lines += [markdown_table(["data", "ratio", "coverage", "scale learned"], rows), ""]
    (RESULTS / "intervals.md").write_text("\n".join(lines))
    print("\n".join(lines))


if __name__ == "__main__":
    main()
