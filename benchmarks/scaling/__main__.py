"""Run the measurements: ``python -m benchmarks.scaling accuracy kills out-of-core joblib costs``.

Those on record are skipped; ``report`` only writes the page.
"""

import argparse
import shutil
import tempfile
from pathlib import Path

from benchmarks.scaling import report, runs

ACCURACY = (
    "local 100000", "local+stack 100000", "dask 2 100000", "dask 2 200000", "dask 1 200000", "dask 4 200000",
    "local all",
)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="+", choices=["accuracy", "kills", "out-of-core", "joblib", "costs", "report"])
    parser.add_argument("--folder", type=Path, help="for generated Parquet files; they are deleted")
    arguments = parser.parse_args()
    if "accuracy" in arguments.parts:
        for name in ACCURACY:
            if f"accuracy {name}" not in runs.results():
                runs.accuracy(name)
    if "kills" in arguments.parts:
        if "kills none" not in runs.results():
            runs.kills(0)
        for number in range(10):
            if f"kills {number}" not in runs.results():
                runs.kills(number)
    if "out-of-core" in arguments.parts and "out of core" not in runs.results():
        folder = Path(arguments.folder or tempfile.mkdtemp())
        runs.out_of_core(folder)
        shutil.rmtree(folder)
    for name, run in (("joblib", runs.joblib_backend), ("costs", runs.costs)):
        if name in arguments.parts and name not in runs.results():
            run()
    report.write()


if __name__ == "__main__":
    main()
