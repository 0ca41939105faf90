"""Readers: one file per library turns fitted models into a `TreeEnsemble`. They import nothing above `ensemble`.

A library's file holds a table `READERS` from class to reader, `output`, the model's own predictions for comparison, and
`ROUNDING`, how far these may differ. It is imported only when a class of that library is among the ancestors of the
model, so that a library that is not in use is never loaded. An object that holds a `TreeEnsemble` as `ensemble_`, such
as the forest of a loaded estimator, needs no reader. `skops` reads files: it returns the scikit-learn model of one.
"""

from importlib import import_module
from types import ModuleType
from typing import Any

from neuralforest.ensemble import TreeEnsemble
from neuralforest.exceptions import InvalidEnsembleError
from neuralforest.readers._refusal import not_fitted, unsupported

__all__ = ["library_of", "read_ensemble"]

_LIBRARIES = ("sklearn", "xgboost", "lightgbm", "catboost", "stochtree")
"""Packages whose models are read by the file of the same name."""

_SUPPORTED = (
    "scikit-learn's DecisionTree, ExtraTree, RandomForest, ExtraTrees, Bagging of trees, GradientBoosting and "
    "HistGradientBoosting, models of XGBoost, LightGBM and CatBoost, and stochtree's BARTModel"
)


def library_of(model: object) -> ModuleType | None:
    """Return the file that reads models of this class, or None."""
    for ancestor in type(model).__mro__:
        name = ancestor.__module__.partition(".")[0]
        if name in _LIBRARIES:
            library = import_module(f"{__name__}.{name}")
            if ancestor in library.READERS:
                return library
    return None


def read_ensemble(model: object, **options: Any) -> TreeEnsemble:
    """Return the trees of a fitted model, which is not changed.

    Parameters
    ----------
    model : object
        A fitted tree ensemble, an instance of a subclass of one, or an object with a `TreeEnsemble` as `ensemble_`.
    **options
        What the reader of a library takes: see `convert`.

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
    library = library_of(model)
    if library is None:
        raise unsupported(model, "there is no reader for this class", _SUPPORTED)
    reader = next(library.READERS[ancestor] for ancestor in type(model).__mro__ if ancestor in library.READERS)
    try:
        ensemble: TreeEnsemble = reader(model, **options)
    except InvalidEnsembleError as error:
        raise unsupported(model, str(error), "finite trees") from error
    return ensemble
