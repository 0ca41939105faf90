"""neuralforest demo: what the package does, step by step, on data that scikit-learn embeds."""

import argparse
import time
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.model_selection import train_test_split

from neuralforest.cli._output import change, layout
from neuralforest.cli._scores import scores_on
from neuralforest.convert import convert
from neuralforest.estimators import NeuralForestClassifier, NeuralForestRegressor, forests
from neuralforest.estimators.parameters import contrast_pairs
from neuralforest.estimators.scaling import node_split_scale, center_and_spread
from neuralforest.training import ProgressBar

HELP = "show on two small data sets what the package does, in about half a minute"
EXAMPLES = """  neuralforest demo
  neuralforest demo --seed 1"""


class _Problem(NamedTuple):
    name: str
    question: str
    load: Any
    classifier: bool
    error: str


_PROBLEMS = (
    _Problem("diabetes", "how far will the disease have progressed in a year?", load_diabetes, False, "RMSE"),
    _Problem("breast cancer", "is the tumour malignant?", load_breast_cancer, True, "log loss"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command's arguments."""
    parser.add_argument(
        "--seed", type=int, default=0, metavar="N", help="seed of the split, the forest and the training"
    )


def run(arguments: argparse.Namespace) -> None:
    """Go through the steps for each problem, then compare."""
    _compile()
    rows = [["", "", "forest", "neural forest", "change", "seconds", "seconds"]]
    for number, problem in enumerate(_PROBLEMS, 1):
        rows += _one_problem(number, problem, arguments.seed)
    print(
        "\nOn test rows, which had no part in forest or network; time to grow the forest, and to train its network:\n"
    )
    print(layout(rows, "  "))
    print("\nOne split of small data says little: --seed gives others, and the benchmarks compare on many.")
    print("Next: neuralforest fit your.csv --target column --out model.nforest")


def _compile() -> None:
    """Have everything compiled before anything is timed."""
    print("compiling kernels for this machine, which later runs need not ...", end=" ", flush=True)
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
    print(f"\n{number}. {problem.name}: {len(X)} rows to learn from, {len(X_test)} for the test; {problem.question}")
    forest, forest_seconds = _grow(problem, X, y, seed)
    estimator = _estimator(problem.classifier, forest, callback=ProgressBar(), random_state=seed, n_jobs=-1)
    _convert(forest, estimator.contrast, X, y, X_test)
    seconds = _train(estimator, X, y)
    kept = int(estimator.network_.hard.sum())
    print(
        f"   {len(estimator.network_.hard) - kept} networks beat their trees; the other {kept} trees stay as they are"
    )
    before, after = scores_on(forest, X_test, y_test), scores_on(estimator, X_test, y_test)
    rows = []
    for name in after:
        first = name == problem.error
        moved = change(before[name], after[name]) if first else f"{after[name] - before[name]:+.4f}"
        times = [f"{forest_seconds:.1f}", f"{seconds:.1f}"] if first else ["", ""]
        rows.append([problem.name if first else "", name, f"{before[name]:.4g}", f"{after[name]:.4g}", moved, *times])
    return rows


def _grow(problem: _Problem, X: NDArray[np.float64], y: NDArray[Any], seed: int) -> tuple[Any, float]:
    forest = forests.default_forest(problem.classifier, *X.shape).set_params(random_state=seed)
    print(f"   growing a forest of {forest.n_estimators} trees ...", end=" ", flush=True)
    started = time.perf_counter()
    forest.fit(X, y)
    print(f"{sum(tree.get_n_leaves() for tree in forest.estimators_)} leaves")
    return forest, time.perf_counter() - started


def _convert(forest: Any, contrast: Any, X: NDArray[np.float64], y: NDArray[Any], X_test: NDArray[np.float64]) -> None:
    """Rewrite the forest, and soften it, and say how far each is from it."""
    network = convert(forest)
    rows = network.check_X(X)
    center, scale = center_and_spread(rows)
    split_scale = node_split_scale(network, rows, center, scale)
    units = (y.mean(), y.std()) if network.classes is None else (0.0, 1.0)
    soft = network.soften(
        contrast_pairs(contrast)[0],
        center=center,
        scale=scale,
        output_center=units[0],
        output_scale=units[1],
        connectivity="full",
        split_scale=split_scale,
    )

    def output(model: Any) -> NDArray[np.float64]:
        return np.asarray(model.predict_proba(X_test) if hasattr(forest, "classes_") else model.predict(X_test))

    exact = abs(output(network) - output(forest)).max()
    n_units = network.ensemble.n_splits + network.ensemble.n_leaves
    print(
        f"   rewriting it as a neural network of steps ... {n_units} units; "
        f"largest difference from the forest's predictions: {exact:.1e}"
    )
    print(
        f"   softening its steps to tanh, joining all units ... {soft.n_parameters} weights; predictions now differ by "
        f"{abs(output(soft) - output(forest)).mean():.3g} in the mean"
    )


def _train(estimator: Any, X: NDArray[np.float64], y: NDArray[Any]) -> float:
    print(
        "   training the network of each tree, judged on the rows that the tree has not seen ...",
        flush=True,
    )
    started = time.perf_counter()
    estimator.fit(X, y)
    return time.perf_counter() - started
