"""The models that are compared, each with its default settings: neural forest, forests, boosting, BART, networks.

Models that take string columns get them as they are, the others ordinal-encoded.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Factory = Callable[[str, int, int], Any]  # (task, seed, threads) -> estimator


class Peer(NamedTuple):
    """How a model is made."""

    make: Factory
    native_strings: bool = False
    categories: str = ""  # the argument of `fit` that names the string columns, where there is one


class Bart:
    """BART of stochtree as a scikit-learn regressor, with the burn-in and the draws of the paper."""

    def __init__(self, n_trees: int, seed: int, **general_params: Any) -> None:
        self.n_trees, self.general_params = n_trees, {"random_seed": seed, **general_params}

    def fit(self, X: NDArray[np.float64], y: NDArray[np.float64]) -> "Bart":
        from stochtree import BARTModel

        self.model = BARTModel()
        self.model.sample(
            X_train=np.array(X, order="C"),
            y_train=np.array(y),
            num_gfr=0,
            num_burnin=100,
            num_mcmc=1000,
            general_params=self.general_params,
            mean_forest_params={"num_trees": self.n_trees},
        )
        return self

    def predict(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        draws = self.model.predict(np.array(X, order="C"), type="mean", terms="y_hat")
        return np.asarray(draws).reshape(len(X))


def _pair(module: str, prefix: str, seed: str = "random_state", threads: str = "n_jobs", **settings: Any) -> Factory:
    """Return a factory of `<prefix>Regressor` or `<prefix>Classifier`; no `threads` where a model takes no number."""

    def make(task: str, seed_value: int, n_threads: int) -> Any:
        kind = getattr(import_module(module), f"{prefix}{'Regressor' if task == 'regression' else 'Classifier'}")
        return kind(**{seed: seed_value}, **({threads: n_threads} if threads else {}), **settings)

    return make


def _mlp(task: str, seed: int, threads: int) -> Any:
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.neural_network import MLPClassifier, MLPRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    if task == "classification":
        return make_pipeline(StandardScaler(), MLPClassifier(random_state=seed, max_iter=500))
    network = make_pipeline(StandardScaler(), MLPRegressor(random_state=seed, max_iter=500))
    return TransformedTargetRegressor(network, transformer=StandardScaler())


_CATBOOST = _pair(
    "catboost", "CatBoost", seed="random_seed", threads="thread_count", verbose=False, allow_writing_files=False
)
PEERS: dict[str, Peer] = {
    "NeuralForest": Peer(_pair("neuralforest", "NeuralForest"), native_strings=True),
    "network alone": Peer(_pair("neuralforest", "NeuralForest", stacking=None), native_strings=True),
    "RandomForest 500": Peer(_pair("sklearn.ensemble", "RandomForest", n_estimators=500)),
    "ExtraTrees 500": Peer(_pair("sklearn.ensemble", "ExtraTrees", n_estimators=500)),
    "HistGradientBoosting": Peer(_pair("sklearn.ensemble", "HistGradientBoosting", threads="")),
    "XGBoost": Peer(_pair("xgboost", "XGB")),
    "LightGBM": Peer(_pair("lightgbm", "LGBM", verbose=-1)),
    "CatBoost": Peer(_CATBOOST, native_strings=True, categories="cat_features"),
    "ChimeraBoost": Peer(
        _pair("chimeraboost", "ChimeraBoost", threads="thread_count"), native_strings=True, categories="cat_features"
    ),
    "RealMLP": Peer(
        _pair("pytabkit", "RealMLP_TD_", threads="n_threads", device="cpu"),
        native_strings=True,
        categories="cat_col_names",
    ),
    "BART 30": Peer(lambda task, seed, threads: Bart(30, seed)),
    "BART 200": Peer(lambda task, seed, threads: Bart(200, seed)),
    "MLP": Peer(_mlp),
}
"""By the name that the report shows; BART is for regression only."""


def table_for(peer: Peer, X: pd.DataFrame, encoded: NDArray[np.float64]) -> Any:
    """Return the features in the form that a model takes."""
    return X if peer.native_strings and _string_columns(X) else encoded


def fit_arguments(peer: Peer, X: pd.DataFrame) -> dict[str, Any]:
    """Return the arguments of `fit` that declare string columns to a model that handles them."""
    strings = _string_columns(X)
    return {peer.categories: strings} if peer.categories and strings else {}


def _string_columns(X: pd.DataFrame) -> list[str]:
    return [name for name in X.columns if X[name].dtype != np.float64]
