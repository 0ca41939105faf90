"""The command line: one file per command, and here what they have in common.

A command is a module with two strings, `HELP` and `EXAMPLES`, and two functions, `add_arguments(parser)` and
`run(arguments)`, which raises an error where it fails. `COMMANDS` registers it.
"""

import argparse
import os
import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from neuralforest.exceptions import NeuralForestError

COMMANDS = ("demo", "fit", "predict", "info", "report", "convert", "warmup")
"""The modules of the commands, in the order of the help."""

OK, FAILED, INTERRUPTED = 0, 1, 130
"""Exit codes; argparse exits with 2 where the command itself is invalid."""

_DESCRIPTION = """Tree ensembles as neural networks: fit, predict, inspect, convert.

exit codes: 0 success, 1 an error in the files or the data (one line on standard error says what to do), 2 an invalid
command"""

_RAW = argparse.RawDescriptionHelpFormatter

_ADVICE = {
    FileNotFoundError: "check the path",
    PermissionError: "check its permissions, or choose another path",
    IsADirectoryError: "a file is needed, not a folder",
    NotADirectoryError: "check the path",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code."""
    arguments = build_parser().parse_args(argv)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # names may hold characters that the terminal cannot show
    try:
        _run(arguments)
    except BrokenPipeError:  # the reader, such as head, has closed the pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK
    except KeyboardInterrupt:
        return _fail("interrupted", INTERRUPTED)
    except (NeuralForestError, OSError, MemoryError) as error:
        return _fail(message_of(error))
    except Exception as error:
        if os.environ.get("NEURALFOREST_TRACEBACK"):
            raise
        return _fail(f"{type(error).__name__}: {error} (set NEURALFOREST_TRACEBACK=1 for the traceback)")
    return OK


def _run(arguments: argparse.Namespace) -> None:
    """Run a command; each warning is shown once, as one line without its source location."""
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        warnings.simplefilter("ignore", DeprecationWarning)
        warnings.simplefilter("ignore", FutureWarning)
        warnings.showwarning = lambda message, *_: _print_error("warning", message)
        arguments.run(arguments)
        sys.stdout.flush()


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    from neuralforest import __version__

    parser = argparse.ArgumentParser("neuralforest", description=_DESCRIPTION, formatter_class=_RAW)
    parser.add_argument("--version", action="version", version=f"neuralforest {__version__}")
    commands = parser.add_subparsers(metavar="command", required=True)
    for name in COMMANDS:
        module = import_module(f"neuralforest.cli.{name}")
        command = commands.add_parser(
            name,
            help=module.HELP,
            description=module.HELP[0].upper() + module.HELP[1:] + ".",
            epilog=f"examples:\n{module.EXAMPLES}",
            formatter_class=_RAW,
        )
        module.add_arguments(command)
        command.set_defaults(run=module.run)
    return parser


def message_of(error: BaseException) -> str:
    """Return the message of an error, with advice for those of the operating system."""
    if isinstance(error, MemoryError):
        return "out of memory: use fewer rows, columns or trees"
    if isinstance(error, OSError) and error.strerror is not None:
        name = f"{os.fspath(error.filename)!r}: " if error.filename is not None else ""
        return f"{name}{error.strerror}: {_ADVICE.get(type(error), 'check the disk and the path')}"
    return str(error)


def _fail(message: str, code: int = FAILED) -> int:
    _print_error("error", message)
    return code


def _print_error(kind: str, message: Any) -> None:
    print(f"neuralforest: {kind}: {' '.join(str(message).split())}", file=sys.stderr)
