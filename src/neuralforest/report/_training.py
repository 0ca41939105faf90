"""The last sections of a report: training curves, a surface, a tree and its network, parameters."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from neuralforest.estimators.scores import validation_scores
from neuralforest.network import ForestNetwork
from neuralforest.plots import NetworkDisplay, SurfaceDisplay, TrainingDisplay, TreeDisplay
from neuralforest.plots.arguments import Estimator
from neuralforest.plots.text import number
from neuralforest.report._page import chart, drawing, paragraph, table

_HIDDEN = {"callback", "checkpoint", "n_jobs", "verbose", "warm_start"}
_DEPTH = 3  # of the tree that is drawn: a deeper one does not fit on a page


def model_sections(estimator: Estimator, X: Any, names: Sequence[str]) -> list[tuple[str, str]]:
    """Return heading and HTML of the sections about the forest, its network and their training."""
    network = estimator.network_
    tree = next(iter(np.flatnonzero(~network.hard[network.subnetworks.of_tree]).tolist()), 0)  # the first trained one
    return [
        ("Training of the network", _training(estimator)),
        ("Forest and model as surfaces", _surface(estimator, X, names)),
        ("A tree before and after training", _tree(estimator, tree, X, names)),
        ("The tree as a network", _network(estimator, tree, X, names)),
        ("Parameters", _parameters(estimator)),
    ]


def _training(estimator: Estimator) -> str:
    name, forest, model = validation_scores(estimator)
    note = (
        f"Validation {name} of the fit: forest {number(forest)}, model {number(model)}. The validation rows were used "
        "for model selection; scores on new rows are more reliable."
    )
    if getattr(estimator, "history_", None) is None:
        return paragraph("The model was saved without its training history.") + paragraph(note, "quiet")
    display = TrainingDisplay.from_estimator(estimator, draw=False)
    text = "Loss of every epoch. Epoch 0 is the softened network before training"
    text += "; the bands contain 80% of the subnetworks." if display.independent else "."
    return chart(display, "training", text, (4.5, 4.2)) + paragraph(note, "quiet")


def _surface(estimator: Estimator, X: Any, names: Sequence[str]) -> str:
    if len(names) < 2:
        return paragraph("A surface needs two features, and this model has one.")
    display = SurfaceDisplay.from_estimator(estimator, X, feature_names=names, draw=False)
    text = (
        f"{display.label.capitalize()} over the two most important features, {display.names[0]} and "
        f"{display.names[1]}, with the others at their medians. Dots are rows of the data."
    )
    return chart(display, "surface", text, (4.5, 2.9), columns=2)


def _tree(estimator: Estimator, tree: int, X: Any, names: Sequence[str]) -> str:
    display = TreeDisplay.from_estimator(estimator, X, tree=tree, max_depth=_DEPTH, feature_names=names, draw=False)
    text = "Thresholds of the splits and values of the leaves, before and after training; deeper nodes are summarised."
    return paragraph(_weight(estimator.network_, tree)) + drawing(display, "tree", text)


def _weight(network: ForestNetwork, tree: int) -> str:
    """Return the weight of the network, and of one of its trees, in the prediction."""
    e, weight = network.ensemble, network.network_weight
    where = f"Tree {tree} of {e.n_trees:,}, counted from 0. "
    what = "forest" if network.hard.all() else "network"
    if e.aggregation == "sum":
        return f"{where}The trees are summed; the {what} has a weight of {weight:.2f} in the prediction."
    return (
        f"{where}The {what} has a weight of {weight:.2f} in the prediction; this tree, {number(weight / e.n_trees, 2)}."
    )


def _network(estimator: Estimator, tree: int, X: Any, names: Sequence[str]) -> str:
    display = NetworkDisplay.from_estimator(
        estimator, tree=tree, row=X[:1], max_leaves=8, max_inputs=8, weakest=0.2, feature_names=names, draw=False
    )
    text = "One unit per split, one unit per leaf. The path of the first of the given rows is highlighted."
    return drawing(display, "network", text)


def _parameters(estimator: Estimator) -> str:
    parameters = {name: repr(value) for name, value in estimator.get_params(deep=False).items() if name not in _HIDDEN}
    if np.ndim(estimator.contrast) > 1:
        parameters["contrast"] += f", of which {estimator.contrast_} was selected"
    return table(parameters.items())
