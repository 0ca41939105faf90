"""A model is compared by the error that it has when it is fitted on all rows, not by that of its copies for folds."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from neuralforest.selection import OutOfSamplePredictions
from neuralforest.selection.expected_loss import expected_loss
from neuralforest.selection.learning_curve import as_of_all_rows, probabilities_as_of_all_rows
from neuralforest.selection.stacking import blended
from neuralforest.training.losses import LOG_LOSS

N_ROWS, N_FOLDS = 200, 5


def cross_validated(seed, n_features=20):
    """Return by how much linear regression is better than its copies for folds, as corrected for and on new rows."""
    rng = np.random.default_rng(seed)
    X, new = rng.normal(size=(N_ROWS, n_features)), rng.normal(size=(4_000, n_features))
    coefficients = rng.normal(size=n_features)
    y, y_new = X @ coefficients + rng.normal(size=N_ROWS), new @ coefficients + rng.normal(size=len(new))
    fold = rng.permutation(N_ROWS) % N_FOLDS
    lacking, errors = [np.zeros(N_ROWS), np.zeros(N_ROWS)], []

    def fitted(rows):
        return np.linalg.lstsq(X[rows], y[rows], rcond=None)[0]

    for each in range(N_FOLDS):
        inside = fold == each
        copies = fitted(~inside), fitted(~inside & (fold != (each + 1) % N_FOLDS))
        for prediction, copy in zip(lacking, copies, strict=True):
            prediction[inside] = X[inside] @ copy
        errors.append(np.mean((y_new - new @ copies[0]) ** 2))
    predictions = of_rows(lacking[0][:, None])
    corrected = as_of_all_rows(predictions, of_rows(lacking[1][:, None]), y[:, None], N_FOLDS)
    assert_array_equal(corrected.prediction, predictions.prediction)
    return corrected.excess_variance.mean(), np.mean(errors) - np.mean((y_new - new @ fitted(slice(None))) ** 2)


def of_rows(prediction, weight=None):
    n = len(prediction)
    return OutOfSamplePredictions.of_all(np.arange(n), prediction, np.ones(n) if weight is None else weight)


def test_the_excess_is_what_the_model_gains_by_the_last_fold():
    corrected, on_new_rows = np.mean([cross_validated(seed) for seed in range(200)], axis=0)
    assert on_new_rows > 0.02
    assert corrected == pytest.approx(on_new_rows, rel=0.35)


def test_a_steep_curve_is_followed_as_far_as_it_is_measured_exactly():
    rng = np.random.default_rng(0)
    for n, lowest, highest in ((60, 0.05, 0.35), (50_000, 0.35, 0.45)):
        y = rng.normal(size=(n, 1))
        more, fewer = (of_rows(y + size * rng.normal(size=(n, 1))) for size in (1.0, np.sqrt(1 + 0.4 * 5 / 3)))
        excess = as_of_all_rows(more, fewer, y, N_FOLDS).excess_variance
        assert lowest < excess.mean() < highest


def test_copies_with_the_same_errors_gain_nothing_and_rows_without_weight_do_not_count():
    y = np.repeat([0.0, 1.0, 1.5], 40)[:, None]
    both = of_rows(np.repeat([0.0, 1.0, 1.0], 40)[:, None])
    assert_array_equal(as_of_all_rows(both, both, y, N_FOLDS).excess_variance, 0.0)
    weight = np.repeat([0.0, 1.0, 1.0], 40)
    more = of_rows(both.prediction, weight)
    fewer = more.restrict(np.arange(40))  # rows without weight alone
    assert_allclose(
        as_of_all_rows(more, fewer, y, N_FOLDS).excess_variance, as_of_all_rows(more, None, y, N_FOLDS).excess_variance
    )


def test_without_a_measurement_and_for_one_worth_nothing_the_last_fold_takes_the_usual_part():
    rng = np.random.default_rng(0)
    y = rng.normal(size=(30, 2)) * (1.0, 1_000.0)
    predictions = of_rows(np.zeros((30, 2)), rng.uniform(size=30))
    error = np.average(y**2, axis=0, weights=predictions.weight)
    expected = np.tile(0.05 * error, (30, 1))
    assert_allclose(as_of_all_rows(predictions, None, y, N_FOLDS).excess_variance, expected)
    wild = 1e3 * rng.normal(size=(30, 2)) * (1.0, 1_000.0)
    assert_allclose(
        as_of_all_rows(predictions, of_rows(wild), y, N_FOLDS).excess_variance.mean(axis=0), expected[0], rtol=0.05
    )


def test_the_excess_variance_of_few_trees_comes_on_top_and_rows_without_weight_do_not_count():
    rng = np.random.default_rng(0)
    y, weight = rng.normal(size=(100, 1)), np.repeat([1.0, 0.0], 50)
    own = rng.uniform(0.0, 0.1, size=(100, 1))
    predictions = of_rows(np.zeros((100, 1)), weight)._replace(excess_variance=own)
    fewer = rng.normal(size=(100, 1))
    result = as_of_all_rows(predictions, of_rows(fewer), y, N_FOLDS).excess_variance - own
    other = fewer.copy()
    other[50:] = 100.0
    assert_allclose(as_of_all_rows(predictions, of_rows(other), y, N_FOLDS).excess_variance - own, result)
    assert_allclose(result, np.tile(result[:1], (100, 1)))
    assert 0 < result[0, 0] <= 0.5 * (y[:50] ** 2 - own[:50]).mean()


def test_a_model_without_errors_has_no_excess():
    y = np.arange(60.0)[:, None]
    excess = as_of_all_rows(of_rows(y), of_rows(y + 1), y, N_FOLDS).excess_variance
    assert_array_equal(excess, 0)


def log_loss(predictions, y):
    """Return the log loss without the excess variance."""
    target, excess = y[predictions.row].astype(float), predictions.excess_variance
    return expected_loss(LOG_LOSS, "identity", predictions.prediction, target, predictions.weight, excess)


def test_noise_that_costs_a_twentieth_is_subtracted_of_the_model_and_of_its_stacks():
    rng = np.random.default_rng(0)
    model, other = rng.dirichlet(np.full(3, 2.0), size=(2, 20_000))
    y = np.array([rng.multinomial(1, each) for each in model])
    noisy = np.array([rng.multinomial(16, each) for each in model]) / 16  # the model of all rows, and noise
    noisy = 0.8 * noisy + 0.2 * model
    corrected = probabilities_as_of_all_rows(of_rows(noisy), y)
    assert log_loss(of_rows(noisy), y) * 0.95 == pytest.approx(log_loss(of_rows(model), y), rel=0.01)
    for weight in (1.0, 0.7, 0.4):
        measured, wanted, found = (
            log_loss(blended(of_rows(other), each, weight), y) for each in (of_rows(noisy), of_rows(model), corrected)
        )
        assert measured - found == pytest.approx(measured - wanted, rel=0.2)


@pytest.mark.parametrize("confident", [1.0, 4.0])
def test_a_twentieth_of_the_log_loss_is_subtracted_of_the_whole_model_and_less_in_a_stack(confident):
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(3), 500)
    y = np.array([rng.multinomial(1, each) for each in p])
    p = p**confident / (p**confident).sum(axis=1, keepdims=True)
    predictions = of_rows(p)
    corrected = probabilities_as_of_all_rows(predictions, y)
    before, after = (log_loss(each, y) for each in (predictions, corrected))
    assert after == pytest.approx(0.95 * before, rel=0.01)
    mean, with_mean = (blended(of_rows(np.full((500, 3), 1 / 3)), each, 0.5) for each in (predictions, corrected))
    assert 0 <= log_loss(mean, y) - log_loss(with_mean, y) < 0.5 * (before - after)


def test_probabilities_without_errors_and_rows_without_weight_change_nothing():
    y = np.eye(2)[np.repeat([0, 1], 50)]
    assert_array_equal(probabilities_as_of_all_rows(of_rows(y), y).excess_variance, 0)
    p, weight = np.random.default_rng(0).dirichlet(np.ones(2), 100), np.repeat([1.0, 0.0], 50)
    other = p.copy()
    other[50:] = p[50:, ::-1]
    one, two = (probabilities_as_of_all_rows(of_rows(each, weight), y) for each in (p, other))
    assert one.excess_variance.any()
    assert_allclose(one.excess_variance, two.excess_variance)
