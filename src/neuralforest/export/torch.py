"""A model as a torch module, to train it there or as a layer of a larger network. Needs the library torch."""

from typing import Any

import numpy as np

from neuralforest._extras import missing_extra
from neuralforest.exceptions import InvalidParameterError

try:
    import torch
except ImportError as error:
    raise missing_extra("torch", "torch") from error

from torch import Tensor, nn

from neuralforest.export._nodes import CategoryColumns, nodes_of
from neuralforest.export._torch_soft import SoftTrees
from neuralforest.export._view import View
from neuralforest.network import ForestNetwork

__all__ = ["ForestModule", "from_torch", "to_torch"]


class CategoryTables(nn.Module):
    """The columns that splits on categories compare; see `CategoryColumns`."""

    def __init__(self, columns: CategoryColumns) -> None:
        super().__init__()
        for name, array in columns._asdict().items():
            self.register_buffer(name, torch.from_numpy(array))

    def forward(self, x: Tensor) -> Tensor:
        x = x[:, self.feature]
        is_known = (x >= 0) & (x < self.n_known)
        entry = torch.where(is_known, x, self.n_known.to(x.dtype)).long()
        return torch.where(x.isnan(), x, self.right.to(x.dtype)[self.first + entry])


class HardTrees(nn.Module):
    """The sum of the values of hard trees, without a constant per tree: exact, no parameters, no gradient."""

    def __init__(self, view: View) -> None:
        super().__init__()
        trees = nodes_of(view.ensemble, view.hard_trees)
        n_splits, n_leaves = len(trees.feature), len(trees.value)
        self.depth, self.n_splits = trees.depth, n_splits
        self.categories = CategoryTables(trees.categories) if len(trees.categories.feature) else None
        # Both children of a leaf are the leaf itself, so that every row takes as many steps as the deepest.
        leaves, zeros = torch.arange(n_splits, n_splits + n_leaves), torch.zeros(n_leaves)
        of_leaves = {"feature": zeros, "threshold": zeros, "missing_left": zeros, "left": leaves, "right": leaves}
        for name, values in of_leaves.items():
            of_splits = torch.from_numpy(getattr(trees, name).copy())
            self.register_buffer(name, torch.cat([of_splits, values.to(of_splits.dtype)]))
        self.register_buffer("root", torch.from_numpy(trees.root))
        self.register_buffer("value", torch.from_numpy(trees.value - view.weighted_sum.hard_center))

    def forward(self, x: Tensor) -> Tensor:
        """Return the sum, (rows, outputs); x in the dtype that the trees compare in."""
        x = x if self.categories is None else torch.cat([x, self.categories(x)], dim=1)
        node = self.root.expand(x.shape[0], -1)  # (rows, trees)
        for _ in range(self.depth):
            value = x.gather(1, self.feature[node])  # of X, or of a column that a split on categories compares
            to_left = (value <= self.threshold[node]) | (value.isnan() & self.missing_left[node])
            node = torch.where(to_left, self.left[node], self.right[node])
        return self.value[node - self.n_splits].sum(dim=1)


class LinearFunction(nn.Module):
    """A linear base model: without parameters, with a gradient for its inputs."""

    def __init__(self, model: Any, compare_dtype: str) -> None:
        super().__init__()
        self.compare_dtype = getattr(torch, compare_dtype)
        for name in ("low", "high", "center", "scale", "coef", "intercept"):
            self.register_buffer(name, torch.tensor(getattr(model, name)))

    def forward(self, x: Tensor) -> Tensor:
        """Return the predictions, (rows, outputs); see `LinearModel.prediction`."""
        x = x.to(self.compare_dtype).to(self.coef.dtype)
        scaled = (torch.clamp(x, self.low, self.high) - self.center) / self.scale
        return torch.where(x.isnan(), 0.0, scaled) @ self.coef + self.intercept


