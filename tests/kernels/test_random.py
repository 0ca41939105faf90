"""Random numbers of a counter: those of splitmix64, in the ranges that are asked for."""

import numpy as np

from neuralforest._kernels.jit import kernel
from neuralforest._kernels.random import STEP, integer, mix, uniform

bits_of = kernel(lambda state: mix(state))
integer_of = kernel(lambda state, n: integer(state, n))
uniform_of = kernel(lambda state: uniform(state))


def counters(n):
    return np.arange(1, n + 1, dtype=np.uint64) * STEP


def test_bits_are_those_of_splitmix64():
    """The published outputs for seed 0."""
    expected = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F, 0xF88BB8A8724C81EC]
    assert [int(bits_of(counter)) for counter in counters(4)] == expected


def test_integers_and_fractions_are_uniform():
    n = 7000
    counts = np.bincount([integer_of(counter, 7) for counter in counters(n)])
    assert len(counts) == 7
    assert ((counts - n / 7) ** 2 / (n / 7)).sum() < 22.5  # 6 degrees of freedom: exceeded once in 1,000
    fractions = np.array([uniform_of(counter) for counter in counters(n)])
    assert fractions.min() >= 0
    assert fractions.max() < 1
    assert np.abs(np.sort(fractions) - (np.arange(n) + 0.5) / n).max() < 1.95 / np.sqrt(n)  # Kolmogorov, once in 1,000
