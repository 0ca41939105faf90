"""The guarantee: on the validation rows, a fitted estimator is never worse than its forest.

Losses are computed here from predictions alone, on rows that are found independently of the estimator: given ones,
those that the forest was not fitted on, or each tree's out-of-bag rows.
"""

import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

import neuralforest as nf
from neuralforest.exceptions import ConvergenceWarning
from small_models import boosted, classification, output, regression, small, steps
from validation_losses import forest_and_model


class Witness:
    """A forest that records which rows it was fitted on: the first feature is the row's number."""

    def fit(self, X, y, sample_weight=None):
        self.fit_rows_ = X[:, 0].astype(int)
        return super().fit(X, y, sample_weight)


class WitnessRegressor(Witness, RandomForestRegressor):
    pass


class WitnessClassifier(Witness, RandomForestClassifier):
    pass


def mean_loss(model, prediction, y, weight):
    """Return the loss that the estimator minimises, from predictions and targets."""
    if isinstance(model, nf.NeuralForestClassifier):
        own = prediction[np.arange(len(y)), np.searchsorted(model.classes_, y)]
        return np.average(-np.log(np.maximum(own, 1e-7)), weights=weight)
    scale = model.network_.soft.output_scale
    error = (prediction.reshape(len(y), -1) - y.reshape(len(y), -1)) / scale
    size = np.abs(error)
    losses = {
        "squared_error": error**2,
        "huber": np.where(size <= 1.35, error**2, 2 * 1.35 * size - 1.35**2),
        "quantile": np.where(error < 0, 0.8 * size, 0.2 * size),
    }
    return np.average(losses[model.loss].mean(axis=1), weights=weight)


def out_of_bag_losses(model, X, y, weight):
    """Return the losses of forest and network where every row is predicted by the trees that were not grown on it.

    And the loss of the forest that is expected where all trees predict every row; None for a classifier.
    """
    shape = len(model.forest_.estimators_), len(X), -1
    of_trees = np.array([output(tree, X) for tree in model.forest_.estimators_]).reshape(shape)
    out_of_bag = np.array([~np.isin(np.arange(len(X)), bag) for bag in model.forest_.estimators_samples_])[:, :, None]
    of_networks = np.array([model.network_.subnetwork_output(i, X.astype(np.float32)) for i in range(shape[0])])
    used = out_of_bag.any(axis=(0, 2)) & (weight > 0)
    means = [np.mean(each, axis=0, where=out_of_bag)[used] for each in (of_trees, of_networks)]
    losses = [mean_loss(model, mean, y[used], weight[used]) for mean in means]
    if isinstance(model, nf.NeuralForestClassifier):
        return *losses, None
    k, target = out_of_bag.sum(axis=0)[used], y[used].reshape(len(means[0]), -1)
    variance = np.var(of_trees, axis=0, where=out_of_bag, ddof=1)[used] if (k > 1).any() else np.zeros_like(target)
    variance = np.where(k > 1, variance, np.mean(variance, axis=0, where=k > 1) if (k > 1).any() else 0.0)
    excess, squares = (
        np.average(each, axis=0, weights=weight[used])
        for each in (variance * (1 / k - 1 / shape[0]), (means[0] - target) ** 2)
    )
    factor = np.sqrt(1 - np.minimum(np.divide(excess, squares, where=squares > 0, out=np.zeros_like(squares)), 0.9))
    return *losses, mean_loss(model, target + factor * (means[0] - target), y[used], weight[used])


@st.composite
def fits(draw):
    """Draw rows, settings and the way of validation."""
    classifier = draw(st.booleans())
    way = draw(st.sampled_from(["oob", "fraction", "given"]))
    seed = draw(st.integers(0, 2**16))
    rng = np.random.default_rng(seed)
    n, d = draw(st.integers(14, 70)), draw(st.integers(1, 4))
    X = np.column_stack([np.arange(n), rng.normal(size=(n, d)).round(draw(st.integers(0, 3)))])
    if classifier:
        y = np.array(["a", "b", "c", "d"])[np.arange(n) * draw(st.integers(2, 4)) // n]
        rng.shuffle(y)
    else:
        y = rng.normal(size=(n, draw(st.integers(1, 2)))) + X[:, 1:2] ** draw(st.integers(0, 2))
        y = y[:, 0] if y.shape[1] == 1 else y
    weight = rng.integers(1, 4, n) * 0.5 if draw(st.booleans()) else None
    kind = WitnessClassifier if classifier else WitnessRegressor
    model = small(
        classifier,
        kind(draw(st.integers(1, 5)), max_leaf_nodes=draw(st.integers(2, 12))),
        training="independent" if way == "oob" else draw(st.sampled_from(["independent", "joint"])),
        connectivity=draw(st.sampled_from(["sparse", "full"])),
        contrast=draw(st.sampled_from([(0.1, 0.1), (1, 1), (10, 1), (1000, 100), ((1, 1), (10, 2))])),
        learning_rate=draw(st.sampled_from([1e-30, 0.01, 0.1, 30.0])),
        max_epochs=draw(st.integers(0, 3)),
        loss="log_loss" if classifier else draw(st.sampled_from(["squared_error", "huber", "quantile"])),
        loss_parameter=None,
        validation="fraction" if way == "given" else way,
        validation_fraction=draw(st.sampled_from([0.2, 0.5])),
        standardize=draw(st.booleans()),
        random_state=seed,
    )
    return model.set_params(loss_parameter=0.8 if model.loss == "quantile" else None), way, X, y, weight


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(fits())
def test_validation_loss_is_never_worse_than_that_of_the_forest(case):
    model, way, X, y, weight = case
    options = {}
    if way == "given":
        X_val, y_val = X[::3], y[::3]
        options = {"X_val": X_val, "y_val": y_val, "sample_weight_val": None if weight is None else weight[::3]}
        fit_rows = np.setdiff1d(np.arange(len(X)), np.arange(len(X))[::3])
    else:
        fit_rows = np.arange(len(X))
    if way == "given" and isinstance(model, nf.NeuralForestClassifier):
        assume(set(y[fit_rows]) == set(y))  # a forest cannot be evaluated on classes that it was not fitted on
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a learning rate of 30
        model.fit(X[fit_rows], y[fit_rows], None if weight is None else weight[fit_rows], **options)
    weight = np.ones(len(X)) if weight is None else weight
    if way == "oob":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # means of no trees
            forest, network, expected = out_of_bag_losses(model, X, y, weight)
    else:
        held_out = np.setdiff1d(np.arange(len(X)), model.forest_.fit_rows_)
        assert len(held_out) > 0
        forest, network = (
            mean_loss(model, output(m, X[held_out]), y[held_out], weight[held_out]) for m in (model.forest_, model)
        )
    assert network <= forest * (1 + 1e-6) + 1e-12
    if way == "oob":  # a cross-fitted loss: of networks that a row had no part in selecting
        assert model.validation_loss_ <= model.forest_loss_
    else:
        assert network == pytest.approx(model.validation_loss_, rel=1e-6, abs=1e-12)
        expected = forest
    if expected is not None:
        assert expected == pytest.approx(model.forest_loss_, rel=1e-6, abs=1e-12)


DEFAULT_CASES = {
    "signal": lambda classifier, seed: (classification if classifier else regression)(160, seed),
    "steps": lambda classifier, seed: steps(classifier, 240, seed),
    "noise": lambda classifier, seed: noise(classifier, 160, seed),
    "few rows": lambda classifier, seed: (classification if classifier else regression)(60, seed),
    "missing values": lambda classifier, seed: with_missing(*(classification if classifier else regression)(160, seed)),
}


def noise(classifier, n, seed):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 4)), rng.integers(3, size=n) if classifier else rng.standard_cauchy(size=n)


