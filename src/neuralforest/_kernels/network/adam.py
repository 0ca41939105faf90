"""Adam on a slice of the parameters, weight decay, and the projection onto the weight bound of the theory."""

import numpy as np

from neuralforest._kernels.jit import part

_F = np.float32
_U = np.uint64  # unsigned indices: a signed index is checked for being negative, which prevents vectorisation
_TINY = np.float32(1.2e-38)  # the smallest normal number


@part
def decay_to_start(weights, first, last, factor):  # type: ignore[no-untyped-def]
    """Move parameters first to last - 1 towards their initial values, by this fraction of the distance."""
    p, origin = weights.parameters, weights.start
    for i in range(_U(first), _U(last if factor > 0.0 else first)):
        p[i] -= _F(factor) * (p[i] - origin[i])


@part
def adam(weights, grad, shift, start, stop, learning_rate, step, plan, decay):  # type: ignore[no-untyped-def]
    """Update parameters start to stop - 1 of a subnetwork (which begins at `shift`), and reset their gradient to 0.

    Weight decay is decoupled from the gradient, and towards the initial values: those of a tree are not near 0.
    """
    decay_to_start(weights, shift + start, shift + stop, learning_rate * decay)
    p, m, v = weights.parameters, weights.first_moment, weights.second_moment
    beta1, beta2, epsilon = _F(plan.beta1), _F(plan.beta2), _F(plan.epsilon)
    complement1, complement2 = _F(1.0 - plan.beta1), _F(1.0 - plan.beta2)
    power = np.float64(step)
    size, spread = _F(learning_rate / (1.0 - plan.beta1**power)), _F(1.0 / np.sqrt(1.0 - plan.beta2**power))
    begin, end, offset = _U(start), _U(stop), _U(shift)
    for i in range(begin, end):
        g, j = grad[i], offset + i
        first = beta1 * m[j] + complement1 * g
        second = beta2 * v[j] + complement2 * (g * g)
        m[j] = _F(0.0) if abs(first) < _TINY else first  # moments of a saturated unit decay to subnormal numbers,
        v[j] = _F(0.0) if second < _TINY else second  # whose arithmetic is a hundred times slower
        p[j] -= size * first / (np.sqrt(second) * spread + epsilon)
        grad[i] = _F(0.0)


@part
def column_sum(p, start, stop, columns):  # type: ignore[no-untyped-def]
    """Return the sum of p[start:stop:columns]."""
    sum_ = 0.0
    for i in range(_U(start), _U(stop if columns == 1 else start)):  # the usual case, vectorised
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
        norm += abs(column_sum(p, w_out + o, n, columns))  # b_out = the stored b_out - sum(w_out), plus sum(w_out)
    if norm > limit:
        factor = _F(limit / norm)
        for i in range(w2, n):
            p[i] *= factor
