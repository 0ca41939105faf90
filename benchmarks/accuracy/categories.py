"""Categories: neural forests that take them as they are, against ordinal codes and against CatBoost.

    python -m benchmarks.accuracy.categories [--splits 0 1 2] [--threads 1]

Every model has its default settings. The sets have string columns, or integer codes that are categories (bike_hour);
two more are made here, with hundreds of categories. Larger sets are subsampled as in `benchmarks.accuracy`. Finished
runs are kept in `benchmarks/results/categories.csv`, and the table is written to `categories.md`.
"""

import argparse
import time
import warnings
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import log_loss

import neuralforest as nf
from benchmarks.accuracy.runs import MAX_ROWS
from benchmarks.common import RESULTS, append_rows, markdown_row, markdown_table, read_rows, rmse
from benchmarks.data import Dataset, encode, load, split, subsample

REAL = ("adult", "german_credit", "ames_housing", "insurance", "abalone", "bike_hour")
_CODES = {"bike_hour": ("season", "yr", "mnth", "hr", "weekday", "weathersit")}
_HEADER = ("data", "split", "model", "error", "seconds")
MODELS = ("categories", "ordinal codes", "CatBoost")


def datasets() -> list[Dataset]:
    """Return the sets, with categories as strings."""
    sets = [subsample(load(name), MAX_ROWS) for name in REAL]
    for i, dataset in enumerate(sets):
        codes = [name for name in _CODES.get(dataset.name, ()) if name in dataset.X.columns]
        sets[i] = dataset._replace(X=dataset.X.assign(**{name: dataset.X[name].astype(str) for name in codes}))
    return [*sets, _ids(4000, 300, "regression"), _ids(4000, 1000, "classification")]


def _ids(n_rows: int, n_ids: int, task: Any) -> Dataset:
    """Return a set in which the effect of hundreds of categories is added to one of numbers, or multiplied with it."""
    rng = np.random.default_rng(0)
    ids, X = rng.integers(0, n_ids, n_rows), rng.normal(size=(n_rows, 4))
    effect, slope = rng.normal(size=n_ids), rng.choice([-1.0, 1.0], 12)
    kind = rng.integers(0, 12, n_rows)
    score = effect[ids] + slope[kind] * X[:, 0] + np.abs(X[:, 1]) + 0.3 * rng.normal(size=n_rows)
    frame = pd.DataFrame(X, columns=list("abcd")).assign(id=ids.astype(str), kind=kind.astype(str))
    y = score if task == "regression" else (score > score.mean()).astype(np.int64)
    return load("insurance")._replace(name=f"made, {n_ids} categories", X=frame, y=y, task=task)


def measure(dataset: Dataset, number: int, name: str, threads: int) -> tuple[float, float]:
    """Return the error on test rows, RMSE or log loss, and the seconds of the fit."""
    rows = split(len(dataset.y), number)
    train, test = np.concatenate([rows.train, rows.validation]), rows.test
    classify = dataset.task == "classification"
    y = np.unique(dataset.y, return_inverse=True)[1] if classify else dataset.y.astype(np.float64)
    table: Any = pd.DataFrame(encode(dataset.X), columns=dataset.X.columns) if name == "ordinal codes" else dataset.X
    arguments: dict[str, Any] = {}
    if name == "CatBoost":
        from catboost import CatBoostClassifier, CatBoostRegressor

        strings = [c for c in table.columns if not pd.api.types.is_numeric_dtype(table[c])]
        table = table.assign(**{c: table[c].astype(object).where(table[c].notna(), "missing") for c in strings})
        kind = CatBoostClassifier if classify else CatBoostRegressor
        options = {"verbose": 0, "allow_writing_files": False, "thread_count": threads}
        model, arguments = kind(random_seed=number, **options), {"cat_features": strings}
    else:
        ours = nf.NeuralForestClassifier if classify else nf.NeuralForestRegressor
        model = ours(random_state=number, n_jobs=threads)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        started = time.perf_counter()
        model.fit(table.iloc[train], y[train], **arguments)
        seconds = time.perf_counter() - started
        if classify:
            probability = np.clip(model.predict_proba(table.iloc[test]), 1e-15, None)
            return float(log_loss(y[test], probability, labels=np.unique(y))), seconds
        return rmse(model.predict(table.iloc[test]), y[test]), seconds


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.accuracy.categories", description=__doc__)
    parser.add_argument("--splits", type=int, nargs="+", default=list(range(10)))
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    path = RESULTS / "categories.csv"
    done = {(row["data"], int(row["split"]), row["model"]) for row in read_rows(path)}
    for number in arguments.splits:
        for dataset in datasets():
            for name in MODELS:
                if (dataset.name, number, name) not in done:
                    error, seconds = measure(dataset, number, name, arguments.threads)
                    append_rows(path, _HEADER, [(dataset.name, number, name, error, round(seconds, 2))])
    text = table(pd.DataFrame(read_rows(path)))
    (RESULTS / "categories.md").write_text(text)
    print(text)


def table(runs: pd.DataFrame) -> str:
    """Return means over the splits that all models have, and geometric means of ratios."""
    errors = (
        runs.astype({"error": float}).pivot_table(index=["data", "split"], columns="model", values="error").dropna()
    )
    means = errors.groupby("data").mean()[list(MODELS)]
    lines = ["# Categories", "", "Test error with default settings: RMSE, or log loss. Means over splits.", ""]
    lines.append(markdown_table(["data", "splits", *MODELS, "to codes", "to CatBoost"]))
    for name, row in means.iterrows():
        ratios = [row["categories"] / row[other] for other in MODELS[1:]]
        lines.append(
            markdown_row([name, len(errors.loc[name]), *(f"{x:.4g}" for x in row), *(f"{x:.3f}" for x in ratios)])
        )
    for label, chosen in (("the six real sets", means.index.isin(REAL)), ("all", means.index == means.index)):
        part = means[chosen]
        ratios = [np.exp(np.log(part["categories"] / part[other]).mean()) for other in MODELS[1:]]
        lines.append(markdown_row([f"geometric mean, {label}", "", "", "", "", *(f"{x:.3f}" for x in ratios)]))
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    main()
