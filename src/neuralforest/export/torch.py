"""A model as a torch module, to be trained there or to be a layer of a larger network. Needs the library torch."""

from typing import Any

import numpy as np

from neuralforest.exceptions import InvalidParameterError
from neuralforest.export._extras import missing_extra

try:
    import torch
except ImportError as error:
    raise missing_extra("torch", "torch") from error

from torch import Tensor, nn

from neuralforest.companion import Linear
from neuralforest.export._torch_linear import LinearFunction
from neuralforest.export._torch_soft import SoftTrees
from neuralforest.export._torch_trees import HardTrees
from neuralforest.export._view import View
from neuralforest.network import ForestNetwork

__all__ = ["ForestModule", "from_torch", "to_torch"]


class ForestModule(nn.Module):
    """A network of trees in torch. Made by :func:`to_torch`.

    `soft` holds the weights of the soft trees, `hard` the trees that stay as they are; each may be None. `companions`
    are the modules of what stands beside the network, with their `shares` of the prediction.
    """

    def __init__(self, view: View) -> None:
        super().__init__()
        self.network = view.network  # what `from_torch` puts the weights back into
        self.link, self.classes = view.ensemble.link, view.ensemble.classes
        self.compare_dtype = getattr(torch, view.ensemble.compare_dtype)
        self.soft = SoftTrees(view) if len(view.soft_blocks) else None
        self.hard = HardTrees(view) if len(view.hard_trees) else None
        self.own_share, self.shares = view.network.own_share, [share for _, share in view.beside]
        self.companions = nn.ModuleList(
            LinearFunction(other, self.compare_dtype) if isinstance(other, Linear) else ForestModule(other)
            for other, _ in view.beside
        )
        mixture = view.mixture
        self.register_buffer("shift", torch.from_numpy(mixture.shift))
        self.register_buffer("hard_factor", torch.from_numpy(mixture.hard))
        self.register_buffer("soft_factor", torch.from_numpy(mixture.soft))

    def output(self, x: Tensor) -> Tensor:
        """Return what the trees say together, before the link, (rows, outputs)."""
        total, dtype = self.shift.expand(x.shape[0], -1), x.dtype
        if self.hard is not None:
            total = total + self.hard_factor * self.hard(x.detach().to(self.compare_dtype))
        if self.soft is not None:
            total, dtype = total + self.soft_factor * self.soft(x), self.soft.b1.dtype
        if self.shares:
            total = self.own_share * total
        for other, share in zip(self.companions, self.shares, strict=True):
            total = total + share * other(x)
        return total.to(dtype)

    def forward(self, x: Tensor) -> Tensor:
        """Return predictions, (rows, outputs), or probabilities, (rows, classes)."""
        out = self.output(x)
        if self.classes is None:
            return out.exp() if self.link == "log" else out
        if self.link == "identity":
            return out
        if self.link == "softmax":
            return out.softmax(dim=1)
        second = torch.sigmoid(out[:, :1]) if self.link == "logit" else torch.special.ndtr(out[:, :1])
        return torch.cat([1 - second, second], dim=1)


def to_torch(model: Any) -> ForestModule:
    """Return a model as a torch module that computes the same.

    The weights of soft trees are parameters, in float32, one for each connection that the network has. Trees that the
    guard kept as they were are constants. The module takes X as (rows, features), where NaN is a missing value, and
    returns predictions, (rows, outputs), or probabilities, (rows, classes).

    Parameters
    ----------
    model : fitted estimator or ForestNetwork

    Returns
    -------
    ForestModule

    Notes
    -----
    Inputs are scaled in float64, as the network does it. Call ``.float()`` before moving the module to a device that
    has no float64; what is lost is the last digit of X.

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
    """Return the network of a module with the weights that the module has now.

    What :func:`to_torch` gave comes back bit for bit. To have the weights in an estimator, set its ``network_``.

    Parameters
    ----------
    module : ForestModule
        As `to_torch` returned it; of a larger network that part.
    """
    if not isinstance(module, ForestModule):
        raise InvalidParameterError(
            f"module must be what to_torch returned, or that part of a larger network, got a {type(module).__name__}"
        )
    if module.soft is None or module.network.soft is None:
        return module.network
    parameters = module.network.soft.parameters.copy()
    module.soft.write(parameters)
    if not np.isfinite(parameters).all():
        raise InvalidParameterError("the weights of a module must be finite, got NaN or infinity: training diverged")
    return module.network.with_parameters(parameters, module.network.hard)
