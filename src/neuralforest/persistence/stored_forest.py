"""StoredForest: the trees of a loaded estimator with the interface of a fitted forest. Independent of files."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import Tags
from sklearn.utils.metaestimators import available_if

from neuralforest.ensemble import TreeEnsemble
from neuralforest.exceptions import NotFittedError, UnsupportedModelError
from neuralforest.network import ForestNetwork, feature_importances

MAX_DRAWS = 16
"""The largest size of a bootstrap sample, as a multiple of the number of rows: it bounds the memory for samples."""


@dataclass(frozen=True, eq=False)
class Bags:
    """The bootstrap samples of the trees: the seeds of the draws, where these determine them, or counts of the rows.

    Parameters
    ----------
    drawn : int64 array (trees,), or unsigned array (trees, rows)
        Seeds: a tree's rows are ``RandomState(seed).randint(0, n_rows, n_drawn)``, a stream that NumPy keeps unchanged.
        Or how often each tree drew each row.
    n_rows, n_drawn : int
    """

    drawn: NDArray[np.integer]
    n_rows: int
    n_drawn: int

    @classmethod
    def of(cls, samples: list[NDArray[np.integer]], seeds: list[Any], n_rows: int) -> "Bags | None":
        """Return the samples of all trees, as seeds only where these reproduce them; None where they are too large."""
        n_drawn = max(map(len, samples))
        if not 0 < n_drawn <= MAX_DRAWS * n_rows:
            return None
        if len(seeds) == len(samples) and all(isinstance(s, int | np.integer) and 0 <= s < 2**32 for s in seeds):
            bags = cls(np.array(seeds, np.int64), n_rows, n_drawn)
            if all(map(np.array_equal, samples, bags.samples)):
                return bags
        counts = np.stack([np.bincount(rows, minlength=n_rows) for rows in samples])
        return cls(counts.astype(np.min_scalar_type(counts.max())), n_rows, n_drawn)

    @property
    def samples(self) -> list[NDArray[np.int64]]:
        """The rows of each tree, repeated as often as they were drawn."""
        if self.drawn.ndim == 2:
            return [np.repeat(np.arange(self.n_rows), count) for count in self.drawn]
        return [np.random.RandomState(seed).randint(0, self.n_rows, self.n_drawn) for seed in self.drawn.tolist()]


class StoredForest(BaseEstimator):
    """The forest of a loaded estimator: it predicts as the forest did, and cannot be fitted again.

    Parameters
    ----------
    bootstrap : bool
        Whether each tree was grown on a sample of its own, which `estimators_samples_` lists.

    Attributes
    ----------
    ensemble_ : TreeEnsemble
        None before it is fitted, which only `load` does.
    classes_ : array (classes,)
        Labels, for a classifier.
    n_features_in_ : int
    """

    ensemble_: TreeEnsemble | None = None
    _bags: Bags | None = None
    _accepts = (True, True, True)

    def __init__(self, bootstrap: bool = False) -> None:
        self.bootstrap = bootstrap

    @classmethod
    def of(
        cls,
        ensemble: TreeEnsemble,
        bags: Bags | None,
        n_rows: int | None,
        draws_by_weight: bool,
        accepts: tuple[bool, bool, bool],
    ) -> "StoredForest":
        """Return the forest of these trees.

        `n_rows` is the number of training rows, if known; with `draws_by_weight`, they were drawn with their sample
        weights as probabilities; `accepts` says whether NaN, sparse matrices and several targets are accepted.
        """
        forest = cls(bootstrap=bags is not None)
        forest.ensemble_ = ensemble
        forest.n_features_in_ = ensemble.n_features
        if ensemble.classes is not None:
            forest.classes_ = np.array(ensemble.classes)
        forest._bags, forest._accepts = bags, accepts
        forest._n_samples = n_rows  # this and the next are private attributes of scikit-learn's forests
        forest._sample_weight = True if draws_by_weight else None
        return forest

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "StoredForest":
        """Refuse: a model file does not hold the class and the parameters of the forest."""
        raise UnsupportedModelError(
            "StoredForest holds the trees of a model file and cannot be fitted to other rows: set the parameter forest "
            "of the estimator to another forest, or to None for the default one"
        )

    @property
    def estimators_samples_(self) -> list[NDArray[np.int64]]:
        """The training rows of each tree."""
        if self._bags is None:
            raise AttributeError("this forest has no bootstrap samples, or they are not known")
        return self._bags.samples

    @property
    def network_(self) -> ForestNetwork:
        """The hard network of the trees."""
        if self.ensemble_ is None:
            raise NotFittedError("this StoredForest is not fitted: load an estimator with nf.load and use its forest_")
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

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan, tags.input_tags.sparse, tags.target_tags.multi_output = self._accepts
        tags.estimator_type = "classifier" if hasattr(self, "classes_") else "regressor"
        return tags
