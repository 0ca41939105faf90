"""The paper's standard networks NN1, NN2 and NN3: the size of a forest's network, but random initial weights."""

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

Part = tuple[NDArray[np.float64], NDArray[np.float64]]  # X, y


class NetworkHistory(NamedTuple):
    """Root mean squared errors, epoch by epoch."""

    training: NDArray[np.float64]  # (epochs,), mean over the minibatches of the epoch
    validation: NDArray[np.float64]  # (epochs + 1,), the first before training


def layer_sizes(n_features: int, n_splits: int, n_leaves: int, n_hidden: int) -> tuple[int, ...]:
    """Return the units of every layer, from input to output.

    Parameters
    ----------
    n_features, n_splits, n_leaves : int
        Of the whole forest: its network of method 2 has one unit per split, then one unit per leaf.
    n_hidden : int
        1, 2 or 3 hidden layers; the third has the size of the second.
    """
    return (n_features, *(n_splits, n_leaves, n_leaves)[:n_hidden], 1)


def gaussian_network(sizes: Sequence[int], generator: torch.Generator) -> nn.Sequential:
    """Return a tanh network whose weights and biases are drawn from a standard Gaussian."""
    layers: list[nn.Module] = []
    for inputs, outputs in pairwise(sizes):
        layer = nn.Linear(inputs, outputs)
        for parameter in layer.parameters():
            nn.init.normal_(parameter, generator=generator)
        layers += [layer, nn.Tanh()]
    return nn.Sequential(*layers[:-1])


@contextmanager
def subnormals_as_zero() -> Iterator[None]:
    """Flush subnormal numbers to zero inside the context."""
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(False)


@subnormals_as_zero()  # Adam's moments of saturated units become subnormal, which is slow
def train_network(
    sizes: Sequence[int], train: Part, validation: Part, *, epochs: int = 100, batch_size: int = 32, seed: int = 0
) -> tuple[nn.Sequential, NetworkHistory]:
    """Train a network as in the paper; return its weights of the epoch with the lowest validation error."""
    generator = torch.Generator().manual_seed(seed)
    network = gaussian_network(sizes, generator)
    optimizer = torch.optim.Adam(network.parameters(), lr=0.001, betas=(0.9, 0.999), eps=1e-8, fused=True)
    X, y = (torch.as_tensor(array, dtype=torch.float32) for array in train)
    best, least = network, np.inf
    training, validated = [], [rmse(network, validation)]
    for _ in range(epochs):
        total = 0.0
        for rows in torch.randperm(len(y), generator=generator).split(batch_size):
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(network(X[rows])[:, 0], y[rows])
            loss.backward()
            optimizer.step()
            total += loss.item() * len(rows)
        training.append(np.sqrt(total / len(y)))
        validated.append(rmse(network, validation))
        if validated[-1] < least:
            best, least = copy.deepcopy(network), validated[-1]
    return best, NetworkHistory(np.array(training), np.array(validated))


def predict(network: nn.Sequential, X: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the predictions of a network."""
    with torch.no_grad():
        parts = torch.as_tensor(X, dtype=torch.float32).split(4096)
        return torch.cat([network(part)[:, 0] for part in parts]).numpy().astype(np.float64)


def rmse(network: nn.Sequential, part: Part) -> float:
    """Return the root mean squared error of a network on rows."""
    return float(np.sqrt(np.mean((predict(network, part[0]) - part[1]) ** 2)))
