"""The loss that all trees together would have, estimated from rows that few of them predict."""

import numpy as np
import pytest

from neuralforest._kernels.network import losses as kernels
from neuralforest.selection.expected_loss import expected_loss
from neuralforest.selection.predictions import averaged
from neuralforest.training.losses import Loss

LOG_LOSS = Loss("log_loss", kernels.LOG_PROBABILITY, 0.0)
RESIDUAL_LOSSES = {
    "squared_error": Loss("squared_error", kernels.SQUARED_ERROR),
    "huber": Loss("huber", kernels.HUBER, 1.35),
    "quantile": Loss("quantile", kernels.QUANTILE, 0.8),
}


def few_of(trees, fraction, seed=0):
    """Return predictions of rows (trees, rows, outputs) by a random part of the trees, as out-of-bag."""
    rng = np.random.default_rng(seed)
    parts = [np.flatnonzero(rng.random(trees.shape[1]) < fraction) for _ in trees]
    outputs = ((rows, np.ones(len(rows)), tree[rows]) for rows, tree in zip(parts, trees, strict=True))
    return averaged(outputs, trees.shape[1:], trees.mean(axis=(0, 1)), len(trees))


def losses(loss, link, few, whole, target):
    """Return the loss of all trees, of few trees as measured, and its expectation."""
    y = target[few.row]
    measured = loss.mean(few.prediction, y, few.weight)
    expected = expected_loss(loss, link, few.prediction, y, few.weight, few.excess_variance)
    return loss.mean(whole, target, np.ones(len(target))), measured, expected


@pytest.mark.parametrize("name", RESIDUAL_LOSSES)
def test_losses_of_residuals_are_those_of_all_trees(name):
    rng = np.random.default_rng(1)
    truth = rng.normal(size=(20_000, 1))
    trees = truth + rng.normal(size=(20, *truth.shape))
    target = truth + 0.7 * rng.normal(size=truth.shape)
    few = few_of(trees, 0.1)
    true, measured, expected = losses(RESIDUAL_LOSSES[name], "identity", few, trees.mean(axis=0), target)
    assert measured > 1.3 * true
    assert expected == pytest.approx(true, rel=0.05)


@pytest.mark.parametrize("hard", [False, True], ids=["probabilities", "votes"])
@pytest.mark.parametrize("confidence", [1.0, 3.0])
def test_log_losses_are_those_of_all_trees(hard, confidence):
    """Trees that vote 0 or 1 are the worst case: the mean of two is 0 for many rows."""
    rng = np.random.default_rng(2)
    n, m = 6_000, 40
    p = 1 / (1 + np.exp(-confidence * rng.normal(size=n)))
    of_class = rng.random(n) < p
    votes = rng.random((m, n)) < p if hard else rng.beta(p / 2, (1 - p) / 2, size=(m, n))
    trees = np.stack([1.0 - votes, votes], axis=2)
    target = np.column_stack([~of_class, of_class]).astype(float)
    true, measured, expected = losses(LOG_LOSS, "identity", few_of(trees, 0.1), trees.mean(axis=0), target)
    assert measured > 1.25 * true
    assert expected == pytest.approx(true, rel=0.16)


@pytest.mark.parametrize("link", ["logit", "softmax"])
def test_log_losses_of_scores_are_those_of_all_trees(link):
    rng = np.random.default_rng(3)
    n, m, outputs = 20_000, 30, 1 if link == "logit" else 3
    score = rng.normal(size=(n, outputs))
    trees = score + rng.normal(size=(m, n, outputs))
    if link == "logit":
        target = (rng.random((n, 1)) < 1 / (1 + np.exp(-score))).astype(float)
    else:
        target = np.eye(3)[(score + rng.gumbel(size=score.shape)).argmax(axis=1)]
    loss = Loss("log_loss", kernels.LOG_LOGISTIC if link == "logit" else kernels.LOG_SOFTMAX, 0.0)
    true, measured, expected = losses(loss, link, few_of(trees, 0.15), trees.mean(axis=0), target)
    assert measured > 1.03 * true
    assert abs(expected - true) < 0.35 * (measured - true)


def test_nothing_is_corrected_without_excess_variance():
    rng = np.random.default_rng(4)
    own = rng.random(300)
    own[:20] = 0.0
    p, weight = np.column_stack([own, 1 - own]), rng.uniform(0.5, 2.0, 300)
    target = np.eye(2)[np.zeros(300, int)]
    measured = LOG_LOSS.mean(p, target, weight)
    assert expected_loss(LOG_LOSS, "identity", p, target, weight, np.zeros_like(p)) == measured
    tiny = expected_loss(LOG_LOSS, "identity", p, target, weight, np.full_like(p, 1e-9))
    assert tiny == pytest.approx(measured, rel=0.01)


def test_a_loss_stays_positive():
    """Excess variance that is larger than all of the error does not determine its sign."""
    y, weight = np.zeros((10, 1)), np.ones(10)
    error, excess = np.full((10, 1), 0.1), np.full((10, 1), 1.0)
    value = expected_loss(RESIDUAL_LOSSES["squared_error"], "identity", error, y, weight, excess)
    assert value == pytest.approx(0.001)


def test_rows_without_weight_have_no_excess():
    p = np.array([[1.0, 0.0], [1.0, 0.0], [0.5, 0.5]])
    target, weight = np.eye(2)[[0, 0, 1]], np.array([1.0, 1.0, 0.0])
    excess = np.array([[0.0, 0.0], [0.0, 0.0], [0.1, 0.1]])
    assert expected_loss(LOG_LOSS, "identity", p + 0.0, target, weight, excess) == 0.0
    weight[2] = 1.0
    assert expected_loss(LOG_LOSS, "identity", p, target, weight, np.zeros_like(p)) == pytest.approx(np.log(2) / 3)
