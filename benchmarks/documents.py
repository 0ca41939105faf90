"""Write the numbers in README.md and docs/ from the results, so that no number is copied by hand.

    python -m benchmarks.documents

A number in a document stands between `<!--n key-->` and `<!--/n-->`, where `key` is one of `numbers()`. The table of
README.md is written, too. A test compares the documents with the results.
"""

import json
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.accuracy import calibrated, readme
from benchmarks.accuracy.report import NETWORK, OURS, complete_splits, summary
from benchmarks.accuracy.runs import MAX_ROWS
from benchmarks.common import RESULTS

ROOT = Path(__file__).parents[1]
PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs" / "development").glob("*.md")),
]
_PLACE = re.compile(r"(<!--n ([\w.%]+)-->)(.*?)(<!--/n-->)", re.DOTALL)
_SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0}
_PEERS = {"RandomForest": "RandomForest 500", "ChimeraBoost": "ChimeraBoost", "RealMLP": "RealMLP"}


def numbers() -> dict[str, str]:
    """Return the text of each number by its key, for example "accuracy.comparisons": "30"."""
    found: dict[str, str] = {}
    for part in (_accuracy, _external, _confirmation, _gains, _calibrated, _intervals, _paper, _speed, _scaling):
        found |= part()
    return found


def filled(text: str, found: dict[str, str]) -> str:
    """Return a document with its numbers replaced by those that were found."""
    started = re.search(r"^\s*<!--/?n", text, re.MULTILINE)
    if started:  # Markdown takes such a line as a block of HTML
        raise ValueError(f"a number must not begin a line: {text[started.start() : started.start() + 60]!r}")
    return _PLACE.sub(lambda place: f"{place[1]}{found[place[2]]}{place[4]}", text)


def _accuracy() -> dict[str, str]:
    runs = pd.read_csv(RESULTS / "accuracy.csv")
    runs = complete_splits(runs.assign(data=np.where(runs.rows > MAX_ROWS, runs.data + " (whole)", runs.data)))
    parts = {task: runs[runs.task == task] for task in ("regression", "classification")}
    errors = pd.concat([summary(part)[0] for part in parts.values()])
    found = {
        "accuracy.sets": _count(runs.data.str.removesuffix(" (whole)").nunique()),
        "accuracy.comparisons": _count(len(errors)),
        "accuracy.smallest_set": _count(runs.rows.min()),
        "accuracy.worse_than_forest": _count((_to_forest(runs) > 1).sum()),
    }
    for name, model in _PEERS.items():
        found[f"accuracy.ahead.{name}"] = _count((errors[model] < errors[OURS]).sum())
    for task, part in parts.items():
        seconds = summary(part)[1]["median fit seconds"]
        found[f"accuracy.fit.RealMLP.{task}"] = f"{seconds['RealMLP'] / seconds[OURS]:.0f}"
        found[f"accuracy.fit.stack.{task}"] = f"{seconds[OURS] / seconds[NETWORK]:.1f}"
    return found


def _external() -> dict[str, str]:
    runs = complete_splits(pd.read_csv(RESULTS / "external.csv"))
    to_forest = _to_forest(runs)
    found = {
        "external.sets": _count(len(to_forest)),
        "external.worse_than_forest": _count((to_forest > 1).sum()),
        "external.worse_than_forest.2%": _count((to_forest > 1.02).sum()),
    }
    ahead = 0
    for task, part in runs.groupby("task"):
        errors = summary(part)[0]
        better = int((errors["ChimeraBoost"] < errors[OURS]).sum())
        ahead += better
        found |= {f"external.{task}": _count(len(errors)), f"external.ahead.ChimeraBoost.{task}": _count(better)}
    return found | {"external.ahead.ChimeraBoost": _count(ahead)}


def _confirmation() -> dict[str, str]:
    runs = pd.read_csv(RESULTS / "confirmation.csv")
    errors = complete_splits(runs).pivot_table(index="data", columns="model", values="error")
    better = errors[OURS] < errors.filter(like="BART").min(axis=1)
    return {"confirmation.sets": _count(len(errors)), "confirmation.ahead_of_BART": _count(better.sum())}


def _gains() -> dict[str, str]:
    """Return how far the reported gain is from that on test rows, in percentage points; the mean that is farthest."""
    runs = pd.read_csv(RESULTS / "reported_gains.csv")
    runs["reported"] = 1 - runs.validation_loss / runs.forest_loss
    runs["measured"] = 1 - runs.test_loss / runs.forest_test_loss
    means = runs.groupby(["task", "source", "data"])[["reported", "measured"]].mean()
    difference = (means.reported - means.measured).groupby(["task", "source"]).mean()
    return {"gains.points": f"{100 * difference.abs().max():.1f}"}


