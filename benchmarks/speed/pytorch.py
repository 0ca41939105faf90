"""The same training in PyTorch with dense tensors, as the reference for our kernels.

Three networks: the paper's (joint, sparse: all trees in one network, dense matrices times masks), joint and full
(without masks), independent and full (one network per tree, batched matrix products). Adam is fused; each step draws
its rows with one index.
"""

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray

from neuralforest.network import ForestNetwork

Forward = Callable[[torch.Tensor], torch.Tensor]


def steps(
    network: ForestNetwork, X: NDArray[np.float32], y: NDArray[np.float64], *, masked: bool, batch_size: int = 32
) -> Callable[[int], None]:
    """Return a function that trains the network for a number of steps with the settings of the paper.

    Parameters
    ----------
    network : ForestNetwork
        Soft and full; training starts from its layers.
    masked : bool
        Train the sparse network: multiply the dense weights by the mask of the connections in every step.
    """
    table = torch.from_numpy(X)
    target = torch.from_numpy(y.astype(np.float32))
    if network.n_subnetworks == 1:
        parameters, forward = _joint(network, masked)
        shape: tuple[int, ...] = (batch_size,)
    else:
        parameters, forward = _per_tree(network)
        shape = (network.n_subnetworks, batch_size)
    optimiser = torch.optim.Adam(parameters, lr=1e-3, fused=True)
    generator = torch.Generator().manual_seed(0)

    def train(n: int) -> None:
        for _ in range(n):
            rows = torch.randint(len(table), shape, generator=generator)
            optimiser.zero_grad(set_to_none=True)
            # Mean over a tree's rows, summed over the trees: their parameters, and so their gradients, are separate.
            loss = (forward(table[rows]) - target[rows]).square().sum() / batch_size
            loss.backward()
            optimiser.step()

    return train


def _joint(network: ForestNetwork, masked: bool) -> tuple[list[torch.Tensor], Forward]:
    """Return parameters and forward pass of one network of all trees; x is (rows, features)."""
    contrast1, contrast2 = network.soft.contrast  # type: ignore[union-attr]
    layers = network.layers()
    W1, W2 = layers.W1.toarray(), layers.W2.toarray()
    masks = [torch.from_numpy((W != 0).astype(np.float32)) for W in (W1, W2)]
    parameters = _trainable(W1, layers.b1, W2, layers.b2, layers.W_out, layers.b_out)
    w1, b1, w2, b2, w_out, b_out = parameters
    linear = torch.nn.functional.linear

    def forward(x: torch.Tensor) -> torch.Tensor:
        first, second = (w1 * masks[0], w2 * masks[1]) if masked else (w1, w2)
        u = torch.tanh(contrast1 * linear(x, first, b1))
        v = torch.tanh(contrast2 * linear(u, second, b2))
        return linear(v, w_out, b_out)

    return parameters, forward


def _per_tree(network: ForestNetwork) -> tuple[list[torch.Tensor], Forward]:
    """Return parameters and forward pass of one network per tree, of equal size; x is (trees, rows, features)."""
    contrast1, contrast2 = network.soft.contrast  # type: ignore[union-attr]
    layers = [network.layers(subnetwork) for subnetwork in range(network.n_subnetworks)]
    parameters = _trainable(
        np.stack([layer.W1.toarray().T for layer in layers]),  # (trees, features, splits)
        np.stack([layer.b1[None] for layer in layers]),
        np.stack([layer.W2.toarray().T for layer in layers]),  # (trees, splits, leaves)
        np.stack([layer.b2[None] for layer in layers]),
        np.stack([layer.W_out.T for layer in layers]),  # (trees, leaves, outputs)
        np.stack([layer.b_out[None] for layer in layers]),
    )
    w1, b1, w2, b2, w_out, b_out = parameters

    def forward(x: torch.Tensor) -> torch.Tensor:
        u = torch.tanh(contrast1 * torch.baddbmm(b1, x, w1))
        v = torch.tanh(contrast2 * torch.baddbmm(b2, u, w2))
        return torch.baddbmm(b_out, v, w_out)

    return parameters, forward


def _trainable(*arrays: NDArray[np.float64]) -> list[torch.Tensor]:
    return [torch.tensor(array, dtype=torch.float32, requires_grad=True) for array in arrays]
