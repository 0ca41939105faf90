"""The trees of a model, for exports to libraries of trees only."""

from dataclasses import replace
from typing import Any

import numpy as np

from neuralforest.ensemble import TreeEnsemble
from neuralforest.exceptions import UnsupportedModelError
from neuralforest.export._view import View


def trees_of(model: Any) -> TreeEnsemble:
    """Return the trees of a fitted estimator or of a ForestNetwork; refuse a model that is more than its trees."""
    view = View.of(model)
    network = view.network
    if network.base_models or not network.hard.all() or network.temperature != 1.0:
        what = "is stacked with base models" if network.base_models else "has soft subnetworks"
        what = what if network.base_models or not network.hard.all() else "has a temperature"
        raise UnsupportedModelError(
            f"trees can be exported of a model that is trees, and this one {what}: fit with tune='leaves' or "
            "tune='splits', or export it to ONNX or torch"
        )
    e = network.ensemble
    if view.missing_range is not None:
        raise UnsupportedModelError(
            "numbers that mean a missing value cannot be exported as trees: refit the source with NaN for them"
        )
    constant = ~np.isnan(view.constant)
    if constant.any():  # a target that never varies
        value = np.where(constant, view.constant if e.aggregation == "mean" else 0.0, e.value)
        base = np.where(constant & (e.aggregation == "sum"), view.constant, e.base_score)
        e = replace(e, value=value, base_score=base)
    if e.n_groups > 1 and e.aggregation == "sum":  # groups are averaged
        if e.link == "probit":
            raise UnsupportedModelError(
                "probabilities of groups of trees are averaged here, which is no sum of trees: export it to ONNX"
            )
        e = replace(e, value=e.value / e.n_groups, groups=np.array([0, e.n_trees]))
    return e