def with_missing(X, y):
    return np.where(np.random.default_rng(0).random(X.shape) < 0.2, np.nan, X), y


@pytest.mark.parametrize("classifier", [False, True], ids=["regressor", "classifier"])
@pytest.mark.parametrize("name", DEFAULT_CASES)
def test_the_default_estimator_is_not_worse_than_its_forest(classifier, name):
    """With stacking and all of its boosting rounds; both losses are those of predictions for X_val."""
    X, y = DEFAULT_CASES[name](classifier, seed=0)
    n = len(X) * 2 // 3
    kind = nf.NeuralForestClassifier if classifier else nf.NeuralForestRegressor
    model = kind(random_state=0).fit(X[:n], y[:n], X_val=X[n:], y_val=y[n:])
    forest, stacked = forest_and_model(model, y[:n], X[n:], y[n:])
    assert stacked <= forest * (1 + 1e-9)
    assert (model.forest_loss_, model.validation_loss_) == pytest.approx((forest, stacked), rel=1e-5)
    if name in ("signal", "steps"):
        assert stacked < 0.8 * forest
    assert len(model.stacking_weights_) > 1 or name != "steps"


@pytest.mark.parametrize("classifier", [False, True], ids=["regressor", "classifier"])
@pytest.mark.parametrize("name", DEFAULT_CASES)
def test_by_default_out_of_bag_rows_compare_the_estimator_with_its_forest(classifier, name):
    """The loss of the forest is computed from its trees; the cross-fitted loss of the stack is not larger."""
    X, y = DEFAULT_CASES[name](classifier, seed=1)
    kind = nf.NeuralForestClassifier if classifier else nf.NeuralForestRegressor
    model = kind(random_state=0, loss="log_loss" if classifier else "squared_error").fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # means of no trees
        forest, _, expected = out_of_bag_losses(model, X, y, np.ones(len(X)))
    if classifier:
        assert model.forest_loss_ < forest
    else:
        assert model.forest_loss_ == pytest.approx(expected, rel=1e-5)
    assert model.validation_loss_ <= model.forest_loss_
    if name in ("signal", "steps"):
        assert model.validation_loss_ < 0.8 * model.forest_loss_
    assert len(model.stacking_weights_) > 1 or name != "steps"


@pytest.mark.parametrize("classifier", [False, True])
@pytest.mark.parametrize("connectivity", ["sparse", "full"])
def test_validation_loss_of_boosted_trees_is_not_worse_either(classifier, connectivity):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 3))
    y = X[:, 0] + rng.normal(size=150)
    y = (y > 0) + 1 * (y > 1) if classifier else y
    loss = "log_loss" if classifier else "squared_error"
    model = small(classifier, boosted(classifier), training="joint", connectivity=connectivity, loss=loss)
    model.fit(X[:100], y[:100], X_val=X[100:], y_val=y[100:])
    network, forest = (mean_loss(model, output(m, X[100:]), y[100:], None) for m in (model, model.forest_))
    assert network <= forest * (1 + 1e-6)
    assert network == pytest.approx(model.validation_loss_, rel=1e-5)


def test_training_wins_where_the_target_is_smooth():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(400, 3))
    y = X @ [1.0, 2.0, 3.0]
    for validation in ("oob", "fraction"):
        model = small(validation=validation, connectivity="full", max_epochs=20).fit(X[:300], y[:300])
        ours, theirs = (np.mean((m.predict(X[300:]) - y[300:]) ** 2) for m in (model, model.forest_))
        assert ours < theirs / 2
        assert model.validation_loss_ < model.forest_loss_ / 2
