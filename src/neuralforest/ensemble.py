"""TreeEnsemble: trees as flat arrays, depth-first, all trees end to end. Knows no tree library and no network.

Leaves are numbered depth-first inside each tree, so every split owns one contiguous run of leaves: [begin, middle)
belong to its left child and [middle, end) to its right child. Splits stand depth-first as well, which makes child
pointers needless: the left child of split k is split k + 1, its right child is split k + middle - begin, unless the run
has one leaf only. A row goes left when x <= threshold.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from neuralforest._kernels import topology
from neuralforest.exceptions import InvalidEnsembleError

Aggregation = Literal["mean", "sum"]
Link = Literal["identity", "log", "logit", "softmax", "probit"]
CompareDtype = Literal["float32", "float64"]

_DTYPES = {
    "feature": np.int32,
    "threshold": np.float64,
    "missing_left": np.bool_,
    "middle": np.int32,
    "value": np.float64,
    "weight": np.float64,
    "first_split": np.int64,
    "first_leaf": np.int64,
    "base_score": np.float64,
}


_NODE_DTYPES = {
    "left": np.int64,
    "right": np.int64,
    "feature": np.int64,
    "threshold": np.float64,
    "missing_left": np.bool_,
    "value": np.float64,
    "weight": np.float64,
}


class TreeNodes(NamedTuple):
    """One tree as most libraries keep it: arrays over nodes with child pointers; node 0 is the root."""

    left: NDArray[np.integer]  # (nodes,), negative at a leaf
    right: NDArray[np.integer]  # (nodes,)
    feature: NDArray[np.integer]  # (nodes,), ignored at a leaf
    threshold: NDArray[np.floating]  # (nodes,), ignored at a leaf
    missing_left: NDArray[np.bool_]  # (nodes,), ignored at a leaf
    value: NDArray[np.floating]  # (nodes, outputs), ignored at a split
    weight: NDArray[np.floating]  # (nodes,), training rows, ignored at a split


class FlatTrees(NamedTuple):
    """The arrays of a `TreeEnsemble` while its trees are appended to them, one after the other."""

    feature: NDArray[np.int32]  # (splits,)
    threshold: NDArray[np.float64]  # (splits,)
    missing_left: NDArray[np.bool_]  # (splits,)
    middle: NDArray[np.int32]  # (splits,)
    value: NDArray[np.float64]  # (leaves, outputs)
    weight: NDArray[np.float64]  # (leaves,)

    @classmethod
    def room_for(cls, n_splits: int, n_leaves: int, n_outputs: int) -> "FlatTrees":
        """Return uninitialised arrays."""
        return cls(
            feature=np.empty(n_splits, np.int32),
            threshold=np.empty(n_splits, np.float64),
            missing_left=np.empty(n_splits, np.bool_),
            middle=np.empty(n_splits, np.int32),
            value=np.empty((n_leaves, n_outputs), np.float64),
            weight=np.empty(n_leaves, np.float64),
        )

    def filled(self, n_splits: int, n_leaves: int) -> "FlatTrees":
        """Return the part of the arrays that is in use."""
        return FlatTrees(
            feature=self.feature[:n_splits],
            threshold=self.threshold[:n_splits],
            missing_left=self.missing_left[:n_splits],
            middle=self.middle[:n_splits],
            value=self.value[:n_leaves],
            weight=self.weight[:n_leaves],
        )


@dataclass(frozen=True, eq=False, repr=False)
class TreeEnsemble:
    """Any number of binary trees, and how their values become a prediction.

    Parameters
    ----------
    feature, threshold, missing_left, middle : arrays (splits,)
        A row goes left at a split when x[feature] <= threshold, or when x[feature] is missing and `missing_left`.
        `middle` is the first leaf of the right child, counted inside the tree.
    value : float64 array (leaves, outputs)
    weight : float64 array (leaves,)
        Training rows of each leaf, or their weight.
    first_split, first_leaf : int64 arrays (trees + 1,)
        Where each tree begins in the arrays above.
    n_features : int
    aggregation : "mean" or "sum"
    base_score : float64 array (outputs,)
        Added to a sum of trees; 0 for a mean.
    link : "identity", "log", "logit", "softmax" or "probit"
        What the aggregate is: the prediction, its logarithm, a log-odds, scores of classes, a normal quantile.
    compare_dtype : "float32" or "float64"
        X is cast to this before it is compared with a threshold.
    classes : array (classes,), optional
        Labels; None for regression.
    feature_names : tuple of str, optional
    second_at_zero : bool
        Whether a log-odds of exactly 0 means the second class: sources differ.

    Examples
    --------
    >>> import numpy as np
    >>> from neuralforest.ensemble import TreeEnsemble
    >>> stump = TreeEnsemble(
    ...     feature=[0], threshold=[0.5], missing_left=[True], middle=[1], value=[[1.0], [3.0]], weight=[4, 4],
    ...     first_split=[0, 1], first_leaf=[0, 2], n_features=1,
    ... )
    >>> stump
    TreeEnsemble(1 tree, 2 leaves, 1 feature, 1 output)
    >>> stump.begin, stump.end
    (array([0], dtype=int32), array([2], dtype=int32))
    """

    feature: NDArray[np.int32]
    threshold: NDArray[np.float64]
    missing_left: NDArray[np.bool_]
    middle: NDArray[np.int32]
    value: NDArray[np.float64]
    weight: NDArray[np.float64]
    first_split: NDArray[np.int64]
    first_leaf: NDArray[np.int64]
    n_features: int
    aggregation: Aggregation = "mean"
    base_score: NDArray[np.float64] = None  # type: ignore[assignment]  # zeros when it is not given
    link: Link = "identity"
    compare_dtype: CompareDtype = "float32"
    classes: NDArray[np.generic] | None = None
    feature_names: tuple[str, ...] | None = None
    second_at_zero: bool = False
    begin: NDArray[np.int32] = field(init=False)
    end: NDArray[np.int32] = field(init=False)

    def __post_init__(self) -> None:
        if self.base_score is None:
            object.__setattr__(self, "base_score", np.zeros(np.shape(self.value)[1:]))
        for name, dtype in _DTYPES.items():
            self._freeze(name, np.array(getattr(self, name), dtype=dtype, order="C", copy=None))
        if self.classes is not None:
            self._freeze("classes", np.array(self.classes))
        if self.feature_names is not None:
            object.__setattr__(self, "feature_names", tuple(self.feature_names))
        _check_shapes(self)
        begin, end = np.zeros_like(self.middle), np.zeros_like(self.middle)
        bad = topology.runs_of_leaves(self.middle, self.first_split, begin, end)
        if bad >= 0:
            raise InvalidEnsembleError(
                f"middle must lie strictly between the first and the last leaf of its split, so that both children "
                f"hold a leaf; got {self.middle[bad]} at split {bad}, whose leaves are {begin[bad]} to {end[bad] - 1}"
            )
        self._freeze("begin", begin)
        self._freeze("end", end)
        _check_values(self)

    def _freeze(self, name: str, array: NDArray[np.generic]) -> None:
        view = array.view()
        view.flags.writeable = False
        object.__setattr__(self, name, view)

    @classmethod
    def from_nodes(cls, trees: Iterable[TreeNodes], n_features: int, **attributes: object) -> "TreeEnsemble":
        """Build an ensemble from trees with child pointers, in any node order.

        Parameters
        ----------
        trees : iterable of TreeNodes
        n_features : int
        **attributes
            The remaining attributes of the ensemble: aggregation, base_score, link, compare_dtype, classes,
            feature_names.

        Raises
        ------
        InvalidEnsembleError
            When the pointers do not form a tree.

        Examples
        --------
        >>> import numpy as np
        >>> from neuralforest.ensemble import TreeEnsemble, TreeNodes
        >>> nodes = TreeNodes(
        ...     left=np.array([2, -1, -1]), right=np.array([1, -1, -1]), feature=np.zeros(3, int),
        ...     threshold=np.array([0.5, 0, 0]), missing_left=np.zeros(3, bool),
        ...     value=np.array([[0.0], [3.0], [1.0]]), weight=np.ones(3),
        ... )
        >>> TreeEnsemble.from_nodes([nodes], n_features=1).value.ravel()
        array([1., 3.])
        """
        trees = list(trees)
        if not trees:
            raise InvalidEnsembleError("an ensemble needs at least one tree, got none")
        flat = _room_for(trees)
        first_split = np.zeros(len(trees) + 1, np.int64)
        for number, nodes in enumerate(trees):
            start = first_split[number]  # leaves are one more in every tree before, hence start + number
            status, n_splits = topology.append_tree(_contiguous(nodes, number, flat), flat, start, start + number)
            if status != topology.OK:
                raise InvalidEnsembleError(f"tree {number} is not a tree: {_POINTER_ERRORS[status]}")
            first_split[number + 1] = start + n_splits
        first_leaf = first_split + np.arange(len(trees) + 1)
        return cls(
            **flat.filled(first_split[-1], first_leaf[-1])._asdict(),
            first_split=first_split,
            first_leaf=first_leaf,
            n_features=n_features,
            **attributes,  # type: ignore[arg-type]
        )

    def __repr__(self) -> str:
        counts = [
            (self.n_trees, "tree", "trees"),
            (self.n_leaves, "leaf", "leaves"),
            (self.n_features, "feature", "features"),
            (self.n_outputs, "output", "outputs"),
        ]
        return f"TreeEnsemble({', '.join(f'{n} {one if n == 1 else many}' for n, one, many in counts)})"

    def __getitem__(self, trees: slice) -> "TreeEnsemble":
        """Return the ensemble of a contiguous range of trees; everything else stays as it is."""
        is_slice = isinstance(trees, slice)
        start, stop, step = trees.indices(self.n_trees) if is_slice else (0, 0, 0)
        if step != 1 or stop <= start:
            raise IndexError(f"an ensemble is cut into non-empty contiguous ranges of trees, like [2:5], got {trees}")
        splits = slice(self.first_split[start], self.first_split[stop])
        leaves = slice(self.first_leaf[start], self.first_leaf[stop])
        return replace(
            self,
            feature=self.feature[splits],
            threshold=self.threshold[splits],
            missing_left=self.missing_left[splits],
            middle=self.middle[splits],
            value=self.value[leaves],
            weight=self.weight[leaves],
            first_split=self.first_split[start : stop + 1] - self.first_split[start],
            first_leaf=self.first_leaf[start : stop + 1] - self.first_leaf[start],
        )

    def __getstate__(self) -> dict[str, object]:
        return {item.name: getattr(self, item.name) for item in fields(self) if item.init}

    def __setstate__(self, state: dict[str, object]) -> None:
        for name, value in state.items():
            object.__setattr__(self, name, value)
        self.__post_init__()  # a damaged pickle must not reach a kernel

    @property
    def n_trees(self) -> int:
        return len(self.first_leaf) - 1

    @property
    def n_splits(self) -> int:
        return len(self.feature)

    @property
    def n_leaves(self) -> int:
        return len(self.value)

    @property
    def n_outputs(self) -> int:
        return int(self.value.shape[1])

    @cached_property
    def first_connection(self) -> NDArray[np.int64]:
        """Where each split's run begins among the connections of all trees, (splits + 1,)."""
        return _offsets(self.end - self.begin)

    @cached_property
    def tree_of_split(self) -> NDArray[np.int64]:
        """The tree that each split belongs to, (splits,)."""
        return np.repeat(np.arange(self.n_trees), np.diff(self.first_split))

    @cached_property
    def depth(self) -> NDArray[np.int32]:
        """Number of splits on the path to each leaf, (leaves,): how many runs cover it."""
        shift = self.first_leaf[self.tree_of_split]
        change = np.bincount(self.begin + shift, minlength=self.n_leaves + 1)
        change -= np.bincount(self.end + shift, minlength=self.n_leaves + 1)
        return np.cumsum(change[:-1]).astype(np.int32)


