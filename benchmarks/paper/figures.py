"""Reproduce the paper's figures: `python -m benchmarks.paper.figures`.

Three figures, as PNG and SVG in `benchmarks/results`: training evolution, asymptotic behaviour and consistency.
Finished runs are kept and never repeated; `--draw` only draws them.
"""

import argparse
import os
import platform
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import RESULTS, versions
from benchmarks.paper.figure_runs import (
    CONSISTENCY_SCALE,
    SERIES,
    SIZES,
    Curves,
    Point,
    compute_curves,
    compute_points,
    read_curves,
    read_points,
)
from neuralforest.theory import consistency_schedule, consistency_terms

FIGURES = ("evolution", "asymptotic", "consistency")
# The colour-blind safe palette of Okabe and Ito; lines differ in style as well.
VERMILION, GREEN, PURPLE, BLUE, SKY = "#d55e00", "#009e73", "#cc79a7", "#0072b2", "#56b4e9"
_LOOKS: dict[str, dict[str, Any]] = {
    "RF": {"color": VERMILION, "marker": "s", "linestyle": "--"},
    "NRF2 full": {"color": GREEN, "marker": "o"},
    "NRF2 full, slope": {"color": BLUE, "marker": "^", "linestyle": "-."},
    "NRF1 sparse": {"color": BLUE, "marker": "^", "linestyle": "-."},
    "NRF2 sparse": {"color": GREEN, "marker": "o"},
}
_NAMES = {
    "NRF2 full": "NRF2 full, contrasts in the weights",
    "NRF2 full, slope": "NRF2 full, contrasts as slopes",
}
_TERMS = {
    "complexity": (r"$K^6 \log(\gamma_2 K^5) / n$", VERMILION, "--"),
    "second_layer": (r"$K^2 e^{-2\gamma_2}$", BLUE, "-."),
    "first_layer": (r"$K^4 \gamma_2^2 \log(\gamma_1) / \gamma_1$", GREEN, "-"),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what is missing, then draw the figures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.paper.figures", description="Reproduce the figures.")
    names = ", ".join(FIGURES)
    parser.add_argument("--figures", nargs="+", metavar="NAME", choices=FIGURES, default=FIGURES, help=f"of {names}")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="threads; all cores by default")
    parser.add_argument("--draw", action="store_true", help="run nothing, draw the finished runs")
    options = parser.parse_args(arguments)
    for figure in options.figures:
        if not options.draw:
            for line in _compute(figure, options.jobs):
                print(line, flush=True)
        for path in save(figure, RESULTS):
            print(f"wrote {path}")
    return 0


def _compute(figure: str, jobs: int) -> Iterator[str]:
    return compute_curves(jobs=jobs) if figure == "evolution" else compute_points(figure, jobs=jobs)


def save(figure: str, folder: Path) -> list[Path]:
    """Draw a figure and write it as PNG and SVG, with command and versions in the metadata."""
    import matplotlib as mpl

    mpl.use("Agg")
    mpl.rcParams.update({"svg.hashsalt": figure, "svg.fonttype": "none", "font.size": 10, "axes.grid": True})
    mpl.rcParams.update({"grid.alpha": 0.3, "axes.spines.top": False, "axes.spines.right": False})
    if figure == "evolution":
        drawn = draw_evolution(read_curves())
    else:
        draw = draw_asymptotic if figure == "asymptotic" else draw_consistency
        drawn = draw({point: error for point, error in read_points().items() if point.figure == figure})
    written = []
    for suffix, more in ((".png", {}), (".svg", {"Date": None})):
        path = folder / f"paper_{figure}{suffix}"
        drawn.savefig(path, dpi=150, metadata={"Description": stamp(figure), **more})
        written.append(path)
    return written


def stamp(figure: str) -> str:
    """Return the command that makes a figure, and the versions."""
    libraries = versions("neuralforest", "scikit-learn", "torch", "numpy")
    return f"python -m benchmarks.paper.figures --figures {figure}; {libraries}, Python {platform.python_version()}"


