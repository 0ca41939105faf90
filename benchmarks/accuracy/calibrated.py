"""What the temperature of the default classifier changes: log loss and expected calibration error, with and without it.

    python -m benchmarks.accuracy.calibrated [--sets vehicle keel.vowel] [--report]

One fit with defaults for each split: 100 to 109 of the classification sets of the data folder, at most 6,000 rows of
each, and 100 of the external ones (see `benchmarks.accuracy.external_sets`), at most 4,000 rows. The model without a
temperature is the same network with the temperature 1. Finished runs are kept in `benchmarks/results/calibrated.csv`,
and the table is written to `calibrated.md`.
"""

import argparse
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import neuralforest as nf
from benchmarks.accuracy import external_sets, synthetic
from benchmarks.accuracy.runs import MAX_ROWS
from benchmarks.common import RESULTS, append_rows, markdown_row, markdown_table, versions
from benchmarks.data import Dataset, encode, load, names, split, subsample

_BINS = 15
_DRAWS = 200
_TEMPERATURES = 1.05 ** np.arange(-50, 20)
_ERRORS = ["error_before", "error", "best_error", "beyond_before", "beyond"]
_CLIP = 1e-6  # of a log loss: where nearly all is certain, ratios mean nothing


class Measured(NamedTuple):
    """One set and split."""

    data: str
    rows: int
    split: int
    temperature: float
    loss_before: float
    loss: float
    best_loss: float  # with the temperature that is best for the test rows themselves
    error_before: float  # expected calibration error
    error: float
    best_error: float
    chance_before: float  # what the error would be if these probabilities were those of the test rows
    chance: float


