"""Random orders that depend on (seed, epoch, subnetwork) alone: no state, so a resumed fit continues identically."""

import numpy as np

from neuralforest._kernels.jit import kernel
from neuralforest._kernels.random import STEP, integer, mix


@kernel
def shuffle(order, seed, epoch, subnetwork):  # type: ignore[no-untyped-def]
    """Fill `order` with a random permutation of 0, 1, ..., len(order) - 1."""
    state = mix(np.uint64(seed) + STEP)  # mixed one after another: seed 1 in epoch 0 is not seed 0 in epoch 1
    state = mix(state + np.uint64(epoch))
    state = mix(state + np.uint64(subnetwork))
    for i in range(len(order)):
        order[i] = i
    for i in range(len(order) - 1, 0, -1):
        state += STEP
        j = integer(state, i + 1)
        order[i], order[j] = order[j], order[i]