def draw_evolution(curves: Curves) -> Any:
    """Draw the error per epoch: the forest and its network; the network and a standard one of the same size."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 4.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    for axes in (left, right):
        _curve(axes, curves, "NRF2 full", GREEN, "-")
        axes.set(xlabel="epoch", ylabel="RMSE (MPa)", xlim=(0, None))
    if "RF, validation" in curves:
        left.axhline(curves["RF, validation"][0], color=VERMILION, linestyle="--", label="RF, validation")
    _curve(right, curves, "NN2", PURPLE, "-.")
    _log_errors(right)
    left.set_title("The forest and its network")
    right.set_title("Its network and an ordinary one of the same size")
    for axes in (left, right):
        axes.legend()
    figure.suptitle("Training evolution on Concrete: 30 trees of depth 6, contrasts 100 and 1")
    return figure


def _curve(axes: Any, curves: Curves, name: str, color: str, style: str) -> None:
    """Draw training and validation error of a model."""
    validation, training = (curves.get(f"{name}, {part}") for part in ("validation", "training"))
    if validation is not None:
        axes.plot(np.arange(len(validation)), validation, color=color, linestyle=style, label=f"{name}, validation")
    if training is not None:
        epochs = np.arange(1, len(training) + 1)
        axes.plot(epochs, training, color=color, linestyle=":", linewidth=2, label=f"{name}, training")


def draw_asymptotic(errors: dict[Point, float]) -> Any:
    """Draw the test error of the forest and its network against the size of the training set."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 5.0), layout="constrained")
    axes = figure.subplots()
    _growth(axes, errors, "asymptotic")
    axes.set(title="Asymptotic behaviour: y = Σ sin(20 x − 10) + noise, d = 2", ylabel="test RMSE")
    _legend_below(axes, "30 trees of depth 6, contrasts 100 and 1", columns=1)
    return figure


def draw_consistency(errors: dict[Point, float]) -> Any:
    """Draw the error under a schedule that Theorem 4.1 covers, and the three terms that have to vanish."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 4.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    _growth(left, errors, "consistency")
    left.set(title="Distance to an additive function, d = 2", ylabel="RMSE to the function itself")
    _legend_below(left, "30 trees of K leaves, weights bounded", columns=3)
    n = np.logspace(2, 12, 201)
    terms = [consistency_terms(rows, *consistency_schedule(rows, CONSISTENCY_SCALE)) for rows in n]
    for name, (label, color, style) in _TERMS.items():
        right.plot(n, [getattr(term, name) for term in terms], color=color, linestyle=style, label=label)
    right.axvspan(SIZES["consistency"][0], SIZES["consistency"][-1], color="0.5", alpha=0.15, label="sizes on the left")
    right.set(title="The terms of Theorem 4.1 under the same schedule", xlabel="training rows n")
    right.set(xscale="log", yscale="log")
    _legend_below(right, None, columns=2)
    return figure


def _legend_below(axes: Any, title: str | None, columns: int) -> None:
    """Put the legend below the axes, where it hides no curve."""
    axes.legend(title=title, loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=columns, frameon=False)


def _growth(axes: Any, errors: dict[Point, float], figure: str) -> None:
    """Draw means over the repetitions, with standard deviations as error bars."""
    for series in SERIES[figure]:
        sizes = sorted({point.n for point in errors if point.series == series})
        drawn = [[error for point, error in errors.items() if (point.series, point.n) == (series, n)] for n in sizes]
        means = [np.mean(each) for each in drawn]
        spreads = [np.std(each, ddof=1) if len(each) > 1 else 0.0 for each in drawn]
        axes.errorbar(sizes, means, yerr=spreads, capsize=3, label=_NAMES.get(series, series), **_LOOKS[series])
    axes.set(xlabel="training rows n", xscale="log")
    _log_errors(axes)


def _log_errors(axes: Any) -> None:
    """Make the error axis logarithmic, with ticks at 1, 2 and 5."""
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())


if __name__ == "__main__":
    sys.exit(main())
