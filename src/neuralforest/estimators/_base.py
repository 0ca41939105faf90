"""What both estimators share: fit, partial_fit and the fitted attributes."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from neuralforest.estimators import forests
from neuralforest.estimators._steps import FitSteps
from neuralforest.estimators.parameters import check_parameters, seeds_of
from neuralforest.estimators.rows import read_rows, read_X
from neuralforest.estimators.summary import reporting
from neuralforest.estimators.tuned import check_trainable
from neuralforest.estimators.validation import TrainValidationSplit
from neuralforest.network import ForestNetwork, StackedModel, feature_importances
from neuralforest.network.inputs import cast_rows


class NeuralForest(FitSteps):
    """The common part of NeuralForestRegressor and NeuralForestClassifier."""

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        X_val: ArrayLike | None = None,
        y_val: ArrayLike | None = None,
        sample_weight_val: ArrayLike | None = None,
    ) -> Self:
        """Grow the forest, unless a fitted one was given, then train its network.

        Parameters
        ----------
        X : array-like or sparse matrix (rows, features)
            NaN is a missing value where the forest takes them.
        y : array-like (rows,) or (rows, outputs)
        sample_weight : array-like (rows,), optional
        X_val, y_val, sample_weight_val : optional
            Validation rows. Neither the network nor a forest grown here is trained on them.

        Returns
        -------
        self
        """
        with _unchanged_on_error(self):
            check_parameters(self.get_params(deep=False), self._classifier)
            goes_on = self.warm_start and hasattr(self, "network_")
            table = read_rows(self, X, y, sample_weight, X_val, y_val, sample_weight_val, reset=not goes_on)
            return self._go_on(table) if goes_on else self._start(table)

    def partial_fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None, n_epochs: int = 1
    ) -> Self:
        """Continue training of the network on new rows; forest and base models stay as they are.

        Only a fallback model is dropped. A subnetwork that fell back to its tree is trained, too, and replaces the tree
        once it is better on the new rows. Features are clipped to their ranges in `fit`. `history_` becomes that of
        this call; validation scores and the errors behind prediction intervals stay those of `fit`. On an unfitted
        estimator, this is `fit`.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.
        n_epochs : int
            Passes over the rows.

        Returns
        -------
        self
        """
        if not hasattr(self, "network_"):
            return self.fit(X, y, sample_weight)
        check_trainable(self)
        with _unchanged_on_error(self):
            check_parameters(self.get_params(deep=False) | {"n_epochs": n_epochs}, self._classifier)
            table = read_rows(self, X, y, sample_weight, reset=False)
            all_rows = np.arange(table.n_rows)
            data = self._training_data(self.network_, table, TrainValidationSplit(all_rows, all_rows))
            settings = replace(self._settings(seeds_of(self.random_state)[2], data), max_epochs=n_epochs)
            settings = replace(settings, schedule="constant", n_iter_no_change=None)
            with reporting(self.callback, self.verbose, n_epochs) as callback:
                trained = self._train(data, settings, callback=callback, keep_last=True)
            self.network_ = trained.network.with_base_models(self._remaining_base_models(trained.network))
            self.history_ = trained.history
            self._after_partial_fit(data)
            return self

    def _remaining_base_models(self, trained: ForestNetwork) -> tuple[StackedModel, ...]:
        """Return the base models that stay after training on other rows: all but a fallback, unless trees were kept."""
        models = self.network_.base_models
        if trained.hard.all() or not any(each.is_fallback for each in models):
            return models
        return tuple(each for each in models if not each.is_fallback)

    # What a fitted estimator offers.

    def _network_and_rows(self, X: ArrayLike) -> tuple[ForestNetwork, NDArray[np.floating]]:
        """Return the network, and X validated once, in the dtype that its trees compare in."""
        if not hasattr(self, "network_"):
            check_is_fitted(self, "network_")  # takes longer than the prediction of a row
        return self.network_, cast_rows(self.network_.ensemble, read_X(self, X, reset=False))

    def encode(self, X: ArrayLike) -> NDArray[np.floating]:
        """Return rows as the network takes them, (rows, features): exported models take these numbers.

        A category is its position among the sorted categories of `fit`, or -1 for others; of a column of many
        categories, it is a mean of the target.
        """
        return self._network_and_rows(X)[1]

    def apply(self, X: ArrayLike) -> NDArray[np.int32]:
        """Return the leaf of each row in each tree of the forest, (rows, trees), counted from left to right."""
        network, X = self._network_and_rows(X)
        return network.apply_checked(X)

    @property
    def stacking_weights_(self) -> dict[str, float]:
        """The weights of the network and of the base models that are stacked with it; they sum to 1."""
        check_is_fitted(self, "network_")
        return self.network_.stacking_weights

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Importances of the features in the model, (features,); see `network.feature_importances`."""
        check_is_fitted(self, "network_")
        return feature_importances(self.network_)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        forest = forests.tags_of(self.forest, self._classifier)
        tags.input_tags.allow_nan = forest.input_tags.allow_nan
        tags.input_tags.sparse = forest.input_tags.sparse
        tags.target_tags.multi_output = forest.target_tags.multi_output and not self._classifier
        return tags


@contextmanager
def _unchanged_on_error(estimator: BaseEstimator) -> Iterator[None]:
    """Leave an estimator as it was when its fit fails, or is interrupted before there is a network."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise
