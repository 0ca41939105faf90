"""Hard trees as a torch module: exact, without parameters or a gradient."""

import torch
from torch import Tensor, nn

from neuralforest.export._nodes import nodes_of
from neuralforest.export._view import View


class HardTrees(nn.Module):
    """The sum of the predictions of some trees, without a constant per tree."""

    def __init__(self, view: View) -> None:
        super().__init__()
        trees = nodes_of(view.ensemble, view.hard_trees)
        n_splits, n_leaves = len(trees.feature), len(trees.value)
        leaves = torch.arange(n_splits, n_splits + n_leaves)
        zeros = torch.zeros(n_leaves, dtype=torch.int64)
        self.depth, self.n_splits = trees.depth, n_splits
        # Both children of a leaf are the leaf itself, so that every row takes as many steps as the deepest.
        self.register_buffer("feature", torch.cat([torch.from_numpy(trees.feature), zeros]))
        threshold = torch.from_numpy(trees.threshold)
        self.register_buffer("threshold", torch.cat([threshold, torch.zeros(n_leaves, dtype=threshold.dtype)]))
        self.register_buffer("missing_left", torch.cat([torch.from_numpy(trees.missing_left.copy()), zeros.bool()]))
        self.register_buffer("left", torch.cat([torch.from_numpy(trees.left), leaves]))
        self.register_buffer("right", torch.cat([torch.from_numpy(trees.right), leaves]))
        self.register_buffer("root", torch.from_numpy(trees.root))
        self.register_buffer("value", torch.from_numpy(trees.value - view.weighted_sum.hard_center))

    def _goes_left(self, node: Tensor, x: Tensor) -> Tensor:
        """Return whether values of the nodes' own features go left; the one comparison of a split in torch."""
        return (x <= self.threshold[node]) | (x.isnan() & self.missing_left[node])

    def forward(self, x: Tensor) -> Tensor:
        """Return the sum, (rows, outputs); x in the dtype that the trees compare in."""
        node = self.root.expand(x.shape[0], -1)  # (rows, trees)
        for _ in range(self.depth):
            to_left = self._goes_left(node, x.gather(1, self.feature[node]))
            node = torch.where(to_left, self.left[node], self.right[node])
        return self.value[node - self.n_splits].sum(dim=1)
