"""nf.convert: any supported tree model as an exactly equal network, compared with the model before it is handed out."""

from typing import Any

import numpy as np

from neuralforest.ensemble import TreeEnsemble
from neuralforest.exceptions import UnsupportedModelError
from neuralforest.network import ForestNetwork
from neuralforest.readers import read_ensemble
from neuralforest.readers.check import accepts_missing, check_rows, source_output


def convert(model: Any) -> ForestNetwork:
    """Rewrite a fitted tree model as a neural network that predicts exactly the same.

    Parameters
    ----------
    model : fitted estimator or TreeEnsemble
        Of scikit-learn: DecisionTree, ExtraTree, RandomForest, ExtraTrees, Bagging of trees, GradientBoosting,
        HistGradientBoosting; regressors and classifiers.

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
    network = ForestNetwork(read_ensemble(model))
    _compare(network, model)
    return network


def _compare(network: ForestNetwork, model: Any) -> None:
    """Refuse a network that differs from its source on rows where a misread tree would show."""
    rows = check_rows(network.ensemble, missing=accepts_missing(model, network.ensemble.n_features))
    ours = network.predict(rows) if network.classes is None else network.predict_proba(rows)
    theirs = source_output(model, rows)
    if not np.allclose(ours, theirs, rtol=1e-9, atol=1e-9 * np.abs(theirs).max()):
        raise UnsupportedModelError(
            f"{type(model).__name__} was read, but its network predicts differently, by "
            f"{np.abs(ours - theirs).max():g}; please report this model, together with the version of its library"
        )
