"""The theory's numbers against slow twins, and against trees that are converted but not trained."""

import numpy as np
import pytest
import scipy.sparse
from numpy.testing import assert_allclose

from neuralforest.ensemble import TreeEnsemble
from neuralforest.exceptions import InvalidParameterError
from neuralforest.network import ForestNetwork
from neuralforest.network.structure import count_parameters
from neuralforest.theory import (
    bound_constant,
    consistency_schedule,
    consistency_terms,
    tree_norms,
    weight_norm,
)

GROWING = [10.0**k for k in range(2, 13, 2)]


def random_tree(rng, n_leaves):
    """Return `middle` of a random tree shape: the first leaf of each split's right child, splits depth-first."""

    def grow(begin, end):
        if end - begin == 1:
            return []
        middle = int(rng.integers(begin + 1, end))
        return [middle, *grow(begin, middle), *grow(middle, end)]

    return grow(0, n_leaves)


def random_ensemble(seed, leaves, n_features=4, n_outputs=1):
    rng = np.random.default_rng(seed)
    middle = [m for n_leaves in leaves for m in random_tree(rng, n_leaves)]
    return TreeEnsemble(
        feature=rng.integers(n_features, size=len(middle)),
        threshold=rng.normal(size=len(middle)),
        missing_left=np.ones(len(middle), bool),
        middle=np.array(middle, int),
        value=rng.normal(size=(sum(leaves), n_outputs)),
        weight=np.ones(sum(leaves)),
        first_split=np.cumsum([0, *(n - 1 for n in leaves)]),
        first_leaf=np.cumsum([0, *leaves]),
        n_features=n_features,
    )


def layers_of(ensemble, tree):
    """The paper's second and third layer of one tree, by walking over its splits one by one: a slow twin."""
    one = ensemble[tree : tree + 1]
    W2 = np.zeros((one.n_leaves, one.n_splits))
    for k in range(one.n_splits):
        W2[one.begin[k] : one.middle[k], k] = -1
        W2[one.middle[k] : one.end[k], k] = 1
    depth = np.abs(W2).sum(axis=1)
    return W2, 0.5 - depth, one.value.T / 2, one.value.sum(axis=0) / 2


@pytest.mark.parametrize("seed", range(5))
def test_every_untrained_tree_satisfies_the_bound_with_the_papers_constant(seed):
    ensemble = random_ensemble(seed, leaves=[1, 2, 3, 7, 40])
    needed = tree_norms(ForestNetwork(ensemble))
    by_hand = [weight_norm(*layers_of(ensemble, tree)) / n for tree, n in enumerate(np.diff(ensemble.first_leaf))]
    assert_allclose(needed, by_hand)
    assert (needed <= bound_constant(np.abs(ensemble.value).max())).all()


@pytest.mark.parametrize("seed", range(3))
def test_the_joint_network_satisfies_the_bound_too(seed):
    ensemble = random_ensemble(seed, leaves=[16, 20, 12, 16])
    joint = ForestNetwork(ensemble).soften(contrast=(100, 1), training="joint")
    (needed,) = tree_norms(joint)
    assert needed <= bound_constant(np.abs(ensemble.value).max())


def test_a_chain_of_splits_comes_close_to_the_bound():
    # The deepest tree of K leaves is a chain: the offset alone is K - 3/2, which is why the bound grows with K.
    K = 100
    W2 = np.zeros((K, K - 1))
    for k in range(K - 1):
        W2[k, k], W2[k + 1 :, k] = -1, 1
    norm = weight_norm(W2, 0.5 - np.abs(W2).sum(axis=1), np.full(K, 0.5), K / 2)
    assert norm == 1 + (K - 1.5) + K / 2 + K / 2
    assert 0.7 * bound_constant(1) * K < norm <= bound_constant(1) * K


def test_the_norm_is_the_same_for_sparse_and_dense_weights():
    W2, b2, W_out, b_out = layers_of(random_ensemble(0, leaves=[9]), 0)
    W2[0, 0] = -7.5
    assert weight_norm(scipy.sparse.csr_array(W2), b2, W_out, b_out) == weight_norm(W2, b2, W_out, b_out)
    by_hand = np.abs(W2).max() + np.abs(b2).max() + np.abs(W_out).sum() + np.abs(b_out).sum()
    assert_allclose(weight_norm(W2, b2, W_out, b_out), by_hand)


def test_the_worst_of_several_outputs_counts():
    assert weight_norm([[1.0]], [0.5], [[2.0], [-3.0]], [4.0, -1.0]) == 1 + 0.5 + max(2 + 4, 3 + 1)


def test_a_tree_of_one_leaf_has_a_norm():
    assert weight_norm(np.empty((1, 0)), [0.5], [1.5], 1.5) == 3.5


