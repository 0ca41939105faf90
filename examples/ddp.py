"""Joint training of one network by several processes, with torch's DistributedDataParallel.

::

    torchrun --nproc-per-node 2 examples/ddp.py model.nforest

Each process holds a part of the rows. Per step, gradients are averaged over the processes by gloo: as many float32
numbers as the network has weights. Two processes compute the same as one, but for float32 rounding. Here rows are
generated; replace `rows_of` by what reads the part of a process.
"""

import gc
import os
import sys

import numpy as np
import torch
import torch.distributed
from torch.nn.parallel import DistributedDataParallel

import neuralforest as nf
from neuralforest.export.torch import from_torch, to_torch

N_ROWS, BATCH, EPOCHS = 2_000, 64, 3


def rows_of(rank, n_processes):
    """Return the rows of a process: every n-th, so that a step of all processes takes the rows of a step of one."""
    random = np.random.default_rng(0)
    X = random.uniform(size=(N_ROWS, 5))
    y = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + random.normal(size=N_ROWS)
    return X[rank::n_processes], y[rank::n_processes]


def initial_model():
    """Return an estimator, fitted on a sample, whose network of all trees is soft and ready for training."""
    from sklearn.ensemble import RandomForestRegressor

    X, y = rows_of(0, 4)
    forest = RandomForestRegressor(8, max_leaf_nodes=24, random_state=0)
    model = nf.NeuralForestRegressor(forest, training="joint", connectivity="sparse", max_epochs=1, random_state=0)
    model.fit(X, y)
    model.network_ = model.network_.with_parameters(model.network_.soft.parameters, np.zeros(1, bool))
    return model


def train(model, X, y, n_processes):
    """Train the network of a model on the rows of this process, in step with the others."""
    module = to_torch(model)
    parallel = DistributedDataParallel(module) if n_processes > 1 else module
    X, y = torch.tensor(X), torch.tensor(y)
    optimizer = torch.optim.Adam(parallel.parameters(), lr=0.003)
    scale = float(model.network_.soft.output_scale[0])
    size = BATCH // n_processes
    for epoch in range(EPOCHS):
        order = torch.randperm(len(y) // size, generator=torch.Generator().manual_seed(epoch))  # of batches
        for batch in order.tolist():
            rows = slice(batch * size, (batch + 1) * size)
            loss = (((parallel(X[rows])[:, 0] - y[rows]) / scale) ** 2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    model.network_ = from_torch(module)
    return model


def main(path):
    """Train with the processes that torchrun has started, or alone; the first process writes the model."""
    n_processes, rank = int(os.environ.get("WORLD_SIZE", "1")), int(os.environ.get("RANK", "0"))
    if n_processes > 1:
        torch.distributed.init_process_group("gloo")
    model = train(initial_model(), *rows_of(rank, n_processes), n_processes)
    if rank == 0:
        nf.save(model, path)
    if n_processes > 1:
        torch.distributed.barrier()
        gc.collect()  # DistributedDataParallel, which uses the group until it is collected
        torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1])
