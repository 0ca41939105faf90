"""The paper's theory as numbers: the bound on the weights, the conditions of Theorem 4.1, and parameter counts.

Nothing here trains or predicts. K is the number of leaves of a tree, gamma1 and gamma2 the contrasts of the first and
the second hidden layer, n the number of training rows.
"""

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuralforest.exceptions import InvalidParameterError
from neuralforest.network.structure import count_parameters

if TYPE_CHECKING:
    from neuralforest.network import ForestNetwork

__all__ = [
    "ConsistencyTerms",
    "Schedule",
    "bound_constant",
    "consistency_schedule",
    "consistency_terms",
    "count_parameters",
    "tree_norms",
    "weight_norm",
]


class ConsistencyTerms(NamedTuple):
    """The three quantities that must vanish as n grows, according to Theorem 4.1."""

    complexity: float
    """K^6 log(gamma2 K^5) / n: how much the class of networks can overfit."""
    second_layer: float
    """K^2 exp(-2 gamma2): what the soft leaf units miss."""
    first_layer: float
    """K^4 gamma2^2 log(gamma1) / gamma1: what the soft split units miss."""


class Schedule(NamedTuple):
    """Leaves per tree and contrasts for a number of training rows."""

    n_leaves: int
    gamma1: float
    gamma2: float


def weight_norm(W2: Any, b2: ArrayLike, W_out: ArrayLike, b_out: ArrayLike) -> float:
    """Return max|W2| + max|b2| + sum|W_out| + abs(b_out), which consistency bounds by a constant times K.

    Parameters
    ----------
    W2 : array or sparse matrix
        Weights of the second hidden layer, in either orientation; empty for a tree of one leaf.
    b2 : array (leaves,)
    W_out : array (outputs, leaves) or (leaves,)
        Of several outputs, the one with the largest sum counts: each output is an estimate of its own.
    b_out : array (outputs,) or float

    Examples
    --------
    A stump with the values 1 and 3:

    >>> from neuralforest.theory import bound_constant, weight_norm
    >>> norm = weight_norm(W2=[[-1, 1]], b2=[-0.5, -0.5], W_out=[0.5, 1.5], b_out=2)
    >>> norm
    5.5
    >>> norm <= bound_constant(max_abs_y=3) * 2
    True
    """
    offset = np.abs(np.atleast_1d(np.asarray(b_out, dtype=np.float64)))  # (outputs,)
    weights = np.abs(np.atleast_2d(np.asarray(W_out, dtype=np.float64)))  # (outputs, leaves)
    if weights.shape != (len(offset), np.size(b2)):
        raise InvalidParameterError(
            f"W_out must have shape (outputs, leaves) = {(len(offset), np.size(b2))} to fit b_out and b2, "
            f"got {np.shape(W_out)}"
        )
    return _largest(W2) + _largest(b2) + float((weights.sum(axis=1) + offset).max())


def bound_constant(max_abs_y: float) -> float:
    """Return C1 = 3/2 + max|Y|, with which every tree satisfies the bound before it is trained.

    Parameters
    ----------
    max_abs_y : float
        The largest absolute target.

    Examples
    --------
    >>> from neuralforest.theory import bound_constant
    >>> bound_constant(50.0)
    51.5
    """
    if not 0 <= max_abs_y < math.inf:
        raise InvalidParameterError(f"max_abs_y must be finite and not negative, got {max_abs_y}; pass max(abs(y))")
    return 1.5 + float(max_abs_y)


def tree_norms(network: "ForestNetwork") -> NDArray[np.float64]:
    """Return the least constant C that bounds each tree's norm by C * K, to be compared with `bound_constant`.

    Parameters
    ----------
    network : ForestNetwork
        A soft one is measured in the units that it is trained in.

    Returns
    -------
    float64 array (subnetworks,)
        One number a tree, or one in all in joint training, where K is the mean number of leaves of the trees.

    Examples
    --------
    >>> import neuralforest as nf
    >>> from neuralforest.theory import bound_constant, tree_norms
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.ensemble import RandomForestRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> network = nf.convert(RandomForestRegressor(5, max_depth=6, random_state=0).fit(X, y))
    >>> bool((tree_norms(network) <= bound_constant(y.max())).all())
    True
    """
    norms = []
    for subnetwork, n_trees in enumerate(network.subnetworks.n_trees):
        layers = network.layers(subnetwork)
        norm = weight_norm(layers.W2, layers.b2, layers.W_out, layers.b_out)
        norms.append(norm / (len(layers.b2) / n_trees))
    return np.array(norms)


def consistency_terms(n: float, n_leaves: float, gamma1: float, gamma2: float) -> ConsistencyTerms:
    """Return the three terms of Theorem 4.1, each of which has to tend to 0.

    Parameters
    ----------
    n : float
        Training rows.
    n_leaves : float
        K, leaves a tree.
    gamma1, gamma2 : float
        Contrasts of the first and second hidden layer.

    Examples
    --------
    The paper's contrasts with trees of 64 leaves are far from the theorem's regime:

    >>> from neuralforest.theory import consistency_terms
    >>> [f"{term:.2g}" for term in consistency_terms(n=1000, n_leaves=64, gamma1=100, gamma2=1)]
    ['1.4e+09', '5.5e+02', '7.7e+05']
    """
    for name, value in (("n", n), ("n_leaves", n_leaves), ("gamma1", gamma1), ("gamma2", gamma2)):
        if not 0 < value < math.inf:
            raise InvalidParameterError(f"{name} must be positive and finite, got {value}")
    K = float(n_leaves)
    return ConsistencyTerms(
        complexity=K**6 * (math.log(gamma2) + 5 * math.log(K)) / n,
        second_layer=K**2 * math.exp(-2 * gamma2),
        first_layer=K**4 * gamma2**2 * math.log(gamma1) / gamma1,
    )


def consistency_schedule(n: float, scale: float = 1.0) -> Schedule:
    """Return leaves and contrasts that grow with n and meet the three conditions of Theorem 4.1.

    K = scale * n^(1/8), rounded down and at least 2; gamma2 = log K + log(n) / 8; gamma1 = K^4 gamma2^2 n^(1/4).
    The terms then fall at least as fast as n^(-1/4) log n, n^(-1/4) and n^(-1/4) log n.

    Parameters
    ----------
    n : float
        Training rows, at least 2.
    scale : float, default=1.0
        Factor of K. Any positive constant leaves the limits as they are; a larger one suits small n.

    Examples
    --------
    >>> from neuralforest.theory import consistency_schedule
    >>> schedule = consistency_schedule(1_000_000)
    >>> schedule.n_leaves, round(schedule.gamma1), round(schedule.gamma2, 2)
    (5, 220004, 3.34)
    """
    if not 2 <= n < math.inf:
        raise InvalidParameterError(f"n must be at least 2 training rows, got {n}")
    if not 0 < scale < math.inf:
        raise InvalidParameterError(f"scale must be positive and finite, got {scale}")
    K = max(2, math.floor(scale * n**0.125 * (1 + 1e-12)))  # the root of 10^8 must not round down to 9
    gamma2 = math.log(K) + math.log(n) / 8
    return Schedule(n_leaves=K, gamma1=K**4 * gamma2**2 * n**0.25, gamma2=gamma2)


def _largest(matrix: Any) -> float:
    """Return max|matrix| without making a sparse matrix dense; 0 where there is nothing."""
    values = np.asarray(matrix.data if hasattr(matrix, "toarray") else matrix, dtype=np.float64)
    return float(np.abs(values).max(initial=0.0))
