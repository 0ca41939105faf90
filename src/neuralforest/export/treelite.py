"""Trees as a treelite model, for its compiled and GPU runtimes. Needs the library treelite."""

from typing import Any

import numpy as np

from neuralforest._extras import missing_extra
from neuralforest.ensemble import TreeEnsemble
from neuralforest.exceptions import UnsupportedModelError
from neuralforest.export._nodes import nodes_of
from neuralforest.export._trees import trees_of

try:
    import treelite
    from treelite.model_builder import Metadata, ModelBuilder, PostProcessorFunc, TreeAnnotation
except ImportError as error:
    raise missing_extra("treelite", "treelite") from error

__all__ = ["to_treelite"]


def to_treelite(model: Any) -> treelite.Model:
    """Return trees as a treelite model.

    treelite compares X as it is given: pass float64 arrays, of numbers that were rounded to float32 where the source
    compares in float32 (`TreeEnsemble.compare_dtype`). NaN is a missing value, and a category is its code.

    Parameters
    ----------
    model : fitted estimator or ForestNetwork
        A model that is trees: fitted with ``tune="leaves"`` or ``tune="splits"``, or made by `convert`.

    Returns
    -------
    treelite.Model
        Its predictions have the shape (rows, targets, 1), or (rows, 1, classes), of two classes with a log-odds
        (rows, 1, 1): the probability of the second.

    Examples
    --------
    >>> import neuralforest as nf
    >>> import numpy as np
    >>> import pytest
    >>> treelite = pytest.importorskip("treelite")
    >>> from neuralforest.export.treelite import to_treelite
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.ensemble import RandomForestRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> network = nf.convert(RandomForestRegressor(5, max_leaf_nodes=16, random_state=0).fit(X, y))
    >>> prediction = treelite.gtil.predict(to_treelite(network), X.astype(np.float32).astype(np.float64))
    >>> bool(abs(prediction.ravel() - network.predict(X)).max() < 1e-9)
    True
    """
    e = trees_of(model)
    builder = _builder(e)
    nodes = nodes_of(e, np.arange(e.n_trees))
    is_leaf_first = len(nodes.feature)
    for tree in range(e.n_trees):
        builder.start_tree()
        pending = [int(nodes.root[tree])]
        while pending:
            node = pending.pop()
            builder.start_node(node)
            if node >= is_leaf_first:
                value = nodes.value[node - is_leaf_first]
                builder.leaf(float(value[0]) if e.n_outputs == 1 else value.tolist())
            else:
                _add_split(builder, e, node, int(nodes.left[node]), int(nodes.right[node]))
                pending += [int(nodes.right[node]), int(nodes.left[node])]
            builder.end_node()
        builder.end_tree()
    return builder.commit()


def _add_split(builder: ModelBuilder, e: TreeEnsemble, split: int, left: int, right: int) -> None:
    feature, missing_left = int(e.feature[split]), bool(e.missing_left[split])
    children = {"default_left": missing_left, "left_child_key": left, "right_child_key": right}
    if not e.is_categorical[split]:
        builder.numerical_test(feature, float(e.threshold[split]), opname="<=", **children)
        return
    goes_left = e.category_left[e.first_category[split] : e.first_category[split + 1]]
    named_right = bool(goes_left[-1])  # the others go left: name those that go right
    named = np.flatnonzero(goes_left[:-1] != goes_left[-1]).tolist()
    builder.categorical_test(feature, category_list=named, category_list_right_child=named_right, **children)


def _builder(e: TreeEnsemble) -> ModelBuilder:
    classifier, several = e.classes is not None, e.n_outputs > 1
    one_score = classifier and not several
    processors = {"identity": "identity_multiclass" if classifier else "identity", "log": "exponential"}
    processors |= {"logit": "sigmoid", "softmax": "softmax"}
    if e.link not in processors or (e.link == "logit" and several):
        raise UnsupportedModelError(f"treelite has no {e.link} link of {e.n_outputs} outputs: export the model to ONNX")
    n_targets = 1 if classifier else e.n_outputs
    per_target = e.n_outputs if classifier else 1
    return ModelBuilder(
        threshold_type="float64",
        leaf_output_type="float64",
        metadata=Metadata(
            num_feature=e.n_features,
            task_type="kBinaryClf" if one_score else "kMultiClf" if classifier else "kRegressor",
            average_tree_output=e.aggregation == "mean",
            num_target=n_targets,
            num_class=[per_target] * n_targets,
            leaf_vector_shape=(n_targets, per_target),
        ),
        tree_annotation=TreeAnnotation(
            num_tree=e.n_trees,
            target_id=[-1 if n_targets > 1 else 0] * e.n_trees,
            class_id=[-1 if per_target > 1 else 0] * e.n_trees,
        ),
        postprocessor=PostProcessorFunc(name=processors[e.link]),
        base_scores=e.base_score.tolist(),
    )
