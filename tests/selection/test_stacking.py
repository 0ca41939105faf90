"""Stacking weights: they minimise the loss of out-of-sample predictions, and keep it below that of the trees."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.ensemble import (
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

import neuralforest as nf
from neuralforest.base_models import FALLBACK
from neuralforest.base_models.combination_forecast import combination_forecast
from neuralforest.exceptions import InvalidParameterError
from neuralforest.network import LinearModel, StackedModel
from neuralforest.selection import Candidate, OutOfSamplePredictions, stack
from neuralforest.selection.stacking import (
    _affordable_weight,
    _fallback_weight,
    best_weight,
    blended,
    is_promising,
    may_be_worthwhile,
)
from neuralforest.training import SubnetworkRows, TrainingData, resolve_loss


def predictions(prediction, excess_variance=0.0, rows=None):
    prediction = np.asarray(prediction, float).reshape(-1, 1)
    rows = np.arange(len(prediction)) if rows is None else rows
    excess = np.broadcast_to(excess_variance, prediction.shape)
    return OutOfSamplePredictions.of_all(rows, prediction, np.ones(len(prediction)))._replace(excess_variance=excess)


@pytest.fixture(scope="module")
def problem():
    """A soft network, its rows, and its loss."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(500, 2)).astype(np.float32)
    y = rng.normal(size=500)
    trees = RandomForestRegressor(3, max_leaf_nodes=8, random_state=0).fit(X, y)
    network = nf.convert(trees).soften((3, 1), output_center=y.mean(keepdims=True), output_scale=y.std(keepdims=True))
    rows = SubnetworkRows.shared(np.arange(500), np.ones(500), network.n_subnetworks)
    return network, TrainingData(X, y[:, None], rows, rows), resolve_loss("auto", None, network.ensemble)


def squared_error(each, data):
    return np.mean((each.prediction - data.y[each.row]) ** 2)


# Weights.


@settings(max_examples=50, deadline=None, derandomize=True)
@given(st.integers(0, 10**6), st.floats(0, 1))
def test_without_excess_variance_the_weight_minimises_the_squared_error_or_is_0(seed, truth):
    rng = np.random.default_rng(seed)
    own, trees = rng.normal(size=(2, 60))
    y = ((1 - truth) * own + truth * trees + 0.3 * rng.normal(size=60))[:, None]
    weight, choices = best_weight(predictions(own), predictions(trees), y), np.linspace(0, 0.95, 191)
    errors = [np.mean((blended(predictions(own), predictions(trees), each).prediction - y) ** 2) for each in choices]
    best = choices[np.argmin(errors)]
    assert abs(weight - best) <= 0.0051 if best > 0.15 else weight in (0.0, pytest.approx(best, abs=0.0051))


def test_excess_variance_of_few_trees_does_not_lower_their_weight():
    rng = np.random.default_rng(0)
    y = rng.normal(size=(20_000, 1))
    network, forest = y + rng.normal(size=y.shape), y + rng.normal(size=y.shape)  # equally good as a whole
    noisy = forest + rng.normal(size=y.shape)  # the mean over the few trees that evaluate a row
    assert best_weight(predictions(network), predictions(noisy), y) < 0.36
    assert abs(best_weight(predictions(network), predictions(noisy, 1.0), y) - 0.5) < 0.03


def test_only_rows_that_both_models_predict_count():
    y = np.arange(22.0)[:, None]
    own = predictions([99.0, *(y[1:-1, 0] + 0.5)], rows=np.arange(21))
    trees = predictions([*(y[1:-1, 0] - 0.5), 99.0], rows=np.arange(1, 22))
    assert best_weight(own, trees, y) == 0.5
    assert_array_equal(blended(own, trees, 0.5).row, np.arange(1, 21))


def test_too_few_rows_give_a_weight_of_0():
    y = np.zeros((9, 1))
    own, perfect = predictions(np.ones(9)), predictions(np.zeros(9))
    assert best_weight(own, perfect, y) == 0.0
    assert best_weight(predictions(np.ones(10)), predictions(np.zeros(10)), np.zeros((10, 1))) == 0.95


