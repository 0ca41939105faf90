"""Neural forests and their peers, each with its defaults, on external data sets that no default was chosen on.

`python -m benchmarks.accuracy.external` runs what is missing and writes the tables; `--report` only writes the tables.
As in `benchmarks.accuracy`, all models are fitted on the same 75% of the rows, and a finished run is never repeated.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from benchmarks.accuracy import external_sets, synthetic
from benchmarks.accuracy.report import complete_splits, sections, stamp
from benchmarks.accuracy.runs import append, finished, measure
from benchmarks.common import RESULTS
from benchmarks.peers import PEERS

_MODELS = [
    name
    for name in PEERS
    if name not in ("RandomForest 500", "HistGradientBoosting", "BART 30", "network alone", "RealMLP")
]
"""Of two similar models, the better one; RealMLP takes too long."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what is missing, then write the tables."""
    names = [
        *external_sets.REGRESSION,
        *(f"keel.{name}" for name in external_sets.CLASSIFICATION),
        *(f"synthetic.{name}" for name in (*synthetic.REGRESSION, *synthetic.CLASSIFICATION)),
    ]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.accuracy.external", description=__doc__)
    parser.add_argument("--sets", nargs="*", choices=names, default=names, help="data sets; default: all")
    parser.add_argument("--models", nargs="*", choices=_MODELS, default=_MODELS, help="models; default: all")
    parser.add_argument("--splits", nargs="*", type=int, default=[100], help="default: 100")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--results", type=Path, default=RESULTS / "external.csv")
    parser.add_argument("--report", action="store_true", help="run nothing, write the tables of the finished runs")
    options = parser.parse_args(arguments)
    done = {(run.data, run.split, run.model) for run in finished(options.results)}
    for split in options.splits:
        for name in [] if options.report else options.sets:
            for model in [model for model in options.models if (name, split, model) not in done]:
                print(f"{name}, split {split}, {model}", flush=True)
                append(options.results, measure(external_sets.load(name), split, model, options.threads))
    write_report(options.results)
    return 0


def write_report(results: Path) -> None:
    """Write the tables next to the results as Markdown: collected data sets first, then synthetic ones."""
    rows = complete_splits(pd.read_csv(results))
    is_synthetic = rows.data.str.startswith("synthetic.")
    kinds = (("External data sets", rows[~is_synthetic]), ("Synthetic data sets", rows[is_synthetic]))
    text = "\n\n".join(
        "\n\n".join([stamp(title, "benchmarks.accuracy.external", part), *sections(part)])
        for title, part in kinds
        if len(part)
    )
    results.with_suffix(".md").write_text(text + "\n")
    print(text)


if __name__ == "__main__":
    sys.exit(main())