def rounded_down(threshold: NDArray[np.float64], dtype: DTypeLike) -> NDArray[np.floating]:
    """Return thresholds in a dtype such that x <= threshold is what it was for every x of that dtype.

    Examples
    --------
    >>> import numpy as np
    >>> from neuralforest.ensemble import rounded_down
    >>> threshold = np.array([0.1])
    >>> (threshold.astype("float32") <= threshold), (threshold.astype("float32") <= rounded_down(threshold, "float32"))
    (array([False]), array([False]))
    """
    with np.errstate(over="ignore"):
        rounded = threshold.astype(dtype)
        below = np.nextafter(rounded, -np.inf, dtype=rounded.dtype)
    return np.where(rounded > threshold, below, rounded)


_POINTER_ERRORS = {
    topology.OUT_OF_RANGE: "a child pointer leads outside of the nodes",
    topology.VISITED_TWICE: "a node is reached twice, so the pointers form a cycle or share a branch",
    topology.ONE_CHILD: "a node has one child only",
}


def _room_for(trees: Sequence[TreeNodes]) -> FlatTrees:
    """Return arrays that hold the trees even when every node is in use."""
    shape = np.shape(trees[0].value)
    if len(shape) != 2:
        raise InvalidEnsembleError(f"value of tree 0 must have shape (nodes, outputs), got {shape}")
    n_splits = sum(max(len(nodes.left) - 1, 0) // 2 for nodes in trees)
    return FlatTrees.room_for(n_splits, n_splits + len(trees), shape[1])


def _contiguous(nodes: TreeNodes, number: int, flat: FlatTrees) -> TreeNodes:
    """Return the tree in the dtypes and the layout that the kernel is compiled for, with all its shapes checked."""
    n_nodes = len(nodes.left)
    columns: list[NDArray[np.generic]] = []
    for name, dtype in _NODE_DTYPES.items():
        column: NDArray[np.generic] = np.ascontiguousarray(getattr(nodes, name), dtype)
        shape = (n_nodes, flat.value.shape[1]) if name == "value" else (n_nodes,)
        if column.shape != shape:
            raise InvalidEnsembleError(f"{name} of tree {number} must have shape {shape}, got {column.shape}")
        columns.append(column)
    return TreeNodes._make(columns)


def _offsets(sizes: Sequence[int] | NDArray[np.integer]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])


