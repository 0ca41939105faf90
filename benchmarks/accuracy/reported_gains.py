"""Whether a fit reports what new rows show: 1 - validation_loss_ / forest_loss_ against the same gain on test rows.

    python -m benchmarks.accuracy.reported_gains [--splits 0 1 2] [--sets concrete kin8nm] [--report]

The default estimator, and the one around `RandomForest(100, max_leaf_nodes=64)`, on all sets of the data folder: at
most 1,500 training rows, three quarters of smaller sets, and at most 6,000 of the other rows for testing. Losses are
mean squared errors and log losses. Finished runs are kept in `benchmarks/results/reported_gains.csv`, and the table is
written to `reported_gains.md`.
"""

import argparse
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

import neuralforest as nf
from benchmarks.common import RESULTS, append_rows, markdown_row, markdown_table, read_rows, versions
from benchmarks.data import Dataset, encode, load, names

SOURCES = ("default", "forest of 64 leaves")
MOST_TRAINING_ROWS, MOST_TEST_ROWS = 1_500, 6_000


class Measured(NamedTuple):
    """One set, split and source."""

    data: str
    task: str
    source: str
    split: int
    forest_loss: float  # as reported
    validation_loss: float
    forest_test_loss: float
    test_loss: float


def measure(dataset: Dataset, number: int, source: str) -> Measured:
    """Fit one estimator, and return its losses as reported, and on test rows in the same units."""
    order = np.random.default_rng(number).permutation(len(dataset.y))
    n = min(MOST_TRAINING_ROWS, len(order) * 3 // 4)
    train, test = order[:n], order[n : n + MOST_TEST_ROWS]
    classify, X = dataset.task == "classification", encode(dataset.X)
    y = np.unique(dataset.y, return_inverse=True)[1] if classify else dataset.y.astype(np.float64)
    kind = RandomForestClassifier if classify else RandomForestRegressor
    forest = None if source == "default" else kind(100, max_leaf_nodes=64, random_state=number)
    ours = nf.NeuralForestClassifier if classify else nf.NeuralForestRegressor
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = ours(forest, random_state=number, n_jobs=1).fit(X[train], y[train])
    soft = model.network_.soft
    unit = 1.0 if classify or soft is None else float(soft.output_scale[0]) ** 2
    losses = [unit * model.forest_loss_, unit * model.validation_loss_]
    losses += [_loss(each, X[test], y[test]) for each in (model.source_, model)]
    return Measured(dataset.name, dataset.task, source, number, *losses)


def _loss(model: Any, X: NDArray[np.float64], y: NDArray[np.float64]) -> float:
    """Return the mean squared error, or the log loss with the lower bound of probabilities that a fit has."""
    if hasattr(model, "predict_proba"):
        return float(-np.log(np.maximum(model.predict_proba(X)[np.arange(len(y)), y], 1e-7)).mean())
    return float(np.mean((model.predict(X) - y) ** 2))


def report(runs: pd.DataFrame) -> str:
    """Return the gains of all sets, means over splits, and the means over sets."""
    runs = runs.assign(
        reported=1 - runs.validation_loss / runs.forest_loss, on_test_rows=1 - runs.test_loss / runs.forest_test_loss
    )
    lines = ["# Reported gains and gains on test rows", ""]
    lines += [
        "1 - loss of the model / loss of its forest, in percent, means over splits (mean squared error, or log loss):",
        f"as `fit` reports them, and on test rows. Made by `benchmarks.accuracy.reported_gains`, "
        f"{versions('scikit-learn')}.",
        "",
    ]
    for task, part in runs.groupby("task", sort=False):
        means = part.groupby(["data", "source"], sort=False)[["reported", "on_test_rows"]].mean().unstack() * 100
        columns = [(column, source) for source in SOURCES for column in ("reported", "on_test_rows")]
        columns = [column for column in columns if column in means]
        lines += [f"## {str(task).capitalize()}", ""]
        heads = [f"{source}, {column.replace('_', ' ')}" for column, source in columns]
        lines.append(markdown_table(["data", "splits", *heads]))
        for name in means.index:
            n_splits = part[part.data == name].split.nunique()
            lines.append(markdown_row([name, n_splits, *(f"{means.loc[name, column]:.1f}" for column in columns)]))
        lines.append(markdown_row(["mean", "", *(f"{means[column].mean():.1f}" for column in columns)]))
        lines.append("")
        for source, own in part.groupby("source", sort=False):
            difference = 100 * (own.reported - own.on_test_rows)
            by_set = difference.groupby(own.data).mean()
            error = by_set.std(ddof=1) / np.sqrt(len(by_set))
            lines.append(f"- {source}: reported minus on test rows {by_set.mean():+.1f}, standard error {error:.1f}")
        lines.append("")
    return "\n".join(lines)


def main() -> None:
    every = [name for folder in ("paper", "regression", "classification") for name in names(folder)]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.accuracy.reported_gains", description=__doc__)
    parser.add_argument("--splits", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--sets", nargs="+", choices=every, default=every)
    parser.add_argument("--sources", nargs="+", choices=SOURCES, default=SOURCES)
    parser.add_argument("--results", type=Path, default=RESULTS / "reported_gains.csv")
    parser.add_argument("--report", action="store_true", help="run nothing, write the table of the finished runs")
    options = parser.parse_args()
    done = {(row["data"], row["source"], int(row["split"])) for row in read_rows(options.results)}
    for source, number in [(source, number) for source in options.sources for number in options.splits]:
        for name in [] if options.report else options.sets:
            if (name, source, number) not in done:
                append_rows(options.results, Measured._fields, [measure(load(name), number, source)])
    text = report(pd.read_csv(options.results))
    options.results.with_suffix(".md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