def test_output_weights_of_another_shape_are_refused():
    with pytest.raises(
        InvalidParameterError, match=r"W_out must have shape \(outputs, leaves\) = \(2, 3\).*got \(3, 2\)"
    ):
        weight_norm(np.eye(3), np.zeros(3), np.zeros((3, 2)), np.zeros(2))


def test_the_terms_are_the_papers_formulas():
    n, K, gamma1, gamma2 = 500, 7, 30.0, 2.5
    assert_allclose(
        consistency_terms(n, K, gamma1, gamma2),
        [
            K**6 * np.log(gamma2 * K**5) / n,
            K**2 * np.exp(-2 * gamma2),
            K**4 * gamma2**2 * np.log(gamma1) / gamma1,
        ],
    )


@pytest.mark.parametrize("scale", [1.0, 3.0])
def test_the_schedule_makes_all_terms_vanish_while_everything_grows(scale):
    schedules = np.array([consistency_schedule(n, scale) for n in GROWING])
    assert (np.diff(schedules, axis=0) > 0).all()
    terms = np.array([consistency_terms(n, *consistency_schedule(n, scale)) for n in GROWING])
    assert (np.diff(terms, axis=0) < 0).all()
    n = 1e100
    assert min(consistency_schedule(n, scale)) > 50
    assert max(consistency_terms(n, *consistency_schedule(n, scale))) < 1e-15


def test_the_schedule_keeps_the_rate_that_it_promises_at_every_n():
    # Rounding makes K jump, so terms may rise for a moment; under these envelopes, which vanish, they stay.
    n = np.geomspace(1e2, 1e12, 400)
    terms = np.array([consistency_terms(m, *consistency_schedule(m)) for m in n])
    assert (terms[:, 0] <= 3 * np.log(n) * n**-0.25).all()
    assert_allclose(terms[:, 1], n**-0.25)
    assert (terms[:, 2] <= 1.5 * np.log(n) * n**-0.25).all()


def test_whole_roots_are_not_rounded_down():
    assert [consistency_schedule(float(K**8)).n_leaves for K in range(2, 60)] == list(range(2, 60))


def test_a_tree_of_one_leaf_has_three_parameters():
    constant = random_ensemble(0, leaves=[1])
    for connectivity in ("sparse", "full"):
        for training in ("independent", "joint"):
            assert count_parameters(constant, connectivity, training) == 3


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_counts_are_those_of_the_layers(n_outputs):
    d = 4
    ensemble = random_ensemble(1, leaves=[5, 1, 12, 2], n_features=d, n_outputs=n_outputs)
    sparse = full = splits = leaves = connections = 0
    for tree in range(ensemble.n_trees):
        W2, b2, W_out, b_out = layers_of(ensemble, tree)
        S, L = W2.shape[1], W2.shape[0]
        output = b2.size + W_out.size + b_out.size
        sparse += 2 * S + np.count_nonzero(W2) + output
        full += (d + 1) * S + W2.size + output
        splits, leaves, connections = splits + S, leaves + L, connections + np.count_nonzero(W2)
    assert count_parameters(ensemble, "sparse") == sparse
    assert count_parameters(ensemble, "full") == full
    output = leaves + leaves * n_outputs + n_outputs
    assert count_parameters(ensemble, "sparse", "joint") == 2 * splits + connections + output
    assert count_parameters(ensemble, "full", "joint") == (d + 1) * splits + splits * leaves + output


def test_counts_are_the_papers_formulas():
    K, d = 33, 6
    ensemble = random_ensemble(2, leaves=[K], n_features=d)
    assert count_parameters(ensemble, "sparse") == 2 * (K - 1) + ensemble.depth.sum() + 2 * K + 1
    assert count_parameters(ensemble, "full") == (d + 1) * (K - 1) + K * (K - 1) + 2 * K + 1


def test_sparse_counts_do_not_depend_on_the_number_of_features():
    few, many = (random_ensemble(3, leaves=[8, 9], n_features=d) for d in (2, 200))
    assert count_parameters(many) - many.depth.sum() == count_parameters(few) - few.depth.sum()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: bound_constant(-1.0), "max_abs_y must be finite and not negative, got -1.0"),
        (lambda: bound_constant(float("nan")), "max_abs_y must be finite and not negative, got nan"),
        (lambda: consistency_terms(0, 2, 1, 1), "n must be positive and finite, got 0"),
        (lambda: consistency_terms(9, 2, 1, float("inf")), "gamma2 must be positive and finite, got inf"),
        (lambda: consistency_schedule(1), "n must be at least 2 training rows, got 1"),
        (lambda: consistency_schedule(100, scale=0), "scale must be positive and finite, got 0"),
    ],
)
def test_bad_arguments_are_refused_with_a_sentence(call, message):
    with pytest.raises(InvalidParameterError, match=message):
        call()
