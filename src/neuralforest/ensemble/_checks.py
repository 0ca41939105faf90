"""The invariants of a TreeEnsemble: every array is checked before a kernel sees it."""

from typing import TYPE_CHECKING, get_args

import numpy as np

from neuralforest.ensemble._kinds import Aggregation, CompareDtype, Link
from neuralforest.exceptions import InvalidEnsembleError

if TYPE_CHECKING:
    from neuralforest.ensemble._ensemble import TreeEnsemble


def check_shapes(e: "TreeEnsemble") -> None:
    for name, offsets in (("first_split", e.first_split), ("first_leaf", e.first_leaf), ("groups", e.groups)):
        # neighbours are compared, because a difference of int64 can overflow
        if offsets.ndim != 1 or len(offsets) < 2 or offsets[0] != 0 or (offsets[1:] < offsets[:-1]).any():
            raise InvalidEnsembleError(f"{name} must be one rising row of offsets that starts at 0, got {offsets}")
    if len(e.first_split) != len(e.first_leaf) or (np.diff(e.first_leaf) != np.diff(e.first_split) + 1).any():
        raise InvalidEnsembleError("a tree must have exactly one leaf more than it has splits")
    if e.groups[-1] != e.n_trees or (np.diff(e.groups) < 1).any():
        raise InvalidEnsembleError(f"groups must rise from 0 to the number of trees, {e.n_trees}, got {e.groups}")
    for name in ("feature", "threshold", "missing_left", "middle"):
        if getattr(e, name).shape != (e.first_split[-1],):
            raise InvalidEnsembleError(
                f"{name} must have one entry a split, ({e.first_split[-1]},), got shape {getattr(e, name).shape}"
            )
    if e.value.ndim != 2 or len(e.value) != e.first_leaf[-1] or e.value.shape[1] == 0:
        raise InvalidEnsembleError(f"value must have shape ({e.first_leaf[-1]} leaves, outputs), got {e.value.shape}")
    if e.weight.shape != (e.first_leaf[-1],):
        raise InvalidEnsembleError(f"weight must have one entry a leaf, ({e.first_leaf[-1]},), got {e.weight.shape}")
    if e.first_category.shape != (e.first_split[-1] + 1,) or e.first_category[0] != 0:
        raise InvalidEnsembleError(f"first_category must have one entry a split and one more, got {e.first_category}")
    falls = (e.first_category[1:] < e.first_category[:-1]).any()
    if falls or e.category_left.shape != (e.first_category[-1],):
        raise InvalidEnsembleError("first_category must rise to the number of entries of category_left")
    if (np.diff(e.first_category) == 1).any():
        raise InvalidEnsembleError("a categorical split must have an entry for a category and one for all others")
    if e.missing_range.shape != (e.n_features, 2):
        raise InvalidEnsembleError(f"missing_range must have shape ({e.n_features}, 2), got {e.missing_range.shape}")
    if e.base_score.shape != (e.n_outputs,):
        raise InvalidEnsembleError(f"base_score must have one entry an output, ({e.n_outputs},), got {e.base_score}")


def check_values(e: "TreeEnsemble") -> None:
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
    for name, kind in (("aggregation", Aggregation), ("link", Link), ("compare_dtype", CompareDtype)):
        allowed = get_args(kind)
        if getattr(e, name) not in allowed:
            raise InvalidEnsembleError(f"{name} must be one of {allowed}, got {getattr(e, name)!r}")
    two_sided = e.link in ("logit", "probit") and e.n_outputs == 1  # one score determines both probabilities
    if e.classes is not None and e.classes.shape != (2 if two_sided else e.n_outputs,):
        raise InvalidEnsembleError(
            f"classes must have one label an output, or two where the one output has a logit or probit link; got "
            f"{e.classes.size} for {e.n_outputs} outputs and the {e.link} link"
        )
    for name, per_feature in (("feature_names", e.feature_names), ("categories", e.categories)):
        if per_feature is not None and len(per_feature) != e.n_features:
            raise InvalidEnsembleError(f"{name} must have {e.n_features} entries, got {len(per_feature)}")
