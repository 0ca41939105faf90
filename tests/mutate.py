"""Mutation test: small random changes of the source, one at a time, and which of them the tests do not notice.

    python tests/mutate.py --seed 0 --count 20
    python tests/mutate.py --file persistence/_plain.py --count 10
    python tests/mutate.py --file persistence/_plain.py --line 39 --tests tests/persistence/test_plain.py

A mutation replaces a comparison by its neighbour, swaps two arithmetic operators, negates a boolean, or adds 1 to a
number. The tests of the folder that mirrors the changed file run in a copy of the repository, so that the working tree
is never touched; they must pass without a mutation. Survivors are gaps in the tests, or changes that make no
difference: read them.
"""

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = Path("src") / "neuralforest"
LEFT_OUT = ("_kernels", "plots", "cli", "report")  # compiled for minutes, or compared by eye
COMPARISONS = {ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "=="}
OPERATORS = {ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*", ast.BitAnd: "|", ast.BitOr: "&"}


def mutations(source):
    """Return (begin, end, replacement) of every possible mutation, as places in the source."""
    lines = [0]
    for line in source.encode().splitlines(keepends=True):
        lines.append(lines[-1] + len(line))
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Compare) and type(node.ops[0]) in COMPARISONS:
            found.append((_end(node.left, lines), _begin(node.comparators[0], lines), COMPARISONS[type(node.ops[0])]))
        elif isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
            found.append((_end(node.left, lines), _begin(node.right, lines), OPERATORS[type(node.op)]))
        elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
            found.append((_begin(node, lines), _end(node, lines), str(not node.value)))
        elif isinstance(node, ast.Constant) and isinstance(node.value, int):
            found.append((_begin(node, lines), _end(node, lines), str(node.value + 1)))
    return found


def _begin(node, lines):
    return lines[node.lineno - 1] + node.col_offset


def _end(node, lines):
    return lines[node.end_lineno - 1] + node.end_col_offset


def mutated(source, begin, end, replacement):
    """Return the source with one mutation; parentheses and spaces around an operator stay."""
    raw = source.encode()
    between = raw[begin:end].decode()
    if replacement[0] in "<>=!+-*/|&":
        operator = between.strip("() \n\\")
        replacement = between.replace(operator, replacement, 1)
    return (raw[:begin] + replacement.encode() + raw[end:]).decode()


def line_of(path, place):
    """Return the number of the line of a mutation."""
    return (ROOT / path).read_text().encode()[: place[0]].count(b"\n") + 1


def tests_of(path):
    """Return the tests that mirror a file of the package."""
    room = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    folder = ROOT / "tests" / room
    files = [f"tests/{room}"] if folder.is_dir() else []
    files += [f"tests/{file.name}" for file in (ROOT / "tests").glob(f"test_{room.strip('_')}*.py")]
    return files or ["tests/estimators"]


def survives(copy, path, source, tests, seconds):
    """Return whether the tests pass with a mutated file."""
    (copy / path).write_text(source)
    return passes(copy, tests, seconds)


def passes(copy, tests, seconds):
    """Return whether tests pass in time."""
    environment = os.environ | {"PYTHONPATH": str(copy / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
    try:
        run = subprocess.run(command, cwd=copy, env=environment, capture_output=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        return False
    return run.returncode == 0


def main():
    """Make mutations, and print those that survive."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=10)
    parser.add_argument("--file", help="a file of the package, such as selection/guard.py; any without it")
    parser.add_argument("--line", type=int, help="of that file: all of its mutations instead of random ones")
    parser.add_argument("--tests", nargs="+", help="instead of those of the folder that mirrors the file")
    parser.add_argument("--seconds", type=int, default=600, help="for the tests of one mutation")
    options = parser.parse_args()
    drawn, files = random.Random(options.seed), sorted((ROOT / PACKAGE).rglob("*.py"))
    paths = [path.relative_to(ROOT) for path in files if not set(path.parts) & set(LEFT_OUT)]
    paths = [PACKAGE / options.file] if options.file else paths
    places = [(path, place) for path in paths for place in mutations((ROOT / path).read_text())]
    if options.line:
        places = [place for place in places if line_of(*place) == options.line]
    chosen = places if options.line else drawn.sample(places, min(options.count, len(places)))
    n_survivors, known = 0, set()
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy"
        shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(".git", "results"))
        for path, (begin, end, replacement) in chosen:
            source, line = (ROOT / path).read_text(), line_of(path, (begin, end, replacement))
            tests = tuple(options.tests or tests_of(path))
            if tests not in known and not passes(copy, tests, options.seconds):
                raise SystemExit(f"{' '.join(tests)} must pass in {options.seconds} s before anything is changed")
            known.add(tests)
            alive = survives(copy, path, mutated(source, begin, end, replacement), tests, options.seconds)
            (copy / path).write_text(source)
            n_survivors += alive
            text = source.splitlines()[line - 1].strip()
            sys.stdout.write(f"{'SURVIVES' if alive else 'noticed '} {path}:{line} {replacement!r} in: {text}\n")
            sys.stdout.flush()
    sys.stdout.write(f"{n_survivors} of {len(chosen)} mutations survive\n")


if __name__ == "__main__":
    main()
