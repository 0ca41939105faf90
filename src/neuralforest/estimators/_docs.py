"""The parameters and attributes that both estimators share, described once."""

import inspect
from typing import TypeVar

Class = TypeVar("Class", bound=type)

_PARAMETERS = """
Parameters
----------
forest : estimator, optional
    Any tree ensemble that :func:`neuralforest.convert` takes. Unfitted, it is cloned and grown inside, on rows that
    exclude the validation rows; its parameters are reached by nested names, as in ``forest__max_depth``. Fitted, it is
    used as it is, and must not have been fitted on the validation rows; because cloning (in GridSearchCV, say) makes a
    fitted forest an unfitted one, wrap it in ``sklearn.frozen.FrozenEstimator`` there. None grows 8 to 60 trees (20 to
    60 for classification), decreasing with n_samples, at least 30 for many features; each on 80% of the rows, or 90% of
    more than 500, with 16 to 96 leaves.
{class_weight}categorical_features : "from_dtype", sequence, mask or None
    Columns that hold categories: those of strings or of a categorical dtype, the named or numbered ones, or none. The
    default forest splits them by sets of categories; a column of more than 64 categories is replaced by cross-fitted
    means of the target. Categories that `fit` has not seen are treated alike. A given forest of scikit-learn takes
    codes; one of another library, the categories.
training : {{"independent", "joint"}}
    Whether each tree becomes a network that is trained alone, or all trees become one network. Boosted trees need
    "joint".
connectivity : {{"full", "sparse"}}
    Whether all weights between the layers are trained, or only those of the trees, which is much faster.
contrast : pair of floats, or sequence of pairs
    Slopes of the activations of splits and leaves: the larger, the nearer to the trees. Of several pairs the best on
    validation is kept.
contrast_unit : {{"node", "feature"}}
    The unit of a split's contrast: the spread of its feature among the rows that reach the node, or among all rows.
learning_rate : float or three floats
    Step size of Adam; three for the layers of splits, leaves and output.
schedule : {{"cyclic", "one_cycle", "cosine", "constant"}}
    The learning rate over the epochs. "cyclic" has up to five cycles of growing length and ends when two of them bring
    no improvement. "one_cycle" ends after 40% of the epochs or later where the network overfits.
batch_size : int
max_epochs : int or "auto"
    Maximum number of passes over the rows; "auto" makes 3,800 to 6,000 steps, in 5 to 400 epochs.
stacking : {{"auto", None}}
    "auto" blends the predictions of base models (extra trees, gradient boosting and, for regression, ridge) with those
    of the network of the default forest. The weights are fitted on held-out predictions and are often 0; where there is
    no detectable signal, a combination forecast is blended in. Nothing is stacked with a given forest, several targets,
    sample weights, other losses than the default, or after an interrupted fit. None is the network alone: better for a
    stream of new rows, because `partial_fit` does not update base models.
weight_decay : float
    Pull towards the weights that the trees gave.
loss : {losses}
loss_parameter : float, optional
    {loss_parameter}
validation : {{"auto", "oob", "fraction"}}
    Validation rows: each tree's out-of-bag rows, so that every row is used for training, or rows held out from both.
    "auto" takes out-of-bag rows where there are any and training is independent. Ignored when `fit` is given X_val.
validation_fraction : float
    Share of the rows that is held out.
n_iter_no_change : int, optional
    Stop training a network after this many epochs without a better validation loss.
standardize : bool
    Measure features{targets} in units of their spread; False keeps the raw units of the paper.{relevance}
fold_contrast : bool
    Multiply the weights by the contrasts instead of the activations' arguments, as the paper's authors did.
weight_bound : float, optional
    C of the theory's bound on the weights, C times the number of leaves; see `neuralforest.theory`.
warm_start : bool
    Whether a second call of `fit`, on the same rows, continues training of the network of the first.
callback : callable, optional
    Called after every epoch with its number and the history so far; the fit ends, with the best network up to there,
    when it returns True. :class:`neuralforest.ProgressBar` is one.
checkpoint : Checkpoint, optional
    File that a long fit can be resumed from, given the same `random_state`. When there are several contrasts, each has
    a file of its own, numbered behind the name.
n_jobs : int, optional
    Threads; the result does not depend on it.
random_state : int, RandomState or None
verbose : int
    0 prints nothing, 1 a summary, 2 a line an epoch.

Attributes
----------
forest_ : estimator
    The forest that the network was made from.
network_ : ForestNetwork
    The trained network, with its base_models if there are any.
history_ : History
    Losses of every epoch; after `partial_fit`, of that call.
contrast_ : pair of floats
    The contrast that was kept.
forest_loss_, validation_loss_ : float
    Loss of the forest and of the model on the validation rows{units}, as of the last `fit`. Out-of-bag, the estimate is
    cross-fitted: a row evaluates networks of epochs that it had no part in selecting.
stacking_weights_ : dict
    Weights of the network and of the base models, such as ``{{"network": 0.52, "gradient_boosting": 0.48}}``.
feature_importances_ : array (features,)
    Of the trained network; see :func:`neuralforest.network.importance.feature_importances`.
n_features_in_ : int
feature_names_in_ : array of str
    Where X has column names.
"""

_CLASS_WEIGHT = """class_weight : dict, "balanced" or None
    Weights of the classes, multiplied with the rows' weights.
"""

_RELEVANCE = """ With full
    connectivity, each feature is scaled by the share of held-out variance that its splits explain."""


def with_parameters(cls: Class) -> Class:
    """Put the shared parameters and attributes into a class's docstring, before its examples."""
    classifier = cls._classifier  # type: ignore[attr-defined]
    text = _PARAMETERS.format(
        class_weight=_CLASS_WEIGHT if classifier else "",
        losses='{"auto", "log_loss"}' if classifier else '{"auto", "squared_error", "huber", "quantile"}',
        loss_parameter="Not used." if classifier else "Where the Huber loss becomes linear, or which quantile.",
        targets="" if classifier else " and target",
        relevance="" if classifier else _RELEVANCE,
        units="" if classifier else ", in units of the target's variance",
    )
    if classifier:
        text = text.rstrip() + "\nclasses_ : array (classes,)\n    Labels.\n"
    if cls.__doc__ is None:  # python -OO
        return cls
    head, _, examples = inspect.cleandoc(cls.__doc__).partition("\nExamples\n")
    cls.__doc__ = f"{head.rstrip()}\n{text}\n\nExamples\n{examples}"
    return cls
