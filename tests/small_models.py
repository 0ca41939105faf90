"""Estimators and data of a size that tests can afford. What tests rely on is set here, not by defaults."""

import importlib
import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

import neuralforest as nf
from neuralforest.base_models import Task
from neuralforest.training import SubnetworkRows, TrainingData

SMALL = {
    "stacking": None,
    "contrast": (3.0, 1.0),
    "learning_rate": 0.01,
    "schedule": "constant",
    "batch_size": 32,
    "connectivity": "sparse",
    "max_epochs": 3,
    "random_state": 0,
}


def forest(classifier=False, n_estimators=4, max_leaf_nodes=8, **parameters):
    kind = RandomForestClassifier if classifier else RandomForestRegressor
    return kind(n_estimators=n_estimators, max_leaf_nodes=max_leaf_nodes, **parameters)


def boosted(classifier=False, n_estimators=8, learning_rate=0.5, max_leaf_nodes=4, **parameters):
    kind = GradientBoostingClassifier if classifier else GradientBoostingRegressor
    return kind(n_estimators=n_estimators, learning_rate=learning_rate, max_leaf_nodes=max_leaf_nodes, **parameters)


def small(classifier=False, source=None, **parameters):
    """Return a small estimator around a random forest of 4 trees, or around the given forest."""
    kind = nf.NeuralForestClassifier if classifier else nf.NeuralForestRegressor
    return kind(forest(classifier) if source is None else source, **SMALL | parameters)


def small_boosted(classifier=False, **parameters):
    return small(classifier, boosted(classifier), training="joint", **parameters)


def regression(n=120, seed=0, features=4):
    """Return rows whose target is smooth in the first two features."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, features))
    return X, 2 * X[:, 0] + np.sin(3 * X[:, 1]) + 0.1 * rng.normal(size=n)


def classification(n=120, seed=0, features=4, classes=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, features))
    score = X[:, 0] + 0.5 * X[:, 1] + 0.3 * rng.normal(size=n)
    return X, np.digitize(score, np.quantile(score, np.linspace(0, 1, classes + 1)[1:-1]))


def problem(classifier, n=120, seed=0):
    return classification(n, seed) if classifier else regression(n, seed)


def patches(classifier=False, n=500, seed=0):
    """Return rows whose target changes from one small square to the next: trees can fit it, smooth networks cannot."""
    rng = np.random.default_rng(seed)
    X = np.floor(rng.uniform(0, 12, size=(n, 2)))
    table = np.random.default_rng(99).normal(size=(12, 12))
    y = table[X[:, 0].astype(int), X[:, 1].astype(int)] + 0.1 * rng.normal(size=n)
    return X + rng.uniform(0, 0.5, size=X.shape), (y > 0).astype(int) if classifier else y


def steps(classifier=False, n=240, seed=0):
    """Return rows whose target has steps in one or two of 12 features: trees are stacked with a default network."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 12))
    first = np.floor(6 * X[:, 0])
    return X, (first % 2).astype(int) if classifier else first * np.floor(3 * X[:, 1]) + 0.1 * rng.normal(size=n)


def run_in_a_new_process(code, *arguments, flags=()):
    """Run Python code, where the package can be imported and warnings are errors; return what it prints, as bytes."""
    environment = os.environ | {"PYTHONPATH": str(Path(nf.__file__).parents[1])}
    command = [sys.executable, *flags, "-W", "error", "-c", code, *map(str, arguments)]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, env=environment).stdout


def output(model, X):
    """Return probabilities of a classifier, predictions of a regressor."""
    return model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)


def base_model_task(X, y, classifier=False, *, n_jobs=1, seed=0, n_held_out=0, n_categories=None):
    """Return the task of fitting base models on all rows but the last ones, which are held out."""
    n = len(y)
    columns = (y[:, None] == np.unique(y)).astype(float) if classifier else y[:, None]
    rows = SubnetworkRows.shared(np.arange(n), np.ones(n), 1)
    training, held_out = np.split(np.arange(n), [n - n_held_out])
    data = TrainingData(X, columns, rows, rows)
    n_categories = np.zeros(X.shape[1], np.int64) if n_categories is None else np.asarray(n_categories)
    return Task(classifier, data, y, np.ones(n), training, held_out, len(training), seed, n_jobs, n_categories)


@contextmanager
def at_most_boosting_rounds(n_rounds):
    """Limit gradient boosting to fewer rounds than by default."""
    module = importlib.import_module("neuralforest.base_models.gradient_boosting")  # the package has it as a function
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_MOST_TREES", n_rounds)
        yield
