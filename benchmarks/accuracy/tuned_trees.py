"""Trees that stay trees: random forests of 64 leaves a tree, against the same forests with tuned leaves and splits.

    python -m benchmarks.accuracy.tuned_trees [--splits 0 1 2] [--sets concrete kin8nm] [--threads 1] [--report]

The sources are `RandomForest(100, max_leaf_nodes=64)`, and for regression the same with `max_features=1/3`, fitted on
all training rows; the tuned trees are given the same rows. All sets of the data folder, at most 6,000 rows of each.
Finished runs are kept in `benchmarks/results/tuned_trees.csv`, and the table is written to `tuned_trees.md`. Times are
those of processors; a default fit, without a forest, is measured with the first source and `tune="splits"`.
"""

import argparse
import time
import warnings
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

import neuralforest as nf
from benchmarks.accuracy.runs import MAX_ROWS
from benchmarks.common import RESULTS, append_rows, error_of, markdown_row, markdown_table, read_rows, versions
from benchmarks.data import Dataset, encode, load, names, split, subsample

MODELS = ("leaves", "splits")
SOURCES = {"all features": {}, "a third": {"max_features": 1 / 3}}
"""The features that are tried at each split, and the parameters of the forest. Of classifiers, only the first."""


class Measured(NamedTuple):
    """One set, split, source and way of tuning."""

    data: str
    task: str
    rows: int
    split: int
    source: str
    tune: str
    source_error: float  # RMSE or log loss on test rows
    error: float
    reported_gain: float  # 1 - validation loss / loss of the source; of root mean squared errors
    source_seconds: float
    seconds: float
    default_seconds: float | str  # of a default fit; empty where it is not measured


def measure(dataset: Dataset, number: int, source_name: str, tune: str, threads: int) -> Measured:
    """Fit the source and the tuned trees on the same rows, and test both."""
    rows = split(len(dataset.y), number)
    train, test = np.concatenate([rows.train, rows.validation]), rows.test
    classify, X = dataset.task == "classification", encode(dataset.X)
    y = np.unique(dataset.y, return_inverse=True)[1] if classify else dataset.y.astype(np.float64)
    kind = RandomForestClassifier if classify else RandomForestRegressor
    source = kind(100, max_leaf_nodes=64, random_state=number, n_jobs=threads, **SOURCES[source_name])
    ours = nf.NeuralForestClassifier if classify else nf.NeuralForestRegressor
    model = ours(clone(source), tune=tune, random_state=number, n_jobs=threads)
    models = [source, model]
    if tune == "splits" and not SOURCES[source_name]:
        models.append(ours(random_state=number, n_jobs=threads))
    seconds, errors = [], []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for each in models:
            started = time.process_time()
            each.fit(X[train], y[train])
            seconds.append(round(time.process_time() - started, 3))
            errors.append(error_of(each, X[test], y[test], np.unique(y) if classify else None))
    ratio = model.validation_loss_ / model.forest_loss_
    gain = 1 - (ratio if classify else np.sqrt(ratio))
    default_seconds = seconds[2] if len(models) > 2 else ""
    return Measured(
        *(dataset.name, dataset.task, len(y), number, source_name, tune),
        *(errors[0], errors[1], float(gain), seconds[0], seconds[1], default_seconds),
    )


