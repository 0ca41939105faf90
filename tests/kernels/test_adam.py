"""Adam and the projection onto the weight bound of the theory."""

import numpy as np
import pytest
import torch

from neuralforest._kernels.jit import kernel
from neuralforest._kernels.network import adam as kernels
from neuralforest._kernels.network.arguments import Plan, Weights

step_of_adam = kernel(lambda *arguments: kernels.adam(*arguments))
project = kernel(lambda *arguments: kernels.project(*arguments))


def plan(beta1=0.9, beta2=0.999, epsilon=1e-8):
    return Plan(32, 0, 0.0, np.ones(3), beta1, beta2, epsilon, 0.0, None)


def weights(n, seed=0):
    p = np.random.default_rng(seed).normal(size=n).astype(np.float32)
    return Weights(p, np.zeros(n, np.float32), np.zeros(n, np.float32), p.copy(), np.zeros(1, np.int64))


@pytest.mark.parametrize("options", [{}, {"beta1": 0.0}, {"beta1": 0.5, "beta2": 0.9, "epsilon": 1e-3}], ids=str)
def test_steps_agree_with_torch(options):
    rng, ours = np.random.default_rng(1), weights(20)
    theirs = torch.tensor(ours.parameters, requires_grad=True)
    p = plan(**options)
    optimiser = torch.optim.Adam([theirs], lr=0.01, betas=(p.beta1, p.beta2), eps=p.epsilon)
    for number in range(1, 30):
        gradient = rng.normal(size=20, scale=10.0 ** rng.integers(-6, 3)).astype(np.float32)
        theirs.grad = torch.tensor(gradient)
        optimiser.step()
        step_of_adam(ours, gradient, 0, 0, 20, 0.01, number, p, 0.0)
        np.testing.assert_array_equal(gradient, 0)  # cleared for the next minibatch
        np.testing.assert_allclose(ours.parameters, theirs.detach().numpy(), rtol=1e-5, atol=1e-6)
    state = optimiser.state[theirs]
    np.testing.assert_allclose(ours.first_moment, state["exp_avg"].numpy(), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(ours.second_moment, state["exp_avg_sq"].numpy(), rtol=1e-5, atol=1e-6)


def test_a_step_touches_its_slice_and_nothing_else():
    ours = weights(30)
    before = ours.parameters.copy()
    gradient = np.ones(12, np.float32)
    step_of_adam(ours, gradient, 10, 3, 8, 0.01, 1, plan(), 0.0)  # a subnetwork that begins at 10
    moved = np.flatnonzero(ours.parameters != before)
    np.testing.assert_array_equal(moved, np.arange(13, 18))
    np.testing.assert_array_equal(np.flatnonzero(gradient == 0), np.arange(3, 8))


def test_no_gradient_is_no_step():
    ours = weights(5)
    before = ours.parameters.copy()
    step_of_adam(ours, np.zeros(5, np.float32), 0, 0, 5, 0.1, 1, plan(), 0.0)
    np.testing.assert_array_equal(ours.parameters, before)


def test_decay_pulls_towards_the_start():
    ours = weights(5)
    start = ours.start.copy()
    ours.parameters[:] = start + np.float32(2)
    step_of_adam(ours, np.zeros(5, np.float32), 0, 0, 5, 0.1, 1, plan(), 3.0)
    np.testing.assert_allclose(ours.parameters - start, 2 * (1 - 0.1 * 3.0), rtol=1e-5)


# w1 (2), b1 (2), w2 (4), b2 (3), w_out (3 leaves of 2 outputs), b_out of one tree
OFFSETS = (0, 2, 4, 8, 11, 17, 19)


def norm(p):
    w_out = p[11:17].reshape(3, 2)
    b_out = p[17:19] + w_out.sum(axis=0)
    return np.abs(p[4:8]).max() + np.abs(p[8:11]).max() + np.abs(w_out).sum() + np.abs(b_out).sum()


def test_projection_reaches_the_bound_and_keeps_the_direction():
    p = weights(19).parameters.copy()
    before = p.copy()
    limit = 0.4 * norm(before.astype(float))
    project(p, OFFSETS, 2, limit)
    assert norm(p.astype(float)) == pytest.approx(limit, rel=1e-6)
    np.testing.assert_array_equal(p[:4], before[:4])  # splits are not bounded
    np.testing.assert_allclose(p[4:], 0.4 * before[4:], rtol=1e-5)


def test_projection_leaves_weights_inside_the_bound_untouched():
    p = weights(19).parameters.copy()
    before = p.copy()
    project(p, OFFSETS, 2, 1.001 * norm(before.astype(float)))
    np.testing.assert_array_equal(p, before)


def test_projection_of_a_tree_of_one_leaf_needs_no_connections():
    p = np.array([0.5, 3.0, -1.0], np.float32)  # b2, w_out, b_out: no splits
    project(p, (0, 0, 0, 0, 1, 2, 3), 1, 2.75)
    np.testing.assert_allclose(p, np.array([0.5, 3.0, -1.0]) * 2.75 / 5.5, rtol=1e-6)
