"""Reproduce the paper's table: `python -m benchmarks.paper`.

Finished runs are kept in `benchmarks/results/paper.csv` and never repeated: an interrupted command resumes when it is
run again. `--dry-run` estimates the time, `--table` only renders the finished runs.
"""

import argparse
import importlib
import os
import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.common import RESULTS
from benchmarks.data.tables import DataError
from benchmarks.paper.plan import (
    ALL_SETS,
    MODELS,
    Results,
    Run,
    append,
    duration,
    plan,
    read,
    remaining,
    seconds_left,
)
from benchmarks.paper.render import write_tables

_NEEDS = {"NN": "torch", "BA": "stochtree"}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what is missing, then write the table."""
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    options = _parser().parse_args(arguments)
    runs = plan(options.sets, options.models, options.repetitions)
    if not options.table:
        print(outlook(runs, read(options.results)), flush=True)
        if options.dry_run:
            return 0
        try:
            _check_libraries(options.models)
            execute(runs, options.results, options.jobs)
        except (DataError, ImportError) as error:
            print(error, file=sys.stderr)
            return 1
        except KeyboardInterrupt:
            print("interrupted; run the same command again to resume", file=sys.stderr)
    for path in write_tables(options.results, command(arguments)):
        print(f"wrote {path}")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.paper", description="Reproduce the paper's table.")
    several: dict[str, Any] = {"nargs": "+", "metavar": "NAME"}
    parser.add_argument("--sets", **several, choices=ALL_SETS, default=ALL_SETS, help=f"of {', '.join(ALL_SETS)}")
    parser.add_argument("--models", **several, choices=MODELS, default=MODELS, help=f"of {shlex.join(MODELS)}")
    parser.add_argument("--repetitions", type=_positive, help="of every cell; ten, or fewer where one takes long")
    parser.add_argument("--jobs", type=_positive, default=os.cpu_count() or 1, help="threads; all cores by default")
    parser.add_argument("--results", type=Path, default=RESULTS / "paper.csv", help="file of finished runs")
    parser.add_argument("--dry-run", action="store_true", help="show what is left to do and an estimate of its time")
    parser.add_argument("--table", action="store_true", help="run nothing, render the finished runs")
    return parser


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, got {number}")
    return number


def command(arguments: Sequence[str]) -> str:
    """Return the command line."""
    kept = [argument for argument in arguments if argument != "--table"]
    return shlex.join(["python", "-m", "benchmarks.paper", *kept])


def outlook(runs: Sequence[Run], results: Results) -> str:
    """Return the number of runs that are left for each model, and an estimate of their time."""
    left = remaining(runs, results)
    lines = [f"{len(runs) - len(left)} of {len(runs)} runs are finished"]
    for model in MODELS:
        own = [run for run in left if run.model == model]
        if own:
            lines.append(f"  {model:<12}{len(own):>5} runs, about {duration(seconds_left(own, results))}")
    if left:
        lines.append(f"about {duration(seconds_left(left, results))} in all, one run after the other")
    return "\n".join(lines)


def _check_libraries(models: Sequence[str]) -> None:
    for library in {_NEEDS[model[:2]] for model in models if model[:2] in _NEEDS}:
        try:
            importlib.import_module(library)
        except ImportError as error:
            raise ImportError(
                f"{library} is missing: pip install 'neuralforest[bench]', or leave its models out with --models"
            ) from error


def execute(runs: Sequence[Run], path: Path, jobs: int = 1) -> None:
    """Run what is not finished, one run after the other, and store each result as it is ready."""
    from benchmarks.paper.models import measure

    with _progress() as report:
        for place, run in enumerate(runs, 1):
            results = read(path)  # every time: another process may append to the same file
            if run in results:
                continue
            measured = measure(run, jobs)
            append(path, run, measured)
            results[run] = measured
            variant = f" ({run.variant})" if run.variant else ""
            line = f"{run.data}, {run.model}{variant}, repetition {run.repetition}: {measured.test_rmse:.4g}"
            line += f" in {duration(measured.seconds)}"
            report(line, place, len(runs), seconds_left(remaining(runs, results), results))


@contextmanager
def _progress() -> Iterator[Any]:
    """Yield a function that reports progress: a bar on a terminal, one line per run in a log."""
    if not sys.stdout.isatty():
        yield lambda line, place, total, left: print(f"[{place}/{total}] {line}; {duration(left)} left", flush=True)
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    with Progress(TextColumn("runs"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[left]}")) as bar:
        task = bar.add_task("runs", total=None, left="")

        def report(line: str, place: int, total: int, left: float) -> None:
            bar.console.print(line)
            bar.update(task, completed=place, total=total, left=f"{duration(left)} left")

        yield report


if __name__ == "__main__":
    sys.exit(main())
