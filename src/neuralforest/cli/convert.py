"""neuralforest convert: a scikit-learn model from a skops file as a network with the same predictions."""

import argparse
import os
from typing import Any

from neuralforest.cli._output import add_json_argument, emit
from neuralforest.cli.info import describe
from neuralforest.network import ForestNetwork
from neuralforest.persistence import save
from neuralforest.readers import read_ensemble
from neuralforest.readers.skops import read_skops

HELP = "convert a scikit-learn model in a skops file to a network in a model file"
EXAMPLES = """  neuralforest convert forest.skops --out forest.nforest
  python -c 'import skops.io; skops.io.dump(forest, "forest.skops")'   # writes such a file

Pickle and joblib files can run any code and are not read: load them in Python, then
nf.save(nf.convert(model), path)."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("model", help="skops file with a scikit-learn tree model")
    parser.add_argument("--out", required=True, metavar="FILE", help="model file to write, by convention *.nforest")
    add_json_argument(parser)


def run(arguments: argparse.Namespace) -> None:
    """Read, convert, write.

    Unlike `nf.convert`, it does not compare predictions: scikit-learn does not check the indices of a forged tree. They
    are checked when the trees are read.
    """
    model: Any = read_skops(arguments.model)
    network = ForestNetwork(read_ensemble(model))
    save(network, arguments.out)
    facts = describe(network) | {"source": type(model).__name__, "bytes": os.path.getsize(arguments.out)}
    emit(arguments, f"{arguments.out}: {facts['source']} as {network!r}", facts)