def test_only_stages_that_may_get_a_weight_are_promising():
    rng = np.random.default_rng(0)
    y = rng.normal(size=(400, 1))
    own = predictions(y + 0.1 * rng.normal(size=y.shape))
    assert is_promising(own, predictions(y + 0.1 * rng.normal(size=y.shape)), y)
    assert not is_promising(own, predictions(y + 5 * rng.normal(size=y.shape)), y)


@pytest.mark.parametrize(("share", "worthwhile"), [(0.0, False), (0.1, False), (0.7, True)])
def test_a_part_of_the_rows_shows_whether_a_model_is_worthwhile(share, worthwhile):
    """The other predicts a share of the noise of the network: it takes away about the square of it."""
    rng = np.random.default_rng(0)
    y, noise, other = rng.normal(size=(3, 2_000, 1))
    own = predictions(y + noise)
    part = np.arange(0, 2_000, 4)
    wrong = y + np.sqrt(1 - share**2) * noise + share * other
    assert may_be_worthwhile(own, predictions(wrong[part], rows=part), y, 1.0, False) == worthwhile
    for unit in (1e-3, 1e6):  # no unit of the target matters
        scaled = [predictions(unit * (y + noise)), predictions(unit * wrong[part], rows=part)]
        assert may_be_worthwhile(*scaled, unit * y, np.array([unit]), False) == worthwhile


def test_too_few_rows_do_not_reject_a_model():
    y = np.zeros((20, 1))
    own = predictions(np.zeros(20))
    for part, worthwhile in ((np.arange(0), True), (np.arange(9), True), (np.arange(10), False)):
        assert may_be_worthwhile(own, predictions(np.ones(len(part)), rows=part), y, 1.0, False) == worthwhile


@pytest.mark.parametrize(("power", "worthwhile"), [(1.0, False), (0.5, True)])
def test_of_classes_the_log_loss_decides(power, worthwhile):
    """Probabilities of 0.999 for what happens in 99% of the rows hardly change the squared error."""
    rng = np.random.default_rng(0)
    y = np.eye(2)[(rng.random(4_000) < 0.99).astype(int)]
    certain, right = (np.tile([1 - p, p], (4_000, 1)) for p in (0.999, 0.99))
    own, other = (
        OutOfSamplePredictions.of_all(np.arange(4_000), each, np.ones(4_000))
        for each in (certain, certain if power == 1.0 else right)
    )
    assert may_be_worthwhile(own, other, y, 1.0, True) == worthwhile
    assert not may_be_worthwhile(own, other, y, 1.0, False)


# Fallback.


@pytest.mark.parametrize(("signal", "falls_back"), [(0.0, True), (0.03, True), (1.0, False)])
def test_over_dispersed_predictions_are_blended_with_the_fallback(problem, signal, falls_back):
    """But only as far as the loss stays below that of the trees."""
    network, data, loss = problem
    rng = np.random.default_rng(1)
    y = data.y[:, 0]
    own = predictions(y.mean() + signal * (y - y.mean()) + 0.3 * rng.normal(size=len(y)))
    wanted = _fallback_weight(network, own, data, loss)
    assert (wanted > 0.5) == falls_back
    forecast = own.with_prediction(combination_forecast(data.X, data.y).prediction(data.X))
    weight = _affordable_weight(network, wanted, own, forecast, own, data, loss)
    assert (weight > 0.5) == falls_back
    assert squared_error(blended(own, forecast, weight), data) <= squared_error(own, data)
    perfect = own.with_prediction(data.y)
    assert _affordable_weight(network, 1.0, own, forecast, perfect, data, loss) == 0.0


def test_the_weight_of_the_fallback_is_as_large_as_the_loss_of_the_trees_allows(problem):
    network, data, loss = problem
    own, other, trees = (predictions(data.y + error) for error in (0.0, 1.0, 0.55))  # the loss is the weight squared
    weight = _affordable_weight(network, 0.9, own, other, trees, data, loss)
    assert weight == pytest.approx(0.54)  # 0.9 x 0.6: the next larger step, 0.63, exceeds 0.55


# Stacks.


