"""A tree as a network, drawn as in the paper's Figure 2: inputs, split units, leaf units, output."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from neuralforest.exceptions import InvalidParameterError
from neuralforest.network import ForestNetwork
from neuralforest.plots import _style
from neuralforest.plots._geometry import NetworkLayout, network_layout, tree_nodes
from neuralforest.plots._layers import Activations, TreeLayers, activations, tree_layers
from neuralforest.plots._subject import Target, feature_names, network_of, rows_of, target_of, tree_number

_MARGIN, _HEADER, _FOOTER = 0.15, 0.75, 0.75  # inches
_COLUMNS = ("inputs", "splits", "leaves", "output")


class Connections(NamedTuple):
    """The connections between two columns of units that are drawn."""

    source: NDArray[np.int64]  # place in the column on the left
    target: NDArray[np.int64]  # place in the column on the right
    weight: NDArray[np.float64]


@dataclass(eq=False)
class NetworkDisplay:
    """The network of one tree: its features, one unit a split, one unit a leaf, and the output.

    Made by :meth:`from_estimator`. Units carry the numbers of the tree's nodes, depth-first, as in the paper. A line is a
    connection: solid for a positive weight, dashed for a negative one, the thicker the larger its size within its layer.
    When a row is given, its path is highlighted: the leaf that fires most, the splits above it, and the connections
    between them.

    Parameters
    ----------
    layers : TreeLayers
        All weights of the tree.
    inputs, splits, leaves : int arrays
        The units that are drawn, from top to bottom.
    connections : three Connections
        Inputs to splits, splits to leaves, leaves to output.
    left_out : int
        Connections between these units that are too weak to be drawn.
    labels : four lists of str
        What stands in or beside the units.
    path : int array (splits above the leaf) or None
        Split units on the row's path.
    leaf : int or None
        The leaf of the row.
    title, note : str

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
    lines_ : three lists of matplotlib lines
        One a connection.
    boxes_ : four lists of matplotlib patches
        One a unit.
    """

    layers: TreeLayers
    inputs: NDArray[np.int64]
    splits: NDArray[np.int64]
    leaves: NDArray[np.int64]
    connections: tuple[Connections, Connections, Connections]
    labels: tuple[list[str], list[str], list[str], list[str]]
    path: NDArray[np.int64] | None
    leaf: int | None
    title: str
    note: str

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        tree: int = 0,
        row: Any = None,
        target: Any = None,
        max_leaves: int = 16,
        max_inputs: int = 12,
        weakest: float = 0.05,
        feature_names: Sequence[str] | None = None,
        ax: Any = None,
    ) -> Self:
        """Draw the network of one tree.

        Parameters
        ----------
        estimator : fitted estimator, ForestNetwork, or a tree model that `convert` takes
        tree : int
            Which of the forest's trees.
        row : array-like (features,), optional
            A row whose path is highlighted.
        target : optional
            Which class, by its label, or which of several outputs, by its number. The last class or the first output when
            not told.
        max_leaves, max_inputs : int
            Of a larger tree those leaves are drawn that most training rows fell into, with the splits above them; of more
            features those with the largest weights.
        weakest : float
            Connections below this share of the largest of their layer are not drawn.
        feature_names : sequence of str, optional
            Names in place of those that the estimator knows.
        ax : matplotlib axes, optional

        Examples
        --------
        >>> from neuralforest.plots import NetworkDisplay
        >>> from sklearn.datasets import load_diabetes
        >>> from sklearn.tree import DecisionTreeRegressor
        >>> X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
        >>> tree = DecisionTreeRegressor(max_leaf_nodes=6, random_state=0).fit(X, y)
        >>> display = NetworkDisplay.from_estimator(tree, row=X.iloc[0])
        >>> display.connections[1].weight  # -1 to the leaves on the left of a split, +1 to those on its right
        array([-1., -1., -1., ...])
        """
