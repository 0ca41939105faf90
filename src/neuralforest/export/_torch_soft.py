"""Soft trees as a torch module. A weight exists for every connection that the network has, and for no other.

Inside, rows of X stand in columns: what is gathered then are contiguous runs.
"""

from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from neuralforest._kernels.arguments import layer_offsets
from neuralforest.export._view import View
from neuralforest.structure import connection_units

_STEEP = 10.0  # beyond it the first layer is computed in float64, so that the whole stays within 1e-6

_RUN = 256  # leaves that are added up at a time: one sum over all loses another digit


class SoftTrees(nn.Module):
    """The sum over the soft blocks of a network of what their trees say.

    Parameters w1, b1, w2, b2, w_out stand in the order of the network's own. What a tree says where no leaf fires is
    b_out - sum(w_out). It is computed as b_out - sum(w_out - start), with b_out counted from sum(start), where start is
    w_out at the time of the export: the same function with the same gradients, without the loss of digits.
    """

    def __init__(self, view: View) -> None:
        super().__init__()
        s, e, soft = view.network.structure, view.ensemble, view.network.soft
        assert soft is not None
        self.contrast = float(s.contrast1), float(s.contrast2)
        self.full, self.softmax_head, self.is_steep = bool(s.full), view.softmax_head, view.steepness > _STEEP
        self.compare_dtype = getattr(torch, e.compare_dtype)
        ranges = [(int(s.block_tree[block]), int(s.block_tree[block + 1])) for block in view.soft_blocks]
        trees = np.concatenate([np.arange(first, last) for first, last in ranges])
        self.leaves_of_trees: list[int] = (np.diff(e.first_leaf)[trees]).tolist()
        self.shapes = [
            (int(e.first_leaf[last] - e.first_leaf[first]), int(e.first_split[last] - e.first_split[first]))
            for first, last in ranges
        ]
        splits = np.concatenate([np.arange(e.first_split[first], e.first_split[last]) for first, last in ranges])
        self.register_buffer("feature", torch.from_numpy(e.feature[splits].astype(np.int64)))
        self.register_buffer("missing", torch.from_numpy(s.missing[splits]))
        for name in ("center", "scale", "low", "high"):
            self.register_buffer(name, torch.from_numpy(getattr(soft, name).copy()))
        self._add_parameters(view, e.n_outputs)
        if not self.full:
            self._add_levels(view, ranges)

    def _add_parameters(self, view: View, n_outputs: int) -> None:
        """Take the weights of the soft blocks; remember where they stand among those of the network."""
        s, p = view.network.structure, view.network.soft.parameters  # type: ignore[union-attr]
        starts = [s.first_parameter[block] + np.array(layer_offsets(s, block)) for block in view.soft_blocks]
        names = "w1", "b1", "w2", "b2", "w_out", "b_out"
        where = [[np.arange(a, b) for a, b in pairwise(start)] for start in starts]
        self.positions = {name: np.concatenate([parts[i] for parts in where]) for i, name in enumerate(names)}
        width = (view.ensemble.n_features,) if self.full else ()
        shapes = {"w1": (len(self.feature), *width), "w_out": (-1, n_outputs)}
        for name in names[:5]:
            weights = p[self.positions[name]].reshape(shapes.get(name, (-1,)))
            self.register_parameter(name, nn.Parameter(torch.from_numpy(weights)))
        self.register_buffer("start", self.w_out.detach().clone())
        offsets = p[self.positions["b_out"]].reshape(-1, n_outputs)
        # Trees whose scores are added up share one offset, which is trained: that of their block's first tree.
        own = np.cumsum([0, *(len(parts[5]) // n_outputs for parts in where)])[:-1]
        self.trained = np.arange(len(offsets)) if self.softmax_head else own
        self.b_out = nn.Parameter(torch.from_numpy(offsets[self.trained]))
        rest = np.delete(offsets, self.trained, axis=0).sum(axis=0, dtype=np.float64)
        self.register_buffer("rest", torch.from_numpy(rest))

    def _add_levels(self, view: View, ranges: list[tuple[int, int]]) -> None:
        """Say for every leaf which split stands above it at each level, and which weight joins them."""
        ends = np.cumsum([(0, 0), *self.shapes], axis=0)  # leaves and splits before each block
        units = [connection_units(view.ensemble, *trees) for trees in ranges]
        leaf = np.concatenate([own[0] + end[0] for own, end in zip(units, ends[:-1], strict=True)])
        split = np.concatenate([own[1] + end[1] for own, end in zip(units, ends[:-1], strict=True)])
        order = np.argsort(leaf, kind="stable")
        depth = np.bincount(leaf, minlength=ends[-1, 0])
        level = np.arange(len(leaf)) - np.repeat(np.cumsum(depth) - depth, depth)
        split_at = np.zeros((depth.max(), len(depth)), np.int64)
        weight_at = np.full(split_at.shape, len(leaf))  # behind the last weight stands a 0
        split_at[level, leaf[order]], weight_at[level, leaf[order]] = split[order], order
        self.register_buffer("split_at", torch.from_numpy(split_at))
        self.register_buffer("weight_at", torch.from_numpy(weight_at))

    def forward(self, x: Tensor) -> Tensor:
        """Return the sum over the trees, (rows, outputs), in the dtype of the weights."""
        x = x.to(torch.promote_types(self.compare_dtype, self.b1.dtype))
        x = ((x - self.center) / self.scale).clamp(self.low, self.high).to(self.b1.dtype).T  # (features, rows)
        missing = x.isnan()
        dtype = self.center.dtype if self.is_steep else self.b1.dtype
        x, w1, b1 = x.masked_fill(missing, 0.0).to(dtype), self.w1.to(dtype), self.b1.to(dtype)
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

    def _scores(self, fires: Tensor) -> Tensor:
        """Return the sum over the trees, (outputs, rows), given v + 1 of every leaf."""
        moved = self.w_out - self.start
        if not self.softmax_head:
            offset = self.rest + self.b_out.sum(dim=0) - moved.sum(dim=0)
            total = offset.to(fires.dtype)[:, None]
            for w_out, own in zip(self.w_out.split(_RUN), fires.split(_RUN), strict=True):
                total = total + w_out.T @ own
            return total
        total = fires.new_zeros(())
        parts = (part.split(self.leaves_of_trees) for part in (self.w_out, moved, fires))
        for w_out, change, own, b_out in zip(*parts, self.b_out, strict=True):
            total = total + torch.softmax(w_out.T @ own + (b_out - change.sum(dim=0))[:, None], dim=0)
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