def main() -> None:
    every = [name for folder in ("paper", "regression", "classification") for name in names(folder)]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.accuracy.tuned_trees", description=__doc__)
    parser.add_argument("--splits", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--sets", nargs="+", choices=every, default=every)
    parser.add_argument("--sources", nargs="+", choices=SOURCES, default=list(SOURCES))
    parser.add_argument("--tune", nargs="+", choices=MODELS, default=MODELS)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--results", type=Path, default=RESULTS / "tuned_trees.csv")
    parser.add_argument("--report", action="store_true", help="run nothing, write the table of the finished runs")
    options = parser.parse_args()
    done = {(row["data"], int(row["split"]), row["source"], row["tune"]) for row in read_rows(options.results)}
    warm = True
    for number, source, tune, name in [] if options.report else _runs(options):
        if (name, number, source, tune) in done:
            continue
        dataset = subsample(load(name), MAX_ROWS)
        if SOURCES[source] and dataset.task == "classification":
            continue
        if warm:  # kernels are compiled, or loaded, outside of the measurement
            measure(subsample(load("concrete"), MAX_ROWS), 0, source, "splits", options.threads)
            measure(subsample(load("vehicle"), MAX_ROWS), 0, source, "splits", options.threads)
            warm = False
        append_rows(options.results, Measured._fields, [measure(dataset, number, source, tune, options.threads)])
    text = report(pd.read_csv(options.results))
    options.results.with_suffix(".md").write_text(text)
    print(text)


def _runs(options: argparse.Namespace) -> Iterator[tuple[int, str, str, str]]:
    """Give split, source, way of tuning and data set of every run, split by split."""
    yield from product(options.splits, options.sources, options.tune, options.sets)


def report(runs: pd.DataFrame) -> str:
    """Return error ratios of all sets, means over splits, and their geometric means."""
    defaults = runs.groupby(["data", "split"]).default_seconds.mean().rename("default")
    runs = runs.drop(columns="default_seconds").join(defaults, on=["data", "split"])
    runs = runs.assign(ratio=runs.error / runs.source_error, time=runs.seconds / runs.source_seconds)
    runs = runs.assign(budget=runs.seconds / (10 * runs.source_seconds + runs.default))
    lines = ["# Trees that stay trees", ""]
    lines += [
        "Error on test rows divided by that of the source, `RandomForest(100, max_leaf_nodes=64)` on the same rows,",
        "for regression also with `max_features=1/3`: RMSE, or log loss; means over splits. Processor time of the fit",
        "divided by that of the source (leaves), or by that of ten sources and a default fit (splits). Made by",
        f"`benchmarks.accuracy.tuned_trees`, {versions('scikit-learn')}.",
        "",
    ]
    counts = runs.groupby(["source", "tune"], sort=False).size()
    expected = runs.groupby("source", sort=False).data.nunique().mul(runs.split.nunique())
    if any(count < expected[source] for (source, _), count in counts.items()):
        finished = "; ".join(f"{source}, {tune}: {count}" for (source, tune), count in counts.items())
        lines += [f"Incomplete, finished runs: {finished}; a second call adds the rest.", ""]
    for (task, source), part in runs.groupby(["task", "source"], sort=False):
        lines += [f"## {str(task).capitalize()}, {source}", "", *_table(part), ""]
        gains = part.assign(gain=1 - part.ratio).groupby("tune", sort=False)[["reported_gain", "gain"]].mean()
        text = "; ".join(f"{tune}: {row.reported_gain:.3f} and {row.gain:.3f}" for tune, row in gains.iterrows())
        lines += [f"Mean gain as reported by the fit and on test rows: {text}.", ""]
    return "\n".join(lines)


def _table(part: pd.DataFrame) -> list[str]:
    """Return the lines of the table of one task and source."""
    mean = part.groupby(["data", "tune"], sort=False)[["ratio", "time", "budget"]].mean().unstack()
    columns = {"leaves": ("ratio", "leaves"), "splits": ("ratio", "splits")}
    columns |= {"time, leaves": ("time", "leaves"), "time, splits": ("budget", "splits")}
    columns = {title: key for title, key in columns.items() if key in mean.columns}
    source = part.groupby("data", sort=False).source_error.mean()
    lines = [markdown_table(["data", "splits", "source", *columns])]
    for name in source.index:
        cells = [f"{mean.loc[name, key]:.{3 if key[0] == 'ratio' else 2}f}" for key in columns.values()]
        counts = part[part.data == name].groupby("tune", sort=False).split.nunique()
        n_splits = ", ".join(map(str, counts if counts.nunique() > 1 else counts.iloc[:1]))
        lines.append(markdown_row([name, n_splits, f"{source[name]:.4g}", *cells]))
    for label, combine in (("geometric mean", lambda x: np.exp(np.log(x).mean())), ("worst", np.max)):
        cells = [f"{combine(mean[key].dropna()):.3f}" for key in columns.values()]
        lines.append(markdown_row([label, "", "", *cells]))
    return lines


if __name__ == "__main__":
    main()
