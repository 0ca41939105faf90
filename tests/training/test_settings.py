"""Settings: what they refuse, and the learning rate over the epochs."""

import math
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuralforest._kernels.network import losses
from neuralforest.exceptions import InvalidParameterError
from neuralforest.training import Loss, Settings


def error_of(**options):
    with pytest.raises(InvalidParameterError) as caught:
        Settings(**options)
    return str(caught.value)


def test_the_defaults_are_the_papers():
    settings = Settings()
    assert (settings.max_epochs, settings.batch_size, settings.learning_rate) == (100, 32, 0.001)
    assert (settings.betas, settings.epsilon, settings.schedule) == ((0.9, 0.999), 1e-8, "constant")
    assert (settings.weight_decay, settings.n_iter_no_change, settings.weight_bound) == (0.0, None, None)


def test_settings_cannot_be_changed():
    with pytest.raises(FrozenInstanceError):
        Settings().batch_size = 3


@pytest.mark.parametrize("name", ["max_epochs", "batch_size", "n_iter_no_change"])
@pytest.mark.parametrize("value", [-1, 2.0, "3"])
def test_counts_are_whole_numbers(name, value):
    least = 0 if name == "max_epochs" else 1
    assert error_of(**{name: value}) == f"{name} must be a whole number of at least {least}, got {value!r}"


def test_no_epoch_is_legal_and_no_batch_is_not():
    assert Settings(max_epochs=0).max_epochs == 0
    assert error_of(batch_size=0) == "batch_size must be a whole number of at least 1, got 0"
    assert error_of(n_iter_no_change=0) == "n_iter_no_change must be a whole number of at least 1, got 0"


@pytest.mark.parametrize("rate", [-0.1, math.nan, math.inf, (0.1, 0.1), (0.1, 0.1, -1.0), ((0.1, 0.1, 0.1),)], ids=str)
def test_learning_rates_are_one_number_or_three(rate):
    assert (
        error_of(learning_rate=rate)
        == f"learning_rate must be a number of at least 0, or three for the layers, got {rate!r}"
    )


def test_one_learning_rate_serves_all_layers():
    assert Settings(learning_rate=0.5).rates.tolist() == [0.5, 0.5, 0.5]
    assert Settings(learning_rate=(1, 2, 0)).rates.tolist() == [1.0, 2.0, 0.0]


def test_schedules_have_names():
    assert error_of(schedule="step") == "schedule must be 'constant', 'cosine', 'one_cycle' or 'cyclic', got 'step'"


@pytest.mark.parametrize("betas", [(0.9,), (0.9, 1.0), (-0.1, 0.9), (0.9, 0.9, 0.9)], ids=str)
def test_betas_are_two_numbers_below_one(betas):
    assert error_of(betas=betas) == f"betas must be two numbers in [0, 1), got {betas!r}"


@pytest.mark.parametrize(
    "options", [{"epsilon": 0.0}, {"epsilon": math.nan}, {"weight_decay": -1.0}, {"weight_decay": math.inf}]
)
def test_epsilon_is_positive_and_decay_not_negative(options):
    message = error_of(**options)
    assert message.startswith("epsilon must be positive and weight_decay at least 0, got ")
    assert repr(next(iter(options.values()))) in message


@pytest.mark.parametrize("bound", [0, -1.0, math.nan])
def test_bounds_are_positive(bound):
    assert error_of(weight_bound=bound) == f"weight_bound must be positive, or None for no bound, got {bound!r}"


@pytest.mark.parametrize("seed", [-1, 2**63, 1.5, None])
def test_seeds_are_whole_numbers_that_the_kernels_can_hold(seed):
    assert error_of(seed=seed) == f"seed must be a whole number from 0 to 2**63 - 1, got {seed!r}"
    assert Settings(seed=np.int64(2**63 - 1)).seed == 2**63 - 1


def test_a_constant_rate_stays():
    assert [Settings().rate_at(progress) for progress in (0, 0.5, 1)] == [1, 1, 1]


def test_a_cosine_falls_from_one_to_zero():
    rates = [Settings(schedule="cosine").rate_at(progress) for progress in np.linspace(0, 1, 21)]
    np.testing.assert_allclose(rates, (1 + np.cos(np.pi * np.linspace(0, 1, 21))) / 2, atol=1e-12)
    assert (rates[0], rates[10], rates[20]) == (1, 0.5, 0)


def test_one_cycle_rises_for_three_tenths_and_falls_to_zero():
    rate = Settings(schedule="one_cycle").rate_at
    rates = np.array([rate(progress) for progress in np.linspace(0, 1, 1001)])
    assert rates[0] == pytest.approx(0.04)
    assert rates.argmax() == 300
    assert rates.max() == 1
    assert (np.diff(rates[:301]) > 0).all()
    assert (np.diff(rates[300:]) < 0).all()
    assert rates[-1] == 0
    assert np.abs(np.diff(rates)).max() < 0.01  # without a jump


@given(st.integers(1, 500))
def test_cycles_grow_and_fill_all_epochs(max_epochs):
    settings = Settings(max_epochs=max_epochs, schedule="cyclic")
    ends = settings.cycle_ends
    lengths = np.diff([0, *ends])
    assert ends[-1] == max_epochs
    assert (lengths > 0).all()
    assert len(ends) <= 5
    assert (np.diff(lengths) >= 0).all() or max_epochs < 47
    for begin, end in zip([0, *ends[:-1]], ends, strict=True):  # each is one cycle of its own
        alone = Settings(max_epochs=end - begin, schedule="one_cycle")
        for epoch in range(begin, end):
            assert settings.factors_of(epoch) == alone.factors_of(epoch - begin)


def test_other_schedules_are_one_cycle():
    for schedule in ("constant", "cosine", "one_cycle"):
        settings = Settings(max_epochs=10, schedule=schedule)
        assert settings.cycle_ends == (10,)
        assert settings.factors_of(4) == (settings.rate_at(0.4), settings.rate_at(0.5))
    assert Settings(max_epochs=0, schedule="cyclic").cycle_ends == (0,)


def test_plans_hold_what_kernels_take():
    settings = Settings(np.int64(100), np.int64(7), (1, 2, 3), betas=(0.5, 0.25), weight_decay=2, weight_bound=4)
    plan = settings.plan(Loss("huber", losses.HUBER, 1.5))
    assert (plan.batch_size, plan.loss, plan.loss_parameter) == (7, losses.HUBER, 1.5)
    assert (plan.beta1, plan.beta2, plan.epsilon, plan.weight_decay, plan.weight_bound) == (0.5, 0.25, 1e-8, 2.0, 4.0)
    assert plan.rates.tolist() == [1.0, 2.0, 3.0]
    assert Settings().plan(Loss("huber", losses.HUBER)).weight_bound is None
    assert {type(value) for value in plan._replace(rates=0.0)} == {int, float}  # one compiled version of every kernel
