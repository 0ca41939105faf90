"""Ours and the peers, each with its defaults, on many other data sets than those of `benchmarks.accuracy`.

`python -m benchmarks.others` runs what is missing and writes the tables; `--report` only writes them. As in
`benchmarks.accuracy`, all models get the same 75% of the rows, and a finished run is never repeated.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from benchmarks import made_sets, others_sets
from benchmarks.accuracy import append, finished, measure_on
from benchmarks.accuracy_report import common, sections, stamp
from benchmarks.peers import PEERS

RESULTS = Path(__file__).parent / "results" / "others.csv"
_MODELS = [name for name in PEERS if name not in ("RandomForest 500", "HistGradientBoosting", "BART 30")]
"""Of kinds that are there twice, the better one."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what is missing, then write the tables."""
    made = [f"made.{name}" for name in (*made_sets.REGRESSION, *made_sets.CLASSIFICATION)]
    names = [*others_sets.REGRESSION, *(f"keel.{name}" for name in others_sets.CLASSIFICATION), *made]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.others", description=__doc__)
    parser.add_argument("--sets", nargs="*", choices=names, default=names, help="data sets; all without")
    parser.add_argument("--models", nargs="*", choices=_MODELS, default=_MODELS, help="models; all without")
    parser.add_argument("--splits", nargs="*", type=int, default=[100], help="default: 100")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--report", action="store_true", help="only write the tables of what is there")
    options = parser.parse_args(arguments)
    done = {(run.data, run.split, run.model) for run in finished(options.results)}
    for split in options.splits:
        for name in [] if options.report else options.sets:
            for model in [model for model in options.models if (name, split, model) not in done]:
                print(f"{name}, split {split}, {model}", flush=True)
                append(options.results, measure_on(others_sets.load(name), split, model, options.threads))
    write_report(options.results)
    return 0


def write_report(results: Path) -> None:
    """Write what the runs say as Markdown next to them, of tables that were collected and of those that were made."""
    rows = common(pd.read_csv(results))
    made = rows.data.str.startswith("made.")
    kinds = (("Other data sets", rows[~made]), ("Data sets that are made by formulas", rows[made]))
    text = "\n\n".join(
        "\n\n".join([stamp(title, "benchmarks.others", part), *sections(part)]) for title, part in kinds if len(part)
    )
    results.with_suffix(".md").write_text(text + "\n")
    print(text)


if __name__ == "__main__":
    sys.exit(main())
