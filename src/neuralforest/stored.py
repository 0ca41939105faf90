"""StoredForest: the trees of a loaded model, with the face of the forest that they were. Knows networks, no files."""

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
from neuralforest.importance import feature_importances
from neuralforest.network import ForestNetwork

MOST_DRAWS = 16
"""How often a tree may draw a row in the mean: so the size of a bag is bounded by the rows that it is used with."""


@dataclass(frozen=True, eq=False)
class Bags:
    """Which rows each tree was grown on: the seed of each draw where that says everything, or how often each row came.

    Parameters
    ----------
    seeds : int64 array (trees,), optional
        A tree's rows are ``RandomState(seed).randint(0, n_rows, n_drawn)``, a stream that numpy has frozen for ever.
    counts : unsigned array (trees, rows), optional
        In place of seeds.
    n_rows, n_drawn : int
    """

    seeds: NDArray[np.int64] | None
    counts: NDArray[np.unsignedinteger] | None
    n_rows: int
    n_drawn: int

    @classmethod
    def of(cls, samples: list[NDArray[np.integer]], seeds: list[Any], n_rows: int) -> "Bags | None":
        """Take the rows of every tree; seeds are kept only where they give just these rows."""
        n_drawn = max(map(len, samples))
        if not 0 < n_drawn <= MOST_DRAWS * n_rows:
            return None
        if len(seeds) == len(samples) and all(isinstance(s, int | np.integer) and 0 <= s < 2**32 for s in seeds):
            bags = cls(np.array(seeds, np.int64), None, n_rows, n_drawn)
            if all(map(np.array_equal, samples, bags.samples)):
                return bags
        counts = np.stack([np.bincount(rows, minlength=n_rows) for rows in samples])
        return cls(None, counts.astype(np.min_scalar_type(counts.max())), n_rows, n_drawn)

    @property
    def samples(self) -> list[NDArray[np.int64]]:
        """The rows of every tree, a row that came twice standing twice."""
        if self.seeds is not None:
            draws = (np.random.RandomState(seed) for seed in self.seeds.tolist())
            return [draw.randint(0, self.n_rows, self.n_drawn) for draw in draws]
        assert self.counts is not None
        return [np.repeat(np.arange(self.n_rows), count) for count in self.counts]


def _has_classes(forest: "StoredForest") -> bool:
    return getattr(forest, "ensemble_", None) is not None and forest.ensemble_.classes is not None


def _has_scores(forest: "StoredForest") -> bool:
    return _has_classes(forest) and forest.ensemble_.link != "identity"


class StoredForest(BaseEstimator):
    """The forest of a loaded estimator: it predicts what the forest predicted, and cannot be grown anew.

    Parameters
    ----------
    bootstrap : bool
        Whether each tree was grown on rows of its own, which `estimators_samples_` lists.

    Attributes
    ----------
    ensemble_ : TreeEnsemble
    classes_ : array (classes,)
        Labels, of a classifier.
    n_features_in_ : int
    """

    def __init__(self, bootstrap: bool = False) -> None:
        self.bootstrap = bootstrap

    @classmethod
    def of(
        cls,
        ensemble: TreeEnsemble,
        bags: Bags | None,
        n_rows: int | None,
        *,
        draws_by_weight: bool,
        allow_nan: bool,
        sparse: bool,
        multi_output: bool,
    ) -> "StoredForest":
        """Return the forest of these trees.

        Parameters
        ----------
        ensemble : TreeEnsemble
        bags : Bags, optional
            The rows of each tree, where each was grown on rows of its own.
        n_rows : int, optional
            How many rows the forest was grown on, where that is known.
        draws_by_weight : bool
            Whether the rows were drawn by their weights.
        allow_nan, sparse, multi_output : bool
            What the forest took.
        """
        forest = cls(bootstrap=bags is not None)
        forest.ensemble_ = ensemble
        forest.n_features_in_ = ensemble.n_features
        if ensemble.classes is not None:
            forest.classes_ = np.array(ensemble.classes)
        forest._bags, forest._accepts = bags, (allow_nan, sparse, multi_output)
        forest._n_samples = n_rows  # this and the next under the names of scikit-learn's forests, which estimators ask
        forest._sample_weight = True if draws_by_weight else None
        return forest

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "StoredForest":
        """Refuse: which forest it was, and with what parameters, is not in a model file."""
        raise UnsupportedModelError(
            "StoredForest holds the trees of a model file and cannot be grown on other rows: give the estimator a "
            "forest of your own with set_params(forest=...), or forest=None for the default one"
        )

    @property
    def estimators_samples_(self) -> list[NDArray[np.int64]]:
        """The rows that each tree was grown on."""
        if getattr(self, "_bags", None) is None:
            raise AttributeError("this forest was not grown on rows drawn for each tree, or they are not known")
        return self._bags.samples

    @property
    def network_(self) -> ForestNetwork:
        """The hard network of the trees."""
        if not hasattr(self, "ensemble_"):
            raise NotFittedError("this StoredForest holds no trees: load an estimator with nf.load and use its forest_")
        return ForestNetwork(self.ensemble_)

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        return feature_importances(self.network_)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Predict a number, or a label, for each row."""
        return self.network_.predict(X)

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return R2 of numbers, or the share of labels that are right, as scikit-learn's forests do."""
        measure = accuracy_score if _has_classes(self) else r2_score
        return float(measure(y, self.predict(X), sample_weight=sample_weight))

    @available_if(_has_classes)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the probability of each class, (rows, classes)."""
        return self.network_.predict_proba(X)

    @available_if(_has_scores)  # type: ignore[untyped-decorator]
    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the scores of boosted trees, (rows,) or (rows, classes)."""
        scores = self.network_.output(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def apply(self, X: ArrayLike) -> NDArray[np.int32]:
        """Return the leaf of each row in each tree, (rows, trees), counted from left to right."""
        return self.network_.apply(X)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "ensemble_")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        allow_nan, sparse, multi_output = getattr(self, "_accepts", (True, True, True))
        tags.input_tags.allow_nan, tags.input_tags.sparse = allow_nan, sparse
        tags.target_tags.multi_output = multi_output
        tags.estimator_type = "classifier" if _has_classes(self) else "regressor"
        return tags


def _read(forest: StoredForest) -> TreeEnsemble:
    if not hasattr(forest, "ensemble_"):
        raise NotFittedError("StoredForest cannot be read: it holds no trees. Load an estimator with nf.load first.")
    return forest.ensemble_


READERS = {StoredForest: _read}
"""For `readers.read_ensemble`."""