def measure(dataset: Dataset, number: int) -> Measured:
    """Fit the default classifier, and test it with and without its temperature."""
    rows = split(len(dataset.y), number)
    train, test = np.concatenate([rows.train, rows.validation]), rows.test
    X, y = encode(dataset.X), np.unique(dataset.y, return_inverse=True)[1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = nf.NeuralForestClassifier(random_state=number, n_jobs=1).fit(X[train], y[train])
    network, tested = model.network_, y[test]
    plain = network.with_temperature(1.0).predict_proba(X[test])
    all_p = [with_temperature(plain, each) for each in (1.0, network.temperature, *_TEMPERATURES)]
    losses = [log_loss(p, tested) for p in all_p]
    errors = [calibration_error(p, tested) for p in all_p]
    chance = [error_of_chance(p, number) for p in all_p[:2]]
    shown = (*losses[:2], min(losses), *errors[:2], errors[int(np.argmin(losses))], *chance)
    return Measured(dataset.name, len(y), number, network.temperature, *shown)


def with_temperature(p: NDArray[np.float64], temperature: float) -> NDArray[np.float64]:
    powers: NDArray[np.float64] = p ** (1 / temperature)
    return powers / powers.sum(axis=1, keepdims=True)


def log_loss(p: NDArray[np.float64], y: NDArray[np.int64]) -> float:
    return float(-np.log(np.maximum(p[np.arange(len(y)), y], _CLIP)).mean())


def calibration_error(p: NDArray[np.float64], y: NDArray[np.int64]) -> float:
    """Return the expected calibration error of the most probable class, in bins of equal width."""
    return _calibration_error(p.max(axis=1), p.argmax(axis=1) == y)


def error_of_chance(p: NDArray[np.float64], seed: int) -> float:
    """Return the mean error of as many rows whose classes have these probabilities."""
    random, confidence = np.random.default_rng(seed), p.max(axis=1)
    draws = (_calibration_error(confidence, random.random(len(p)) < confidence) for _ in range(_DRAWS))
    return float(np.mean(list(draws)))


def _calibration_error(confidence: NDArray[np.float64], right: NDArray[np.bool_]) -> float:
    place = np.minimum((confidence * _BINS).astype(int), _BINS - 1)
    differences = np.bincount(place, confidence - right, _BINS)
    return float(np.abs(differences).sum() / len(right))


def with_ratios(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the runs with ratios of log losses, and calibration errors beyond chance."""
    return runs.assign(
        ratio=runs.loss / runs.loss_before,
        best_ratio=runs.best_loss / runs.loss_before,
        beyond_before=runs.error_before - runs.chance_before,
        beyond=runs.error - runs.chance,
    )


def report(runs: pd.DataFrame) -> str:
    """Return the table of all sets, means over splits, and geometric means."""
    runs = with_ratios(runs)
    mean = runs.groupby("data", sort=False).mean(numeric_only=True)
    n_splits = runs.groupby("data", sort=False).split.nunique()
    lines = ["# Calibrated probabilities", ""]
    lines += [
        "The default classifier with and without its temperature, on test rows: log loss, and expected calibration "
        f"error (ECE) of the most probable class in {_BINS} bins. Means over splits. Made by "
        f"`benchmarks.accuracy.calibrated`, {versions('scikit-learn')}.",
        "",
        "Best: with the temperature of the lowest log loss on the test rows themselves, which no method can reach. The "
        "ECE of a perfectly calibrated model is above 0, too, because the frequencies in its bins are those of few "
        "rows. Beyond chance: the ECE minus that of a model whose probabilities are right, on as many rows.",
        "",
    ]
    head = ["data", "splits", "temperature", "log loss before", "log loss", "ratio", "best ratio"]
    head += ["ECE before", "ECE", "ECE at best", "beyond chance before", "beyond chance"]
    lines.append(markdown_table(head))
    for name, row in mean.iterrows():
        cells = [f"{row.temperature:.2f}", f"{row.loss_before:.4g}", f"{row.loss:.4g}", f"{row.ratio:.3f}"]
        cells += [f"{row.best_ratio:.3f}", *(f"{row[each]:.4f}" for each in _ERRORS)]
        lines.append(markdown_row([name, n_splits[name], *cells]))
    own = ~mean.index.str.contains(".", regex=False)
    for title, part in (("data folder", mean[own]), ("external", mean[~own]), ("all", mean)):
        if len(part):
            ratios = np.exp(np.log(part[["ratio", "best_ratio"]]).mean())
            errors = part[_ERRORS].mean()
            cells = [*(f"{ratio:.3f}" for ratio in ratios), *(f"{error:.4f}" for error in errors)]
            title = f"{len(part)} sets, {title}: geometric mean of ratios, mean ECE"
            lines.append(markdown_row([title, *[""] * 4, *cells]))
    worst = mean.ratio.idxmax()
    lines += [
        "",
        f"Largest ratio of a set: {mean.ratio.max():.3f} ({worst}). Above 1.02: {(mean.ratio > 1.02).sum()}.",
        "",
    ]
    return "\n".join(lines)


def main() -> None:
    own = names("classification")
    external = [f"keel.{name}" for name in external_sets.CLASSIFICATION]
    external += [f"synthetic.{name}" for name in synthetic.CLASSIFICATION]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.accuracy.calibrated", description=__doc__)
    parser.add_argument("--sets", nargs="+", choices=[*own, *external], default=[*own, *external])
    parser.add_argument("--results", type=Path, default=RESULTS / "calibrated.csv")
    parser.add_argument("--report", action="store_true", help="run nothing, write the table of the finished runs")
    options = parser.parse_args()
    done = set()
    if options.results.exists():
        done = set(pd.read_csv(options.results)[["data", "split"]].itertuples(index=False, name=None))
    for name in [] if options.report else options.sets:
        for number in range(100, 110) if name in own else [100]:
            if (name, number) not in done:
                dataset = subsample(load(name), MAX_ROWS) if name in own else external_sets.load(name)
                append_rows(options.results, Measured._fields, [measure(dataset, number)])
    text = report(pd.read_csv(options.results))
    options.results.with_suffix(".md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
