"""Losses by name."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import log_loss

from neuralforest._kernels.network import losses as kernels
from neuralforest.exceptions import InvalidParameterError
from neuralforest.training import Loss, resolve_loss
from training_twins import random_ensemble


def error_of(name, parameter, ensemble):
    with pytest.raises(InvalidParameterError) as caught:
        resolve_loss(name, parameter, ensemble)
    return str(caught.value)


@pytest.mark.parametrize(
    ("name", "parameter", "kind", "expected"),
    [
        ("auto", None, "mean", Loss("squared_error", kernels.SQUARED_ERROR)),
        ("auto", None, "sum", Loss("squared_error", kernels.SQUARED_ERROR)),
        ("squared_error", None, "mean", Loss("squared_error", kernels.SQUARED_ERROR)),
        ("huber", None, "mean", Loss("huber", kernels.HUBER, 1.35)),
        ("huber", 2, "mean", Loss("huber", kernels.HUBER, 2.0)),
        ("quantile", 0.5, "mean", Loss("quantile", kernels.QUANTILE, 0.5)),
        ("quantile", 0.9, "sum", Loss("quantile", kernels.QUANTILE, 0.9)),
        ("auto", None, "forest", Loss("log_loss", kernels.LOG_PROBABILITY, 0.0)),
        ("log_loss", None, "softmax", Loss("log_loss", kernels.LOG_SOFTMAX, 0.0)),
    ],
)
def test_names_become_losses_of_the_outputs(name, parameter, kind, expected):
    assert resolve_loss(name, parameter, random_ensemble(kind=kind, n_outputs=3)) == expected


def test_a_log_odds_has_the_logistic_loss():
    assert resolve_loss("auto", None, random_ensemble(kind="logit")).code == kernels.LOG_LOGISTIC


@pytest.mark.parametrize("name", ["squared_error", "hinge"])
def test_classifiers_have_the_log_loss_alone(name):
    message = error_of(name, None, random_ensemble(kind="forest", n_outputs=2))
    assert message.startswith("loss must be 'log_loss' for a classifier with an identity, logit or softmax link")
    assert f"got {name!r} for a identity link" in message


def test_a_probit_link_cannot_be_trained():
    ensemble = replace(random_ensemble(kind="logit"), link="probit")
    assert "for a probit link" in error_of("auto", None, ensemble)


@pytest.mark.parametrize("name", ["log_loss", "mse"])
def test_regressors_have_losses_of_residuals(name):
    message = error_of(name, None, random_ensemble())
    assert message == f"loss must be one of ['huber', 'quantile', 'squared_error'] for a regressor, got {name!r}"


def test_trees_of_a_logarithm_cannot_be_trained():
    message = error_of("auto", None, replace(random_ensemble(kind="sum"), link="log"))
    assert message == (
        "training needs trees that predict the target itself, and these predict its log: refit the source with a "
        "squared error"
    )


@pytest.mark.parametrize(
    ("name", "parameter"),
    [("huber", 0), ("huber", -1), ("quantile", None), ("quantile", 0), ("quantile", 1.0), ("quantile", 2)],
)
def test_parameters_lie_in_their_range(name, parameter):
    message = error_of(name, parameter, random_ensemble())
    assert message == f"loss_parameter must be positive for 'huber', in (0, 1) for 'quantile', got {parameter}"


def test_a_mean_loss_is_weighted_and_infinite_where_it_is_nan():
    loss = Loss("squared_error", kernels.SQUARED_ERROR)
    prediction, target = np.array([[1.0], [2.0]]), np.array([[0.0], [0.0]])
    assert loss.mean(prediction, target, np.array([3.0, 1.0])) == pytest.approx((3 * 1 + 1 * 4) / 4)
    assert loss.mean(prediction * np.nan, target, np.ones(2)) == np.inf
    assert loss.mean(prediction[:0], target[:0], np.ones(0)) == np.inf


def test_the_log_loss_of_probabilities_is_that_of_scikit_learn():
    rng = np.random.default_rng(0)
    probability, code = rng.dirichlet(np.ones(3), size=20), rng.integers(3, size=20)
    weight = rng.random(20)
    ours = Loss("log_loss", kernels.LOG_PROBABILITY, 0.0).mean(probability, np.eye(3)[code], weight)
    assert ours == pytest.approx(log_loss(code, probability, labels=[0, 1, 2], sample_weight=weight), rel=1e-9)
