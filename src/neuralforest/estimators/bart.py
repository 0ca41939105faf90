"""BARTRegressor: Bayesian additive regression trees of stochtree as a scikit-learn estimator, whose trees are read."""

from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_consistent_length, validate_data

from neuralforest._extras import missing_extra
from neuralforest.convert import convert
from neuralforest.estimators.ensemble_forest import EnsembleForest
from neuralforest.exceptions import InvalidParameterError


class BARTRegressor(RegressorMixin, EnsembleForest):
    """Bayesian additive regression trees: the mean over draws of a sum of trees. Needs stochtree.

    Draws come from stochtree's sampler; evenly spaced ones are kept, and their mean is the prediction. Give one to
    `NeuralForestRegressor` as its forest.

    Parameters
    ----------
    n_trees : int
        Trees of a draw.
    n_draws : int
        Draws that are kept. More are slower to evaluate and, above about 20, hardly more accurate.
    n_samples : int
        Draws that are sampled, after `n_burn_in` others; at least n_draws.
    n_burn_in : int
        Draws that are sampled first and dropped.
    random_state : int, RandomState or None

    Attributes
    ----------
    model_ : stochtree.BARTModel
    ensemble_ : TreeEnsemble
        The draws that are kept, each a group of trees.
    n_features_in_ : int

    Examples
    --------
    >>> from neuralforest import BARTRegressor
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = BARTRegressor(n_trees=10, n_draws=5, n_samples=20, n_burn_in=10, random_state=0).fit(X, y)
    >>> model.ensemble_.n_groups, model.ensemble_.n_trees
    (5, 50)
    """

    _is_sum = True

    def __init__(
        self,
        n_trees: int = 200,
        n_draws: int = 20,
        n_samples: int = 400,
        n_burn_in: int = 200,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_trees = n_trees
        self.n_draws = n_draws
        self.n_samples = n_samples
        self.n_burn_in = n_burn_in
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Sample from the posterior.

        Parameters
        ----------
        X : array-like (rows, features)
            Numbers, without missing values.
        y : array-like (rows,)
        sample_weight : array-like (rows,), optional
            The variance of a row's noise is divided by its weight.

        Returns
        -------
        self
        """
        for name, least in (("n_trees", 1), ("n_draws", 1), ("n_samples", 1), ("n_burn_in", 0)):
            value = getattr(self, name)
            if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < least:
                raise InvalidParameterError(f"{name} must be a whole number of at least {least}, got {value!r}")
        if self.n_samples < self.n_draws:
            raise InvalidParameterError(
                f"n_samples must be at least n_draws, {self.n_draws}, got {self.n_samples}: sample more, or keep fewer"
            )
        try:
            import stochtree
        except ImportError as error:
            raise missing_extra("stochtree", "stochtree") from error
        X, y = validate_data(self, X, y, y_numeric=True, dtype=np.float64)
        weights = None if sample_weight is None else np.array(sample_weight, np.float64)
        check_consistent_length(X, weights)
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        self.model_ = stochtree.BARTModel()
        self.model_.sample(
            np.array(X),
            np.array(y, np.float64),
            observation_weights=weights,
            num_gfr=0,
            num_burnin=int(self.n_burn_in),
            num_mcmc=int(self.n_samples),
            general_params={"random_seed": seed},
            mean_forest_params={"num_trees": int(self.n_trees)},
        )
        self.ensemble_ = convert(self.model_, draws=int(self.n_draws)).ensemble
        return self
