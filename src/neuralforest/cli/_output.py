"""What commands print: results on the standard output, for people or as JSON, and remarks on the standard error."""

import argparse
import json
import sys
from collections.abc import Sequence
from typing import Any


def add_json_argument(parser: argparse.ArgumentParser) -> None:
    """Add the choice of JSON, and of silence."""
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of text")
    parser.add_argument("--quiet", action="store_true", help="no remarks and no progress on the standard error")


def remark(arguments: argparse.Namespace, text: str) -> None:
    """Say something on the way."""
    if not arguments.quiet:
        print(text, file=sys.stderr, flush=True)


def emit(arguments: argparse.Namespace, text: str, data: dict[str, Any]) -> None:
    """Print a result."""
    print(json.dumps(data, ensure_ascii=False) if arguments.json else text)


def layout(rows: Sequence[Sequence[str]], indent: str = "") -> str:
    """Return rows of texts as a table: the first column to the left, the others to the right.

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
    """Return by how many percent a number changed.

    Examples
    --------
    >>> change(4.0, 3.0)
    '-25.0%'
    """
    return f"{100 * (after / before - 1):+.1f}%" if before else ""
