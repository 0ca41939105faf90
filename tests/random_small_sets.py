"""Random small data sets and settings: how much worse than its forest an estimator can be on new rows.

    python tests/random_small_sets.py --count 300 [--first 0] [--verbose]

Each number is a seed that draws everything: 20 to 60 rows of a signal or of noise, weights, a forest (the default, a
random forest, boosting) and how it is trained and validated. Losses are those of 2,000 new rows.
"""

import argparse
import sys
import warnings
from typing import NamedTuple

import numpy as np
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

import neuralforest as nf

N_TEST = 2_000

SIGNALS = {
    "noise": lambda X: 0.0 * X[:, 0],
    "linear": lambda X: X.sum(axis=1) / np.sqrt(X.shape[1]),
    "one feature": lambda X: X[:, 0],
    "step": lambda X: 2.0 * (X[:, 0] > 0.3),
    "sine": lambda X: np.sin(3 * X[:, 0]) + X[:, -1] ** 2,
    "product": lambda X: X[:, 0] * X[:, -1],
}
FORESTS = {
    "default": (lambda **_: None, lambda **_: None),
    "random forest": (RandomForestRegressor, RandomForestClassifier),
    "small forest": (RandomForestRegressor, RandomForestClassifier),
    "extra trees": (ExtraTreesRegressor, ExtraTreesClassifier),
    "boosting": (GradientBoostingRegressor, GradientBoostingClassifier),
}
SIZES = {
    "random forest": {"n_estimators": 50},
    "small forest": {"n_estimators": 10, "max_leaf_nodes": 8},
    "extra trees": {"n_estimators": 30, "max_leaf_nodes": 16},
    "boosting": {"n_estimators": 40},
}


class Case(NamedTuple):
    """A data set and an estimator."""

    text: str
    model: nf.NeuralForestRegressor | nf.NeuralForestClassifier
    X: np.ndarray
    y: np.ndarray
    weight: np.ndarray | None
    validation: dict  # X_val and y_val, or nothing
    X_test: np.ndarray
    y_test: np.ndarray


def draw(seed):
    """Return the case of a seed."""
    rng = np.random.default_rng([seed, 20])
    classifier, n, d = bool(rng.random() < 0.4), int(rng.integers(20, 61)), int(rng.integers(1, 9))
    signal, forest = str(rng.choice(list(SIGNALS))), str(rng.choice(list(FORESTS)))
    noise = float(rng.choice([0.1, 0.5, 2.0]))
    X = rng.normal(size=(n + N_TEST, d))
    raw = SIGNALS[signal](X) + noise * (rng.standard_t(3, len(X)) if rng.random() < 0.3 else rng.normal(size=len(X)))
    y = np.digitize(raw, np.quantile(raw, [0.5] if rng.random() < 0.5 else [0.33, 0.67])) if classifier else raw
    if classifier:  # every class among the rows of the fit, several times
        first = np.concatenate([np.flatnonzero(y == label)[:5] for label in np.unique(y)])
        rest = np.setdiff1d(np.arange(len(y)), first)
        order = np.concatenate([first, rest])
        X, y = X[order], y[order]
        mixed = rng.permutation(n)
        X[:n], y[:n] = X[mixed], y[mixed]
    weight = {"none": None, "whole": rng.integers(1, 5, n) * 1.0, "skewed": rng.exponential(size=n) ** 2 + 0.01}
    kind = str(rng.choice(list(weight)))
    joint = bool(rng.random() < 0.3) and forest != "default"
    way = str(rng.choice(["auto", "auto", "fraction", "given"]))
    source = FORESTS[forest][classifier](**SIZES.get(forest, {}), **({"random_state": 0} if forest in SIZES else {}))
    model = (nf.NeuralForestClassifier if classifier else nf.NeuralForestRegressor)(
        source,
        training="joint" if joint else "auto",
        connectivity=str(rng.choice(["auto", "sparse", "full"])),
        validation="auto" if way == "given" else way,
        random_state=int(rng.integers(1000)),
        n_jobs=1,
    )
    validation, fit = {}, np.arange(n)
    if way == "given":
        fit, given = np.arange(n) % 4 > 0, np.arange(n) % 4 == 0
        if classifier:
            given &= np.isin(y[:n], y[:n][fit])
        validation = {"X_val": X[:n][given], "y_val": y[:n][given]}
    own = weight[kind]
    text = (
        f"{'classes' if classifier else 'numbers'}, {n} rows x {d}, {signal}, noise {noise:g}, weights {kind}, {forest}"
    )
    text += f", training {model.training}, connectivity {model.connectivity}, validation {way}"
    own = None if own is None else own[fit]
    return Case(text, model, X[:n][fit], y[:n][fit], own, validation, X[n:], y[n:])


def loss(model, X, y, classes):
    """Return the mean squared error, or the log loss."""
    if classes is not None:
        p = model.predict_proba(X)[np.arange(len(y)), np.searchsorted(classes, y)]
        return -np.log(np.maximum(p, 1e-7)).mean()
    return np.mean((model.predict(X) - y) ** 2)


def ratio(case):
    """Return the loss of the estimator on new rows, divided by that of its source."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        case.model.fit(case.X, case.y, case.weight, **case.validation)
    classes = getattr(case.model, "classes_", None)
    known = np.full(N_TEST, True) if classes is None else np.isin(case.y_test, classes)
    X, y = case.X_test[known], case.y_test[known]
    return loss(case.model, X, y, classes) / loss(case.model.source_, X, y, classes)


def main():
    """Fit the cases, and print how many are worse than their forest."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    ratios = []
    for seed in range(options.first, options.first + options.count):
        case = draw(seed)
        ratios.append(ratio(case))
        if options.verbose or ratios[-1] > 1.02:
            sys.stdout.write(f"{ratios[-1]:.3f} seed {seed}: {case.text}; {case.model.stacking_weights_}\n")
            sys.stdout.flush()
    r = np.array(ratios)
    sys.stdout.write(
        f"{len(r)} cases: worst {r.max():.3f}, more than 1.5: {(r > 1.5).sum()}, more than 1.02: {(r > 1.02).sum()} "
        f"({100 * (r > 1.02).mean():.1f}%), geometric mean {np.exp(np.log(r).mean()):.3f}\n"
    )


if __name__ == "__main__":
    main()
