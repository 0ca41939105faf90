"""Random orders that depend on (seed, epoch, subnetwork) alone: no state, so a resumed fit goes on as if never stopped."""

import numpy as np

from neuralforest._kernels.jit import kernel, part

STEP = np.uint64(0x9E3779B97F4A7C15)
"""What a counter advances by between two of its random numbers."""


@part
def mix(state):  # type: ignore[no-untyped-def]
    """Return 64 well-blended bits of a counter (the finalizer of splitmix64)."""
    z = state
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@kernel
def shuffle(order, seed, epoch, subnetwork):  # type: ignore[no-untyped-def]
    """Fill `order` with a random permutation of 0, 1, ..., len(order) - 1."""
    state = mix(np.uint64(seed) + STEP)  # one after the other: seed 1 in epoch 0 is not seed 0 in epoch 1
    state = mix(state + np.uint64(epoch))
    state = mix(state + np.uint64(subnetwork))
    for i in range(len(order)):
        order[i] = i
    for i in range(len(order) - 1, 0, -1):
        state += STEP
        bits = mix(state) >> np.uint64(32)
        j = np.int64((bits * np.uint64(i + 1)) >> np.uint64(32))
        order[i], order[j] = order[j], order[i]