def _check_shapes(e: TreeEnsemble) -> None:
    for name, offsets in (("first_split", e.first_split), ("first_leaf", e.first_leaf)):
        if offsets.ndim != 1 or len(offsets) < 2 or offsets[0] != 0 or (np.diff(offsets) < 0).any():
            raise InvalidEnsembleError(f"{name} must be one rising row of offsets that starts at 0, got {offsets}")
    if len(e.first_split) != len(e.first_leaf) or (np.diff(e.first_leaf) != np.diff(e.first_split) + 1).any():
        raise InvalidEnsembleError("a tree must have exactly one leaf more than it has splits")
    for name in ("feature", "threshold", "missing_left", "middle"):
        if getattr(e, name).shape != (e.first_split[-1],):
            raise InvalidEnsembleError(
                f"{name} must have one entry a split, ({e.first_split[-1]},), got shape {getattr(e, name).shape}"
            )
    if e.value.ndim != 2 or len(e.value) != e.first_leaf[-1] or e.value.shape[1] == 0:
        raise InvalidEnsembleError(f"value must have shape ({e.first_leaf[-1]} leaves, outputs), got {e.value.shape}")
    if e.weight.shape != (e.first_leaf[-1],):
        raise InvalidEnsembleError(f"weight must have one entry a leaf, ({e.first_leaf[-1]},), got {e.weight.shape}")
    if e.base_score.shape != (e.n_outputs,):
        raise InvalidEnsembleError(f"base_score must have one entry an output, ({e.n_outputs},), got {e.base_score}")


