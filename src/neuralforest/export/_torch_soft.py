"""Soft trees as a torch module, with one weight per connection of the network.

Inside, rows of X are columns: gathered values are then contiguous.
"""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from neuralforest.export._one_hot import OneHot, SparseWeights
from neuralforest.export._view import View
from neuralforest.network import LayerParameters
from neuralforest.network.structure import connection_units

_STEEP = 10.0  # beyond it the first layer is computed in float64, so that the error stays below 1e-6

_RUN = 256  # leaves that are summed at a time: one sum over all loses another digit


class Expansion(nn.Module):
    """The input columns of rows, (rows, columns); see `InputColumns.expand`."""

    def __init__(self, one_hot: OneHot) -> None:
        super().__init__()
        for name, array in one_hot._asdict().items():
            self.register_buffer(name, torch.from_numpy(array.copy()))

    def forward(self, x: Tensor) -> Tensor:
        x = x[:, self.feature]
        value = (((x >= self.low) & (x < self.high)) ^ self.is_other).to(x.dtype)
        value = torch.where(x.isnan(), self.missing.to(x.dtype), value)
        return torch.where(self.is_category, value, x)


class SparseFirstLayer(nn.Module):
    """Splits on numbers, each on a column of its own, and splits on categories, as a product of matrices."""

    def __init__(self, weights: SparseWeights, is_category: NDArray[np.bool_]) -> None:
        super().__init__()
        for name, array in {**weights._asdict(), "column": np.flatnonzero(is_category)}.items():
            self.register_buffer(name, torch.from_numpy(array))

    def forward(self, own: Tensor, x: Tensor, w1: Tensor) -> Tensor:
        """Return the arguments of the units without offsets; `own` is the first column of each, (splits, rows)."""
        w = w1.new_zeros(len(own)).index_put((self.unit_of_number,), w1[self.number])
        W = w1.new_zeros(len(own), len(self.column))
        W = W.index_put((self.unit_of_category, self.place), w1[self.category])
        return own * w[:, None] + W @ x[self.column]


