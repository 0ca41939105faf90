"""NeuralForestClassifier."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils import compute_class_weight
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets

from neuralforest.estimators import forests
from neuralforest.estimators._base import NeuralForest
from neuralforest.estimators._docs import with_parameters
from neuralforest.estimators.parameters import Contrast
from neuralforest.exceptions import InvalidParameterError
from neuralforest.network import ForestNetwork


def _has_scores(estimator: "NeuralForestClassifier") -> bool:
    if hasattr(estimator, "network_"):
        return bool(estimator.network_.ensemble.link != "identity")
    return hasattr(estimator.forest, "decision_function")


@with_parameters
@dataclass(eq=False, repr=False, kw_only=True)
class NeuralForestClassifier(ClassifierMixin, NeuralForest):
    """A random forest classifier, rewritten as a neural network and trained further.

    The network starts with the predictions of the forest, is softened, and is trained by gradient descent on the log
    loss. By default, base models are stacked with it where that improves held-out predictions. The result is never
    worse than the forest on validation rows.

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

    class_weight: Any = None
    contrast: Contrast = (1.0, 0.7)
    learning_rate: float | tuple[float, float, float] = 0.008
    schedule: str = "cyclic"

    def partial_fit(  # type: ignore[override]
        self,
        X: ArrayLike,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        n_epochs: int = 1,
    ) -> Self:
        """Continue training of the network on new rows; forest and base models stay as they are.

        A subnetwork that fell back to its tree is trained, too, and replaces the tree once it is better on the new
        rows. `history_` becomes that of this call; validation scores stay those of `fit`. On an unfitted estimator,
        this is `fit`.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.
        classes : array-like, optional
            All labels. They must be those of the first call, which the forest was fitted on.
        n_epochs : int
            Passes over the rows.

        Returns
        -------
        self
        """
        if classes is not None:
            known = self.classes_ if hasattr(self, "network_") else np.unique(np.asarray(y))
            if not np.array_equal(np.unique(np.asarray(classes)), known):
                raise InvalidParameterError(
                    f"classes must be those of the rows of the first call, {known.tolist()}, got "
                    f"{np.unique(np.asarray(classes)).tolist()}: begin with rows of all classes"
                )
        return super().partial_fit(X, y, sample_weight, n_epochs)

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the probability of each class, (rows, classes), in the order of `classes_`."""
        network, X = self._network_and_rows(X)
        return network.prediction(X, self.n_jobs)

    def predict_log_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the logarithm of the probability of each class, (rows, classes)."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the most probable label for each row, (rows,)."""
        network, X = self._network_and_rows(X)
        return network.predict_checked(X, self.n_jobs)

    @available_if(_has_scores)  # type: ignore[untyped-decorator]
    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the scores of a boosted source: log-odds (rows,), or one score a class, (rows, classes).

        Probabilities are those of the scores divided by the temperature, `network_.temperature`.
        """
        network, X = self._network_and_rows(X)
        scores = network.stacked_output(X, self.n_jobs)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def _check_target(self, y: NDArray[Any], reset: bool) -> NDArray[Any]:
        check_classification_targets(y)
        if reset:
            forest = forests.source_of(self.forest, self._classifier)
            known = getattr(forest, "classes_", None) if forests.is_fitted(forest) else None
            self.classes_ = np.unique(y) if known is None else np.asarray(known)
        unknown = np.setdiff1d(y, self.classes_)
        if len(unknown):
            raise InvalidParameterError(
                f"y must hold only the classes that the forest was fitted on, {self.classes_.tolist()}, got "
                f"{unknown.tolist()} too: fit anew to add classes"
            )
        return y

    def _columns(self, network: ForestNetwork, target: NDArray[Any]) -> NDArray[np.float64]:
        position = np.searchsorted(self.classes_, target)
        if len(self.classes_) == 2 and network.ensemble.n_outputs == 1:
            return position[:, None].astype(np.float64)  # a boosted source has one output, the log-odds of the second
        return np.eye(len(self.classes_))[position]

    def _class_weights(self, target: NDArray[Any], n_rows: int) -> NDArray[np.float64] | None:
        if self.class_weight is None:
            return None
        weights = compute_class_weight(self.class_weight, classes=np.unique(target[:n_rows]), y=target[:n_rows])
        by_class = np.ones(len(self.classes_))
        by_class[np.searchsorted(self.classes_, np.unique(target[:n_rows]))] = weights
        return by_class[np.searchsorted(self.classes_, target)]
