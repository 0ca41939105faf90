"""What to expect of a model that is brought: its error on test rows, and that of the estimator around it.

    python -m benchmarks.accuracy.sources [--splits 0 1 2] [--sources bart] [--sets concrete] [--report | --confirm]

Source and estimator are fitted on the same training rows, all of them, with their defaults. All sets of the data
folder: three quarters of the rows, at most `--rows`, are for training, and the others, at most `--test-rows`, for
testing. Finished runs are kept in `benchmarks/results/sources.csv`; the table is written
to `sources.md` and the picture to `sources.png`. Times are those of processors, with one thread.

`--confirm` runs seven more splits of the sets whose mean is above the target, to tell chance from a weakness. They are
kept in `sources_confirmed.csv` and shown in a table of their own.
"""

import argparse
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import sklearn.ensemble as ensembles
from numpy.typing import NDArray

import neuralforest as nf
from benchmarks.common import RESULTS, append_rows, error_of, markdown_row, markdown_table, versions
from benchmarks.data import Dataset, encode, load, names, split


class Measured(NamedTuple):
    """One set, split and source."""

    source: str
    data: str
    task: str
    rows: int  # for training
    test_rows: int
    split: int
    source_error: float  # RMSE or log loss on test rows
    error: float
    source_weight: float  # of the whole source in the stack; NaN where all of it is trained
    reported_gain: float  # 1 - validation_loss_ / forest_loss_, of mean squared errors or log losses
    gain: float  # the same on test rows
    source_seconds: float
    default_seconds: float  # of the default estimator
    seconds: float


def _lightgbm(kind: str, seed: int) -> Any:
    import lightgbm

    return getattr(lightgbm, f"LGBM{kind}")(random_state=seed, n_jobs=1, verbose=-1)


def _xgboost(kind: str, seed: int) -> Any:
    import xgboost

    return getattr(xgboost, f"XGB{kind}")(random_state=seed, n_jobs=1)


def _catboost(kind: str, seed: int) -> Any:
    import catboost

    options = {"thread_count": 1, "verbose": 0, "allow_writing_files": False}
    return getattr(catboost, f"CatBoost{kind}")(random_state=seed, **options)


SOURCES: dict[str, Callable[[str, int], Any]] = {
    "random_forest": lambda kind, seed: getattr(ensembles, f"RandomForest{kind}")(100, random_state=seed),
    "random_forest_64": lambda kind, seed: getattr(ensembles, f"RandomForest{kind}")(
        100, max_leaf_nodes=64, random_state=seed
    ),
    "extra_trees": lambda kind, seed: getattr(ensembles, f"ExtraTrees{kind}")(100, random_state=seed),
    "gradient_boosting": lambda kind, seed: getattr(ensembles, f"GradientBoosting{kind}")(random_state=seed),
    "hist_gradient_boosting": lambda kind, seed: getattr(ensembles, f"HistGradientBoosting{kind}")(random_state=seed),
    "xgboost": _xgboost,
    "lightgbm": _lightgbm,
    "catboost": _catboost,
    "bart": lambda kind, seed: nf.BARTRegressor(random_state=seed),
}
TARGETS = {  # regression, classification, worst set
    "random_forest": (0.95, 0.85, 1.01), "random_forest_64": (0.85, 0.80, 1.01), "extra_trees": (0.97, 0.85, 1.01),
    "gradient_boosting": (0.92, 0.93, 1.01), "hist_gradient_boosting": (0.92, 0.93, 1.01),
    "xgboost": (0.90, 0.85, 1.01), "lightgbm": (0.90, 0.85, 1.01), "catboost": (0.98, 0.98, 1.02),
    "bart": (0.95, np.nan, 1.02),
}  # fmt: skip


MORE_SPLITS = range(3, 10)
"""Of sets whose mean is above the target."""


