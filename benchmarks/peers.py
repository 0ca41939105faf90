"""The models that are compared: ours and the peers, each with its default settings.

Every model gets a table and returns predictions (regression) or probabilities (classification). String columns are
ordinal-encoded for all but CatBoost, which takes them as they are.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray


class Peer(NamedTuple):
    """How to make a model."""

    make: Callable[[str, int, int], Any]  # (task, seed, threads) -> estimator
    native_strings: bool = False


def _neural_forest(task: str, seed: int, threads: int) -> Any:
    import neuralforest as nf

    kind = nf.NeuralForestRegressor if task == "regression" else nf.NeuralForestClassifier
    return kind(random_state=seed, n_jobs=threads)


def _forest(name: str) -> Callable[[str, int, int], Any]:
    def make(task: str, seed: int, threads: int) -> Any:
        import sklearn.ensemble

        kind = getattr(sklearn.ensemble, name + ("Regressor" if task == "regression" else "Classifier"))
        return kind(n_estimators=500, random_state=seed, n_jobs=threads)

    return make


def _hist_gradient_boosting(task: str, seed: int, threads: int) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    kind = HistGradientBoostingRegressor if task == "regression" else HistGradientBoostingClassifier
    return kind(random_state=seed)


def _xgboost(task: str, seed: int, threads: int) -> Any:
    import xgboost

    kind = xgboost.XGBRegressor if task == "regression" else xgboost.XGBClassifier
    return kind(random_state=seed, n_jobs=threads)


def _lightgbm(task: str, seed: int, threads: int) -> Any:
    import lightgbm

    kind = lightgbm.LGBMRegressor if task == "regression" else lightgbm.LGBMClassifier
    return kind(random_state=seed, n_jobs=threads, verbose=-1)


def _catboost(task: str, seed: int, threads: int) -> Any:
    import catboost

    kind = catboost.CatBoostRegressor if task == "regression" else catboost.CatBoostClassifier
    return kind(random_seed=seed, thread_count=threads, verbose=False, allow_writing_files=False)


def _mlp(task: str, seed: int, threads: int) -> Any:
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.neural_network import MLPClassifier, MLPRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    if task == "classification":
        return make_pipeline(StandardScaler(), MLPClassifier(random_state=seed, max_iter=500))
    network = make_pipeline(StandardScaler(), MLPRegressor(random_state=seed, max_iter=500))
    return TransformedTargetRegressor(network, transformer=StandardScaler())


class _Bart:
    """stochtree's BART with the interface of an estimator; regression only."""

    def __init__(self, n_trees: int, seed: int) -> None:
        self.n_trees, self.seed = n_trees, seed

    def fit(self, X: NDArray[np.float64], y: NDArray[np.float64]) -> "_Bart":
        from stochtree import BARTModel

        self.model = BARTModel()
        self.model.sample(
            X_train=np.array(X, order="C"),
            y_train=np.array(y),
            num_gfr=0,
            num_burnin=100,
            num_mcmc=1000,
            general_params={"random_seed": self.seed},
            mean_forest_params={"num_trees": self.n_trees},
        )
        return self

    def predict(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        draws = self.model.predict(np.array(X, order="C"))
        draws = draws["y_hat"] if isinstance(draws, dict) else draws
        return np.asarray(draws).mean(axis=1)


PEERS: dict[str, Peer] = {
    "NeuralForest": Peer(_neural_forest),
    "RandomForest 500": Peer(_forest("RandomForest")),
    "ExtraTrees 500": Peer(_forest("ExtraTrees")),
    "HistGradientBoosting": Peer(_hist_gradient_boosting),
    "XGBoost": Peer(_xgboost),
    "LightGBM": Peer(_lightgbm),
    "CatBoost": Peer(_catboost, native_strings=True),
    "BART 30": Peer(lambda task, seed, threads: _Bart(30, seed)),
    "BART 200": Peer(lambda task, seed, threads: _Bart(200, seed)),
    "MLP": Peer(_mlp),
}
"""By the name that the report shows; BART is for regression only."""


def table_for(peer: Peer, X: pd.DataFrame, encoded: NDArray[np.float64]) -> Any:
    """Return the features as a model takes them."""
    return X if peer.native_strings and _string_columns(X) else encoded


def fit_arguments(peer: Peer, X: pd.DataFrame) -> dict[str, Any]:
    """Return what has to be said of string columns to a model that takes them."""
    strings = _string_columns(X)
    return {"cat_features": strings} if peer.native_strings and strings else {}


def _string_columns(X: pd.DataFrame) -> list[str]:
    return [name for name in X.columns if X[name].dtype != np.float64]
