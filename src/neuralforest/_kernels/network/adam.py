"""Adam on a slice of the parameters, weight decay, and the projection onto the theory's bound."""

import numpy as np

from neuralforest._kernels.jit import part

_F = np.float32
_U = np.uint64  # of an index: a signed one is checked for being negative, which keeps a loop from vector registers
_TINY = np.float32(1.2e-38)  # below this, numbers are no longer normal


@part
def pull_to_start(weights, first, last, pull):  # type: ignore[no-untyped-def]
    """Take from parameters first to last - 1 a share of the way to where they started."""
    p, origin = weights.parameters, weights.start
    for i in range(_U(first), _U(last if pull > 0.0 else first)):
        p[i] -= _F(pull) * (p[i] - origin[i])


@part
def adam(weights, gradient, shift, start, stop, rate, step, plan, decay):  # type: ignore[no-untyped-def]
    """Move parameters start to stop - 1 of a subnetwork (which begins at `shift`) one step, and clear their gradient.

    Decay pulls them towards where they started, apart from the gradient: a tree's weights have no reason to be near 0.
    """
    pull_to_start(weights, shift + start, shift + stop, rate * decay)
    p, m, v = weights.parameters, weights.first_moment, weights.second_moment
    beta1, beta2, epsilon = _F(plan.beta1), _F(plan.beta2), _F(plan.epsilon)
    keep1, keep2 = _F(1.0 - plan.beta1), _F(1.0 - plan.beta2)
    power = np.float64(step)  # a power with a whole number might raise: see epoch.py
    size, spread = _F(rate / (1.0 - plan.beta1**power)), _F(1.0 / np.sqrt(1.0 - plan.beta2**power))
    begin, end, offset = _U(start), _U(stop), _U(shift)
    for i in range(begin, end):
        g, j = gradient[i], offset + i
        first = beta1 * m[j] + keep1 * g
        second = beta2 * v[j] + keep2 * (g * g)
        m[j] = _F(0.0) if abs(first) < _TINY else first  # moments of a unit at rest fade without end, and arithmetic
        v[j] = _F(0.0) if second < _TINY else second  # with numbers this small takes a hundred times longer
        p[j] -= size * first / (np.sqrt(second) * spread + epsilon)
        gradient[i] = _F(0.0)


@part
def column_sum(p, start, stop, columns):  # type: ignore[no-untyped-def]
    """Return the sum of every `columns`-th of the numbers p[start:stop]."""
    sum_ = 0.0
    for i in range(_U(start), _U(stop if columns == 1 else start)):  # the usual case, in vector registers
        sum_ += p[i]
    for i in range(start if columns > 1 else stop, stop, columns):
        sum_ += p[i]
    return sum_


@part
def project(p, offsets, columns, limit):  # type: ignore[no-untyped-def]
    """Shrink w2, b2, w_out and b_out together until max|w2| + max|b2| + sum|w_out| + |b_out| <= limit."""
    _, _, w2, b2, w_out, b_out, n = offsets
    largest_w2, largest_b2, norm = 0.0, 0.0, 0.0
    for i in range(w2, b2):
        largest_w2 = max(largest_w2, abs(p[i]))
    for i in range(b2, w_out):
        largest_b2 = max(largest_b2, abs(p[i]))
    for i in range(w_out, b_out):
        norm += abs(p[i])
    norm += largest_w2 + largest_b2
    for o in range(columns):
        norm += abs(column_sum(p, w_out + o, n, columns))  # b_out: with the weights, what stands in its place
    if norm > limit:
        factor = _F(limit / norm)
        for i in range(w2, n):
            p[i] *= factor
