"""Speed: one table of ratios, all measured in one run.

    python -m benchmarks.speed [--quick] [--only training growth cold hard]

Contestants run in turns and the best time of each counts, so that a machine with other work on it gives the same
ratios, if not the same times. The column `theirs` holds what the row names after the colon. The table is also written
to `benchmarks/results/speed.md`; a part of it (--only) is not.
"""

import argparse
import os
import platform
import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from benchmarks import speed_cold, speed_growth, speed_hard, speed_training
from benchmarks.speed_common import Row

_PARTS = {"training": speed_training, "growth": speed_growth, "cold": speed_cold, "hard": speed_hard}
_HEADER = ["what", "ours", "theirs", "ratio", "target", "verdict"]
_RESULTS = Path(__file__).parent / "results" / "speed.md"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rounds and smaller cases")
    parser.add_argument("--only", nargs="+", choices=_PARTS, default=list(_PARTS), metavar="PART")
    arguments = parser.parse_args()
    lines = [_line(_HEADER), _line(["---"] * len(_HEADER))]
    print("\n".join(lines), flush=True)
    for name in arguments.only:
        for row in _rows(name, arguments.quick):
            lines.append(_line(row.cells))
            print(lines[-1], flush=True)
    if arguments.only == list(_PARTS):
        _RESULTS.parent.mkdir(exist_ok=True)
        _RESULTS.write_text("\n".join(["# Speed", "", *_stamp(), "", *lines, ""]))


def _rows(name: str, quick: bool) -> Iterable[Row]:
    return _PARTS[name].rows(quick)


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _stamp() -> list[str]:
    """Return when and where the table was made."""
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    return [
        f"`python -m benchmarks.speed {' '.join(sys.argv[1:])}`, {datetime.now(UTC):%Y-%m-%d %H:%M} UTC.",
        f"{_processor()}, {os.cpu_count()} cores; load (1, 5, 15 minutes) at the end {load}.",
        f"Python {platform.python_version()}, "
        + ", ".join(map(_version, ("numpy", "numba", "scikit-learn", "torch")))
        + ".",
        "",
        "Best of several rounds in turns; `theirs` is what stands after the colon.",
    ]


def _version(package: str) -> str:
    try:
        return f"{package} {version(package)}"
    except PackageNotFoundError:
        return f"no {package}"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


if __name__ == "__main__":
    main()
