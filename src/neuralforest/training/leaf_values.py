"""All leaf values of hard trees refitted together: ridge regression towards the values that the trees have.

The trees stay as they are, and their leaves are the columns of a sparse design matrix: each row is in one leaf of every
tree. A squared error has a closed form, a log loss a few Newton steps; the linear systems are solved by preconditioned
conjugate gradients, so that neither rows nor leaves need a dense matrix. A path of falling penalties starts each
solution from the one before.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import scipy.special
from numpy.typing import NDArray

from neuralforest._kernels.trees import leaf_sums
from neuralforest.ensemble import TreeEnsemble
from neuralforest.exceptions import InvalidParameterError
from neuralforest.network import ForestNetwork
from neuralforest.network.initial_weights import leaf_targets

PENALTIES = (100.0, 30.0, 10.0, 3.0, 1.0, 0.3, 0.1, 0.03)
"""Ridge penalties, in units in which the memberships of a row have length 1: residual variance over prior variance."""

_TOLERANCE = 1e-2  # of the gradient, relative to that of the trees' own values
_MOST_STEPS = 60  # of conjugate gradients
_NEWTON_STEPS = 2  # at each penalty of a path; the next penalty goes on from there
_HALVINGS = 8


@dataclass(frozen=True, eq=False)
class LeafRows:
    """Rows that leaf values are fitted on."""

    X: NDArray[np.floating]  # (rows, features) in the dtype that the trees compare in
    target: NDArray[np.float64]  # (rows, outputs): numbers, or probabilities of classes, or of the second of two
    weight: NDArray[np.float64]  # (rows,)

    def followed_by(self, other: "LeafRows") -> "LeafRows":
        """Return these rows and others."""
        pairs = zip((self.X, self.target, self.weight), (other.X, other.target, other.weight), strict=True)
        return LeafRows(*(np.concatenate(pair) for pair in pairs))


def as_scores(e: TreeEnsemble) -> TreeEnsemble:
    """Return trees that average probabilities as trees whose scores are summed; others as they are.

    A mean of probabilities cannot leave the simplex of its leaves, and stays valid only inside of it. A sum of
    log-probabilities is valid for any values: its softmax is the geometric mean of the trees.
    """
    if e.classes is None or e.link != "identity":
        return e
    score = leaf_targets(e, np.zeros(e.n_outputs), np.ones(e.n_outputs)) / e.n_trees
    two = e.n_outputs == 2
    return replace(
        e,
        value=score[:, 1:] - score[:, :1] if two else score,
        base_score=np.zeros(1 if two else e.n_outputs),
        aggregation="sum",
        link="logit" if two else "softmax",
        second_at_zero=True,
    )


def without_base_score(e: TreeEnsemble) -> TreeEnsemble:
    """Return trees with a base score of 0: it becomes part of the first tree of each output, in each group.

    Libraries add the base score before the trees or after them, with other rounding; without one, all agree.
    """
    if not e.base_score.any():
        return e
    value, column = e.value.copy(), output_of_tree(e)
    for first, last in pairwise(e.groups.tolist()):
        for output in range(e.n_outputs):
            own = np.flatnonzero((column[first:last] == output) | (column[first:last] < 0))
            tree = first + (int(own[0]) if len(own) else 0)
            value[e.first_leaf[tree] : e.first_leaf[tree + 1], output] += e.base_score[output]
    return replace(e, value=value, base_score=np.zeros(e.n_outputs))


def refitted(
    ensemble: TreeEnsemble, rows: LeafRows, penalties: Sequence[float] = PENALTIES
) -> Iterator[tuple[float, TreeEnsemble]]:
    """Give each penalty, from the largest to the smallest, with the trees whose leaf values it leads to.

    Parameters
    ----------
    ensemble : TreeEnsemble
        Trees that predict a number, a log-odds or scores of classes; see `as_scores`.
    rows : LeafRows
    penalties : sequence of floats
        The larger, the closer to the values of the trees.

    Examples
    --------
    >>> import numpy as np
    >>> from neuralforest.ensemble import TreeEnsemble
    >>> from neuralforest.training.leaf_values import LeafRows, refitted
    >>> stump = TreeEnsemble(
    ...     feature=[0], threshold=[0.5], missing_left=[True], middle=[1], value=[[0.0], [0.0]], weight=[1, 1],
    ...     first_split=[0, 1], first_leaf=[0, 2], n_features=1,
    ... )
    >>> rows = LeafRows(np.array([[0.0], [1.0]], np.float32), np.array([[2.0], [6.0]]), np.ones(2))
    >>> [(penalty, trees.value.ravel().round(3)) for penalty, trees in refitted(stump, rows, [1.0, 0.0])]
    [(1.0, array([1., 3.])), (0.0, array([2., 6.]))]
    """
    problem = _Problem.of(ensemble, rows)
    theta = np.zeros_like(ensemble.value)
    score = problem.start.copy()
    _, gradient = problem.gradient(score, theta, 0.0)
    tolerance = _TOLERANCE * _length(gradient)
    unit = _value_unit(ensemble)
    for penalty in sorted(penalties, reverse=True):
        for _ in range(1 if problem.is_squared else _NEWTON_STEPS):
            theta, score = problem.newton_step(theta, score, penalty, tolerance)
        yield penalty, replace(ensemble, value=ensemble.value + unit * theta)


def loss_bound(
    e: TreeEnsemble, score: NDArray[np.float64], rows: LeafRows
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return gradient and hessian, (rows, outputs), of a quadratic bound of the loss at raw predictions.

    Half the squared error is one itself. A log loss is below a parabola whose second derivative is 1/4, or for scores
    of several classes 1/2 (Boehning, 1992): what lowers the bound lowers the loss.
    """
    weight = np.broadcast_to(rows.weight[:, None], score.shape)
    curvature = {"identity": 1.0, "logit": 0.25, "softmax": 0.5}[e.link]
    return weight * (_mean(e.link, score) - rows.target), curvature * weight


