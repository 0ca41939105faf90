"""The output of commands: results on standard output, as text or JSON, and messages on standard error."""

import argparse
import json
import sys
from collections.abc import Sequence
from typing import Any


def add_json_argument(parser: argparse.ArgumentParser) -> None:
    """Add the options of all commands: JSON, and no messages."""
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of text")
    parser.add_argument(
        "--quiet", action="store_true", help="no progress bar, and no messages except warnings and errors"
    )


def log(arguments: argparse.Namespace, text: str) -> None:
    """Print a message, unless the command is quiet."""
    if not arguments.quiet:
        print(text, file=sys.stderr, flush=True)


def emit(arguments: argparse.Namespace, text: str, data: dict[str, Any]) -> None:
    """Print a result."""
    print(json.dumps(data, ensure_ascii=False) if arguments.json else text)


def layout(rows: Sequence[Sequence[str]], indent: str = "") -> str:
    """Return rows of strings as a table: the first column left-aligned, the others right-aligned.

    Examples
    --------
    >>> print(layout([["", "forest"], ["RMSE", "57.31"]]))
          forest
    RMSE   57.31
    """
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [row[0].ljust(widths[0])] + [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        lines.append((indent + "  ".join(cells)).rstrip())
    return "\n".join(lines)


def change(before: float, after: float) -> str:
    """Return the relative change of a number.

    Examples
    --------
    >>> change(4.0, 3.0)
    '-25.0%'
    """
    return f"{100 * (after / before - 1):+.1f}%" if before else ""
