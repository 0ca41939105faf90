"""The parameters and attributes that both estimators share, described once."""

from typing import TypeVar

Class = TypeVar("Class", bound=type)

_PARAMETERS = """
Parameters
----------
forest : estimator, optional
    Any tree ensemble that :func:`neuralforest.convert` takes. Unfitted, it is cloned and grown inside, on rows that
    exclude the validation rows; its parameters are reached by nested names, as in ``forest__max_depth``. Fitted, it is
    used as it is, and it is the caller's business that it has not seen the validation rows; because cloning (in
    GridSearchCV, say) makes a fitted forest an unfitted one, wrap it in ``sklearn.frozen.FrozenEstimator`` there. None
    grows 60 to 8 trees (of classes 60 to 20), the fewer the more rows, of many features up to 30; each on four fifths
    of the rows, of over 500 on nine tenths, with 16 to 96 leaves.
{class_weight}training : {{"independent", "joint"}}
    Whether each tree becomes a network that is trained alone, or all trees become one network. Boosted trees need
    "joint".
connectivity : {{"full", "sparse"}}
    Whether all weights between the layers are trained, or only those of the trees, which is much faster.
contrast : pair of floats, or sequence of pairs
    Slopes of the activations of splits and leaves: the larger, the nearer to the trees. Of several pairs the best on
    validation is kept.
contrast_unit : {{"cell", "feature"}}
    The distance that the contrast of a split is measured in: the spread of its feature among the rows that reach the
    split, or among all rows.
learning_rate : float or three floats
    Step size of Adam; three for the layers of splits, leaves and output.
schedule : {{"cycles", "one_cycle", "cosine", "constant"}}
    The learning rate over the epochs. "cycles" are up to five of them, each longer than the one before, and training
    ends when two of them bring nothing: where there is much noise, after a sixth of the epochs. "one_cycle" ends after
    two fifths of them or later where it has learnt the noise by heart.
batch_size : int
max_epochs : int or "auto"
    Passes over the rows, at most; "auto" makes 3,800 steps, or where rows are few up to 6,000, in 5 to 400 epochs.
companion : {{"auto", None}}
    "auto" puts others beside the network of the default forest, which are not trained, and gives each the share of the
    prediction that is best on rows it has not seen, often none: deep trees, boosted trees and, for numbers, a linear
    function, or a careful one where others say more than they know. A forest that was given stays alone, as do several
    targets, weights and other losses than the usual, and a fit that a callback or Ctrl-C ended. Companions stay as they
    are in `partial_fit`, but for a line that stands in for a network which knows nothing: for a stream of new rows,
    None is better, which turns them off.
weight_decay : float
    Pull towards the weights that the trees gave.
loss : {losses}
loss_parameter : float, optional
    {loss_parameter}
validation : {{"auto", "oob", "fraction"}}
    What judges the network: each tree's out-of-bag rows, which wastes no row, or rows held out from forest and network.
    "auto" takes out-of-bag rows where there are any and training is independent. Ignored when `fit` is given X_val.
validation_fraction : float
    Share of the rows that is held out.
n_iter_no_change : int, optional
    Stop training a network after this many epochs without a better validation loss.
standardize : bool
    Measure features{targets} in units of their spread; False keeps the raw units of the paper.{relevance}
fold_contrast : bool
    Multiply the weights by the contrasts instead of the activations' arguments, as the paper's authors did.
bound : float, optional
    C of the theory's bound on the weights, C times the number of leaves; see `neuralforest.theory`.
warm_start : bool
    Whether a second call of `fit`, on the same rows, goes on training the network of the first.
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
    Loss of forest and network on the validation rows{units}, as of the last `fit`. Out-of-bag, a row judges networks
    as of epochs that it had no part in choosing, which `network_` itself is not.
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
    connectivity, features of a forest whose splits say little of validation rows are made smaller, and learn slowly."""


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
    indented = "\n".join("    " + line if line else line for line in text.splitlines())
    head, examples = (cls.__doc__ or "").split("\n    Examples\n", 1)
    cls.__doc__ = f"{head.rstrip()}\n{indented}\n\n    Examples\n{examples}"
    return cls
