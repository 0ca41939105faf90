"""The parameters and attributes that both estimators share, described once."""

import inspect
from typing import TypeVar

Class = TypeVar("Class", bound=type)

_PARAMETERS = """
The parameters are in groups: forest (`forest`, `categorical_features`); network (`training`, `connectivity`, `tune`,
`contrast`, `contrast_unit`, `standardize`, `fold_contrast`); training (`loss`, `loss_parameter`, `learning_rate`,
`schedule`, `batch_size`, `max_epochs`, `weight_decay`, `weight_bound`); validation (`validation`,
`validation_fraction`, `n_iter_no_change`); stacking (`stacking`); run (`warm_start`, `callback`, `checkpoint`,
`n_jobs`, `random_state`, `verbose`). The defaults suit most tables; the last sentence of each tells when to change
it.

Parameters
----------
forest : estimator, optional
    Any tree ensemble that :func:`neuralforest.convert` takes. Unfitted, it is cloned and grown inside, on rows that
    exclude the validation rows; its parameters are reached by nested names, as in ``forest__max_depth``. Fitted, it
    is used as it is, and must not have been fitted on the validation rows; without out-of-bag rows and X_val,
    copies of it are fitted on folds. Because cloning (in GridSearchCV, say) makes a fitted forest an unfitted one,
    wrap it in ``sklearn.frozen.FrozenEstimator`` there. None grows 8 to 60 trees (20 to 60 for classification),
    decreasing with n_samples, at least 30 for many features; each on 80% of the rows, or 90% of more than 500, with
    16 to 96 leaves. Give one to keep a model that you have.
{class_weight}categorical_features : "from_dtype", sequence, mask or None
    Columns that hold categories: those of strings or of a categorical dtype, the named or numbered ones, or none.
    The default forest splits them by sets of categories; a column of more than 64 categories is replaced by
    cross-fitted means of the target. Categories that `fit` has not seen are treated alike. A given forest of
    scikit-learn takes codes; one of another library, the categories. Name columns of numbers that are codes.
training : {{"auto", "independent", "joint"}}
    Whether each tree becomes a network that is trained alone, or all trees become one network. "auto" is independent
    for trees that are averaged. Trees that are added (boosting, BART) predict nothing alone: with `stacking`, the given
    model is kept as it is and stacked with the network of the default forest, which takes less time than training its
    trees; without it, its trees are trained jointly. Leave it, but for experiments.
connectivity : {{"auto", "full", "sparse"}}
    Whether all weights between the layers are trained, or only those of the trees, which is much faster. "auto" is
    sparse for trees that are added and for more than 1,000 features, and full for others. Take "sparse" for hundreds of
    features.
tune : {{"all", "leaves", "splits"}}
    What is trained. "all" trains a soft network. The others return trees again: `network_` is hard, its trees are those
    of the forest with other numbers, and ``neuralforest.export.sklearn.to_sklearn`` makes a scikit-learn model of them.
    "leaves" refits all leaf values together by ridge regression (for classification on the log loss, as scores that are
    summed), towards those of the forest. "splits" also takes the thresholds of the trained network, with sparse
    connectivity, and fits the leaf values to what it predicts on the rows and between them. Chosen on folds, for
    which the forest is grown anew, on rows that are held out (`validation`) or on X_val; the forest is returned where
    no choice is better there. Nothing is stacked. Take "leaves" or
    "splits" where trees are needed: for their speed, formats and explanations.
contrast : pair of floats, or sequence of pairs
    Slopes of the activations of splits and leaves: the larger, the nearer to the trees. Of several pairs the best
    on validation is kept. Raise it for targets with steps.
contrast_unit : {{"node", "feature"}}
    The unit of a split's contrast: the spread of its feature among the rows that reach the node, or among all rows.
    Leave it, but for the reproduction of the paper.
standardize : bool
    Measure features{targets} in units of their spread; False keeps the raw units of the paper. Leave it, but for
    the reproduction of the paper.{relevance}
fold_contrast : bool
    Multiply the weights by the contrasts instead of the activations' arguments, as the paper's authors did. For the
    reproduction of the paper.
loss : {losses}
    {loss_when}
loss_parameter : float, optional
    {loss_parameter}
learning_rate : float or three floats
    Step size of Adam; three for the layers of splits, leaves and output. Lower it where the training curves jump.
schedule : {{"cyclic", "one_cycle", "cosine", "constant"}}
    The learning rate over the epochs. "cyclic" has up to five cycles of growing length and ends when two of them
    bring no improvement. "one_cycle" ends after 40% of the epochs or later where the network overfits. Leave it,
    but for the reproduction of the paper.
batch_size : int
    Rows of a training step. Raise it for millions of rows.
max_epochs : int or "auto"
    Maximum number of passes over the rows; "auto" makes 3,800 to 6,000 steps, in 5 to 400 epochs. Lower it for
    quick trials.
weight_decay : float
    Pull towards the weights that the trees gave. Raise it where training curves overfit at once.
weight_bound : float, optional
    C of the theory's bound on the weights, C times the number of leaves; see `neuralforest.theory`. For experiments
    with the theory.
validation : {{"auto", "oob", "cv", "fraction"}}
    Validation rows: each tree's out-of-bag rows; five folds, for each of which a copy of the given model is fitted on
    the others; or rows held out from both. With the first two, every row is used for training. "auto" takes
    out-of-bag rows where there are any and training is independent, and folds where there are none. Ignored when
    `fit` is given X_val. Pass X_val to `fit` instead where rows are ordered in time or grouped.
validation_fraction : float
    Share of the rows that is held out. Lower it where rows are scarce.
n_iter_no_change : int, optional
    Stop training a network after this many epochs without a better validation loss. Set it to save time.
stacking : {{"auto", None}}
    "auto" blends the predictions of base models (extra trees, gradient boosting and, for regression, ridge) with
    those of the network of the default forest. The weights are fitted on held-out predictions and are often 0;
    where there is no detectable signal, a combination forecast is blended in; none of them with other losses than
    the default, or after an interrupted fit. With a network that is not made of all of a given model, that model
    itself is blended, as "source". None is the network alone, or the given model where that is better: better for a
    stream of new rows, because `partial_fit` does not update base models. Take None for a network and nothing else,
    and for fast prediction.
warm_start : bool
    Whether a second call of `fit` continues training of the network of the first; base models are fitted anew. The
    losses are those of the rows that the second call is given. On other rows than those of the first, pass X_val.
    For more epochs of a fit that ended too early.
callback : callable, optional
    Called after every epoch with its number and the history so far; the fit ends, with the best network up to
    there, when it returns True. :class:`neuralforest.ProgressBar` is one. For progress, logging, and stopping
    rules.
checkpoint : Checkpoint, optional
    File that a long fit can be resumed from, given the same `random_state`. When there are several contrasts, each
    has a file of its own, numbered behind the name. For fits of hours.
n_jobs : int, optional
    Threads; the result does not depend on it. -1 takes every processor.
random_state : int, RandomState or None
    Set an integer for reproducible results.
verbose : int
    0 prints nothing, 1 a summary, 2 a line an epoch.

Attributes
----------
forest_ : estimator
    The forest that the network was made from.
source_ : estimator
    The given model, fitted on all rows; `forest_`, where the network was made from all of it.
network_ : ForestNetwork
    The trained network, with its base_models if there are any.
history_ : History
    Losses of every epoch; after `partial_fit`, of that call.
contrast_ : pair of floats
    The contrast that was kept.
forest_loss_, validation_loss_ : float
    Loss of the forest and of the model on the validation rows{units}, as of the last `fit`; the second is never larger.
    Both estimate what new rows would show. Out-of-bag, few trees predict a row, so the loss that their excess variance
    adds is subtracted, and a row evaluates networks of epochs that it had no part in selecting.{tuned_units}
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

_RELEVANCE = """
    With full connectivity, each feature is scaled by the share of held-out variance that its splits explain."""


def with_parameters(cls: Class) -> Class:
    """Put the shared parameters and attributes into a class's docstring, before its examples."""
    classifier = cls._classifier  # type: ignore[attr-defined]
    text = _PARAMETERS.format(
        class_weight=_CLASS_WEIGHT if classifier else "",
        losses='{"auto", "log_loss"}' if classifier else '{"auto", "squared_error", "huber", "quantile"}',
        loss_parameter="Not used."
        if classifier
        else "Where the Huber loss becomes linear; which quantile, between 0 and 1, which has no default.",
        loss_when="What is minimised." if classifier else 'Change it for outliers ("huber") or for a quantile.',
        targets="" if classifier else " and target",
        relevance="" if classifier else _RELEVANCE,
        units="" if classifier else ", in units of the target's variance",
        tuned_units="" if classifier else ' Unless `tune` is "all", the loss of one target\n    is in its own units.',
    )
    if classifier:
        text = text.rstrip() + "\nclasses_ : array (classes,)\n    Labels.\n"
    if cls.__doc__ is None:  # python -OO
        return cls
    head, _, examples = inspect.cleandoc(cls.__doc__).partition("\nExamples\n")
    cls.__doc__ = f"{head.rstrip()}\n{text}\n\nExamples\n{examples}"
    return cls