def _check_values(e: TreeEnsemble) -> None:
    if e.n_features < 1 or (e.n_splits and not (e.feature.min() >= 0 and e.feature.max() < e.n_features)):
        raise InvalidEnsembleError(f"feature must lie in 0 to n_features - 1 with n_features = {e.n_features}")
    if np.isnan(e.threshold).any() or np.isneginf(e.threshold).any():
        raise InvalidEnsembleError("threshold must be a number or +inf (then all but missing values go left)")
    for name in ("value", "weight", "base_score"):
        if not np.isfinite(getattr(e, name)).all():
            raise InvalidEnsembleError(f"{name} must be finite, got NaN or infinity")
    if e.aggregation == "mean" and e.base_score.any():
        raise InvalidEnsembleError(
            f"base_score must be 0 for a mean of trees, got {e.base_score}: add it to the values of the leaves"
        )
    for name, allowed in (
        ("aggregation", ("mean", "sum")),
        ("link", ("identity", "log", "logit", "softmax", "probit")),
        ("compare_dtype", ("float32", "float64")),
    ):
        if getattr(e, name) not in allowed:
            raise InvalidEnsembleError(f"{name} must be one of {allowed}, got {getattr(e, name)!r}")
    two_sided = e.link in ("logit", "probit") and e.n_outputs == 1  # one score says everything about two classes
    if e.classes is not None and e.classes.shape != (2 if two_sided else e.n_outputs,):
        raise InvalidEnsembleError(
            f"classes must have one label an output, or two where the one output has a logit or probit link; got "
            f"{e.classes.size} for {e.n_outputs} outputs and the {e.link} link"
        )
    if e.feature_names is not None and len(e.feature_names) != e.n_features:
        raise InvalidEnsembleError(f"feature_names must have {e.n_features} names, got {len(e.feature_names)}")
