"""Speed: one table of time and memory ratios, all measured in one run.

    python -m benchmarks.speed [--quick] [--only training growth cold hard converted]

Implementations run in turns and the best time of each counts, so that other load on the machine changes the times but
hardly the ratios. The column `theirs` is the reference that the row names after the colon. The table is also written to
`benchmarks/results/speed.md`, unless --only selects a part of it.
"""

import argparse
import os
import platform
import sys
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.common import RESULTS, markdown_row, markdown_table, versions
from benchmarks.speed import cold, converted, growth, hard, training

_PARTS = {
    "training": training.rows,
    "growth": growth.rows,
    "cold": cold.rows,
    "hard": hard.rows,
    "converted": converted.rows,
}
_HEADER = ["what", "ours", "theirs", "ratio", "target", "verdict"]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rounds and smaller cases")
    parser.add_argument("--only", nargs="+", choices=_PARTS, default=list(_PARTS), metavar="PART")
    arguments = parser.parse_args()
    lines = [markdown_table(_HEADER)]
    print(lines[0], flush=True)
    for name in arguments.only:
        for row in _PARTS[name](arguments.quick):
            lines.append(markdown_row(row.cells))
            print(lines[-1], flush=True)
    if arguments.only == list(_PARTS):
        RESULTS.mkdir(exist_ok=True)
        (RESULTS / "speed.md").write_text("\n".join(["# Speed", "", *_stamp(), "", *lines, ""]))


def _stamp() -> list[str]:
    """Return command, time, machine and versions."""
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    return [
        f"`python -m benchmarks.speed {' '.join(sys.argv[1:])}`, {datetime.now(UTC):%Y-%m-%d %H:%M} UTC.",
        f"{_processor()}, {os.cpu_count()} cores; load (1, 5, 15 minutes) at the end {load}.",
        f"Python {platform.python_version()}, {versions('numpy', 'numba', 'scikit-learn', 'torch')}.",
        "",
        "Best of several rounds in turns; `theirs` is the reference after the colon.",
    ]


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


if __name__ == "__main__":
    main()
