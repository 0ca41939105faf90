"""StoredForest: the trees of a loaded estimator with the interface of a fitted forest. Independent of files."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Tags

from neuralforest.ensemble import TreeEnsemble
from neuralforest.estimators.ensemble_forest import EnsembleForest
from neuralforest.exceptions import UnsupportedModelError

MAX_DRAWS = 16
"""The largest size of a bootstrap sample, as a multiple of the number of rows: it bounds the memory for samples."""


@dataclass(frozen=True, eq=False)
class Bags:
    """The bootstrap samples of the trees: the seeds of the draws, where these determine them, or counts of the rows.

    Parameters
    ----------
    drawn : int64 array (trees,), or unsigned array (trees, rows)
        Seeds: a tree's rows are ``RandomState(seed).randint(0, n_rows, n_drawn)``, or without replacement
        ``RandomState(seed).permutation(n_rows)[:n_drawn]``, streams that NumPy keeps unchanged. Or how often each tree
        drew each row.
    n_rows, n_drawn : int
    replacement : bool
        Whether seeds draw with replacement.
    """

    drawn: NDArray[np.integer]
    n_rows: int
    n_drawn: int
    replacement: bool = True

    @classmethod
    def of(cls, samples: list[NDArray[np.integer]], seeds: list[Any], n_rows: int) -> "Bags | None":
        """Return the samples of all trees, as seeds only where these reproduce them; None where they are too large."""
        n_drawn = max(map(len, samples))
        if not 0 < n_drawn <= MAX_DRAWS * n_rows:
            return None
        if len(seeds) == len(samples) and all(isinstance(s, int | np.integer) and 0 <= s < 2**32 for s in seeds):
            for replacement in (True, False):
                bags = cls(np.array(seeds, np.int64), n_rows, n_drawn, replacement)
                if all(map(_same_rows, samples, bags._drawn_by_seeds())):
                    return bags
        counts = np.stack([np.bincount(rows, minlength=n_rows) for rows in samples])
        return cls(counts.astype(np.min_scalar_type(counts.max())), n_rows, n_drawn)

    @property
    def samples(self) -> list[NDArray[np.int64]]:
        """The rows of each tree, repeated as often as they were drawn."""
        if self.drawn.ndim == 2:
            return [np.repeat(np.arange(self.n_rows), count) for count in self.drawn]
        return list(self._drawn_by_seeds())

    def _drawn_by_seeds(self) -> Iterator[NDArray[np.int64]]:
        for seed in self.drawn.tolist():
            random = np.random.RandomState(seed)
            if self.replacement:
                yield random.randint(0, self.n_rows, self.n_drawn)
            else:
                yield random.permutation(self.n_rows)[: self.n_drawn]


def _same_rows(one: NDArray[np.integer], other: NDArray[np.integer]) -> bool:
    return len(one) == len(other) and bool((np.sort(one) == np.sort(other)).all())


class StoredForest(EnsembleForest):
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

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan, tags.input_tags.sparse, tags.target_tags.multi_output = self._accepts
        tags.estimator_type = "classifier" if hasattr(self, "classes_") else "regressor"
        return tags
