"""neuralforest demo: convert, soften, train and stack, step by step, on two data sets of scikit-learn."""

import argparse
import importlib
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.model_selection import train_test_split

from neuralforest._statistics import center_and_spread
from neuralforest.cli._output import comparison, held_out_scores, layout, scores_on
from neuralforest.convert import convert
from neuralforest.estimators import NeuralForestClassifier, NeuralForestRegressor, forests
from neuralforest.estimators._base import NeuralForest
from neuralforest.estimators.parameters import contrast_pairs
from neuralforest.estimators.scaling import node_split_scale
from neuralforest.estimators.summary import trees_improved
from neuralforest.training import ProgressBar

HELP = "demonstrate the package on two small data sets, in about half a minute"
EXAMPLES = """  neuralforest demo
  neuralforest demo --seed 1"""

_N_TREES = 500
_LEGEND = f"""random forest: scikit-learn's, {_N_TREES} trees. its forest: the trees that the network was made from.
default model: NeuralForestRegressor(), NeuralForestClassifier(): the network, with base models where that helps.
change: default model against the random forest."""
_PROBLEMS = (
    ("diabetes", "disease progression after one year", load_diabetes, NeuralForestRegressor),
    ("breast cancer", "whether a tumour is malignant", load_breast_cancer, NeuralForestClassifier),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    text = "random seed of the split, the forest and the training (default: %(default)s)"
    parser.add_argument("--seed", type=int, default=0, metavar="N", help=text)


def run(arguments: argparse.Namespace) -> None:
    """Go through the steps for each problem, then compare."""
    _compile()
    rows = [["", "", "random forest", "its forest", "its network", "default model", "change"]]
    seconds = []
    for number, (name, target, load, kind) in enumerate(_PROBLEMS, 1):
        X, y = load(return_X_y=True)
        split = train_test_split(X, y, random_state=arguments.seed, stratify=y if kind._classifier else None)
        print(f"\n{number}. {name}: {len(split[0])} training rows, {len(split[1])} test rows; target: {target}")
        scores, took = _one_problem(kind, arguments.seed, *split)
        rows += [[name if i == 0 else "", *score] for i, score in enumerate(scores)]
        seconds.append(f"{name} {took}")
    print(f"\nTest scores (held-out rows):\n\n{layout(rows)}")
    print(f"\n{_LEGEND}\nSeconds to fit: {'; '.join(seconds)}.")
    print("One split of a small data set is a noisy comparison: --seed gives others, the benchmarks average many.")
    print(f"Next: {_next_command()}")


def _next_command() -> str:
    """Return a command that works with what is installed."""
    try:
        importlib.import_module("pandas")
    except ImportError:
        return "python -m pydoc neuralforest.NeuralForestRegressor"
    return "neuralforest fit your.csv --target column --out model.nforest"


def _compile() -> None:
    """Compile all kernels before anything is timed."""
    print("compiling kernels for this machine (cached for later runs) ...", end=" ", flush=True)
    started = time.perf_counter()
    X = np.random.default_rng(0).normal(size=(40, 2))
    for kind in (NeuralForestRegressor, NeuralForestClassifier):
        forest = forests.default_forest(kind._classifier, 40, 2).set_params(n_estimators=2, random_state=0)
        model = kind(forest, max_epochs=1, random_state=0).fit(X, X[:, 0] > 0 if kind._classifier else X[:, 0])
        model.network_.soften(connectivity="full").predict(X)
    print(f"{time.perf_counter() - started:.1f} s")


def _one_problem(
    kind: type[NeuralForest], seed: int, X: Any, X_test: Any, y: Any, y_test: Any
) -> tuple[list[list[str]], str]:
    """Grow, convert, train and stack; return rows of the final table, without the name of the problem, and times."""
    n_classes = len(np.unique(y)) if kind._classifier else None
    forest = forests.default_forest(kind._classifier, len(X), X.shape[1], n_classes=n_classes)
    forest.set_params(random_state=seed)
    print(f"   growing a forest of {forest.n_estimators} trees ...", end=" ", flush=True)
    forest.fit(X, y)
    print(f"{sum(tree.get_n_leaves() for tree in forest.estimators_)} leaves")
    network = kind(forest, stacking=None, callback=ProgressBar(), random_state=seed, n_jobs=-1)
    _convert(forest, network.contrast, X, y, X_test)
    print("   training one network per tree, validated on the out-of-bag rows of the tree ...", flush=True)
    _, of_network = _timed_fit(network, X, y)
    print(f"   {trees_improved(network.history_)}")
    print("   fitting the default model, which also stacks base models with its network ...", flush=True)
    model, of_model = _timed_fit(kind(random_state=seed, n_jobs=-1), X, y)
    weights = ", ".join(f"{name.replace('_', ' ')} {weight:.2f}" for name, weight in model.stacking_weights_.items())
    print(f"   stacking weights: {weights}")
    peer = (RandomForestClassifier if kind._classifier else RandomForestRegressor)(
        _N_TREES, random_state=seed, n_jobs=-1
    )
    peer, of_peer = _timed_fit(peer, X, y)
    both, stacked = held_out_scores(network, X_test, y_test), held_out_scores(model, X_test, y_test)["model"]
    of_trees = scores_on(peer, X_test, y_test, getattr(model, "classes_", None))
    rows = [
        [name, f"{of_trees[name]:.5g}", f"{both['forest'][name]:.5g}", f"{both['model'][name]:.5g}", after, change]
        for name, _, after, change in comparison(of_trees, stacked)
    ]
    return rows, f"random forest {of_peer:.1f}, network {of_network:.1f}, default model {of_model:.1f}"


def _timed_fit(model: Any, X: Any, y: Any) -> tuple[Any, float]:
    started = time.perf_counter()
    return model.fit(X, y), time.perf_counter() - started


def _convert(forest: Any, contrast: Any, X: NDArray[np.float64], y: NDArray[Any], X_test: NDArray[np.float64]) -> None:
    """Convert the forest to a network, soften it, and print the differences of the predictions."""
    network = convert(forest)
    rows = network.check_X(X)
    center, scale = center_and_spread(rows)
    split_scale = node_split_scale(network, rows, center, scale)
    units: dict[str, Any] = {"center": center, "scale": scale, "split_scale": split_scale}
    if network.classes is None:
        units |= {"output_center": y.mean(), "output_scale": y.std()}
    soft = network.soften(contrast_pairs(contrast)[0], connectivity="full", **units)

    def output(model: Any) -> NDArray[np.float64]:
        return np.asarray(model.predict_proba(X_test) if hasattr(forest, "classes_") else model.predict(X_test))

    expected, n_units = output(forest), network.ensemble.n_splits + network.ensemble.n_leaves
    print(
        f"   converting it to a network ... {n_units} hidden units; largest difference from the forest's predictions: "
        f"{abs(output(network) - expected).max():.1e}"
    )
    print(
        f"   softening it: tanh units, full connectivity ... {soft.n_parameters} parameters; mean difference: "
        f"{abs(output(soft) - expected).mean():.3g}"
    )
