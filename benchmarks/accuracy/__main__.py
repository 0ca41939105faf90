"""Accuracy of neural forests and their peers, each with its defaults, on every data set.

`python -m benchmarks.accuracy` runs what is missing and writes the report; `--report` only writes the report. All
models are fitted on the same rows, training and validation rows together (75%); a neural forest makes its own
validation. Each finished run is appended to results/accuracy.csv and never repeated. Data sets of more than 6,000 rows
are subsampled to 6,000 and get three splits.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks import data
from benchmarks.accuracy.report import write_report
from benchmarks.accuracy.runs import MAX_ROWS, Run, append, finished, measure
from benchmarks.common import RESULTS
from benchmarks.data.tables import load_expected
from benchmarks.peers import PEERS

_SPLITS_OF_LARGE_SETS = 3


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what is missing, then write the report."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.accuracy", description=__doc__)
    parser.add_argument("--sets", nargs="*", help="data sets; default: all")
    parser.add_argument("--models", nargs="*", choices=list(PEERS), help="models; default: all")
    parser.add_argument("--splits", nargs="*", type=int, default=list(range(100, 110)), help="default: 100 to 109")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--results", type=Path, default=RESULTS / "accuracy.csv")
    parser.add_argument("--report", action="store_true", help="run nothing, write the report of the finished runs")
    options = parser.parse_args(arguments)
    if not options.report:
        done = finished(options.results)
        runs = [run for run in planned(options.sets, options.models, options.splits) if run not in done]
        for number, run in enumerate(runs):
            print(f"[{number + 1}/{len(runs)}] {run.data}, split {run.split}, {run.model}", flush=True)
            dataset = data.load(run.data)
            dataset = dataset if run.whole else data.subsample(dataset, MAX_ROWS)
            append(options.results, measure(dataset, run.split, run.model, options.threads))
    write_report(options.results)
    return 0


def planned(sets: Sequence[str] | None, models: Sequence[str] | None, splits: Sequence[int]) -> Iterator[Run]:
    """Yield every run, split by split; three splits of large data sets; Protein once more with all its rows."""
    expected = load_expected()
    names = sets or [name for folder in ("paper", "regression", "classification") for name in data.names(folder)]
    for number, split in enumerate(splits):
        for name in names:
            if number >= _SPLITS_OF_LARGE_SETS and expected[name].rows > MAX_ROWS:
                continue
            for model in models or PEERS:
                yield Run(name, split, model, whole=False)
    if "protein" in names:
        for model in models or PEERS:
            yield Run("protein", splits[0], model, whole=True)


if __name__ == "__main__":
    sys.exit(main())
