"""neuralforest demo: convert, soften and train, step by step, on two data sets of scikit-learn."""

import argparse
import time
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.model_selection import train_test_split

from neuralforest._statistics import center_and_spread
from neuralforest.cli._output import layout
from neuralforest.cli._scores import comparison, held_out_scores
from neuralforest.convert import convert
from neuralforest.estimators import NeuralForestClassifier, NeuralForestRegressor, forests
from neuralforest.estimators.parameters import contrast_pairs
from neuralforest.estimators.scaling import node_split_scale
from neuralforest.estimators.summary import trees_improved
from neuralforest.training import ProgressBar

HELP = "demonstrate the package on two small data sets, in about half a minute"
EXAMPLES = """  neuralforest demo
  neuralforest demo --seed 1"""


class _Problem(NamedTuple):
    name: str
    target: str
    load: Any
    classifier: bool


_PROBLEMS = (
    _Problem("diabetes", "disease progression after one year", load_diabetes, False),
    _Problem("breast cancer", "whether a tumour is malignant", load_breast_cancer, True),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    text = "random seed of the split, the forest and the training (default: %(default)s)"
    parser.add_argument("--seed", type=int, default=0, metavar="N", help=text)


def run(arguments: argparse.Namespace) -> None:
    """Go through the steps for each problem, then compare."""
    _compile()
    rows = [["", "", "forest", "neural forest", "change", "fit forest [s]", "train [s]"]]
    for number, problem in enumerate(_PROBLEMS, 1):
        rows += _one_problem(number, problem, arguments.seed)
    print(f"\nTest scores (held-out rows):\n\n{layout(rows, '  ')}")
    print("\nOne split of a small data set is a noisy comparison: --seed gives others, the benchmarks average many.")
    print("Next: neuralforest fit your.csv --target column --out model.nforest")


def _compile() -> None:
    """Compile all kernels before anything is timed."""
    print("compiling kernels for this machine (cached for later runs) ...", end=" ", flush=True)
    started = time.perf_counter()
    X = np.random.default_rng(0).normal(size=(40, 2))
    for classifier in (False, True):
        forest = forests.default_forest(classifier, 40, 2).set_params(n_estimators=2, random_state=0)
        model = _estimator(classifier, forest, max_epochs=1, random_state=0)
        model.fit(X, X[:, 0] > 0 if classifier else X[:, 0])
        model.network_.soften(connectivity="full").predict(X)
    print(f"{time.perf_counter() - started:.1f} s")


def _estimator(classifier: bool, forest: Any, **options: Any) -> Any:
    return (NeuralForestClassifier if classifier else NeuralForestRegressor)(forest, **options)


def _one_problem(number: int, problem: _Problem, seed: int) -> list[list[str]]:
    X, y = problem.load(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, random_state=seed, stratify=y if problem.classifier else None)
    print(f"\n{number}. {problem.name}: {len(X)} training rows, {len(X_test)} test rows; target: {problem.target}")
    forest, forest_seconds = _grow(problem, X, y, seed)
    estimator = _estimator(problem.classifier, forest, callback=ProgressBar(), random_state=seed, n_jobs=-1)
    _convert(forest, estimator.contrast, X, y, X_test)
    print("   training one network per tree, validated on the out-of-bag rows of the tree ...", flush=True)
    started = time.perf_counter()
    estimator.fit(X, y)
    seconds = [f"{forest_seconds:.1f}", f"{time.perf_counter() - started:.1f}"]
    print(f"   {trees_improved(estimator.history_)}")
    first, *others = comparison(**held_out_scores(estimator, X_test, y_test))
    return [[problem.name, *first, *seconds], *(["", *other, "", ""] for other in others)]


def _grow(problem: _Problem, X: NDArray[np.float64], y: NDArray[Any], seed: int) -> tuple[Any, float]:
    forest = forests.default_forest(problem.classifier, *X.shape).set_params(random_state=seed)
    print(f"   growing a forest of {forest.n_estimators} trees ...", end=" ", flush=True)
    started = time.perf_counter()
    forest.fit(X, y)
    print(f"{sum(tree.get_n_leaves() for tree in forest.estimators_)} leaves")
    return forest, time.perf_counter() - started


def _convert(forest: Any, contrast: Any, X: NDArray[np.float64], y: NDArray[Any], X_test: NDArray[np.float64]) -> None:
    """Convert the forest to a network, soften it, and print the differences of the predictions."""
    network = convert(forest)
    rows = network.check_X(X)
    center, scale = center_and_spread(rows)
    output_center, output_scale = (y.mean(), y.std()) if network.classes is None else (0.0, 1.0)
    soft = network.soften(
        contrast_pairs(contrast)[0],
        center=center,
        scale=scale,
        output_center=output_center,
        output_scale=output_scale,
        connectivity="full",
        split_scale=node_split_scale(network, rows, center, scale),
    )

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