class SoftTrees(nn.Module):
    """The weighted sum over the soft subnetworks of a network.

    The parameters w1, b1, w2, b2, w_out have the order of the network's own. The output of a tree where no leaf is
    active is b_out - sum(w_out). It is computed as b_out - sum(w_out - start), with b_out counted from sum(start),
    where start is w_out at the time of the export: the same function with the same gradients and less rounding.
    """

    def __init__(self, view: View) -> None:
        super().__init__()
        network, e, soft = view.network, view.ensemble, view.network.soft
        assert soft is not None
        self.contrast = float(network.structure.contrast1), float(network.structure.contrast2)
        self.full, self.softmax_head = soft.connectivity == "full", network.softmax_head
        self.is_steep = view.steepness > _STEEP
        self.compare_dtype = getattr(torch, e.compare_dtype)
        trees = np.concatenate([network.subnetworks.trees(s) for s in view.soft_subnetworks])
        self.leaves_of_trees: list[int] = np.diff(e.first_leaf)[trees].tolist()
        splits = [np.arange(e.n_splits)[network.subnetworks.splits(s)] for s in view.soft_subnetworks]
        column = network.structure.column[np.concatenate(splits)]
        self.register_buffer("feature", torch.from_numpy(column.astype(np.int64)))  # a column of the inputs
        self.register_buffer("missing", torch.from_numpy(network.structure.missing[np.concatenate(splits)]))
        for name in ("center", "scale", "low", "high"):
            self.register_buffer(name, torch.from_numpy(getattr(soft, name).copy()))
        where = [network.layout.views(np.arange(network.layout.size), s) for s in view.soft_subnetworks]
        self.shapes = [(len(part.b2), len(part.b1)) for part in where]  # leaves and splits
        self._add_parameters(where, soft.parameters, view.relative_weight[view.soft_subnetworks])
        self.expand = None if view.one_hot is None else Expansion(view.one_hot)
        self.categories = None
        if not self.full:
            self._add_levels(view)
            if view.one_hot is not None:
                weights = SparseWeights.of(network, np.concatenate(splits))
                self.categories = SparseFirstLayer(weights, view.one_hot.is_category)

    def _add_parameters(
        self, where: list[LayerParameters], parameters: NDArray[np.float32], weight: NDArray[np.float64]
    ) -> None:
        """Add the parameters of the soft subnetworks, given their positions among those of the network."""
        named = zip(LayerParameters._fields, zip(*where, strict=True), strict=True)
        self.positions = {name: np.concatenate([part.reshape(-1) for part in parts]) for name, parts in named}
        n_outputs, width = where[0].w_out.shape[1], where[0].w1.shape[1:]
        shapes = {"w1": (-1, *width), "w_out": (-1, n_outputs)}
        for name in ("w1", "b1", "w2", "b2", "w_out"):
            values = parameters[self.positions[name]].reshape(shapes.get(name, (-1,)))
            self.register_parameter(name, nn.Parameter(torch.from_numpy(values)))
        self.register_buffer("start", self.w_out.detach().clone())
        offsets = parameters[self.positions["b_out"]].reshape(-1, n_outputs)
        n_trees = [len(part.b_out) for part in where]
        # Trees whose scores are summed share one offset, which is trained: that of their subnetwork's first tree.
        self.trained = np.arange(len(offsets)) if self.softmax_head else np.cumsum([0, *n_trees[:-1]])
        self.b_out = nn.Parameter(torch.from_numpy(offsets[self.trained]))
        of_trees = np.repeat(weight, n_trees)[:, None]
        self.register_buffer("weight_of_offset", torch.from_numpy(of_trees[self.trained]))
        self.register_buffer("weight_of_leaf", torch.from_numpy(np.repeat(of_trees, self.leaves_of_trees, axis=0)))
        rest = np.delete(of_trees * offsets, self.trained, axis=0).sum(axis=0)
        self.register_buffer("rest", torch.from_numpy(rest))

    def _add_levels(self, view: View) -> None:
        """Add for every leaf the split above it at each level, and the weight that connects them."""
        ends = np.cumsum([(0, 0), *self.shapes], axis=0)  # leaves and splits before each subnetwork
        trees = [view.network.subnetworks.trees(s) for s in view.soft_subnetworks]
        units = [connection_units(view.ensemble, part.start, part.stop) for part in trees]
        leaf = np.concatenate([own[0] + end[0] for own, end in zip(units, ends[:-1], strict=True)])
        split = np.concatenate([own[1] + end[1] for own, end in zip(units, ends[:-1], strict=True)])
        order = np.argsort(leaf, kind="stable")
        depth = np.bincount(leaf, minlength=ends[-1, 0])
        level = np.arange(len(leaf)) - np.repeat(np.cumsum(depth) - depth, depth)
        split_at = np.zeros((depth.max(), len(depth)), np.int64)
        weight_at = np.full(split_at.shape, len(leaf))  # a 0 follows the last weight
        split_at[level, leaf[order]], weight_at[level, leaf[order]] = split[order], order
        self.register_buffer("split_at", torch.from_numpy(split_at))
        self.register_buffer("weight_at", torch.from_numpy(weight_at))

    def forward(self, x: Tensor) -> Tensor:
        """Return the sum over the trees, (rows, outputs), in the dtype of the weights."""
        x = x.to(torch.promote_types(self.compare_dtype, self.b1.dtype))
        x = x if self.expand is None else self.expand(x)
        x = ((x - self.center) / self.scale).clamp(self.low, self.high).to(self.b1.dtype).T  # (columns, rows)
        missing = x.isnan()
        dtype = self.center.dtype if self.is_steep else self.b1.dtype
        x, w1, b1 = x.masked_fill(missing, 0.0).to(dtype), self.w1.to(dtype), self.b1.to(dtype)
        if self.categories is not None:
            z = self.categories(x[self.feature], x, w1)
        else:
            z = torch.mm(w1, x) if self.full else x[self.feature] * w1[:, None]
        u = torch.tanh(((z + b1[:, None]) * self.contrast[0]).to(self.b1.dtype))  # (splits, rows)
        u = torch.where(missing[self.feature], self.missing[:, None], u)
        z = self._full_layer(u) if self.full else self._sparse_layer(u)
        return self._scores(torch.tanh(z * self.contrast[1]) + 1).T

    def _sparse_layer(self, u: Tensor) -> Tensor:
        z = self.b2[:, None].expand(-1, u.shape[1])  # (leaves, rows)
        w2 = torch.cat([self.w2, self.w2.new_zeros(1)])
        for split, weight in zip(self.split_at, self.weight_at, strict=True):
            z = z + u[split] * w2[weight][:, None]
        return z

    def _full_layer(self, u: Tensor) -> Tensor:
        weights = self.w2.split([leaves * splits for leaves, splits in self.shapes])
        outputs = u.split([splits for _, splits in self.shapes])
        parts = [w.view(shape) @ v for w, v, shape in zip(weights, outputs, self.shapes, strict=True)]
        return torch.cat(parts) + self.b2[:, None]

    def _scores(self, active: Tensor) -> Tensor:
        """Return the sum over the trees, (outputs, rows), given v + 1 of every leaf."""
        moved = self.w_out - self.start
        if self.softmax_head:
            total = active.new_zeros(())
            parts = (part.split(self.leaves_of_trees) for part in (self.w_out, moved, active))
            for w_out, change, own, b_out in zip(*parts, self.b_out, strict=True):
                total = total + torch.softmax(w_out.T @ own + (b_out - change.sum(dim=0))[:, None], dim=0)
            return total
        of_leaf, of_offset = self.weight_of_leaf.to(active.dtype), self.weight_of_offset.to(active.dtype)
        offset = self.rest + (self.b_out * of_offset).sum(dim=0) - (moved * of_leaf).sum(dim=0)
        total = offset.to(active.dtype)[:, None]
        for w_out, own in zip((self.w_out * of_leaf).split(_RUN), active.split(_RUN), strict=True):
            total = total + w_out.T @ own
        return total

    def write(self, parameters: NDArray[np.float32]) -> None:
        """Write the weights into the parameters of a network, in place."""
        now = {name: weights.detach().cpu().double().numpy() for name, weights in self.named_parameters()}
        for name in ("w1", "b1", "w2", "b2", "w_out"):
            parameters[self.positions[name]] = now[name].ravel()
        offsets = parameters[self.positions["b_out"]].reshape(-1, now["b_out"].shape[1]).astype(np.float64)
        offsets[self.trained] = now["b_out"]
        moved = now["w_out"] - self.start.detach().cpu().double().numpy()
        offsets -= np.add.reduceat(moved, np.cumsum([0, *self.leaves_of_trees[:-1]]))
        parameters[self.positions["b_out"]] = offsets.ravel()
