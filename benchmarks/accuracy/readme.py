"""Write the table of README.md from the finished runs of `benchmarks.accuracy`.

    python -m benchmarks.accuracy.readme

All models, over all data sets that all of them have finished; nothing is selected.
"""

import re
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.accuracy.report import NETWORK, OURS, complete_splits, summary
from benchmarks.accuracy.runs import MAX_ROWS
from benchmarks.common import RESULTS, markdown_table

README = Path(__file__).parents[2] / "README.md"
_NAMES = {OURS: "**neuralforest, default**", NETWORK: "neuralforest, network alone"}
_COLUMNS = ("mean rank", "geometric mean of error / best peer", "median fit seconds")
_FORMATS = (".2f", ".2f", ".2g")
_PLACE = re.compile(r"(<!-- accuracy:.*?-->\n).*?(<!-- end -->)", re.DOTALL)


def table(runs: pd.DataFrame) -> str:
    """Return the table, a row for each model, best mean rank in regression first; and the number of sets won."""
    runs = complete_splits(runs.assign(data=np.where(runs.rows > MAX_ROWS, runs.data + " (whole)", runs.data)))
    columns, heads, wins, n_sets = [], [], 0, 0
    for task in ("regression", "classification"):
        errors, models = summary(runs[runs.task == task])
        columns += [models[name] for name in _COLUMNS]
        heads += [f"{task}, {len(errors)} sets: mean rank", "error / best peer", "fit, s"]
        wins, n_sets = wins + int(models.wins[OURS]), n_sets + len(errors)
    frame = pd.concat(columns, axis=1)
    frame = frame.iloc[np.argsort(frame.iloc[:, 0], kind="stable")]
    rows = ([_NAMES.get(name, name), *map(_number, row, _FORMATS * 2)] for name, row in frame.iterrows())
    return (
        f"{markdown_table(['', *heads], rows)}\n\nThe default model has the lowest error in {wins} of the {n_sets} "
        f"comparisons; in each of the other {n_sets - wins}, another model has a lower error."
    )


def _number(value: float, form: str) -> str:
    return "" if pd.isna(value) else format(value, form)


def main() -> None:
    text = table(pd.read_csv(RESULTS / "accuracy.csv"))
    README.write_text(_PLACE.sub(lambda found: f"{found[1]}\n{text}\n\n{found[2]}", README.read_text(encoding="utf-8")))
    print(text)


if __name__ == "__main__":
    main()