def test_models_with_independent_errors_are_weighted_by_their_precision(problem):
    network, data, loss = problem
    rng = np.random.default_rng(2)
    own, *others = (predictions(data.y + size * rng.normal(size=data.y.shape)) for size in (0.1, 0.1, 0.2, 5.0))
    trees = nf.ForestNetwork(network.ensemble)
    names = ("good", "fair", "poor")
    candidates = [Candidate(name, trees, each) for name, each in zip(names, others, strict=True)]
    result = stack(network, candidates, own, data, loss, FALLBACK)
    weights = result.network.stacking_weights
    assert list(weights) == ["network", "good", "fair"]
    assert_allclose(list(weights.values()), [4 / 9, 4 / 9, 1 / 9], atol=0.08)
    expected = sum(weights[name] * each.prediction for name, each in zip(weights, (own, *others), strict=False))
    assert_allclose(result.predictions.prediction, expected)
    assert result.loss == pytest.approx(np.mean((expected - data.y) ** 2) / np.var(data.y))
    trees_error = np.mean((trees.predict(data.X) - data.y[:, 0]) ** 2)
    assert result.forest_loss == pytest.approx(trees_error / np.var(data.y))


def test_a_stack_that_is_worse_than_the_trees_is_refused(problem):
    network, data, loss = problem
    rng = np.random.default_rng(3)
    own, other = (predictions(data.y + 4 * rng.normal(size=data.y.shape)) for _ in range(2))
    half = own.with_prediction(own.prediction / 2 + other.prediction / 2)
    assert squared_error(half, data) < squared_error(own, data)  # the candidate lowers the loss of the network
    candidates = [Candidate("poor", nf.ForestNetwork(network.ensemble), other)]
    assert squared_error(half, data) > np.mean((nf.ForestNetwork(network.ensemble).prediction(data.X) - data.y) ** 2)
    assert stack(network, candidates, own, data, loss, FALLBACK) is None


def test_no_candidates_and_calibrated_predictions_give_no_stack(problem):
    network, data, loss = problem
    own = predictions(data.y + 0.1 * np.random.default_rng(4).normal(size=data.y.shape))
    assert stack(network, [], own, data, loss, FALLBACK) is None


def linear(n_features=2, n_outputs=1):
    return LinearModel(*np.ones((4, n_features)), coef=np.ones((n_features, n_outputs)), intercept=np.ones(n_outputs))


def test_base_models_that_do_not_suit_a_network_are_refused():
    rng = np.random.default_rng(0)
    X, y = rng.uniform(size=(60, 2)), rng.normal(size=60)
    network = nf.convert(RandomForestRegressor(3, max_leaf_nodes=5, random_state=0).fit(X, y))
    trees, narrow = (nf.convert(ExtraTreesRegressor(3, random_state=0).fit(X[:, :d], y)) for d in (2, 1))
    classes = nf.convert(RandomForestClassifier(3, random_state=0).fit(X, y > 0))
    strings = nf.convert(RandomForestClassifier(3, random_state=0).fit(X, np.where(y > 0, "a", "b")))
    logits = nf.convert(GradientBoostingClassifier(n_estimators=3).fit(X, y > 0))
    doubles = nf.convert(HistGradientBoostingRegressor(max_iter=2).fit(X, y))
    for message, host, models in (
        ("at most 1", network, [(trees, 1.5)]),
        ("at least 0", network, [(trees, -0.1), (linear(), 0.5)]),
        ("at least 0", network, [(trees, np.nan)]),
        ("at most 1", network, [(trees, 0.6), (linear(), 0.6)]),
        ("link", logits, [(classes, 0.5)]),
        ("classes", classes, [(linear(2, 2), 0.5)]),
        ("classes", classes, [(strings, 0.5)]),
        ("features", network, [(narrow, 0.5)]),
        ("features", network, [(linear(1), 0.5)]),
        ("float32, got float64", network, [(doubles, 0.5)]),
    ):
        with pytest.raises(InvalidParameterError, match=message):
            host.with_base_models(tuple(StackedModel(str(i), *each) for i, each in enumerate(models)))


def test_linear_models_with_impossible_fields_are_refused():
    with pytest.raises(InvalidParameterError, match="scale must be positive"):
        LinearModel(*np.zeros((4, 2)), coef=np.ones((2, 1)), intercept=np.ones(1))
    with pytest.raises(InvalidParameterError, match="shape"):
        LinearModel(*np.ones((4, 2)), coef=np.ones(2), intercept=np.ones(1))
    with pytest.raises(InvalidParameterError, match="as many"):
        LinearModel(*np.ones((4, 3)), coef=np.ones((2, 1)), intercept=np.ones(1))