def rows_of(n: int, number: int, most: int, most_test: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows for training and for testing: those of the split, or fewer for training and more for testing."""
    order = np.concatenate(split(n, number))
    n_train = min(n // 2 + n // 4, most)
    return order[:n_train], order[n_train : n_train + most_test]


def measure(name: str, dataset: Dataset, number: int, most: int = 300, most_test: int = 100) -> Measured:
    """Fit the source and the estimator around it on the same rows, and test both."""
    train, test = rows_of(len(dataset.y), number, most, most_test)
    classify, X = dataset.task == "classification", encode(dataset.X)
    y = np.unique(dataset.y, return_inverse=True)[1] if classify else dataset.y.astype(np.float64)
    kind = "Classifier" if classify else "Regressor"
    ours = nf.NeuralForestClassifier if classify else nf.NeuralForestRegressor
    source, default, model = (
        SOURCES[name](kind, number),
        ours(random_state=number, n_jobs=1),
        ours(SOURCES[name](kind, number), random_state=number, n_jobs=1),
    )
    seconds, errors = [], []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for each in (source, default, model):
            started = time.process_time()
            each.fit(X[train], y[train])
            seconds.append(round(time.process_time() - started, 3))
            errors.append(error_of(each, X[test], y[test], np.unique(y) if classify else None))
    squares = [error if classify else error**2 for error in errors]
    return Measured(
        name, dataset.name, dataset.task, len(train), len(test), number, errors[0], errors[2],
        model.stacking_weights_.get("source", np.nan), float(1 - model.validation_loss_ / model.forest_loss_),
        1 - squares[2] / squares[0], *seconds,
    )  # fmt: skip


def above_target(runs: pd.DataFrame) -> list[tuple[str, str]]:
    """Return the sources and sets whose mean ratio of errors is above the target of the worst set."""
    means = (runs.error / runs.source_error).groupby([runs.source, runs.data], sort=False).mean()
    return [(source, name) for (source, name), mean in means.items() if mean > TARGETS[source][2]]


def confirmation(runs: pd.DataFrame, more: pd.DataFrame) -> str:
    """Return a table of the sets above the target, with more splits."""
    lines = ["", "## Sets above the target, with more splits", ""]
    lines.append(markdown_table(["source", "data", "splits above", "error ratio", "all splits", "error ratio", "s.e."]))
    for source, name in above_target(runs):
        few, others = (each[(each.source == source) & (each.data == name)] for each in (runs, more))
        ratio = pd.concat([few, others]).eval("error / source_error")
        lines.append(
            markdown_row([
                source, name, len(few), f"{(few.error / few.source_error).mean():.3f}", len(ratio),
                f"{ratio.mean():.3f}", f"{ratio.std() / np.sqrt(len(ratio)):.3f}",
            ])
        )  # fmt: skip
    return "\n".join([*lines, ""])


def report(runs: pd.DataFrame) -> str:
    """Return the targets' table, then one of all sets for each task."""
    runs = runs.assign(
        ratio=runs.error / runs.source_error, time=runs.seconds / (10 * runs.source_seconds + runs.default_seconds)
    )
    lines = [
        "# Models that are brought", "",
        "Error of the estimator around a source on test rows, divided by that of the source itself; both are fitted on "
        "the same rows, all training rows, with their defaults. RMSE, or log loss; means over splits, then geometric "
        "means over sets. Time: of the fit, divided by ten fits of the source and one of the default estimator. Gain: "
        "of mean squared errors or log losses, as reported by the fit (`1 - validation_loss_ / forest_loss_`) and on "
        f"test rows. Made by `benchmarks.accuracy.sources`, {versions('scikit-learn')}.", "",
    ]  # fmt: skip
    head = ["source", "task", "sets", "runs", "error ratio", "target", "worst set", "target", "time", "gain reported"]
    lines.append(markdown_table([*head, "gain on test rows", "sets won"]))
    for (source, task), part in runs.groupby(["source", "task"], sort=False):
        mean = part.groupby("data").ratio.mean()
        target = TARGETS[source][0 if task == "regression" else 1]
        lines.append(
            markdown_row([
                source, task, len(mean), len(part), f"{np.exp(np.log(mean).mean()):.3f}", target,
                f"{mean.max():.3f} ({mean.idxmax()})", TARGETS[source][2],
                f"{np.exp(np.log(part.time).mean()):.2f}", f"{part.reported_gain.mean():.3f}",
                f"{part.gain.mean():.3f}", f"{(mean < 1).sum()} of {len(mean)}",
            ])
        )  # fmt: skip
    for task, part in runs.groupby("task", sort=False):
        table = part.pivot_table(index="data", columns="source", values="ratio", sort=False)
        lines += ["", f"## {str(task).capitalize()}, all sets", "", markdown_table(["data", *table.columns])]
        lines += [markdown_row([name, *(f"{value:.3f}" for value in row)]) for name, row in table.iterrows()]
    return "\n".join([*lines, ""])


def picture(runs: pd.DataFrame, path: Path) -> None:
    """Draw the ratio of every set, by source."""
    import matplotlib.pyplot as plt

    runs = runs.assign(ratio=runs.error / runs.source_error)
    names_of = [name for name in SOURCES if (runs.source == name).any()]
    figure, axes = plt.subplots(figsize=(7, 0.5 * len(names_of) + 1.2), layout="constrained")
    for task, shift, marker in (("regression", 0.12, "o"), ("classification", -0.12, "s")):
        for place, name in enumerate(names_of):
            part = runs[(runs.source == name) & (runs.task == task)].groupby("data").ratio.mean()
            if len(part):
                color = "C0" if task == "regression" else "C1"
                height = np.full(len(part), len(names_of) - place + shift)
                axes.plot(part, height, marker, color=color, alpha=0.35, markersize=4)
                middle = np.exp(np.log(part).mean())
                axes.plot(middle, height[0], "|", color=color, markersize=14, markeredgewidth=2.5,
                          label=f"{task}: sets, and geometric mean" if place == 0 else None)  # fmt: skip
    axes.axvline(1, color="0.5", linewidth=1)
    axes.set_xscale("log")
    ticks = [0.3, 0.5, 0.7, 0.85, 1, 1.15]
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    axes.set_yticks(range(len(names_of), 0, -1), [name.replace("_", " ") for name in names_of])
    axes.set_xlabel("error divided by that of the model that was brought")
    figure.legend(frameon=False, loc="outside upper center", ncols=2)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def main() -> None:
    every = [name for folder in ("paper", "regression", "classification") for name in names(folder)]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.accuracy.sources", description=__doc__)
    parser.add_argument("--splits", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--sets", nargs="+", choices=every, default=every)
    parser.add_argument("--sources", nargs="+", choices=SOURCES, default=list(SOURCES))
    parser.add_argument("--rows", type=int, default=1_125, help="for training, at most")
    parser.add_argument("--test-rows", type=int, default=8_000, help="at most")
    parser.add_argument("--results", type=Path, default=RESULTS / "sources.csv")
    parser.add_argument("--report", action="store_true", help="run nothing, write the table of the finished runs")
    parser.add_argument("--confirm", action="store_true", help="run more splits of the sets above the target")
    options = parser.parse_args()
    confirmed = options.results.with_stem(f"{options.results.stem}_confirmed")
    limits = options.rows, options.test_rows
    wanted = [
        (source, name, number) for number in options.splits for source in options.sources for name in options.sets
    ]
    if options.confirm:
        above = above_target(pd.read_csv(options.results))
        _run([(*each, number) for each in above for number in MORE_SPLITS], confirmed, *limits)
    elif not options.report:
        _run(wanted, options.results, *limits)
    runs = pd.read_csv(options.results)
    runs["source"] = pd.Categorical(runs.source, list(SOURCES))
    runs = runs.sort_values(["source"], kind="stable").astype({"source": str})
    text = report(runs)
    if confirmed.exists():
        text += confirmation(runs, pd.read_csv(confirmed))
    options.results.with_suffix(".md").write_text(text)
    picture(runs, options.results.with_suffix(".png"))
    print(text)


def _run(wanted: list[tuple[str, str, int]], path: Path, most: int, most_test: int) -> None:
    """Measure what is not in the file yet, and add it."""
    done = set()
    if path.exists():
        done = set(pd.read_csv(path)[["source", "data", "split"]].itertuples(index=False, name=None))
    is_first = True
    for source, name, number in wanted:
        if (source, name, number) in done:
            continue
        dataset = load(name)
        if source == "bart" and dataset.task == "classification":
            continue
        if is_first:  # kernels are compiled, or loaded, outside of the measurement
            measure(source, load("concrete"), 0)
            is_first = False
        append_rows(path, Measured._fields, [measure(source, dataset, number, most, most_test)])


if __name__ == "__main__":
    main()
