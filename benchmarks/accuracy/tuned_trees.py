"""Trees that stay trees: a random forest of 64 leaves a tree, against the same forest with tuned leaves and splits.

    python -m benchmarks.accuracy.tuned_trees [--splits 0 1 2] [--sets concrete kin8nm] [--threads 1] [--report]

The source is `RandomForest(100, max_leaf_nodes=64)`, fitted on all training rows; the tuned trees are given the same
rows. All sets of the data folder, at most 6,000 rows of each. Finished runs are kept in
`benchmarks/results/tuned_trees.csv`, and the table is written to `tuned_trees.md`. Times are those of processors.
"""

import argparse
import time
import warnings
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


class Measured(NamedTuple):
    """One set, split and way of tuning."""

    data: str
    task: str
    rows: int
    split: int
    tune: str
    source_error: float  # RMSE or log loss on test rows
    error: float
    reported_gain: float  # 1 - validation loss / loss of the source; of root mean squared errors
    source_seconds: float
    seconds: float


def measure(dataset: Dataset, number: int, tune: str, threads: int) -> Measured:
    """Fit the source and the tuned trees on the same rows, and test both."""
    rows = split(len(dataset.y), number)
    train, test = np.concatenate([rows.train, rows.validation]), rows.test
    classify, X = dataset.task == "classification", encode(dataset.X)
    y = np.unique(dataset.y, return_inverse=True)[1] if classify else dataset.y.astype(np.float64)
    kind = RandomForestClassifier if classify else RandomForestRegressor
    source = kind(100, max_leaf_nodes=64, random_state=number, n_jobs=threads)
    ours = nf.NeuralForestClassifier if classify else nf.NeuralForestRegressor
    model = ours(clone(source), tune=tune, random_state=number, n_jobs=threads)
    seconds, errors = [], []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for each in (source, model):
            started = time.process_time()
            each.fit(X[train], y[train])
            seconds.append(round(time.process_time() - started, 3))
            errors.append(error_of(each, X[test], y[test], np.unique(y) if classify else None))
    ratio = model.validation_loss_ / model.forest_loss_
    gain = 1 - (ratio if classify else np.sqrt(ratio))
    return Measured(
        dataset.name, dataset.task, len(y), number, tune, errors[0], errors[1], float(gain), seconds[0], seconds[1]
    )


def main() -> None:
    every = [name for folder in ("paper", "regression", "classification") for name in names(folder)]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.accuracy.tuned_trees", description=__doc__)
    parser.add_argument("--splits", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--sets", nargs="+", choices=every, default=every)
    parser.add_argument("--tune", nargs="+", choices=MODELS, default=MODELS)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--results", type=Path, default=RESULTS / "tuned_trees.csv")
    parser.add_argument("--report", action="store_true", help="run nothing, write the table of the finished runs")
    options = parser.parse_args()
    done = {(row["data"], int(row["split"]), row["tune"]) for row in read_rows(options.results)}
    warm = True
    for tune, number in [(tune, number) for tune in options.tune for number in options.splits]:
        for name in [] if options.report else options.sets:
            if (name, number, tune) not in done:
                if warm:  # kernels are compiled, or loaded, outside of the measurement
                    measure(subsample(load("concrete"), MAX_ROWS), 0, "leaves", options.threads)
                    warm = False
                measured = measure(subsample(load(name), MAX_ROWS), number, tune, options.threads)
                append_rows(options.results, Measured._fields, [measured])
    text = report(pd.read_csv(options.results))
    options.results.with_suffix(".md").write_text(text)
    print(text)


def report(runs: pd.DataFrame) -> str:
    """Return error ratios of all sets, means over splits, and their geometric means."""
    runs = runs.assign(ratio=runs.error / runs.source_error, time=runs.seconds / runs.source_seconds)
    lines = ["# Trees that stay trees", ""]
    lines += [
        "Error on test rows divided by that of the source, `RandomForest(100, max_leaf_nodes=64)` on the same rows:",
        f"RMSE, or log loss; means over splits. Made by `benchmarks.accuracy.tuned_trees`, {versions('scikit-learn')}.",
        "",
    ]
    counts = runs.groupby("tune", sort=False).size()
    if counts.nunique() > 1 or len(counts) < len(MODELS):
        lines += [f"Incomplete, finished runs: {counts.to_dict()}; a second call adds the rest.", ""]
    for task, part in runs.groupby("task", sort=False):
        models = [model for model in MODELS if (part.tune == model).any()]
        mean = part.groupby(["data", "tune"], sort=False)[["ratio", "time"]].mean().unstack()
        source = part.groupby("data", sort=False).source_error.mean()
        lines += [f"## {str(task).capitalize()}", ""]
        lines.append(markdown_table(["data", "splits", "source", *models, *(f"time, {model}" for model in models)]))
        for name in source.index:
            ratios = [f"{mean['ratio'].loc[name].get(model, np.nan):.3f}" for model in models]
            times = [f"{mean['time'].loc[name].get(model, np.nan):.1f}" for model in models]
            n_splits = part[part.data == name].split.nunique()
            lines.append(markdown_row([name, n_splits, f"{source[name]:.4g}", *ratios, *times]))
        for label, combine in (("geometric mean", lambda x: np.exp(np.log(x).mean())), ("worst", np.max)):
            cells = [f"{combine(mean[column][model].dropna()):.3f}" for column in ("ratio", "time") for model in models]
            lines.append(markdown_row([label, "", "", *cells]))
        gains = part.assign(gain=1 - part.ratio).groupby("tune", sort=False)[["reported_gain", "gain"]].mean()
        text = "; ".join(f"{tune}: {row.reported_gain:.3f} and {row.gain:.3f}" for tune, row in gains.iterrows())
        lines += ["", f"Mean gain as reported by the fit and on test rows: {text}.", ""]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