def _mean(link: str, score: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return predictions or probabilities of raw predictions."""
    if link == "identity":
        return score
    return np.asarray(scipy.special.softmax(score, axis=1) if link == "softmax" else scipy.special.expit(score))


def _value_unit(e: TreeEnsemble) -> float:
    """Return the leaf value of a coefficient of 1, such that the memberships of a row have length 1."""
    return float(np.sqrt(e.n_trees)) if e.aggregation == "mean" else float(e.n_groups / np.sqrt(e.n_trees))


def _length(array: NDArray[np.float64]) -> float:
    return float(np.sqrt(np.sum(array**2)))


@dataclass(frozen=True, eq=False)
class _Problem:
    """A ridge regression on leaf memberships, all divided by the root of the number of trees."""

    leaf: NDArray[np.int32]  # (rows, trees), counted over all trees
    column: NDArray[np.int32]  # (trees,): see the kernels
    start: NDArray[np.float64]  # (rows, outputs): raw predictions of the trees
    rows: LeafRows
    link: str
    n_leaves: int

    @classmethod
    def of(cls, e: TreeEnsemble, rows: LeafRows) -> "_Problem":
        if e.link not in ("identity", "logit", "softmax") or (e.classes is not None and e.link == "identity"):
            raise InvalidParameterError(
                "leaf values are refitted for trees that predict a number, a log-odds or scores of classes, got the "
                f"link {e.link!r}{'' if e.classes is None else ' of a classifier'}"
            )
        network = ForestNetwork(e)
        leaf = network.apply_checked(rows.X) + e.first_leaf[:-1].astype(np.int32)
        return cls(leaf, output_of_tree(e), network.stacked_output(rows.X), rows, e.link, e.n_leaves)

    @property
    def is_squared(self) -> bool:
        return self.link == "identity"

    def scores(self, theta: NDArray[np.float64]) -> NDArray[np.float64]:
        out = np.zeros_like(self.start)
        leaf_sums.add_values(self.leaf, self.column, theta, out)
        return out / np.sqrt(self.leaf.shape[1])

    def leaf_totals(self, row_value: NDArray[np.float64]) -> NDArray[np.float64]:
        out = np.zeros((self.n_leaves, row_value.shape[1]))
        leaf_sums.add_rows(self.leaf, self.column, row_value, out)
        return out / np.sqrt(self.leaf.shape[1])

    def objective(self, score: NDArray[np.float64], theta: NDArray[np.float64], penalty: float) -> float:
        """Return the log loss of all rows, plus the penalty."""
        y = self.rows.target
        if self.link == "softmax":
            loss = y.sum(axis=1) * scipy.special.logsumexp(score, axis=1) - (y * score).sum(axis=1)
        else:
            loss = (np.logaddexp(0.0, score) - y * score).sum(axis=1)
        return float(self.rows.weight @ loss + penalty / 2 * np.sum(theta**2))

    def gradient(
        self, score: NDArray[np.float64], theta: NDArray[np.float64], penalty: float
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the predictions, and the descent direction of the objective, (leaves, outputs)."""
        mean = _mean(self.link, score)
        residual = self.rows.weight[:, None] * (self.rows.target - mean)
        return mean, self.leaf_totals(residual) - penalty * theta

    def curvature(self, mean: NDArray[np.float64], direction: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the Hessian of the loss with respect to the scores, times a direction, (rows, outputs)."""
        weight = self.rows.weight[:, None]
        if self.is_squared:
            return weight * direction
        if self.link == "logit":
            return weight * mean * (1 - mean) * direction
        along = mean * direction
        return weight * (along - mean * along.sum(axis=1, keepdims=True))

    def newton_step(
        self, theta: NDArray[np.float64], score: NDArray[np.float64], penalty: float, tolerance: float
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return better coefficients and their raw predictions; a log loss halves steps that are too long."""
        mean, gradient = self.gradient(score, theta, penalty)
        if _length(gradient) <= tolerance:
            return theta, score
        step, change = self._solve(mean, gradient, penalty, tolerance)
        if self.is_squared:
            return theta + step, score + change
        before = self.objective(score, theta, penalty)
        for halving in range(_HALVINGS):
            factor = 0.5**halving
            moved = theta + factor * step, score + factor * change
            if self.objective(moved[1], moved[0], penalty) < before:
                return moved
        return theta, score

    def _solve(
        self, mean: NDArray[np.float64], gradient: NDArray[np.float64], penalty: float, tolerance: float
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the Newton step and the change of the scores, by preconditioned conjugate gradients."""
        own = (
            self.curvature(mean, np.ones_like(mean))
            if self.is_squared
            else self.rows.weight[:, None] * mean * (1 - mean)
        )
        diagonal = self.leaf_totals(own) / np.sqrt(self.leaf.shape[1]) + max(penalty, 1e-10)
        step, change, residual = np.zeros_like(gradient), np.zeros_like(mean), gradient.copy()
        scaled = residual / diagonal
        direction, product = scaled, float(np.sum(residual * scaled))
        for _ in range(_MOST_STEPS):
            along = self.scores(direction)
            image = self.leaf_totals(self.curvature(mean, along)) + penalty * direction
            length = product / max(float(np.sum(direction * image)), 1e-300)
            step += length * direction
            change += length * along
            residual -= length * image
            if _length(residual) <= tolerance:
                break
            scaled = residual / diagonal
            before, product = product, float(np.sum(residual * scaled))
            direction = scaled + product / before * direction
        return step, change


def output_of_tree(e: TreeEnsemble) -> NDArray[np.int32]:
    """Return the one output that a tree adds to, (trees,), or -1: boosted trees of several classes have one each."""
    used = np.add.reduceat((e.value != 0).astype(np.int64), e.first_leaf[:-1], axis=0) > 0  # (trees, outputs)
    single = (used.sum(axis=1) <= 1).all() and e.n_outputs > 1
    return np.where(single, used.argmax(axis=1), -1).astype(np.int32)
