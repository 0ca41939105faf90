"""The parameters and attributes that both estimators share, described once."""

import inspect
from typing import TypeVar

Class = TypeVar("Class", bound=type)

_PARAMETERS = """
The parameters are in groups: forest (`forest`, `categorical_features`); network (`training`, `connectivity`, `tune`,
`contrast`, `contrast_unit`, `standardize`, `fold_contrast`); training (`loss`, `loss_parameter`, `learning_rate`,
`schedule`, `batch_size`, `max_epochs`, `weight_decay`, `weight_bound`); validation (`validation`,
`validation_fraction`, `n_iter_no_change`); stacking (`stacking`); run (`warm_start`, `callback`, `checkpoint`,
`n_jobs`, `random_state`, `verbose`). The defaults suit most tables. The last sentence of each description says when to
change the parameter.

Parameters
----------
forest : estimator, optional
    Any tree ensemble that :func:`neuralforest.convert` takes. An unfitted one is cloned and fitted on rows that exclude
    the validation rows; its parameters have nested names, as in ``forest__max_depth``. A fitted one is used as it is,
    and must not have been fitted on the validation rows; if it has no out-of-bag rows and X_val is not given, copies of
    it are fitted on folds. Cloning, as in GridSearchCV, makes a fitted forest unfitted: wrap it in
    ``sklearn.frozen.FrozenEstimator`` to prevent that. None grows 8 to 60 trees (12 to 60 for classification),
    decreasing with n_samples; many features need at least 20 (30 for classification). Each tree has 16 to 96 leaves and
    is grown on 80% of the rows (90% of more than 500 rows). Set it to start from your own model.
{class_weight}categorical_features : "from_dtype", sequence, mask or None
    Columns that hold categories: those of strings or of a categorical dtype and those that a given forest takes as
    categories, those given by name, index or mask, or none. The default forest splits them by sets of categories; a
    column of more than 64 categories is replaced by cross-fitted means of the target. All categories that do not occur
    in `fit` are treated in the same way. A given forest of scikit-learn receives codes; one of another library, the
    categories. Set it if columns of numbers are codes.
training : {{"auto", "independent", "joint"}}
    Whether each tree becomes a network that is trained separately, or all trees become one network. "auto" is
    independent for trees that are averaged. Trees that are summed (boosting, BART) cannot be trained separately: with
    `stacking`, the given model is kept unchanged and stacked with the network of the default forest, which takes less
    time than training its trees; without it, its trees are trained jointly. Change it in experiments only.
connectivity : {{"auto", "full", "sparse"}}
    Whether all weights between the layers are trained, or only those of the trees, which is much faster. "auto" is
    sparse for trees that are summed and for more than 1,000 features, and full otherwise. Use "sparse" for hundreds of
    features.
tune : {{"all", "leaves", "splits"}}
    What is trained. "all" trains a soft network. The other values return trees again: `network_` is hard, its trees
    are those of the forest with different numbers, and ``neuralforest.export.sklearn.to_sklearn`` converts them to a
    scikit-learn model. "leaves" refits all leaf values together by ridge regression towards those of the forest (for
    classification on the log loss, as scores that are summed). "splits" also trains the default model, and moves
    thresholds and leaf values towards its predictions on the rows and between them; the features of the splits stay.
    The strength of the changes is selected on folds, for which forest and default model are fitted again, on held-out
    rows (`validation`) or on X_val; if nothing is better there, the forest is returned. Nothing is stacked with the
    trees. "leaves" takes about three times as long as the forest, "splits" about ten times as long, and a default fit.
    Use them if you need trees, for their speed, formats or explanations.
contrast : pair of floats, or sequence of pairs
    Slopes of the activations of splits and leaves; with larger ones, the network is closer to the trees. Of several
    pairs, the best one on validation rows is kept. Raise it for targets with steps.
contrast_unit : {{"node", "feature"}}
    The unit of a split's contrast: the spread of its feature among the rows that reach the node, or among all rows.
    Change it to reproduce the paper only.
standardize : bool
    Measure features{targets} in units of their spread; False keeps the raw units of the paper.{relevance} Change it to
    reproduce the paper only.
fold_contrast : bool
    Multiply the weights by the contrasts instead of the activations' arguments, as the paper's authors did. Change it
    to reproduce the paper only.
loss : {losses}
    {loss_when}
loss_parameter : float, optional
    {loss_parameter}
learning_rate : float or three floats
    Step size of Adam; three for the layers of splits, leaves and output. Lower it if the training curves jump.
schedule : {{"cyclic", "one_cycle", "cosine", "constant"}}
    The learning rate over the epochs. "cyclic" has up to five cycles of growing length and ends when two of them
    bring no improvement. "one_cycle" ends early, after at least 40% of the epochs, if the network overfits. Change it
    to reproduce the paper only.
batch_size : int
    Rows of a training step. Raise it for millions of rows.
max_epochs : int or "auto"
    Maximum number of passes over the rows; "auto" makes 3,800 to 6,000 steps, in 5 to 400 epochs. Lower it for
    quick trials.
weight_decay : float
    Penalty on the distance from the initial weights, those of the trees. Raise it if the training curves show
    overfitting from the first epochs on.
weight_bound : float, optional
    C in the theory's bound on the weights, C times the number of leaves; see `neuralforest.theory`. Set it in
    experiments with the theory only.
validation : {{"auto", "oob", "cv", "fraction"}}
    The validation rows. "oob": the out-of-bag rows of each tree. "cv": five folds; for each, a copy of the given model
    is fitted on the others. "fraction": rows that are held out from the forest and from training. With the first two,
    every row is used for training. "auto" uses out-of-bag rows if there are any and training is independent, and folds
    otherwise. It is ignored if X_val is passed to `fit`; do that if rows are ordered in time or grouped.
validation_fraction : float
    Fraction of the rows that is held out. Lower it if rows are scarce.
n_iter_no_change : int, optional
    Stop training a network after this many epochs without a better validation loss. Set it to save time.
stacking : {{"auto", None}}
    "auto" blends the predictions of base models (extra trees, gradient boosting and, for regression, ridge regression)
    with those of the network. The weights are fitted on held-out predictions and are often 0. If there is no detectable
    signal, a combination forecast is blended in. A given model is one of the base models, "source"; where the network
    is made of all of it, nothing is blended. Nothing is blended if `loss` is not the default, or after an interrupted
    fit. None returns the network alone, or the given model if that is better. Use None for fast prediction, for
    interpretation, and for a stream of new rows, because `partial_fit` does not update base models.
warm_start : bool
    Whether a second call of `fit` continues the training of the network of the first; base models are fitted again.
    The losses are those of the rows of the second call. If these differ from the rows of the first call, pass X_val.
    Set it to add epochs to a fit that ended too early.
callback : callable, optional
    Called after every epoch with its number and the history so far. If it returns True, the fit ends with the best
    network so far. :class:`neuralforest.ProgressBar` is one. Use it for progress, logging and stopping rules.
checkpoint : Checkpoint, optional
    File from which an interrupted fit with the same `random_state` is resumed. With several contrasts, each has a
    file of its own with a numbered name. Set it for fits that take hours.
n_jobs : int, optional
    Number of threads; the result does not depend on it. -1 uses all processors.
random_state : int, RandomState or None
    Seed of the forest, of the folds and of training. Set an integer for reproducible results.
verbose : int
    0 prints nothing, 1 a summary, 2 a line per epoch. Raise it to follow a long fit.

Attributes
----------
forest_ : estimator
    The forest that the network was made from.
source_ : estimator
    The given model, fitted on all rows; the same as `forest_` if the network was made from all of it.
network_ : ForestNetwork
    The trained network, with its base_models if there are any.
history_ : History
    Losses of every epoch; after `partial_fit`, of that call.
contrast_ : pair of floats
    The contrast that was kept.
forest_loss_, validation_loss_ : float
    Loss of the forest and of the model on the validation rows{units}, as of the last `fit`; the second is never larger.
    Both estimate the loss on new rows. Because few trees predict an out-of-bag row, the loss that their excess variance
    adds is subtracted, and so is what copies for folds lose by fewer rows; and a row only evaluates networks whose
    epoch was selected on other rows.{tuned_units}
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
        else "The error from which on the Huber loss is linear, or the quantile, between 0 and 1, which must be set.",
        loss_when="The loss that is minimised; there is one."
        if classifier
        else 'The loss that is minimised. Use "huber" if there are outliers, "quantile" to predict a quantile.',
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
