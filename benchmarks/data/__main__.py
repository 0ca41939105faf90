"""Download every data set from its public source, prepare it and check it: `python -m benchmarks.data`.

Data sets that exist already are kept. `python -m benchmarks.data concrete housing` downloads some; `--check` downloads
nothing.
"""

import argparse
import sys
import time
from collections.abc import Sequence

from benchmarks import data
from benchmarks.data.download import UnreachableError
from benchmarks.data.sources import SOURCES
from benchmarks.data.tables import DataError, check, parse, read_table, write_table


def fetch(name: str, unreachable: set[str] | None = None) -> None:
    """Download a data set from the first source whose table passes the check, and write it.

    Hosts in `unreachable` are skipped; a host that does not answer is added.
    """
    expected = data.expected_of(name)
    unreachable = set() if unreachable is None else unreachable
    problems: list[str] = []
    for source in SOURCES[name]:
        if source.host in unreachable:
            problems.append(f"{source.host} could not be reached")
            continue
        try:
            frame = parse(source.read())
            check(frame, expected)
        except UnreachableError as error:
            unreachable.add(error.host)
            problems.append(str(error))
        except (DataError, KeyError, ValueError) as error:  # pandas raises the latter two where a file changed
            problems.append(f"{source.host}: {error}")
        else:
            write_table(frame, data.path_of(expected), source.floats)
            return
    raise DataError("; then ".join(problems))


def _is_good(name: str) -> bool:
    """Return whether the file of a data set exists and passes the check; print what is wrong with one that does not."""
    expected = data.expected_of(name)
    try:
        check(read_table(data.path_of(expected)), expected)
    except FileNotFoundError:
        return False
    except (DataError, OSError) as error:
        print(f"{name}: the existing file is not usable: {error}")
        return False
    return True


def main(arguments: Sequence[str] | None = None) -> int:
    """Download what is missing; return 0 if every requested data set exists and passes the check."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.data", description="Download and check the data sets.")
    parser.add_argument("names", nargs="*", help="data sets; default: all")
    parser.add_argument("--check", action="store_true", help="check the existing files, download nothing")
    options = parser.parse_args(arguments)
    try:
        wanted = [data.expected_of(name).name for name in options.names] or data.names()
    except DataError as error:
        parser.error(str(error))
    print(f"data folder: {data.data_dir()}", flush=True)
    unreachable: set[str] = set()
    missing = [name for name in wanted if not _ensure(name, unreachable, check_only=options.check)]
    if not missing:
        print(f"all {len(wanted)} data sets exist and pass the check")
        return 0
    print(f"{len(missing)} of {len(wanted)} data sets are missing: {', '.join(missing)}", file=sys.stderr)
    if unreachable:
        print(
            f"No answer from {', '.join(sorted(unreachable))}. Is there a network? Run the same command again when "
            "there is: downloaded data sets are kept.",
            file=sys.stderr,
        )
    return 1


def _ensure(name: str, unreachable: set[str], check_only: bool) -> bool:
    """Check a data set and download it where needed; return whether it is usable."""
    expected = data.expected_of(name)
    shape = f"{expected.rows} x {expected.features}"
    if _is_good(name):
        print(f"{name}: {shape}, exists", flush=True)
        return True
    if check_only:
        return False
    start = time.perf_counter()
    try:
        fetch(name, unreachable)
    except DataError as error:
        print(f"{name}: failed: {error}", flush=True)
        return False
    except OSError as error:
        print(f"{name}: could not be written: {error}; set NEURALFOREST_DATA to a writable folder", flush=True)
        return False
    print(f"{name}: {shape}, downloaded in {time.perf_counter() - start:.1f} s", flush=True)
    return True


if __name__ == "__main__":
    sys.exit(main())
