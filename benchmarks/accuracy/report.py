"""The report of the accuracy benchmark: tables in Markdown and one figure."""

import platform
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.accuracy.runs import MAX_ROWS
from benchmarks.common import markdown_table, versions

OURS, NETWORK = "NeuralForest", "network alone"
PAPER = ("auto_mpg", "concrete", "crime", "forest_fires", "housing", "wisconsin")


def write_report(results: Path) -> None:
    """Write accuracy.md and accuracy.png next to the results."""
    rows = pd.read_csv(results)
    rows = rows.assign(data=np.where(rows.rows > MAX_ROWS, rows.data + " (whole)", rows.data))
    rows = complete_splits(rows)
    head = stamp("Accuracy with default settings", "benchmarks.accuracy", rows)
    text = "\n\n".join([head, _paper_comparison(rows), *sections(rows)]) + "\n"
    results.with_suffix(".md").write_text(text)
    print(text)
    _draw(rows, results.with_suffix(".png"))


def complete_splits(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the runs on splits that all models of the task have finished: means are then over the same test rows."""
    models = rows.groupby("task").model.transform("nunique")
    return rows[rows.groupby(["data", "split"]).model.transform("nunique") == models]


def sections(rows: pd.DataFrame) -> list[str]:
    """Return the tables of both tasks and the table of fit times, in Markdown."""
    parts = ((task, rows[rows.task == task]) for task in ("regression", "classification"))
    return [*(_section(task, part) for task, part in parts if OURS in set(part.model)), _times(rows)]


def summary(part: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return mean errors (data sets x models), and ranks, wins, error ratios and times of the models."""
    errors = _means(part, "error")
    ratio = errors.div(_peers(errors).min(axis=1), axis=0)
    ranks = errors.drop(columns=NETWORK, errors="ignore").rank(axis=1)
    if NETWORK in errors:  # ranked in place of the stack
        ranks[NETWORK] = errors.drop(columns=OURS).rank(axis=1)[NETWORK]
    models = pd.DataFrame(
        {
            "mean rank": ranks.mean(),
            "wins": (ranks == 1).sum(),
            "geometric mean of error / best peer": np.exp(np.log(ratio).mean()),
            "median fit seconds": _means(part, "fit_seconds").median(),
            "median predict seconds": _means(part, "predict_seconds").median(),
        }
    )
    return errors, models.sort_values("mean rank")


def _peers(errors: pd.DataFrame) -> pd.DataFrame:
    return errors.drop(columns=[OURS, NETWORK], errors="ignore")


def _section(task: str, part: pd.DataFrame) -> str:
    errors, models = summary(part)
    ours = part[part.model == OURS].groupby("data")
    table = errors.copy()
    peers = _peers(errors)
    table.insert(0, "splits", ours.split.nunique())
    table.insert(1, "ours / best peer", errors[OURS] / peers.min(axis=1))
    table.insert(2, "ours / its forest", ours.error.mean() / ours.forest_error.mean())
    name = "test RMSE" if task == "regression" else "log loss"
    text = (
        f"## {task.capitalize()}: mean {name}\n\n{_markdown(table)}\n\n"
        f"Over the {len(errors)} data sets:\n\n{_markdown(models)}"
    )
    return text if task == "regression" else f"{text}\n\nMean accuracy:\n\n{_markdown(_means(part, 'accuracy'))}"


def _means(part: pd.DataFrame, column: str) -> pd.DataFrame:
    return part.pivot_table(index="data", columns="model", values=column, aggfunc="mean")


def _paper_comparison(rows: pd.DataFrame) -> str:
    """Count the paper's data sets on which ours has a lower error than BART, and than every peer."""
    lines = []
    for protein, which in (
        ("protein", f"Protein subsampled to {MAX_ROWS:,} rows"),
        ("protein (whole)", "all rows of Protein"),
    ):
        errors = _means(rows, "error").reindex([*PAPER, protein]).dropna()
        ours, peers = errors[OURS], _peers(errors)
        bart = peers.filter(like="BART").min(axis=1)
        lines.append(
            f"Of the paper's seven data sets, with {which}, {len(errors)} are finished. Ours has a lower error than "
            f"BART, with 30 and with 200 trees, on {(ours < bart).sum()} of them, and than the best peer on "
            f"{(ours < peers.min(axis=1)).sum()}."
        )
    return "\n\n".join(lines)


def _times(rows: pd.DataFrame) -> str:
    """Compare fit times with CatBoost on data sets of over 1,000 rows."""
    seconds = _means(rows[rows.rows > 1_000], "fit_seconds").reindex(columns=[OURS, "CatBoost"])
    table = pd.DataFrame({"ours": seconds[OURS], "CatBoost": seconds["CatBoost"]}).dropna()
    table["ours / CatBoost"] = table["ours"] / table["CatBoost"]
    return f"## Fit time in seconds, data sets of over 1,000 rows\n\n{_markdown(table)}"


def _markdown(frame: pd.DataFrame) -> str:
    rows = ([name, *("" if pd.isna(value) else f"{value:.4g}" for value in row)] for name, row in frame.iterrows())
    return markdown_table(["", *frame.columns], rows)


def stamp(title: str, module: str, rows: pd.DataFrame) -> str:
    """Return a report's title, the command that made it, splits and versions."""
    splits = ", ".join(map(str, sorted(rows.split.unique())))
    packages: tuple[str, ...] = (
        "neuralforest",
        "numpy",
        "scikit-learn",
        "xgboost-cpu",
        "lightgbm",
        "catboost",
        "stochtree",
    )
    packages += tuple(
        package
        for model, package in (("ChimeraBoost", "chimeraboost"), ("RealMLP", "pytabkit"))
        if model in set(rows.model)
    )
    return (
        f"# {title}\n\n"
        f"Made by `python -m {module}`; splits {splits}; Python {platform.python_version()}, {versions(*packages)}."
    )


def _draw(rows: pd.DataFrame, path: Path) -> None:
    """Draw the error of every model relative to the best peer, one row of dots per data set."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    errors = complete_splits(rows[rows.rows <= MAX_ROWS]).pivot_table(
        index=["task", "data"], columns="model", values="error"
    )
    if OURS not in errors:
        return
    errors = errors.div(_peers(errors).min(axis=1), axis=0)
    errors = errors.sort_values(["task", OURS], ascending=[True, False])
    figure, ax = plt.subplots(figsize=(8, 0.32 * len(errors) + 1.2), layout="constrained")
    places = np.arange(len(errors))
    for model in _peers(errors).columns:
        ax.plot(errors[model].clip(upper=1.6), places, "o", color="#999999", markersize=4, alpha=0.6)
    ax.plot([], [], "o", color="#999999", markersize=4, label="peers")
    if NETWORK in errors:
        look = {"color": "#009E73", "markersize": 6, "fillstyle": "none"}
        ax.plot(errors[NETWORK].clip(upper=1.6), places, "s", label="network alone", **look)
    ax.plot(errors[OURS].clip(upper=1.6), places, "D", color="#0072B2", markersize=6, label="default model")
    ax.axvline(1, color="#D55E00", linewidth=1, label="best peer")
    ax.set_yticks(places, [name for _, name in errors.index])
    ax.set_xlabel("error relative to the best peer (cut at 1.6)")
    figure.legend(loc="outside upper center", ncols=4, frameon=False)
    figure.savefig(path, dpi=120)
    plt.close(figure)
