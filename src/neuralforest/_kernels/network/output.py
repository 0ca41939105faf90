"""The output layer: leaves to the score of a tree, scores to a prediction, and their gradients. Any connectivity."""

import numpy as np

from neuralforest._kernels.jit import part
from neuralforest._kernels.network.activations import exp
from neuralforest._kernels.simd import broadcast, lane_sum, lane_sums, load, maximum, store

_ONE, _ZERO = np.float32(1.0), np.float32(0.0)


@part
def _softmax(score, row, n):  # type: ignore[no-untyped-def]
    """Turn n rows of scores into probabilities in place, lane by lane."""
    highest, norm = load(score, row), broadcast(_ZERO)
    for o in range(row + 1, row + n):
        highest = maximum(highest, load(score, o))
    for o in range(row, row + n):
        power = exp(load(score, o) - highest)
        store(score, o, power)
        norm = norm + power
    factor = _ONE / norm
    for o in range(row, row + n):
        store(score, o, load(score, o) * factor)


@part
def _apply(head, score, row, n):  # type: ignore[no-untyped-def]
    """Apply the head to n rows of scores: nothing (None), or a softmax in every lane."""
    if head is not None:
        _softmax(score, row, n)


@part
def forward(structure, first_tree, tree, offsets, p, h, score, half):  # type: ignore[no-untyped-def]
    """Fill the tree's rows of the half of `score` that begins at row `half`; with softmax, with probabilities."""
    n_outputs = structure.n_outputs
    w_out, b_out = offsets[4], offsets[5]
    leaf0 = structure.first_leaf[tree] - structure.first_leaf[first_tree]
    leaf1 = structure.first_leaf[tree + 1] - structure.first_leaf[first_tree]
    place = tree - first_tree
    row = half + place * n_outputs
    for o in range(n_outputs):
        a = broadcast(p[b_out + place * n_outputs + o])
        for leaf in range(leaf0, leaf1):
            a = a + (load(h, leaf) + _ONE) * p[w_out + leaf * n_outputs + o]
        store(score, row + o, a)
    _apply(structure.head, score, row, n_outputs)


@part
def combine(structure, n_trees, score, half, prediction):  # type: ignore[no-untyped-def]
    """Fill `prediction` (outputs, SIMD_WIDTH): the sum of scores, or the mean of probabilities, in tree order."""
    n_outputs = structure.n_outputs
    factor = _ONE / np.float32(n_trees) if structure.head is not None else _ONE
    for o in range(n_outputs):
        a = broadcast(_ZERO)
        for tree in range(n_trees):
            a = a + load(score, half + tree * n_outputs + o)
        store(prediction, o, a * factor)


@part
def score_gradient(structure, n_trees, place, score, half, grad, score_grad):  # type: ignore[no-untyped-def]
    """Fill `score_grad` (outputs, SIMD_WIDTH), the gradient of one tree's score, given that of the prediction."""
    is_softmax, row = structure.head is not None, half + place * structure.n_outputs
    factor, mean = _ONE / np.float32(n_trees), broadcast(_ZERO)
    for o in range(structure.n_outputs if is_softmax else 0):
        mean = mean + load(grad, o) * load(score, row + o)
    for o in range(structure.n_outputs):
        g = load(grad, o)
        if is_softmax:
            g = (g - mean) * load(score, row + o) * factor
        store(score_grad, o, g)


@part
def backward(structure, first_tree, tree, offsets, p, h, score_grad, gradient):  # type: ignore[no-untyped-def]
    """Add the gradients of b2, w_out and b_out; turn the tree's rows of h into gradients of the leaves' arguments."""
    n_outputs = structure.n_outputs
    b2, w_out, b_out = offsets[3], offsets[4], offsets[5]
    leaf0 = structure.first_leaf[tree] - structure.first_leaf[first_tree]
    leaf1 = structure.first_leaf[tree + 1] - structure.first_leaf[first_tree]
    place = tree - first_tree
    for leaf in range(leaf0, leaf1):
        v, g0 = load(h, leaf), load(score_grad, 0)
        a = g0 * p[w_out + leaf * n_outputs]
        for o in range(1, n_outputs):
            g = load(score_grad, o)
            a = a + g * p[w_out + leaf * n_outputs + o]
            gradient[w_out + leaf * n_outputs + o] += lane_sum(g * v)
        a = a * (_ONE - v * v) * structure.contrast2
        store(h, leaf, a)
        of_bias, of_weight = lane_sums(a, g0 * v)
        gradient[b2 + leaf] += of_bias
        gradient[w_out + leaf * n_outputs] += of_weight
    if structure.head is not None or place == 0:  # scores that are added up share one trained offset, the first tree's
        for o in range(n_outputs):
            gradient[b_out + place * n_outputs + o] += lane_sum(load(score_grad, o))
