"""ForestNetwork: a tree ensemble as a neural network, hard (exactly the ensemble) or soft (tanh, trainable)."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse
import scipy.special
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_array

from neuralforest import _parallel
from neuralforest._kernels import evaluate, traverse
from neuralforest._kernels.arguments import SOFTMAX, Structure
from neuralforest._kernels.lanes import LANES
from neuralforest.companion import Companion, Linear, check_companions
from neuralforest.ensemble import TreeEnsemble
from neuralforest.exceptions import InvalidParameterError
from neuralforest.layers import Layers, block_layers, tree_layers
from neuralforest.softening import FAR, Softening, softened
from neuralforest.structure import Connectivity, Training, build_scratch, build_structure, count_parameters

_WORTH_A_THREAD = 200_000  # pairs of row and tree below which a second thread costs more than it gains


@dataclass(frozen=True, eq=False, repr=False)
class ForestNetwork:
    """A tree ensemble as a network with two hidden layers: one unit a split, then one unit a leaf.

    Made by :func:`neuralforest.convert`. As it comes it is hard: units are -1 or +1 and it predicts exactly what the
    ensemble predicts. :meth:`soften` gives the network with tanh in their place.

    Parameters
    ----------
    ensemble : TreeEnsemble
    soft : Softening, optional
        None for the hard network.
    companions : tuple of Companion
        Trees and linear functions that have a say beside the network.

    Examples
    --------
    >>> import neuralforest as nf
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.ensemble import RandomForestRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> forest = RandomForestRegressor(10, max_depth=4, random_state=0).fit(X, y)
    >>> network = nf.convert(forest)
    >>> network
    ForestNetwork(10 trees, 10 features, 1 output, hard, 1207 parameters)
    >>> bool(abs(network.predict(X) - forest.predict(X)).max() < 1e-9)
    True
    >>> network.soften(contrast=(100, 1), scale=X.std(axis=0))
    ForestNetwork(10 trees, 10 features, 1 output, soft (independent, sparse), 1207 parameters)
    """

    ensemble: TreeEnsemble
    soft: Softening | None = None
    companions: tuple[Companion, ...] = ()

    def __post_init__(self) -> None:
        check_companions(self.ensemble, self.companions)

    def __repr__(self) -> str:
        shape = repr(self.ensemble).removeprefix("TreeEnsemble(").removesuffix(")").split(", ")
        kind = "hard" if self.soft is None else f"soft ({self.soft.training}, {self.soft.connectivity})"
        beside = f", beside {' and '.join(map(str, self.companions))}" if self.companions else ""
        return f"ForestNetwork({shape[0]}, {shape[2]}, {shape[3]}, {kind}, {self.n_parameters} parameters{beside})"

    def __getstate__(self) -> dict[str, Any]:  # what is cached can be computed again
        return {"ensemble": self.ensemble, "soft": self.soft, "companions": self.companions}

    @property
    def classes(self) -> NDArray[np.generic] | None:
        """Labels of the classes; None for regression."""
        return self.ensemble.classes

    @property
    def n_parameters(self) -> int:
        """Number of weights and offsets; the paper's formula for the network's connectivity."""
        if self.soft is None:
            return count_parameters(self.ensemble)
        return count_parameters(self.ensemble, self.soft.connectivity, self.soft.training)

    @cached_property
    def structure(self) -> Structure:
        """What the kernels need to know of a soft network."""
        soft = self._softening
        return build_structure(self.ensemble, soft.training, soft.connectivity, soft.contrast)

    @cached_property
    def _parameters(self) -> NDArray[np.float32]:
        """The parameters in memory of their own, because numba compiles a kernel anew for arrays that are read-only."""
        parameters = self._softening.parameters
        return parameters if parameters.flags.writeable else parameters.copy()

    @property
    def _softening(self) -> Softening:
        if self.soft is None:
            raise InvalidParameterError("this needs a soft network, and this one is hard: call soften(contrast) first")
        return self.soft

    @property
    def hard(self) -> NDArray[np.bool_]:
        """Which blocks are evaluated as trees, (blocks,)."""
        return np.ones(self.ensemble.n_trees, np.bool_) if self.soft is None else self.soft.hard

    @property
    def n_blocks(self) -> int:
        """How many networks with parameters of their own there are: one, or one for each tree."""
        return len(self.hard)

    @property
    def _block_of_tree(self) -> NDArray[np.int64]:
        trees = np.arange(self.ensemble.n_trees)
        return trees if self.n_blocks == len(trees) else np.zeros_like(trees)

    @cached_property
    def beside(self) -> "tuple[tuple[ForestNetwork | Linear, float], ...]":
        """The companions, trees as hard networks, and their shares."""
        return tuple(
            (each.source if isinstance(each.source, Linear) else ForestNetwork(each.source), each.share)
            for each in self.companions
        )

    @property
    def own_share(self) -> float:
        """The share of the prediction that is the network's own."""
        return 1.0 - sum(companion.share for companion in self.companions)

    @cached_property
    def _nodes(self) -> NDArray[np.void]:
        e = self.ensemble
        nodes = np.empty(e.n_splits, traverse.NODE)
        nodes["threshold"], nodes["middle"] = e.threshold, e.middle
        nodes["feature"] = np.where(e.missing_left, e.feature, ~e.feature)
        return nodes

    def soften(
        self,
        contrast: tuple[float, float] = (100.0, 1.0),
        *,
        center: ArrayLike = 0.0,
        scale: ArrayLike = 1.0,
        low: ArrayLike = -FAR,
        high: ArrayLike = FAR,
        spread: ArrayLike = 1.0,
        output_center: ArrayLike = 0.0,
        output_scale: ArrayLike = 1.0,
        training: Training = "independent",
        connectivity: Connectivity = "sparse",
        folded: bool = False,
        sharpness: ArrayLike = 1.0,
    ) -> "ForestNetwork":
        """Return the network with tanh(contrast * argument) in place of the sign of the argument.

        Parameters
        ----------
        contrast : pair of floats
            For the splits and for the leaves. The larger, the nearer to the trees.
        center, scale : floats or arrays (features,)
            Splits see (x - center) / scale, so that one contrast suits all features; the default is raw units.
        low, high : floats or arrays (features,)
            In these units: what is outside is moved to the nearer end, so that rows far from all that the network was
            trained on are predicted as those at the border are. The default is no limit.
        spread : float or array (features,)
            How much features vary in these units. It changes no prediction; importances weigh weights by it.
        output_center, output_scale : floats or arrays (outputs,)
            As center and scale, for the target of a regression.
        training : "independent" or "joint"
            Whether each tree is a network of its own, or all trees are one.
        connectivity : "sparse" or "full"
            Whether only the connections of the trees exist, or all between two layers; the new ones are 0.
        folded : bool
            Multiply the weights by the contrasts instead of the arguments. The same function, but training moves it
            differently.
        sharpness : float or array (splits,)
            What the weights of each split are multiplied with, on top of the contrast.
        """
        soft = softened(
            self.ensemble,
            contrast,
            center=center,
            scale=scale,
            low=low,
            high=high,
            spread=spread,
            output_center=output_center,
            output_scale=output_scale,
            training=training,
            connectivity=connectivity,
            folded=folded,
            sharpness=sharpness,
        )
        return replace(self, soft=soft)

    def with_parameters(self, parameters: NDArray[np.float32], hard: NDArray[np.bool_]) -> "ForestNetwork":
        """Return a soft network with other parameters and other blocks kept hard."""
        return replace(self, soft=replace(self._softening, parameters=parameters, hard=hard))

    def with_companions(self, companions: tuple[Companion, ...] = ()) -> "ForestNetwork":
        """Return the network with others beside it, or with none."""
        return replace(self, companions=companions)

    def layers(self, block: int = 0) -> Layers:
        """Return the layers of a block: of one tree, or in a jointly trained network of all trees.

        Examples
        --------
        >>> import neuralforest as nf
        >>> from sklearn.tree import DecisionTreeRegressor
        >>> tree = DecisionTreeRegressor(max_depth=1).fit([[0.0], [1.0]], [3.0, 5.0])
        >>> layers = nf.convert(tree).layers()
        >>> layers.W1.toarray(), layers.b1
        (array([[1.]]), array([-0.5]))
        >>> layers.W2.toarray(), layers.b2
        (array([[-1.],
               [ 1.]]), array([-0.5, -0.5]))
        >>> layers.W_out, layers.b_out
        (array([[1.5, 2.5]]), array([4.]))
        """
        if self.soft is None:
            return tree_layers(self.ensemble[block : block + 1])
        return block_layers(self.ensemble, self.structure, self.soft.parameters, block)

    def apply(self, X: ArrayLike) -> NDArray[np.int32]:
        """Return the leaf of each row in each tree, (rows, trees), counted from left to right."""
        X = self.check_X(X)
        leaves = np.empty((len(X), self.ensemble.n_trees), np.int32)
        traverse.leaves_of_rows(self._nodes, self.ensemble.first_split, self.ensemble.first_leaf, X, leaves)
        return leaves

    def output(self, X: ArrayLike, n_jobs: int | None = None) -> NDArray[np.float64]:
        """Return what the trees say together, before the link, (rows, outputs)."""
        X = self.check_X(X)
        out = np.zeros((len(X), self.ensemble.n_outputs))
        blocks = np.arange(self.n_blocks)
        threads = min(_parallel.effective_n_jobs(n_jobs), 1 + len(X) * self.ensemble.n_trees // _WORTH_A_THREAD)
        with _parallel.team(threads) as run:
            run(
                lambda part: self._add(X[slice(*part)], blocks, out[slice(*part)]),
                _parallel.ranges(len(X), threads, LANES),
            )
        out = self._finish(out, blocks)
        if self.companions:
            out = self.own_share * out
        for other, share in self.beside:
            out += share * said_by(other, X, n_jobs)
        return out

    def block_output(self, block: int, X: NDArray[np.floating]) -> NDArray[np.float64]:
        """Return what one block says by itself, without companions, (rows, outputs); X as the trees compare it."""
        out = np.zeros((len(X), self.ensemble.n_outputs))
        blocks = np.array([block])
        self._add(X, blocks, out)
        return self._finish(out, blocks)

    def _add(self, X: NDArray[np.floating], blocks: NDArray[np.int64], out: NDArray[np.float64]) -> None:
        """Add to `out` what the trees of the given blocks say, each tree of a mean with weight 1."""
        e = self.ensemble
        trees = np.flatnonzero(np.isin(self._block_of_tree, blocks[self.hard[blocks]]))
        traverse.add_leaf_values(self._nodes, e.first_split, e.first_leaf, e.value, trees, X, out)
        blocks = blocks[~self.hard[blocks]]
        if self.soft is not None and len(blocks):
            weight = e.n_trees // self.n_blocks if e.aggregation == "mean" else 1
            center, scale = self.soft.output_center * weight, self.soft.output_scale * weight
            buffers, counters = build_scratch(self.structure), np.zeros(3, np.int64)
            evaluate.add_predictions(
                self.structure, self._parameters, blocks, self.scaled(X), center, scale, *buffers, counters, out
            )

    def _finish(self, out: NDArray[np.float64], blocks: NDArray[np.int64]) -> NDArray[np.float64]:
        if self.ensemble.aggregation == "mean":
            out /= np.isin(self._block_of_tree, blocks).sum()
        elif self.hard.all():
            out += self.ensemble.base_score  # soft blocks carry it themselves
        if self.soft is not None and self.structure.head == SOFTMAX and not self.hard[blocks].all():
            out /= out.sum(axis=1, keepdims=True)  # probabilities of the kernels sum to 1 up to float32's rounding
        return out

    def scaled(self, X: NDArray[np.floating]) -> NDArray[np.float32]:
        """Return X as the first layer of a soft network sees it."""
        soft = self._softening
        with np.errstate(over="ignore"):
            scaled = (X - soft.center) / soft.scale
        np.clip(scaled, soft.low, soft.high, out=scaled)
        return np.ascontiguousarray(scaled, dtype=np.float32)

    def predict(self, X: ArrayLike, n_jobs: int | None = None) -> NDArray[Any]:
        """Predict a number, or a label, for each row.

        Returns
        -------
        array (rows,), or (rows, outputs) for several targets
        """
        out = self.output(X, n_jobs)
        if self.classes is not None:
            if out.shape[1] > 1 or self.ensemble.link in ("identity", "softmax"):
                return self.classes[out.argmax(axis=1)]
            second = (out[:, 0] > 0) | (self.ensemble.second_at_zero & (out[:, 0] == 0))
            return self.classes[second.astype(int)]
        if self.ensemble.link == "log":
            out = np.exp(out)
        return out[:, 0] if out.shape[1] == 1 else out

    def predict_proba(self, X: ArrayLike, n_jobs: int | None = None) -> NDArray[np.float64]:
        """Return the probability of each class, (rows, classes)."""
        if self.classes is None:
            raise InvalidParameterError(
                "predict_proba needs a classifier, and this network is a regressor: use predict"
            )
        out = self.output(X, n_jobs)
        if self.ensemble.link == "identity":
            return out
        if self.ensemble.link == "softmax":
            return np.asarray(scipy.special.softmax(out, axis=1))
        inverse = scipy.special.expit if self.ensemble.link == "logit" else scipy.special.ndtr
        second = inverse(out[:, 0])
        return np.column_stack([1 - second, second])

    def check_X(self, X: ArrayLike) -> NDArray[np.floating]:
        """Return X as a dense array in the dtype that the trees compare in; NaN is allowed, infinity is not."""
        rows: Any = X.toarray() if scipy.sparse.issparse(X) else X  # type: ignore[union-attr]
        with np.errstate(over="ignore", invalid="ignore"):  # numbers too large for the dtype are refused as infinite
            rows = check_array(rows, dtype=self.ensemble.compare_dtype, order="C", ensure_all_finite="allow-nan")
        n_features = self.ensemble.n_features
        if rows.shape[1] != n_features:
            raise InvalidParameterError(
                f"X must have the {n_features} features that the network was made for, got {rows.shape[1]}"
            )
        return np.asarray(rows) if rows.flags.writeable else np.array(rows)  # read-only types compile kernels anew


def said_by(other: ForestNetwork | Linear, X: NDArray[np.floating], n_jobs: int | None = None) -> NDArray[np.float64]:
    """Return what a companion adds to a network: numbers, or probabilities of classes."""
    if isinstance(other, Linear):
        return other.output(X)
    return other.output(X, n_jobs) if other.classes is None else other.predict_proba(X, n_jobs)
