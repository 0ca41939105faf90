"""Speed: one table of time and memory ratios, all measured in one run.

    python -m benchmarks.speed [--quick] [--only training growth cold hard converted prediction base_models fits shapes]

Implementations run in turns and the best time of each counts, so that other load on the machine changes the times but
hardly the ratios. The column `theirs` is the reference that the row names after the colon. Unless --quick, each part is
also written to `benchmarks/results/speed.json`, and `speed.md` is made of all parts that were measured so far.
"""

import argparse
import json
import os
import platform
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.common import RESULTS, markdown_row, markdown_table, versions
from benchmarks.speed import base_models, cold, converted, fits, growth, hard, prediction, shapes, training

_PARTS = {
    "training": training.rows,
    "growth": growth.rows,
    "cold": cold.rows,
    "hard": hard.rows,
    "converted": converted.rows,
    "prediction": prediction.rows,
    "base_models": base_models.rows,
    "fits": fits.rows,
    "shapes": shapes.rows,
}
_HEADER = ["what", "ours", "theirs", "ratio", "target", "verdict"]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rounds and smaller cases")
    parser.add_argument("--only", nargs="+", choices=_PARTS, default=list(_PARTS), metavar="PART")
    arguments = parser.parse_args()
    print(markdown_table(_HEADER), flush=True)
    for name in arguments.only:
        cells = []
        for row in _PARTS[name](arguments.quick):
            cells.append(row.cells)
            print(markdown_row(row.cells), flush=True)
            if not arguments.quick:  # row by row: some take minutes
                _write(name, {"stamp": _stamp(), "rows": cells})


def _write(name: str, part: dict[str, Any]) -> None:
    """Replace one part of the results, and write the table of all parts anew."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / "speed.json"
    parts = (json.loads(path.read_text()) if path.is_file() else {}) | {name: part}
    parts = {each: parts[each] for each in _PARTS if each in parts}
    path.write_text(json.dumps(parts, indent=1) + "\n")
    lines = ["# Speed", "", "`python -m benchmarks.speed`. `theirs` is the reference after the colon."]
    for each, own in parts.items():
        table = [markdown_table(_HEADER), *(markdown_row(cells) for cells in own["rows"])]
        lines += ["", f"## {each.replace('_', ' ').capitalize()}", "", own["stamp"], "", *table]
    (RESULTS / "speed.md").write_text("\n".join([*lines, ""]))


def _stamp() -> str:
    """Return time, machine and versions."""
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    return (
        f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC; {_processor()}, {os.cpu_count()} cores, load at the "
        f"end {load}; Python {platform.python_version()}, {versions('numpy', 'numba', 'scikit-learn', 'torch')}."
    )


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


if __name__ == "__main__":
    main()
