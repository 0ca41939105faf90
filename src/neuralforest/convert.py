"""nf.convert: any supported tree model as an exactly equal network, compared with the model before it is handed out."""

from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np

from neuralforest.ensemble import TreeEnsemble
from neuralforest.exceptions import InvalidParameterError, UnsupportedModelError
from neuralforest.network import ForestNetwork
from neuralforest.readers import library_of, read_ensemble
from neuralforest.readers.check import check_rows


def convert(model: Any, X: Any = None, *, draws: int | Sequence[int] | None = None) -> ForestNetwork:
    """Rewrite a fitted tree model as a neural network that predicts exactly the same.

    Parameters
    ----------
    model : fitted estimator or TreeEnsemble
        Of scikit-learn: DecisionTree, ExtraTree, RandomForest, ExtraTrees, Bagging of trees, GradientBoosting,
        HistGradientBoosting; regressors and classifiers. Models and boosters of XGBoost, LightGBM and CatBoost.
        stochtree's BARTModel.
    X : data frame, optional
        A table that holds the categories of a CatBoost model, which stores their hashes only.
    draws : int or sequence of int, optional
        Draws of a BARTModel: a number of them, evenly spaced, or their numbers; all by default.

    Returns
    -------
    ForestNetwork

    Raises
    ------
    UnsupportedModelError
        When the model cannot be rewritten exactly; the message says why.

    Examples
    --------
    >>> import neuralforest as nf
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(5, random_state=0).fit(X, y)
    >>> bool((nf.convert(forest).predict_proba(X) == forest.predict_proba(X)).all())
    True
    """
    if isinstance(model, TreeEnsemble):
        return ForestNetwork(model)
    options = {name: value for name, value in (("X", X), ("draws", draws)) if value is not None}
    network = ForestNetwork(_read(model, options))
    if "draws" not in options:  # a model predicts with all of its draws
        _compare(network, model)
    return network


def _read(model: Any, options: dict[str, Any]) -> TreeEnsemble:
    try:
        return read_ensemble(model, **options)
    except TypeError as error:
        if options and "unexpected keyword argument" in str(error):
            raise InvalidParameterError(
                f"X is for CatBoost models and draws for BART models only, got {', '.join(options)} for "
                f"{type(model).__name__}"
            ) from error
        raise


def _compare(network: ForestNetwork, model: Any) -> None:
    """Refuse a network that differs from its source on rows where a misread tree would show."""
    library = library_of(model)
    if library is None:  # it holds an ensemble, and is ours
        return
    e = network.ensemble
    rows = check_rows(e, missing=_accepts_missing(library, model, e))
    ours = network.predict(rows) if network.classes is None else network.predict_proba(rows)
    theirs = library.output(model, rows, e)
    largest = max(1.0, np.abs(network.output(rows)).max()) * np.abs(theirs).max()
    if not np.allclose(ours, theirs, rtol=library.ROUNDING, atol=library.ROUNDING * largest):
        raise UnsupportedModelError(
            f"{type(model).__name__} was read, but its network predicts differently, by "
            f"{np.abs(ours - theirs).max():g}; please report this model, together with the version of its library"
        )


def _accepts_missing(library: ModuleType, model: Any, e: TreeEnsemble) -> bool:
    """Return whether the model predicts rows with NaN, by asking it for one."""
    try:
        library.output(model, np.full((1, e.n_features), np.nan), e)
    except ValueError:
        return False
    return True
