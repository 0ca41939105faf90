"""The layout of the flat parameter vector, as named views. No other module slices it.

The parameters of all subnetworks stand end to end, those of each as [w1 | b1 | w2 | b2 | w_out | b_out]. Kernels know
the same layout by `_kernels.network.arguments.layer_offsets`.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuralforest._kernels.network.arguments import Structure, layer_offsets


class LayerParameters(NamedTuple):
    """The parameters of a subnetwork; with sparse connectivity, only those of existing connections."""

    w1: NDArray[Any]  # full (splits, columns), sparse (weights,): one a split, or one for each category
    b1: NDArray[Any]  # (splits,)
    w2: NDArray[Any]  # full (leaves, splits), sparse (connections,)
    b2: NDArray[Any]  # (leaves,)
    w_out: NDArray[Any]  # (leaves, outputs)
    b_out: NDArray[Any]  # (trees, outputs): of each tree its part of b_out - sum(w_out), where no leaf is active


@dataclass(frozen=True, eq=False)
class ParameterLayout:
    """Where the parameters of every layer of every subnetwork stand."""

    structure: Structure

    @property
    def first_parameter(self) -> NDArray[np.int64]:
        """Where the parameters of each subnetwork begin, (subnetworks + 1,)."""
        first: NDArray[np.int64] = self.structure.first_parameter
        return first

    @property
    def size(self) -> int:
        return int(self.first_parameter[-1])

    def views(self, parameters: NDArray[Any], subnetwork: int) -> LayerParameters:
        """Return views of a vector with this layout; writing to them writes to the vector."""
        s = self.structure
        offsets = [int(offset) for offset in layer_offsets(s, subnetwork)]
        own = parameters[self.first_parameter[subnetwork] : self.first_parameter[subnetwork + 1]]
        w1, b1, w2, b2, w_out, b_out = (own[a:b] for a, b in pairwise(offsets))
        if s.full:
            w1, w2 = w1.reshape(len(b1), s.n_columns), w2.reshape(len(b2), len(b1))
        return LayerParameters(w1, b1, w2, b2, w_out.reshape(-1, s.n_outputs), b_out.reshape(-1, s.n_outputs))
