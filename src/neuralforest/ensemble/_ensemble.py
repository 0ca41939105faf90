"""TreeEnsemble: trees as flat arrays, depth-first, all trees end to end. It depends on no tree library and no network.

Leaves are numbered depth-first inside each tree, so every split owns one contiguous run of leaves: [begin, middle)
belong to its left child and [middle, end) to its right child. Splits stand depth-first as well, which makes child
pointers needless: the left child of split k is split k + 1, its right child is split k + middle - begin, unless the run
has one leaf only. A row goes left when x <= threshold, or when its category is in the split's set: see `_splits`.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuralforest._kernels.trees import topology
from neuralforest.ensemble._checks import check_shapes, check_values
from neuralforest.ensemble._kinds import Aggregation, CompareDtype, Link
from neuralforest.ensemble._nodes import TreeNodes, flatten
from neuralforest.ensemble._splits import goes_left
from neuralforest.exceptions import InvalidEnsembleError

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
    "groups": np.int64,
    "first_category": np.int64,
    "category_left": np.bool_,
}


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
        How the trees of a group are combined.
    base_score : float64 array (outputs,)
        Added to a sum of trees; 0 for a mean.
    groups : int64 array (groups + 1,), optional
        The first tree of each group, and the number of trees. The raw predictions of groups, such as the draws of BART
        or boosted trees of several folds, are averaged. By default all trees are one group.
    link : "identity", "log", "logit", "softmax" or "probit"
        What the aggregate is: the prediction, its logarithm, a log-odds, scores of classes, a normal quantile.
    compare_dtype : "float32" or "float64"
        X is cast to this before it is compared with a threshold.
    classes : array (classes,), optional
        Labels; None for regression.
    feature_names : tuple of str, optional
    second_at_zero : bool
        Whether a log-odds of exactly 0 means the second class: sources differ.
    first_category : int64 array (splits + 1,), optional
        Where the entries of each split begin in `category_left`. A split without entries compares with its threshold.
    category_left : bool array, optional
        A categorical split has an entry for each category 0, 1, ... of its feature, and a last one for all others:
        whether it goes left. The threshold of such a split has no meaning.
    missing_range : float64 array (features, 2), optional
        The lowest and the highest number that mean a missing value, as NaN does; NaN for a feature without such.
    categories : tuple of (array or None), optional
        For each feature its categories in the order of their codes, or None for a number. By default all are numbers,
        and categorical splits take codes.

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
    groups: NDArray[np.int64] = None  # type: ignore[assignment]  # one group when it is not given
    first_category: NDArray[np.int64] = None  # type: ignore[assignment]  # no categorical splits when it is not given
    category_left: NDArray[np.bool_] = None  # type: ignore[assignment]
    missing_range: NDArray[np.float64] = None  # type: ignore[assignment]  # NaN alone when it is not given
    categories: tuple[NDArray[Any] | None, ...] | None = None
    begin: NDArray[np.int32] = field(init=False)
    end: NDArray[np.int32] = field(init=False)

    def __post_init__(self) -> None:
        defaults = {
            "base_score": lambda: np.zeros(np.shape(self.value)[1:]),
            "groups": lambda: np.array([0, len(self.first_split) - 1]),
            "first_category": lambda: np.zeros(len(self.feature) + 1, np.int64),
            "category_left": lambda: np.zeros(0, np.bool_),
            "missing_range": lambda: np.broadcast_to(np.nan, (max(self.n_features, 0), 2)),  # takes no memory
        }
        for name, default in defaults.items():
            if getattr(self, name) is None:
                object.__setattr__(self, name, default())
        for name, dtype in _DTYPES.items():
            self._freeze(name, np.array(getattr(self, name), dtype=dtype, order="C", copy=None))
        self._freeze("missing_range", np.asarray(self.missing_range, np.float64))
        if self.classes is not None:
            self._freeze("classes", np.array(self.classes))
        if self.feature_names is not None:
            object.__setattr__(self, "feature_names", tuple(self.feature_names))
        check_shapes(self)
        begin, end = np.zeros_like(self.middle), np.zeros_like(self.middle)
        bad = topology.runs_of_leaves(self.middle, self.first_split, begin, end)
        if bad >= 0:
            raise InvalidEnsembleError(
                f"middle must lie strictly between the first and the last leaf of its split, so that both children "
                f"hold a leaf; got {self.middle[bad]} at split {bad}, whose leaves are {begin[bad]} to {end[bad] - 1}"
            )
        self._freeze("begin", begin)
        self._freeze("end", end)
        check_values(self)

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
            feature_names, categories.

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
        flat, first_split, categories = flatten(trees)
        return cls(
            **flat._asdict(),
            **categories,
            first_split=first_split,
            first_leaf=first_split + np.arange(len(first_split)),
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
            groups=np.unique(np.clip(self.groups, start, stop)) - start,
            first_category=self.first_category[splits.start : splits.stop + 1] - self.first_category[splits.start],
            category_left=self.category_left[self.first_category[splits.start] : self.first_category[splits.stop]],
        )

    def __getstate__(self) -> dict[str, object]:
        return {item.name: getattr(self, item.name) for item in fields(self) if item.init}

    def __setstate__(self, state: dict[str, object]) -> None:
        for name, value in state.items():
            object.__setattr__(self, name, value)
        self.__post_init__()  # a damaged pickle must not reach a kernel

    def goes_left(self, splits: Any, x: NDArray[np.floating]) -> NDArray[np.bool_]:
        """Return whether values of the features of the selected splits go left; NaN is a missing value."""
        return goes_left(self, splits, x)

    @property
    def n_trees(self) -> int:
        return len(self.first_leaf) - 1

    @property
    def n_groups(self) -> int:
        return len(self.groups) - 1

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
    def is_categorical(self) -> NDArray[np.bool_]:
        """Whether each split tests a category, (splits,)."""
        return np.diff(self.first_category) > 0

    @cached_property
    def first_connection(self) -> NDArray[np.int64]:
        """Where each split's run begins among the connections of all trees, (splits + 1,)."""
        return offsets(self.end - self.begin)

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


def offsets(sizes: Any) -> NDArray[np.int64]:
    """Return where each of some runs begins when they stand end to end, and where the last ends."""
    return np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
