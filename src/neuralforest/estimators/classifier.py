"""NeuralForestClassifier."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils import Tags, compute_sample_weight
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets

from neuralforest.estimators import forests
from neuralforest.estimators._base import Contrast, NeuralForest
from neuralforest.estimators._docs import with_parameters
from neuralforest.exceptions import InvalidParameterError
from neuralforest.training import Checkpoint
from neuralforest.training.loop import Callback


def _has_scores(estimator: "NeuralForestClassifier") -> bool:
    forest = getattr(estimator, "forest_", estimator.forest)
    return hasattr(forest, "decision_function")


@with_parameters
class NeuralForestClassifier(ClassifierMixin, NeuralForest):  # type: ignore[misc]
    """A random forest classifier that is rewritten as a neural network and trained on.

    It starts as exactly the forest, is softened, trained by gradient descent on the log loss, and is never worse than the
    forest on validation rows.

    Examples
    --------
    >>> from neuralforest import NeuralForestClassifier
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = NeuralForestClassifier(max_epochs=20, contrast=(3, 1), random_state=0).fit(X, y)
    >>> model.validation_loss_ <= model.forest_loss_
    True
    >>> model.predict_proba(X[:2]).shape
    (2, 3)
    """

    _classifier = True

    def __init__(
        self,
        forest: Any = None,
        *,
        class_weight: Any = None,
        training: str = "independent",
        connectivity: str = "full",
        contrast: Contrast = ((1.0, 1.0), (3.0, 1.0), (10.0, 1.0)),
        learning_rate: float | tuple[float, float, float] = 0.003,
        schedule: str = "one_cycle",
        batch_size: int = 32,
        max_epochs: int = 100,
        weight_decay: float = 0.0,
        loss: str = "auto",
        loss_parameter: float | None = None,
        validation: str = "auto",
        validation_fraction: float = 0.25,
        n_iter_no_change: int | None = None,
        standardize: bool = True,
        folded: bool = False,
        bound: float | None = None,
        warm_start: bool = False,
        callback: Callback | None = None,
        checkpoint: Checkpoint | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            forest,
            training=training,
            connectivity=connectivity,
            contrast=contrast,
            learning_rate=learning_rate,
            schedule=schedule,
            batch_size=batch_size,
            max_epochs=max_epochs,
            weight_decay=weight_decay,
            loss=loss,
            loss_parameter=loss_parameter,
            validation=validation,
            validation_fraction=validation_fraction,
            n_iter_no_change=n_iter_no_change,
            standardize=standardize,
            folded=folded,
            bound=bound,
            warm_start=warm_start,
            callback=callback,
            checkpoint=checkpoint,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
        )
        self.class_weight = class_weight

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the probability of each class, (rows, classes), in the order of `classes_`."""
        return self.network_.predict_proba(self._check_X(X), self.n_jobs)

    def predict_log_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the logarithm of the probability of each class, (rows, classes)."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the most probable label for each row, (rows,)."""
        return self.network_.predict(self._check_X(X), self.n_jobs)

    @available_if(_has_scores)
    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the scores of a boosted source: log-odds (rows,), or one score a class, (rows, classes)."""
        scores = self.network_.output(self._check_X(X), self.n_jobs)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def _check_target(self, y: NDArray[Any], reset: bool) -> NDArray[Any]:
        check_classification_targets(y)
        if reset and not (self.warm_start and hasattr(self, "network_")):
            fitted = self.forest is not None and forests.is_fitted(self.forest)
            self.classes_ = np.asarray(self.forest.classes_) if fitted else np.unique(y)
        unknown = np.setdiff1d(y, self.classes_)
        if len(unknown):
            raise InvalidParameterError(
                f"y must hold only classes that the forest knows, {list(self.classes_)}, got {list(unknown)} too"
            )
        return y

    def _columns(self, target: NDArray[Any]) -> NDArray[np.float64]:
        position = np.searchsorted(self.classes_, target)
        if len(self.classes_) == 2 and hasattr(self.forest_, "decision_function"):
            return position[:, None].astype(np.float64)  # a boosted source has one output, the log-odds of the second
        return np.eye(len(self.classes_))[position]

    def _reweighted(self, target: NDArray[Any], weight: NDArray[np.float64], n_rows: int) -> NDArray[np.float64]:
        if self.class_weight is None:
            return weight
        factors = compute_sample_weight(self.class_weight, target[:n_rows])
        by_class = dict(zip(target[:n_rows], factors, strict=True))
        return weight * np.array([by_class.get(label, 1.0) for label in target])

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = True
        return tags
