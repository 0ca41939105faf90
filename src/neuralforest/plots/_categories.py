"""Names of categories, and sets of them as text. Does not use matplotlib."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuralforest.network import ForestNetwork
from neuralforest.plots.text import short

_MOST = 3  # categories that are named; of more, the number of the others is given


class CategoryNames:
    """The names of the categories of each feature: those of an estimator, of the trees, or codes."""

    def __init__(self, model: Any, network: ForestNetwork) -> None:
        encoder, e = getattr(model, "_encoder", None), network.ensemble
        self.columns = network.columns
        self._names: Sequence[Any] = e.categories or [None] * e.n_features
        if encoder is not None:
            self._names = [each.categories if each.means is None else None for each in encoder.columns]

    def name(self, feature: int, code: int) -> str:
        """Return the name of a category; `other` for the one behind all others."""
        names, n_known = self._names[feature], self.n_known(feature)
        if code >= n_known:
            return "other"
        return str(code if names is None or code >= len(names) else names[code])

    def n_known(self, feature: int) -> int:
        """Return the number of categories of a feature; 0 for a number."""
        return int(np.diff(self.columns.first)[feature]) - 1

    def of_column(self, column: int, features: Sequence[str]) -> str:
        """Return the name of an input column, given those of the features."""
        feature = int(self.columns.feature[column])
        if not self.columns.is_category[column]:
            return short(features[feature])
        return f"{short(features[feature])} = {short(self.name(feature, column - self.columns.first[feature]), 10)}"

    def of_set(self, feature: int, left: NDArray[np.bool_]) -> str:
        """Return a set of categories as text; `left` has an entry for each, and a last one for all others."""
        codes = np.flatnonzero(left[:-1] != left[-1]).tolist()
        names = [short(self.name(feature, code), 10) for code in codes[:_MOST]]
        rest = [f"{len(codes) - _MOST} more"] if len(codes) > _MOST else []
        return f"{'not in' if left[-1] else 'in'} {{{', '.join(names + rest)}}}"
