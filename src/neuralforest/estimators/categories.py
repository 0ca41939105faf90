"""Categories between an estimator and a forest of another library: each has an order of its own."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble._hist_gradient_boosting.gradient_boosting import BaseHistGradientBoosting
from sklearn.frozen import FrozenEstimator

from neuralforest._frames import TableEncoder, labels_of
from neuralforest.ensemble import TreeEnsemble, offsets
from neuralforest.exceptions import InvalidParameterError
from neuralforest.readers import library_of


def own_categories(forest: Any) -> list[Any]:
    """Return the names or numbers of the columns that a given forest takes as categories, whatever their dtypes."""
    forest = forest.estimator if isinstance(forest, FrozenEstimator) else forest
    library, chosen = library_of(forest), None
    if isinstance(forest, BaseHistGradientBoosting):
        chosen = None if isinstance(forest.categorical_features, str) else forest.categorical_features
    elif library is not None and library.__name__.endswith(".catboost"):
        chosen = forest.get_cat_feature_indices() if forest.is_fitted() else forest.get_params().get("cat_features")
    chosen = [] if chosen is None else list(chosen)
    if all(isinstance(each, (bool, np.bool_)) for each in chosen):
        return np.flatnonzero(chosen).tolist()
    return [int(each) if isinstance(each, np.integer) else each for each in chosen]


def aligned(e: TreeEnsemble, encoder: TableEncoder | None) -> TreeEnsemble:
    """Return trees whose splits take the codes of an encoder, in place of those of their source."""
    if e.categories is None:
        return e
    order = {
        feature: _order(feature, labels, encoder) for feature, labels in enumerate(e.categories) if labels is not None
    }
    lists = []
    for split, feature in enumerate(e.feature):
        own = e.category_left[e.first_category[split] : e.first_category[split + 1]]
        if feature in order and len(own):
            own = own[np.minimum(order[feature], len(own) - 1)]  # -1 is the entry of all other categories
            own = own.repeat(2) if len(own) == 1 else own  # a column without any category
        elif feature in order and (order[feature][:-1] != np.arange(len(order[feature]) - 1)).any():
            raise _refused(feature, e.categories[feature])  # a threshold between ordered categories
        lists.append(own)
    first = offsets([len(own) for own in lists])
    return replace(
        e, first_category=first, category_left=np.concatenate([e.category_left[:0], *lists]), categories=None
    )


def _order(feature: int, labels: NDArray[Any], encoder: TableEncoder | None) -> NDArray[np.int64]:
    """Return the position of each category of the encoder among the labels of the source; -1 for others."""
    column = None if encoder is None else encoder.columns[feature]
    if column is None or column.categories is None or column.means is not None:
        raise _refused(feature, labels)
    place = {label: number for number, label in enumerate(labels_of(np.asarray(labels)).tolist())}
    return np.array([*(place.get(label, -1) for label in column.categories.tolist()), -1], np.int64)


def _refused(feature: int, labels: Any) -> InvalidParameterError:
    return InvalidParameterError(
        f"X must hold the categories that the forest was fitted on, {list(labels)[:20]} in column {feature}: pass a "
        "table with strings or a categorical dtype, of at most 64 categories; ordered ones in alphabetical order"
    )


def decoded(encoder: TableEncoder, X: NDArray[np.float64], as_strings: bool) -> Any:
    """Return encoded rows as a data frame for another library: categories as strings, or of a categorical dtype."""
    import pandas

    columns: dict[str, Any] = {}
    for number, column in enumerate(encoder.columns):
        x = X[:, number]
        if column.categories is None or column.means is not None:
            columns[column.name] = x
        else:
            code = np.where(np.isnan(x), -1, x).astype(np.int64)
            labels = column.categories.tolist()
            strings = np.array([*labels, "missing"], object)  # which the code -1 takes
            columns[column.name] = strings[code] if as_strings else pandas.Categorical.from_codes(code, labels)
    return pandas.DataFrame(columns)
