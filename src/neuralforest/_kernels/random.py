"""Random numbers without state: the bits of a counter that advances by STEP (splitmix64)."""

import numpy as np

from neuralforest._kernels.jit import part

STEP = np.uint64(0x9E3779B97F4A7C15)
"""The increment of a counter between two random numbers."""
HALF = np.uint64(32)
"""Bits of half a random number."""


@part
def mix(state):  # type: ignore[no-untyped-def]
    """Return the 64 random bits of a counter (the finalizer of splitmix64)."""
    z = state
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@part
def integer(state, n):  # type: ignore[no-untyped-def]
    """Return a random integer from 0 to n - 1."""
    return np.int64(((mix(state) >> HALF) * np.uint64(n)) >> HALF)


@part
def uniform(state):  # type: ignore[no-untyped-def]
    """Return a random number in [0, 1)."""
    return np.float64(mix(state) >> np.uint64(11)) * 2.0**-53