def _calibrated() -> dict[str, str]:
    mean = calibrated.with_ratios(pd.read_csv(RESULTS / "calibrated.csv")).groupby("data").mean(numeric_only=True)
    return {
        "calibrated.sets": _count(len(mean)),
        "calibrated.ratio": f"{np.exp(np.log(mean.ratio).mean()):.2f}",
        "calibrated.worst": f"{mean.ratio.max():.2f}",
        "calibrated.before": f"{mean.beyond_before.mean():.4f}",
        "calibrated.after": f"{mean.beyond.mean():.4f}",
    }


def _intervals() -> dict[str, str]:
    text = (RESULTS / "intervals.md").read_text(encoding="utf-8")
    synthetic, sets = text.split("## Data sets")
    rows = re.findall(r"^\| .* \| \d+ \| ([\d.]+) \| ([\d.]+) \|", synthetic, re.MULTILINE)
    learned, trees = np.array(rows, np.float64).T
    ratios = re.findall(r"^\| \S+ \| ([\d.]+) \| [\d.]+ \|", sets, re.MULTILINE)
    return {
        "intervals.learned": _range(learned, ".2f"),
        "intervals.trees": _range(trees, ".2f"),
        "intervals.sets": _count(len(ratios)),
        "intervals.ratio": f"{np.exp(np.log(np.array(ratios, np.float64)).mean()):.2f}",
    }


def _paper() -> dict[str, str]:
    runs = pd.read_csv(RESULTS / "paper_growth.csv")
    means = runs.groupby(["figure", "series", "n"]).rmse.mean()
    found = {}
    for figure, series in {each[:2] for each in means.index}:
        for which, value in (("first", means[figure, series].iloc[0]), ("last", means[figure, series].iloc[-1])):
            found[f"paper.{figure}.{series.replace(', ', '.').replace(' ', '.')}.{which}"] = f"{value:.2f}"
    return found


def _speed() -> dict[str, str]:
    parts = json.loads((RESULTS / "speed.json").read_text(encoding="utf-8"))
    single, lightgbm, catboost = [], [], []
    for what, ours, theirs, *_, note in parts["prediction"]["rows"]:
        if "default model: LightGBM" not in what:
            continue
        if ", 1 rows" in what:
            single.append(1e3 * _seconds(ours))
        elif ", 100,000 rows" in what:
            lightgbm.append(_seconds(ours) / _seconds(theirs))
            catboost += [_seconds(ours) / _seconds(each) for each in re.findall(r"CatBoost ([\d.,]+ \w+)", note)]
    million = [row for row in parts["fits"]["rows"] if row[0].startswith("fit, regression, 1,000,000 rows")]
    memory = max(float(each.replace(",", "")) for row in million for each in re.findall(r"^([\d.,]+) MB", row[1]))
    return {
        "speed.single_row_ms": _range(single, ".2f"),
        "speed.to_LightGBM": _range(lightgbm, ".2g"),
        "speed.to_CatBoost": _range(catboost, ".2g"),
        "speed.million.seconds": f"{max(_seconds(row[1]) for row in million if 'time' in row[0]):.0f}",
        "speed.million.gigabytes": f"{memory / 1e3:.1f}",
    }


def _scaling() -> dict[str, str]:
    found = json.loads((RESULTS / "scaling.json").read_text(encoding="utf-8"))
    return {"scaling.most_rows": f"{found['out of core']['rows'] / 1e6:.0f} million"}


def _to_forest(runs: pd.DataFrame) -> pd.Series:
    means = runs[runs.model == OURS].groupby("data")[["error", "forest_error"]].mean()
    return means.error / means.forest_error


def _seconds(text: str) -> float:
    value, unit = text.replace(",", "").split()
    return float(value) * _SECONDS[unit]


_count: Callable[[float], str] = "{:,.0f}".format


def _range(values: "list[float] | np.ndarray", form: str) -> str:
    low, high = format(min(values), form), format(max(values), form)
    return low if low == high else f"{low} to {high}"


def main() -> None:
    readme.main()
    found = numbers()
    for page in PAGES:
        old = page.read_text(encoding="utf-8")
        new = filled(old, found)
        if new != old:
            page.write_text(new, encoding="utf-8")
            print(f"{page.relative_to(ROOT)} written")


if __name__ == "__main__":
    main()
