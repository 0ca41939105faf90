"""neuralforest convert: a scikit-learn model from a skops file, rewritten as an exactly equal network."""

import argparse
import os
from typing import Any

from neuralforest.cli._output import add_json_argument, emit
from neuralforest.readers.skops import read_skops
from neuralforest.cli.info import describe
from neuralforest.network import ForestNetwork
from neuralforest.persistence import save
from neuralforest.readers import read_ensemble

HELP = "rewrite a scikit-learn model from a skops file as a network, in a model file"
EXAMPLES = """  neuralforest convert forest.skops --out forest.nforest
  python -c 'import skops.io; skops.io.dump(forest, "forest.skops")'   # how such a file is made

Pickle and joblib files run any code that they hold, so they are not read. In Python, load them yourself, then
nf.save(nf.convert(model), path)."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command's arguments."""
    parser.add_argument("model", help="skops file with a tree model of scikit-learn")
    parser.add_argument("--out", required=True, metavar="FILE", help="model file to write, by convention *.nforest")
    add_json_argument(parser)


def run(arguments: argparse.Namespace) -> None:
    """Read, convert, write.

    The model is not asked for predictions to compare with, as `nf.convert` does: scikit-learn follows the indices of a
    forged tree wherever they lead. Ours are checked while they are read.
    """
    model: Any = read_skops(arguments.model)
    network = ForestNetwork(read_ensemble(model))
    save(network, arguments.out)
    facts = describe(network) | {"source": type(model).__name__, "bytes": os.path.getsize(arguments.out)}
    emit(arguments, f"{arguments.out}: {facts['source']} as {network!r}", facts)
