"""EnsembleForest: trees with the interface of a fitted forest of scikit-learn."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils.metaestimators import available_if

from neuralforest.ensemble import TreeEnsemble
from neuralforest.exceptions import NotFittedError
from neuralforest.network import ForestNetwork, feature_importances


class EnsembleForest(BaseEstimator):
    """A forest that holds its trees as `ensemble_`, None before it is fitted, and its labels as `classes_`."""

    ensemble_: TreeEnsemble | None = None

    @property
    def network_(self) -> ForestNetwork:
        """The hard network of the trees."""
        if self.ensemble_ is None:
            raise NotFittedError(
                f"this {type(self).__name__} is not fitted: load or fit an estimator, and use its forest_"
            )
        return ForestNetwork(self.ensemble_)

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        return feature_importances(self.network_)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Predict the target, or the label, of each row."""
        return self.network_.predict(X)

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return R2 for a regressor, accuracy for a classifier."""
        measure = accuracy_score if hasattr(self, "classes_") else r2_score
        return float(measure(y, self.predict(X), sample_weight=sample_weight))

    @available_if(lambda forest: hasattr(forest, "classes_"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return class probabilities, (rows, classes)."""
        return self.network_.predict_proba(X)

    @available_if(lambda forest: hasattr(forest, "classes_") and forest.network_.link != "identity")  # type: ignore[untyped-decorator]
    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the raw scores of gradient boosting, (rows,) or (rows, classes)."""
        scores = self.network_.output(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def apply(self, X: ArrayLike) -> NDArray[np.int32]:
        """Return the leaf of each row in each tree, (rows, trees), counted from left to right."""
        return self.network_.apply(X)

    def __sklearn_is_fitted__(self) -> bool:
        return self.ensemble_ is not None