class ForestModule(nn.Module):
    """A network of trees in torch. Made by :func:`to_torch`.

    `soft` holds the weights of the soft trees, `hard` the trees that are evaluated as trees; each may be None.
    `base_models` are the modules of the base models, with their `stacking_weights`. Where the probabilities of groups
    of trees are averaged, `groups` holds a module for each.
    """

    def __init__(self, view: View) -> None:
        super().__init__()
        self.network = view.network  # for `from_torch`
        self.link, self.classes = view.ensemble.link, view.ensemble.classes
        self.temperature = view.network.temperature
        self.compare_dtype = getattr(torch, view.ensemble.compare_dtype)
        self.groups = nn.ModuleList(ForestModule(group) for group in view.groups)
        self.soft = SoftTrees(view) if view.soft_subnetworks and not view.groups else None
        self.hard = HardTrees(view) if len(view.hard_trees) and not view.groups else None
        missing_range = None if view.missing_range is None else torch.from_numpy(view.missing_range.copy())
        self.register_buffer("missing_range", missing_range)
        models = view.network.base_models
        self.network_weight, self.stacking_weights = view.network.network_weight, [each.weight for each in models]
        self.base_models = nn.ModuleList(
            ForestModule(view.of_base_model(each.model))
            if isinstance(each.model, ForestNetwork)
            else LinearFunction(each.model, view.ensemble.compare_dtype)
            for each in models
        )
        self.register_buffer("shift", torch.from_numpy(view.weighted_sum.shift))
        self.register_buffer("hard_factor", torch.from_numpy(view.weighted_sum.hard))
        self.register_buffer("soft_factor", torch.from_numpy(view.weighted_sum.soft))

    def output(self, x: Tensor) -> Tensor:
        """Return the raw predictions of the network stacked with its base models, (rows, outputs)."""
        x = self._with_missing(x)
        if self.groups:
            second = torch.stack([torch.special.ndtr(group.output(x)) for group in self.groups]).mean(dim=0)
            ends = torch.finfo(second.dtype)
            return torch.special.ndtri(second.clamp(ends.tiny, 1 - ends.eps / 2))
        total, dtype = self.shift.expand(x.shape[0], -1), x.dtype
        if self.hard is not None:
            total = total + self.hard_factor * self.hard(x.detach().to(self.compare_dtype))
        if self.soft is not None:
            total, dtype = total + self.soft_factor * self.soft(x), self.soft.b1.dtype
        if self.stacking_weights:
            total = self.network_weight * total
        for model, weight in zip(self.base_models, self.stacking_weights, strict=True):
            total = total + weight * (model(x) if self.link == "identity" else model.output(x))
        return total.to(dtype)

    def _with_missing(self, x: Tensor) -> Tensor:
        """Return x with NaN for numbers that mean a missing value."""
        if self.missing_range is None:
            return x
        wide, (low, high) = x.to(self.compare_dtype).to(self.missing_range.dtype), self.missing_range.T
        return x.masked_fill((wide >= low) & (wide <= high), torch.nan)

    def forward(self, x: Tensor) -> Tensor:
        """Return predictions, (rows, outputs), or probabilities, (rows, classes)."""
        out = self.output(x)
        if self.classes is None:
            return out.exp() if self.link == "log" else out
        probability = self._probability(out)
        if self.temperature == 1.0:
            return probability
        # a floor, because the gradient of a power is infinite at 0
        probability = probability.clamp(torch.finfo(probability.dtype).tiny)
        powers = (probability / probability.detach().amax(dim=1, keepdim=True)) ** (1.0 / self.temperature)
        return powers / powers.sum(dim=1, keepdim=True)

    def _probability(self, out: Tensor) -> Tensor:
        """Return raw predictions as probabilities, (rows, classes), without the temperature."""
        if self.link == "identity":
            return out
        if self.link == "softmax":
            return out.softmax(dim=1)
        second = torch.sigmoid(out[:, :1]) if self.link == "logit" else torch.special.ndtr(out[:, :1])
        return torch.cat([1 - second, second], dim=1)


def to_torch(model: Any) -> ForestModule:
    """Return a model as a torch module that computes the same.

    The weights of soft trees are parameters, in float32, one for each connection of the network. Hard trees and base
    models have no parameters. The module takes X as (rows, features), where NaN is a missing value and a category is
    its code, and returns predictions, (rows, outputs), or probabilities, (rows, classes).

    Parameters
    ----------
    model : fitted estimator or ForestNetwork

    Returns
    -------
    ForestModule

    Notes
    -----
    Inputs are scaled in float64, as in the network. Call ``.float()`` before moving the module to a device without
    float64; this rounds the last digit of X.

    Examples
    --------
    >>> import neuralforest as nf
    >>> import torch
    >>> from neuralforest.export.torch import from_torch, to_torch
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.ensemble import RandomForestRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> forest = RandomForestRegressor(10, max_depth=4, random_state=0).fit(X, y)
    >>> network = nf.convert(forest).soften((10, 1), scale=X.std(axis=0))
    >>> module = to_torch(network)
    >>> sum(weights.numel() for weights in module.parameters()) == network.n_parameters
    True
    >>> step = torch.optim.Adam(module.parameters(), lr=0.01)
    >>> loss = ((module(torch.tensor(X))[:, 0] - torch.tensor(y)) ** 2).mean()
    >>> loss.backward()
    >>> step.step()
    >>> from_torch(module)
    ForestNetwork(10 trees, 10 features, 1 output, soft (independent, sparse), 1207 parameters)
    """
    return ForestModule(View.of(model))


def from_torch(module: ForestModule) -> ForestNetwork:
    """Return the network of a module with the current weights of the module.

    Weights that were not trained come back bit for bit. To use the network in an estimator, set its ``network_``.

    Parameters
    ----------
    module : ForestModule
        The result of `to_torch`, also as a part of a larger network.
    """
    if not isinstance(module, ForestModule):
        raise InvalidParameterError(
            f"module must be a result of to_torch, or that part of a larger network, got a {type(module).__name__}"
        )
    soft = [part.soft for part in (*module.groups, module) if part.soft is not None]
    if not soft or module.network.soft is None:
        return module.network
    parameters = module.network.soft.parameters.copy()
    for trees in soft:
        trees.write(parameters)
    if not np.isfinite(parameters).all():
        raise InvalidParameterError("the weights of a module must be finite, got NaN or infinity: training diverged")
    return module.network.with_parameters(parameters, module.network.hard)
