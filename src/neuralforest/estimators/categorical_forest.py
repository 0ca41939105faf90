"""The default forest for weighted rows, several targets, categories and wide tables: bagged trees.

scikit-learn's bagging takes neither weights without replacement nor several targets. Splits may be sets of categories:
scikit-learn grows the trees on the ranks of the categories in the order of their mean target among the rows of the
tree; see `ensemble.CategoryOrder`.
"""

from dataclasses import replace
from typing import Any, Self

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils import Tags, check_random_state

from neuralforest import _parallel
from neuralforest.ensemble import CategoryOrder, TreeEnsemble, concatenated, widened
from neuralforest.network import ForestNetwork
from neuralforest.readers import read_ensemble


class CategoricalForest(BaseEstimator):
    """Trees on random parts of the rows, which take categories as codes 0, 1, ...

    Parameters
    ----------
    classifier : bool
    n_categories : int array (features,)
        The number of categories of each feature; 0 for numbers.
    n_estimators, max_samples, max_leaf_nodes, max_features, random_state, n_jobs
        As in scikit-learn's Bagging and DecisionTree; rows are drawn without replacement.
    features : int array, optional
        The features that trees may split by; all of them by default.
    """

    _only: int | None = None  # the number of the one tree that is grown; see `forests.tree_of`

    def __init__(
        self,
        classifier: bool = False,
        n_categories: Any = (),
        n_estimators: int = 30,
        max_samples: float = 0.9,
        max_leaf_nodes: int = 64,
        max_features: float = 1.0,
        random_state: int | None = None,
        n_jobs: int | None = None,
        features: Any = None,
    ) -> None:
        self.classifier = classifier
        self.n_categories = n_categories
        self.n_estimators = n_estimators
        self.max_samples = max_samples
        self.max_leaf_nodes = max_leaf_nodes
        self.max_features = max_features
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.features = features

    def fit(self, X: NDArray[np.floating], y: NDArray[Any], sample_weight: NDArray[np.float64] | None = None) -> Self:
        """Grow the trees."""
        random = check_random_state(self.random_state)
        (n_rows, n_features), X = X.shape, X if self.features is None else _columns(X, self.features)
        drawable = np.arange(n_rows) if sample_weight is None else np.flatnonzero(sample_weight)
        if self.classifier:
            self.classes_, y = np.unique(y, return_inverse=True)
        seeds = random.randint(np.iinfo(np.int32).max, size=self.n_estimators)
        n_drawn = max(1, int(self.max_samples * len(drawable)))
        self._samples = [np.sort(np.random.RandomState(seed).permutation(drawable)[:n_drawn]) for seed in seeds]
        numbers = list(range(self.n_estimators)) if self._only is None else [self._only]
        trees: list[TreeEnsemble | None] = [None] * self.n_estimators

        def grow(number: int) -> None:
            rows = self._samples[number]
            weight = None if sample_weight is None else sample_weight[rows]
            trees[number] = self._tree(X[rows], y[rows], weight, int(seeds[number]))

        with _parallel.team(_parallel.effective_n_jobs(self.n_jobs)) as run:
            run(grow, numbers)
        self._samples, self._seeds = [self._samples[number] for number in numbers], seeds[numbers]
        self.ensemble_ = concatenated([tree for tree in trees if tree is not None])
        if self.features is not None:
            self.ensemble_ = widened(self.ensemble_, self.features, n_features)
        self.n_features_in_, self._n_samples = n_features, n_rows
        return self

    def _tree(
        self, X: NDArray[np.floating], y: NDArray[Any], weight: NDArray[np.float64] | None, seed: int
    ) -> TreeEnsemble:
        kind = DecisionTreeClassifier if self.classifier else DecisionTreeRegressor
        tree = kind(max_leaf_nodes=self.max_leaf_nodes, max_features=self.max_features, random_state=seed)
        n_categories = np.asarray(self.n_categories)[... if self.features is None else self.features]
        if not n_categories.any():
            return self._with_all_classes(read_ensemble(tree.fit(X, y, weight)))
        order = CategoryOrder.of(X, self._ordering_target(y, seed), n_categories, weight)
        tree.fit(order.transform(X), y, weight)
        return order.sets_of(self._with_all_classes(read_ensemble(tree)))

    def _ordering_target(self, y: NDArray[Any], seed: int) -> NDArray[np.float64]:
        """Return what categories are ordered by: the target, the mean of several, or a class, by turns."""
        if self.classifier:
            return np.asarray(y == seed % len(self.classes_) if len(self.classes_) > 2 else y, np.float64)
        spread = np.where(y.std(axis=0) > 0, y.std(axis=0), 1.0)
        return np.asarray((y / spread).reshape(len(y), -1).mean(axis=1))

    def _with_all_classes(self, e: TreeEnsemble) -> TreeEnsemble:
        """Return a tree with a column for every class, also for those that its rows did not hold."""
        if not self.classifier:
            return e
        assert e.classes is not None
        value = np.zeros((e.n_leaves, len(self.classes_)))
        value[:, e.classes] = e.value
        return replace(e, value=value, classes=self.classes_, base_score=None)  # type: ignore[arg-type]

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Predict the target, or the most probable label, of each row."""
        return ForestNetwork(self.ensemble_).predict(X)

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the probability of each class, (rows, classes)."""
        return ForestNetwork(self.ensemble_).predict_proba(X)

    @property
    def estimators_samples_(self) -> list[NDArray[np.int64]]:
        """The rows of each tree."""
        return self._samples

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.estimator_type = "classifier" if self.classifier else "regressor"
        tags.input_tags.allow_nan = True
        return tags


def _columns(X: Any, features: NDArray[np.int64]) -> NDArray[np.floating]:
    """Return some columns of rows, dense."""
    columns = X[:, features]
    return columns.toarray() if scipy.sparse.issparse(columns) else columns
