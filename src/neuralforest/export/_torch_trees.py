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
        self.depth, self.n_splits = trees.depth, n_splits
        # Both children of a leaf are the leaf itself, so that every row takes as many steps as the deepest.
        leaves, zeros = torch.arange(n_splits, n_splits + n_leaves), torch.zeros(n_leaves)
        of_leaves = {"feature": zeros, "threshold": zeros, "missing_left": zeros, "left": leaves, "right": leaves}
        for name, values in of_leaves.items():
            of_splits = torch.from_numpy(getattr(trees, name).copy())
            self.register_buffer(name, torch.cat([of_splits, values.to(of_splits.dtype)]))
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
