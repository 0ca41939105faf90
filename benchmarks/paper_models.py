"""The models of the paper's table: grown, trained and tested on one repetition. Knows no table and no results file."""

import tempfile
import time
from collections.abc import Callable
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.ensemble import BaggingRegressor
from sklearn.tree import DecisionTreeRegressor

import neuralforest as nf
from benchmarks import data
from benchmarks.paper_plan import AUTHORS, TEXT, Measured, Run

EPOCHS = 100
N_LEAVES = 64  # K_n of the text's forest: what a depth of 6 allows
SHARE_OF_ROWS = 0.632  # a_n / n, which the text leaves open: as many different rows as a bootstrap sample has

_LIBRARIES = {
    "NN": ("torch",),
    "RF": ("scikit-learn",),
    "NRF": ("neuralforest", "scikit-learn"),
    "BART": ("stochtree",),
}
_CHECKPOINT_FROM = 10_000  # training rows from which a jointly trained full network is worth resuming

Predict = Callable[[NDArray[np.float64]], NDArray[np.float64]]


class Part(NamedTuple):
    """Rows for one purpose."""

    X: NDArray[np.float64]  # (rows, features)
    y: NDArray[np.float64]  # (rows,)


class Parts(NamedTuple):
    """The rows of one repetition."""

    train: Part
    validation: Part
    test: Part


def split(X: NDArray[np.float64], y: NDArray[np.float64], repetition: int) -> Parts:
    """Return the halves and quarters of a repetition."""
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
    drawn = round(SHARE_OF_ROWS * len(train.y))
    tree = DecisionTreeRegressor(max_leaf_nodes=max(2, min(N_LEAVES, drawn // 2)), max_features=1 / 3)
    forest = BaggingRegressor(tree, n_estimators=30, bootstrap=False, max_samples=drawn, random_state=seed)
    return forest.fit(*train)


@lru_cache(maxsize=2)
def load_forest(name: str, repetition: int, variant: str) -> Any:
    """Return the forest that all models of a repetition share."""
    return grow(load_parts(name, repetition).train, variant, repetition)


def measure(run: Run, jobs: int = 1) -> Measured:
    """Read the data of a run, fit its model and test it."""
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
        What networks are made from, or are made as large as; RF and BART need none.
    jobs : int
        Threads.
    epochs : int
    """
    started = time.perf_counter()
    if run.model == "RF":
        fitted = grow(parts.train, run.variant, run.repetition)
        predict, n_parameters = fitted.predict, 0
    elif run.model == "BART":
        predict, n_parameters = _bart(parts.train, run.repetition, jobs), 0
    elif run.model.startswith("NRF"):
        predict, n_parameters = _neural_forest(run, parts, forest, jobs, epochs)
    else:
        predict, n_parameters = _network(run, parts, forest, jobs, epochs)
    errors = [float(np.sqrt(np.mean((predict(part.X) - part.y) ** 2))) for part in (parts.test, parts.validation)]
    return Measured(errors[0], errors[1], n_parameters, time.perf_counter() - started, versions(run.model))


def versions(model: str) -> str:
    """Return the libraries that a model's numbers depend on."""
    return ", ".join(f"{name} {version_of(name)}" for name in _LIBRARIES[model.split()[0].rstrip("123")])


def version_of(library: str) -> str:
    """Return the version of an installed library; ours may be used without being installed."""
    return nf.__version__ if library == "neuralforest" else version(library)


def neural_forest(run: Run, forest: Any, jobs: int = 1, epochs: int = EPOCHS) -> nf.NeuralForestRegressor:
    """Return the unfitted estimator of a run."""
    method, connectivity = run.model.split()
    settings: dict[str, Any] = {**nf.PAPER_SETTINGS, "forest": forest, "max_epochs": epochs}
    training = {"NRF1": "independent", "NRF2": "joint"}[method]
    return nf.NeuralForestRegressor(
        **settings,
        training=training,
        connectivity=connectivity,
        folded=run.variant == AUTHORS,
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

    from benchmarks.paper_networks import layer_sizes, predict, train_network

    torch.set_num_threads(jobs)
    ensemble = nf.convert(forest).ensemble
    sizes = layer_sizes(ensemble.n_features, ensemble.n_splits, ensemble.n_leaves, n_hidden=int(run.model[-1]))
    network, _ = train_network(sizes, parts.train, parts.validation, epochs=epochs, seed=run.repetition)
    return lambda X: predict(network, X), sum(parameter.numel() for parameter in network.parameters())


def _bart(train: Part, seed: int, jobs: int) -> Predict:
    from stochtree import BARTModel

    model = BARTModel()
    model.sample(
        X_train=train.X,
        y_train=train.y,
        num_gfr=0,
        num_burnin=100,
        num_mcmc=1000,
        general_params={"random_seed": seed, "num_threads": jobs},
        mean_forest_params={"num_trees": 30},
    )
    return lambda X: np.asarray(model.predict(X, type="mean", terms="y_hat")).reshape(len(X))
