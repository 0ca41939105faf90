"""The models of the paper's table, fitted and tested on one repetition. Independent of the table and its file."""

import tempfile
import time
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.ensemble import BaggingRegressor
from sklearn.tree import DecisionTreeRegressor

import neuralforest as nf
from benchmarks import data
from benchmarks.common import rmse, versions
from benchmarks.paper.plan import AUTHORS, TEXT, Measured, Run
from benchmarks.peers import Bart

EPOCHS = 100
N_LEAVES = 64  # K_n of the text's forest: the most that a depth of 6 allows
SUBSAMPLE = 0.632  # a_n / n, not given in the text: the expected share of distinct rows in a bootstrap sample

_LIBRARIES = {
    "NN": ("torch",),
    "RF": ("scikit-learn",),
    "NRF": ("neuralforest", "scikit-learn"),
    "BART": ("stochtree",),
}
_CHECKPOINT_FROM = 10_000  # training rows from which a jointly trained full network is worth resuming

Predict = Callable[[NDArray[np.float64]], NDArray[np.float64]]


class Part(NamedTuple):
    """Rows for training, validation or testing."""

    X: NDArray[np.float64]  # (rows, features)
    y: NDArray[np.float64]  # (rows,)


class Parts(NamedTuple):
    """The rows of one repetition."""

    train: Part
    validation: Part
    test: Part


def split(X: NDArray[np.float64], y: NDArray[np.float64], repetition: int) -> Parts:
    """Return training, validation and test rows of a repetition."""
    return Parts(*(Part(X[rows], y[rows]) for rows in data.split(len(y), repetition)))


@lru_cache(maxsize=1)
def load_parts(name: str, repetition: int) -> Parts:
    """Read a data set and split it."""
    dataset = data.load(name)
    return split(data.encode(dataset.X), dataset.y.astype(np.float64), repetition)


def grow(train: Part, variant: str, seed: int) -> Any:
    """Return a fitted forest: the text's for the variant TEXT, else that of the paper's authors."""
    if variant != TEXT:
        return clone(nf.PAPER_SETTINGS["forest"]).set_params(random_state=seed).fit(*train)
    drawn = round(SUBSAMPLE * len(train.y))
    tree = DecisionTreeRegressor(max_leaf_nodes=max(2, min(N_LEAVES, drawn // 2)), max_features=1 / 3)
    forest = BaggingRegressor(tree, n_estimators=30, bootstrap=False, max_samples=drawn, random_state=seed)
    return forest.fit(*train)


@lru_cache(maxsize=2)
def load_forest(name: str, repetition: int, variant: str) -> Any:
    """Return the forest that all models of a repetition share."""
    return grow(load_parts(name, repetition).train, variant, repetition)


def measure(run: Run, jobs: int = 1) -> Measured:
    """Load the data of a run, fit its model and test it."""
    parts = load_parts(run.data, run.repetition)
    forest = None
    if run.model not in ("BART", "RF"):
        forest = load_forest(run.data, run.repetition, run.variant if run.variant == TEXT else AUTHORS)
    return score(run, parts, forest, jobs)


def score(run: Run, parts: Parts, forest: Any = None, jobs: int = 1, epochs: int = EPOCHS) -> Measured:
    """Fit the model of a run and test it.

    Parameters
    ----------
    run : Run
    parts : Parts
    forest : fitted forest
        The forest that a network is made from, or whose size it has; not needed by RF and BART.
    jobs : int
        Threads.
    epochs : int
    """
    started = time.perf_counter()
    if run.model == "RF":
        fitted = grow(parts.train, run.variant, run.repetition)
        predict, n_parameters = fitted.predict, 0
    elif run.model == "BART":
        predict, n_parameters = Bart(30, run.repetition, num_threads=jobs).fit(*parts.train).predict, 0
    elif run.model.startswith("NRF"):
        predict, n_parameters = _neural_forest(run, parts, forest, jobs, epochs)
    else:
        predict, n_parameters = _network(run, parts, forest, jobs, epochs)
    on_test, on_validation = (rmse(predict(part.X), part.y) for part in (parts.test, parts.validation))
    libraries = _LIBRARIES[run.model.split()[0].rstrip("123")]
    return Measured(on_test, on_validation, n_parameters, time.perf_counter() - started, versions(*libraries))


def neural_forest(run: Run, forest: Any, jobs: int = 1, epochs: int = EPOCHS) -> nf.NeuralForestRegressor:
    """Return the unfitted estimator of a run."""
    method, connectivity = run.model.split()
    settings: dict[str, Any] = {**nf.PAPER_SETTINGS, "forest": forest, "max_epochs": epochs}
    training = {"NRF1": "independent", "NRF2": "joint"}[method]
    return nf.NeuralForestRegressor(
        **settings,
        training=training,
        connectivity=connectivity,
        fold_contrast=run.variant == AUTHORS,
        n_jobs=jobs,
        random_state=run.repetition,
    )


def _neural_forest(run: Run, parts: Parts, forest: Any, jobs: int, epochs: int) -> tuple[Predict, int]:
    model = neural_forest(run, forest, jobs, epochs)
    unfinished = None
    if run.model == "NRF2 full" and len(parts.train.y) >= _CHECKPOINT_FROM:
        name = "-".join(map(str, run)).replace(" ", "-")
        unfinished = Path(tempfile.gettempdir()) / f"neuralforest-{name}.unfinished"
        model.set_params(checkpoint=nf.Checkpoint(unfinished, every=5))
    model.fit(*parts.train, X_val=parts.validation.X, y_val=parts.validation.y)
    if unfinished is not None:
        unfinished.unlink(missing_ok=True)
    return model.predict, model.network_.n_parameters


def _network(run: Run, parts: Parts, forest: Any, jobs: int, epochs: int) -> tuple[Predict, int]:
    import torch

    from benchmarks.paper.networks import layer_sizes, predict, train_network

    torch.set_num_threads(jobs)
    ensemble = nf.convert(forest).ensemble
    sizes = layer_sizes(ensemble.n_features, ensemble.n_splits, ensemble.n_leaves, n_hidden=int(run.model[-1]))
    network, _ = train_network(sizes, parts.train, parts.validation, epochs=epochs, seed=run.repetition)
    return lambda X: predict(network, X), sum(parameter.numel() for parameter in network.parameters())
