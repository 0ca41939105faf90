"""Readers: one file per library turns fitted models into a `TreeEnsemble`. They import nothing above `ensemble`.

A library's file ends with a table `READERS` from class to reader. It is imported only when a class of that library is
among the ancestors of the model, so that a library that is not in use is never loaded. An object that holds a
`TreeEnsemble` as `ensemble_`, such as the forest of a loaded estimator, needs no reader. `skops` reads files: it
returns the scikit-learn model of one, for `read_ensemble`.
"""

from importlib import import_module

from neuralforest.ensemble import TreeEnsemble
from neuralforest.exceptions import InvalidEnsembleError
from neuralforest.readers._refusal import not_fitted, unsupported

__all__ = ["read_ensemble"]

_LIBRARIES = {"sklearn": "neuralforest.readers.sklearn"}
"""The file that reads the models of a library, by the name of the library's package."""

_SUPPORTED = (
    "scikit-learn's DecisionTree, ExtraTree, RandomForest, ExtraTrees, Bagging of trees, GradientBoosting and "
    "HistGradientBoosting, regressors and classifiers"
)


def read_ensemble(model: object) -> TreeEnsemble:
    """Return the trees of a fitted model, which is not changed.

    Parameters
    ----------
    model : object
        A fitted tree ensemble, an instance of a subclass of one, or an object with a `TreeEnsemble` as `ensemble_`.

    Returns
    -------
    TreeEnsemble
        Trees in the order in which the model sums them.

    Raises
    ------
    UnsupportedModelError
        When the model cannot be rewritten exactly; the message gives the reason and what is supported.
    NotFittedError
        When the model has no trees yet.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from neuralforest.readers import read_ensemble
    >>> X, y = load_iris(return_X_y=True)
    >>> read_ensemble(DecisionTreeClassifier(max_leaf_nodes=4, random_state=0).fit(X, y))
    TreeEnsemble(1 tree, 4 leaves, 4 features, 3 outputs)
    """
    if isinstance(model, type):
        raise unsupported(model, "it is a class", f"a fitted instance, as in {model.__name__}().fit(X, y)")
    if hasattr(model, "ensemble_"):
        if model.ensemble_ is None:
            raise not_fitted(model)
        if isinstance(model.ensemble_, TreeEnsemble):
            return model.ensemble_
    for ancestor in type(model).__mro__:
        library = _LIBRARIES.get(ancestor.__module__.partition(".")[0])
        if library is None:
            continue
        reader = import_module(library).READERS.get(ancestor)
        if reader is not None:
            try:
                return reader(model)
            except InvalidEnsembleError as error:
                raise unsupported(model, str(error), "finite trees with thresholds") from error
    raise unsupported(model, "there is no reader for this class", _SUPPORTED)
