"""neuralforest warmup: compile the kernels ahead of use."""

import argparse

from neuralforest.cli._output import add_json_argument, emit
from neuralforest.estimators import warmup

HELP = "compile the kernels, so that later processes load them"
EXAMPLES = """  neuralforest warmup
  NUMBA_CACHE_DIR=/opt/kernels neuralforest warmup   # in an image; set the same folder where it runs"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    add_json_argument(parser)


def run(arguments: argparse.Namespace) -> None:
    """Compile, and print what was compiled."""
    done = warmup()
    where = "nowhere: no folder is writable" if done.folder is None else done.folder
    emit(arguments, f"{done.n_compiled} kernels compiled in {done.seconds:.1f} s, stored in {where}", done._asdict())
