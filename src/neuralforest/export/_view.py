"""What every export needs to know of a model: its hidden layers in cells, and how trees make a prediction."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
import scipy.sparse
from numpy.typing import NDArray

from neuralforest._kernels.arguments import SOFTMAX, layer_offsets
from neuralforest.companion import Linear
from neuralforest.ensemble import TreeEnsemble
from neuralforest.exceptions import NotFittedError, UnsupportedModelError
from neuralforest.network import ForestNetwork
from neuralforest.softening import FAR
from neuralforest.structure import connection_units

__all__ = ["Cell", "Mixture", "View", "merge"]


class Cell(NamedTuple):
    """Hidden layers that stand alone: those of one tree, or with full connectivity across trees those of all trees."""

    feature: NDArray[np.int32]  # (splits,)
    missing: NDArray[np.float32]  # (splits,): the unit's output where its feature is missing
    W1: NDArray[np.float32]  # (splits, 1), the weight of the split's own feature; or (splits, features)
    b1: NDArray[np.float32]  # (splits,)
    W2: Any  # (leaves, splits), an array or a scipy.sparse.csr_array
    b2: NDArray[np.float32]  # (leaves,)
    W_out: NDArray[np.float32]  # (scores, leaves); scores are the outputs, of every tree where each has a softmax
    offset: NDArray[np.float64]  # (scores,): what they are where no leaf fires

    @property
    def n_leaves(self) -> int:
        return len(self.b2)


class Mixture(NamedTuple):
    """A prediction before the link is shift + hard * (sum over hard trees) + soft * (sum over soft trees)."""

    shift: NDArray[np.float64]  # (outputs,)
    hard: NDArray[np.float64]  # (outputs,)
    soft: NDArray[np.float64]  # (outputs,)
    hard_center: NDArray[np.float64]  # (outputs,): taken off every value of a hard tree, so that sums stay small


@dataclass(frozen=True, eq=False)
class View:
    """A model to export: its network, and the targets that never vary, (outputs,), NaN where they do."""

    network: ForestNetwork
    constant: NDArray[np.float64]

    @classmethod
    def of(cls, model: Any) -> "View":
        """Look at a fitted estimator or a ForestNetwork."""
        network = model if isinstance(model, ForestNetwork) else getattr(model, "network_", None)
        if isinstance(network, ForestNetwork):
            constant = getattr(model, "_constant", None)
            return cls(network, np.broadcast_to(np.nan if constant is None else constant, network.ensemble.n_outputs))
        if hasattr(model, "fit") and hasattr(type(model), "_classifier"):
            name = type(model).__name__
            raise NotFittedError(f"a model must be fitted before it is exported, and this {name} is not: call fit")
        raise UnsupportedModelError(
            f"a fitted NeuralForestRegressor, NeuralForestClassifier or ForestNetwork can be exported, got a "
            f"{type(model).__name__}; neuralforest.convert makes a ForestNetwork of a tree model"
        )

    @cached_property
    def beside(self) -> "list[tuple[View | Linear, float]]":
        """What stands beside the network, to export along, and the shares of the prediction."""
        return [
            (other if isinstance(other, Linear) else View(other, self.constant[: other.ensemble.n_outputs]), share)
            for other, share in self.network.beside
        ]

    @property
    def ensemble(self) -> TreeEnsemble:
        return self.network.ensemble

    @property
    def softmax_head(self) -> bool:
        """Whether each soft tree says probabilities, by a softmax of its own."""
        return self.network.soft is not None and self.network.structure.head == SOFTMAX

    @property
    def steepness(self) -> float:
        """The largest contrast * |offset| of the first layer.

        Times 6e-8 it is the error in the argument of tanh where w x + b is rounded twice in float32 (kernels: once).
        """
        if not len(self.soft_blocks):
            return 0.0
        offset = np.abs(np.concatenate([self._parts(block)[1] for block in self.soft_blocks]))
        largest = float(offset.max(initial=0, where=offset < FAR))  # thresholds of +inf saturate in any precision
        return largest * float(self.network.structure.contrast1)

    @cached_property
    def soft_blocks(self) -> NDArray[np.int64]:
        return np.flatnonzero(~self.network.hard)

    @cached_property
    def hard_trees(self) -> NDArray[np.int64]:
        if self.network.n_blocks == self.ensemble.n_trees:
            return np.flatnonzero(self.network.hard)
        return np.arange(self.ensemble.n_trees if self.network.hard.all() else 0)

    @cached_property
    def mixture(self) -> Mixture:
        """How the trees' sums become a prediction; see `ForestNetwork.output`."""
        e, soft = self.ensemble, self.network.soft
        mean = e.aggregation == "mean"
        share = 1 / e.n_trees if mean else 1.0
        values = [e.value[e.first_leaf[tree] : e.first_leaf[tree + 1]] for tree in self.hard_trees]
        centered = bool(values) and e.classes is None
        center = np.concatenate(values).mean(axis=0) if centered else np.zeros(e.n_outputs)
        shift = share * len(values) * center
        if mean or self.network.hard.all():  # soft blocks of a sum carry the base score themselves
            shift = shift + np.asarray(e.base_score)
        factor = np.zeros(e.n_outputs)
        if soft is not None and len(self.soft_blocks):
            trees = e.n_trees // self.network.n_blocks  # of a block
            weight = share * (trees if mean else 1)
            shift = shift + weight * len(self.soft_blocks) * soft.output_center
            factor = weight * soft.output_scale / (trees if self.softmax_head else 1)
        varies = np.isnan(self.constant)
        return Mixture(np.where(varies, shift, self.constant), share * varies, factor * varies, center)

    def cells(self) -> list[Cell]:
        """Return the hidden layers of the soft blocks."""
        found: list[Cell] = []
        for block in self.soft_blocks:
            structure = self.network.structure
            if structure.full:
                found.append(self._full_cell(block))
            else:
                trees = range(structure.block_tree[block], structure.block_tree[block + 1])
                found.extend(self._sparse_cell(block, tree) for tree in trees)
        return found

    def _parts(self, block: int) -> list[NDArray[np.float32]]:
        """Return w1, b1, w2, b2, w_out and b_out of a block."""
        s = self.network.structure
        assert self.network.soft is not None
        p = self.network.soft.parameters[s.first_parameter[block] : s.first_parameter[block + 1]]
        return np.split(p, layer_offsets(s, block)[1:6])

    def _sparse_cell(self, block: int, tree: int) -> Cell:
        s, e = self.network.structure, self.ensemble
        w1, b1, w2, b2, w_out, b_out = self._parts(block)
        first = s.block_tree[block]
        own = slice(e.first_split[tree], e.first_split[tree + 1])
        splits = slice(own.start - e.first_split[first], own.stop - e.first_split[first])
        leaves = slice(e.first_leaf[tree] - e.first_leaf[first], e.first_leaf[tree + 1] - e.first_leaf[first])
        runs = e.first_connection[[e.first_split[first], own.start, own.stop]]
        weights = w2[runs[1] - runs[0] : runs[2] - runs[0]]
        shape = leaves.stop - leaves.start, own.stop - own.start
        W2 = scipy.sparse.csr_array((weights, connection_units(e, tree, tree + 1)), shape)
        W_out = w_out.reshape(-1, e.n_outputs)[leaves].T
        offset = b_out.reshape(-1, e.n_outputs)[tree - first].astype(np.float64)
        return Cell(e.feature[own], s.missing[own], w1[splits, None], b1[splits], W2, b2[leaves], W_out, offset)

    def _full_cell(self, block: int) -> Cell:
        s, e = self.network.structure, self.ensemble
        w1, b1, w2, b2, w_out, b_out = self._parts(block)
        first, last = s.block_tree[block], s.block_tree[block + 1]
        own = slice(e.first_split[first], e.first_split[last])
        W_out, offset = w_out.reshape(-1, e.n_outputs).T, b_out.astype(np.float64)
        if self.softmax_head:
            of_trees = np.split(W_out, e.first_leaf[first + 1 : last] - e.first_leaf[first], axis=1)
            W_out = scipy.linalg.block_diag(*of_trees)
        else:
            offset = offset.reshape(-1, e.n_outputs).sum(axis=0)
        W1, W2 = w1.reshape(len(b1), e.n_features), w2.reshape(len(b2), len(b1))
        return Cell(e.feature[own], s.missing[own], W1, b1, W2, b2, W_out, offset)


def merge(cells: list[Cell], softmax_head: bool) -> Cell:
    """Lay sparse cells end to end as one."""
    W_out, offset = [cell.W_out for cell in cells], [cell.offset for cell in cells]
    return Cell(
        feature=np.concatenate([cell.feature for cell in cells]),
        missing=np.concatenate([cell.missing for cell in cells]),
        W1=np.concatenate([cell.W1 for cell in cells]),
        b1=np.concatenate([cell.b1 for cell in cells]),
        W2=scipy.sparse.block_diag([cell.W2 for cell in cells], format="csr"),
        b2=np.concatenate([cell.b2 for cell in cells]),
        W_out=scipy.linalg.block_diag(*W_out) if softmax_head else np.concatenate(W_out, axis=1),
        offset=np.concatenate(offset) if softmax_head else np.sum(offset, axis=0),
    )
