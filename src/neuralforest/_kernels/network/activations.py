"""tanh and exp of 32 rows at once.

tanh is a rational function (degree 13 over 6) with an absolute error below 4e-7; exp has a relative error below 3e-7.
Beyond 8 tanh is exactly 1, so that the gradient of a saturated unit is exactly 0: Adam would amplify any other value.
"""

import numpy as np

from neuralforest._kernels.jit import part
from neuralforest._kernels.simd import clip, load, multiply_add, nearest, power_of_two, store

_F = np.float32
_ONE = np.float32(1.0)


@part
def _fraction(x):  # type: ignore[no-untyped-def]
    """Return numerator and denominator of tanh(x), and a correction that lifts saturated values to 1."""
    inner = clip(x, _F(7.905311))
    s = inner * inner
    p = s * _F(-2.76076847742355e-16) + _F(2.00018790482477e-13)
    p = s * p - _F(8.60467152213735e-11)
    p = s * p + _F(5.12229709037114e-08)
    p = s * p + _F(1.48572235717979e-05)
    p = s * p + _F(6.37261928875436e-04)
    p = s * p + _F(4.89352455891786e-03)
    q = s * _F(1.19825839466702e-06) + _F(1.18534705686654e-04)
    q = s * q + _F(2.26843463243900e-03)
    q = s * q + _F(4.89352518554385e-03)
    return inner * p, q, (x - inner) * _F(1e-3)


@part
def tanh_of_rows(rows, first, last, contrast):  # type: ignore[no-untyped-def]
    """Replace rows first to last - 1 by tanh(contrast * row).

    Two rows share one division: a / b = a d / (b d), c / d = c b / (b d). A NaN in one of them makes the other NaN.
    """
    paired = first + (last - first) // 2 * 2
    for i in range(first, paired, 2):
        a, b, lift = _fraction(load(rows, i) * contrast)
        c, d, lift2 = _fraction(load(rows, i + 1) * contrast)
        reciprocal = _ONE / (b * d)
        store(rows, i, clip(a * d * reciprocal + lift, _ONE))
        store(rows, i + 1, clip(c * b * reciprocal + lift2, _ONE))
    for i in range(paired, last):
        a, b, lift = _fraction(load(rows, i) * contrast)
        store(rows, i, clip(a / b + lift, _ONE))


@part
def exp(x):  # type: ignore[no-untyped-def]
    """Return exp(x) for numbers within -87 to 87, and that of the nearer bound beyond; NaN stays NaN.

    x = k log 2 + r, with a whole number k: exp(x) = 2^k exp(r), and exp(r) is a polynomial of degree 6.
    """
    x = clip(x, _F(87.0))
    k = nearest(x * _F(1.44269504))
    r = multiply_add(k, _F(-0.693359375), x)  # log 2 in two parts: k times the first is exact
    r = multiply_add(k, _F(2.12194440e-4), r)
    p = r * _F(1.9875691500e-4) + _F(1.3981999507e-3)
    p = r * p + _F(8.3334519073e-3)
    p = r * p + _F(4.1665795894e-2)
    p = r * p + _F(1.6666665459e-1)
    p = r * p + _F(5.0000001201e-1)
    return (r * r * p + r + _ONE) * power_of_two(k)
