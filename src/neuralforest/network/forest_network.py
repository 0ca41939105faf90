"""ForestNetwork: a tree ensemble as a neural network, hard (exactly the ensemble) or soft (tanh, trainable)."""

from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuralforest._kernels.network.arguments import SOFTMAX, Structure
from neuralforest.ensemble import TreeEnsemble
from neuralforest.exceptions import InvalidParameterError
from neuralforest.network.columns import InputColumns
from neuralforest.network.evaluation import Selection, check_temperature, probabilities, raw_predictions
from neuralforest.network.hard_trees import HardTrees
from neuralforest.network.hardening import hardened
from neuralforest.network.importance import own_importances
from neuralforest.network.inputs import validated_rows
from neuralforest.network.layers import Layers, subnetwork_layers, tree_layers
from neuralforest.network.layout import ParameterLayout
from neuralforest.network.softening import FAR, Softening, scaled_inputs, softened
from neuralforest.network.stacking import StackedModel, check_base_models, stackable
from neuralforest.network.structure import Connectivity, build_structure, count_parameters
from neuralforest.network.subnetworks import Subnetworks, Training, one_per_tree

_DERIVED = ("structure", "columns", "layout", "subnetworks", "hard_trees")  # from trees and partition


@dataclass(frozen=True, eq=False, repr=False)
class ForestNetwork:
    """A tree ensemble as a network with two hidden layers: one unit per split, then one unit per leaf.

    Made by :func:`neuralforest.convert`. At first it is hard: units are -1 or +1, and it predicts exactly what the
    ensemble predicts. :meth:`soften` returns the network with tanh in place of the sign.

    Parameters
    ----------
    ensemble : TreeEnsemble
    soft : Softening, optional
        None for the hard network.
    base_models : tuple of StackedModel
        Models whose predictions are blended with those of the network.
    temperature : float
        Of the probabilities of a classifier: p becomes p ** (1 / temperature), divided by the sum over the classes.

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
    base_models: tuple[StackedModel, ...] = ()
    temperature: float = 1.0

    def __post_init__(self) -> None:
        check_base_models(self.ensemble, self.base_models)
        check_temperature(self.temperature, self.classes is not None)

    def __repr__(self) -> str:
        shape = repr(self.ensemble).removeprefix("TreeEnsemble(").removesuffix(")").split(", ")
        kind = "hard" if self.soft is None else f"soft ({self.soft.training}, {self.soft.connectivity})"
        stacked = f", stacked with {' and '.join(each.name for each in self.base_models)}" if self.base_models else ""
        return f"ForestNetwork({shape[0]}, {shape[2]}, {shape[3]}, {kind}, {self.n_parameters} parameters{stacked})"

    def __str__(self) -> str:
        return f"{self.ensemble.n_trees} trees" if self.soft is None else repr(self)

    def __getstate__(self) -> dict[str, Any]:  # what is cached can be computed again
        return {item.name: getattr(self, item.name) for item in fields(self)}

    @property
    def classes(self) -> NDArray[np.generic] | None:
        """Labels of the classes; None for regression."""
        return self.ensemble.classes

    @property
    def n_features(self) -> int:
        return self.ensemble.n_features

    @property
    def n_outputs(self) -> int:
        return self.ensemble.n_outputs

    @property
    def link(self) -> str:
        return self.ensemble.link

    @property
    def compare_dtype(self) -> str | None:
        return self.ensemble.compare_dtype

    @property
    def n_parameters(self) -> int:
        """Number of weights and offsets; the paper's formula for the network's connectivity."""
        if self.soft is None:
            return count_parameters(self.ensemble)
        return count_parameters(self.ensemble, self.soft.connectivity, first_tree=self.soft.first_tree)

    @cached_property
    def structure(self) -> Structure:
        """What the kernels need of a soft network."""
        soft = self._softening
        return build_structure(self.ensemble, soft.first_tree, soft.connectivity, soft.contrast)

    @cached_property
    def columns(self) -> InputColumns:
        """The input columns of the network: a category of a feature is a column."""
        return InputColumns(self.ensemble)

    @cached_property
    def layout(self) -> ParameterLayout:
        """Where the parameters of a soft network stand."""
        return ParameterLayout(self.structure)

    @cached_property
    def subnetworks(self) -> Subnetworks:
        """Which trees share parameters; each tree of a hard network is one by itself."""
        return Subnetworks(self.ensemble, one_per_tree(self.ensemble) if self.soft is None else self.soft.first_tree)

    @cached_property
    def kernel_parameters(self) -> NDArray[np.float32]:
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
        """Which subnetworks are evaluated as trees, (subnetworks,)."""
        return np.ones(self.ensemble.n_trees, np.bool_) if self.soft is None else self.soft.hard

    @property
    def n_subnetworks(self) -> int:
        return len(self.hard)

    @property
    def softmax_head(self) -> bool:
        """Whether each soft tree ends in a softmax of its own."""
        return self.soft is not None and self.structure.head == SOFTMAX

    @property
    def network_weight(self) -> float:
        """The weight of the network among the base models that are stacked with it."""
        return 1.0 - sum(each.weight for each in self.base_models)

    @property
    def stacking_weights(self) -> dict[str, float]:
        """The weight of the network and of each base model by name; they sum to 1."""
        return {"network": self.network_weight} | {each.name: each.weight for each in self.base_models}

    @cached_property
    def all_subnetworks(self) -> Selection:
        """What the evaluation of all subnetworks needs besides the rows."""
        return Selection.of(self, np.arange(self.n_subnetworks))

    @cached_property
    def buffers(self) -> list[Any]:
        """Buffers of the evaluation that are not in use."""
        return []

    @cached_property
    def hard_trees(self) -> HardTrees:
        """The trees, as the kernels that evaluate them take them."""
        return HardTrees(self.ensemble)

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
        first_tree: ArrayLike | None = None,
        fold_contrast: bool = False,
        split_scale: ArrayLike = 1.0,
    ) -> "ForestNetwork":
        """Return the network with tanh(contrast * argument) in place of the sign of the argument.

        Parameters
        ----------
        contrast : pair of floats
            For the splits and for the leaves. The larger, the nearer to the trees.
        center, scale : floats or arrays (features,)
            The inputs of splits are (x - center) / scale, so that one contrast suits all features; the default is raw
            units.
        low, high : floats or arrays (features,)
            In scaled units: inputs are clipped to this range, so that the network does not extrapolate. The default is
            no limit.
        spread : float or array (features,)
            Standard deviation of the features in scaled units. It changes no prediction; importances use it.
        output_center, output_scale : floats or arrays (outputs,)
            As center and scale, for the target of a regression.
        training : "independent" or "joint"
            Whether each tree is a network of its own, or all trees of a group are one.
        connectivity : "sparse" or "full"
            Whether only the connections of the trees exist, or all between two layers; the new ones are 0.
        first_tree : int array (subnetworks + 1,), optional
            Another partition of the trees into contiguous subnetworks: the first tree of each, then the number of
            trees.
        fold_contrast : bool
            Multiply the weights by the contrasts instead of the arguments of tanh. The same function, but training
            moves it differently.
        split_scale : float or array (splits,)
            What the weights of each split are multiplied with, on top of the contrast.
        """
        units = {"center": center, "scale": scale, "low": low, "high": high, "spread": spread}
        units |= {"output_center": output_center, "output_scale": output_scale, "split_scale": split_scale}
        soft = softened(self.ensemble, contrast, units, training, connectivity, first_tree, fold_contrast)
        return replace(self, soft=soft)

    def harden(self) -> TreeEnsemble:
        """Return the network as trees, with the thresholds and values that it was trained to; see `hardened`."""
        return hardened(self)

    def with_parameters(self, parameters: NDArray[np.float32], hard: NDArray[np.bool_]) -> "ForestNetwork":
        """Return a soft network with other parameters and other subnetworks evaluated as trees."""
        return self._replaced(soft=replace(self._softening, parameters=parameters, hard=hard))

    def with_base_models(self, base_models: tuple[StackedModel, ...] = ()) -> "ForestNetwork":
        """Return the network stacked with other base models, or with none."""
        return self._replaced(base_models=base_models)

    def with_temperature(self, temperature: float) -> "ForestNetwork":
        """Return the network with another temperature of its probabilities."""
        return self._replaced(temperature=temperature)

    def _replaced(self, **changes: Any) -> "ForestNetwork":
        """Return a network with the same trees in the same subnetworks; what they determine is not computed again."""
        other = replace(self, **changes)
        vars(other).update({name: vars(self)[name] for name in _DERIVED if name in vars(self)})
        return other

    def layers(self, subnetwork: int = 0) -> Layers:
        """Return the layers of a subnetwork as matrices.

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
            return tree_layers(self.ensemble, self.columns, subnetwork)
        return subnetwork_layers(self.ensemble, self.layout, self.subnetworks, self.soft.parameters, subnetwork)

    def apply(self, X: ArrayLike) -> NDArray[np.int32]:
        """Return the leaf of each row in each tree, (rows, trees), counted from left to right."""
        return self.apply_checked(self.check_X(X))

    def apply_checked(self, X: NDArray[np.floating]) -> NDArray[np.int32]:
        """Return what `apply` does, for rows of `check_X`."""
        return self.hard_trees.leaves(X)

    def output(self, X: ArrayLike, n_jobs: int | None = None) -> NDArray[np.float64]:
        """Return the raw predictions, before the link, of the network stacked with its base models, (rows, outputs)."""
        return self.stacked_output(self.check_X(X), n_jobs)

    def stacked_output(self, X: NDArray[np.floating], n_jobs: int | None = None) -> NDArray[np.float64]:
        """Return what `output` does, for rows of `check_X`."""
        out = np.zeros((len(X), self.n_outputs))
        if self.network_weight > 0:
            out += self.network_weight * raw_predictions(self, X, self.all_subnetworks, n_jobs)
        for each in self.base_models:
            if each.weight > 0:
                out += each.weight * stackable(each.model, self.link, X, n_jobs)
        return out

    def subnetwork_output(self, subnetwork: int, X: NDArray[np.floating]) -> NDArray[np.float64]:
        """Return the raw predictions of one subnetwork, (rows, outputs); X as the trees compare it."""
        return raw_predictions(self, X, Selection.of(self, np.array([subnetwork])))

    def scaled(self, X: NDArray[np.floating]) -> NDArray[np.float32]:
        """Return X as the first layer of a soft network takes it."""
        return scaled_inputs(self._softening, self.columns.expand(X))

    def in_training_units(self, y: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return targets or raw predictions, (rows, outputs), in the units that the network is trained in."""
        if self.soft is None or self.classes is not None:
            return y
        return (y - self.soft.output_center) / self.soft.output_scale

    def predict(self, X: ArrayLike, n_jobs: int | None = None) -> NDArray[Any]:
        """Predict a number, or a label, for each row, (rows,); for several targets (rows, outputs)."""
        return self.predict_checked(self.check_X(X), n_jobs)

    def predict_proba(self, X: ArrayLike, n_jobs: int | None = None) -> NDArray[np.float64]:
        """Return the probability of each class, (rows, classes)."""
        if self.classes is None:
            raise InvalidParameterError(
                "predict_proba needs a classifier, and this network is a regressor: use predict"
            )
        return self.prediction(self.check_X(X), n_jobs)

    def predict_checked(self, X: NDArray[np.floating], n_jobs: int | None = None) -> NDArray[Any]:
        """Predict as `predict` does, for rows that `check_X` has returned."""
        out = self.stacked_output(X, n_jobs)
        if self.classes is not None:
            if out.shape[1] > 1 or self.ensemble.link in ("identity", "softmax"):
                return self.classes[out.argmax(axis=1)]
            second = (out[:, 0] > 0) | (self.ensemble.second_at_zero & (out[:, 0] == 0))
            return self.classes[second.astype(int)]
        if self.ensemble.link == "log":
            out = np.exp(out)
        return out[:, 0] if out.shape[1] == 1 else out

    def prediction(self, X: NDArray[np.floating], n_jobs: int | None = None) -> NDArray[np.float64]:
        """Return predictions of a regression or probabilities, (rows, columns), for rows of `check_X`."""
        out = self.stacked_output(X, n_jobs)
        return out if self.classes is None else probabilities(self.ensemble.link, out, self.temperature)

    def importances(self) -> NDArray[np.float64]:
        """Return the importances of the features in the network alone; see `feature_importances`."""
        return own_importances(self)

    def check_X(self, X: ArrayLike) -> NDArray[np.floating]:
        """Return X as a dense array in the dtype that the trees compare in; NaN is allowed, infinity is not."""
        return validated_rows(self.ensemble, X)
