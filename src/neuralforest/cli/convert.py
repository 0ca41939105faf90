"""neuralforest convert: a tree model in a file of another library as a network with the same predictions."""

import argparse
import os

from neuralforest.cli._model_files import ENDINGS, read_model_file
from neuralforest.cli._output import add_json_argument, emit
from neuralforest.cli.info import describe
from neuralforest.network import ForestNetwork
from neuralforest.persistence import save

HELP = "convert a model of XGBoost, LightGBM, CatBoost or scikit-learn to a network in a model file"
EXAMPLES = """  neuralforest convert model.ubj --out model.nforest        # XGBoost: save_model("model.ubj"), or .json
  neuralforest convert model.txt --out model.nforest        # LightGBM: booster.save_model("model.txt")
  neuralforest convert model.cbm --out model.nforest        # CatBoost: save_model("model.cbm")
  neuralforest convert forest.skops --out forest.nforest    # scikit-learn: skops.io.dump(forest, "forest.skops")

Pickle and joblib files can run any code and are not read: load them in Python, then
nf.save(nf.convert(model), path)."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("model", help=f"model file; its name ends in {', '.join(ENDINGS)}")
    parser.add_argument("--out", required=True, metavar="FILE", help="model file to write, by convention *.nforest")
    add_json_argument(parser)


def run(arguments: argparse.Namespace) -> None:
    """Read, convert, write.

    Unlike `nf.convert`, it does not compare predictions: libraries do not check the indices of a forged tree. They are
    checked when the trees are read.
    """
    source, ensemble = read_model_file(arguments.model)
    network = ForestNetwork(ensemble)
    save(network, arguments.out)
    facts = describe(network) | {"source": source, "bytes": os.path.getsize(arguments.out)}
    emit(arguments, f"{arguments.out}: {source} as {network!r}", facts)
