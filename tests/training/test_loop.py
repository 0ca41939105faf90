"""The epoch loop: what is kept, when it stops, and how it ends when something goes wrong."""

import math
from dataclasses import replace

import numpy as np
import pytest

import training_twins as twins
from neuralforest.exceptions import ConvergenceWarning
from neuralforest.network import ForestNetwork
from neuralforest.theory import weight_norm
from neuralforest.training import Settings, SubnetworkRows, loop
from training_twins import MODES, train

every_mode = pytest.mark.parametrize("mode", MODES, ids="-".join)


def case(mode=MODES[0], n_rows=60, **options):
    network = twins.soft_network(*mode, **options)
    return network, twins.random_data(network, n_rows)


# --- what is kept ----------------------------------------------------------------------------------------------------


@every_mode
def test_the_parameters_of_the_best_epoch_are_kept(mode):
    network, data = case(mode)
    settings = Settings(max_epochs=8, learning_rate=0.05)
    result = train(network, data, settings)
    history = result.history
    losses = np.vstack([history.forest_loss, history.validation_loss])  # row e + 1 is epoch e
    np.testing.assert_array_equal(history.best_epoch, losses.argmin(axis=0) - 1)
    assert len(set(history.best_epoch)) > 1 or mode[0] == "joint"
    assert history.best_epoch.max() > 0
    for subnetwork, epoch in enumerate(history.best_epoch):
        if epoch >= 0:
            own = slice(*network.layout.first_parameter[subnetwork : subnetwork + 2])
            stopped = twins.run_epochs(network, data, replace(settings, max_epochs=int(epoch)))
            np.testing.assert_array_equal(result.network.soft.parameters[own], stopped.parameters[own])
    np.testing.assert_array_equal(result.network.hard, history.best_epoch == -1)


@every_mode
def test_the_start_is_left_as_it_was(mode):
    network, data = case(mode)
    before = network.soft.parameters.copy()
    train(network, data, Settings(max_epochs=2, weight_decay=1.0))
    np.testing.assert_array_equal(network.soft.parameters, before)


def test_no_epochs_give_the_better_of_start_and_forest():
    network, data = case()
    result = train(network, data, Settings(max_epochs=0))
    assert result.history.n_epochs == 0
    assert set(result.history.best_epoch) <= {-1, 0}
    assert result.validation_loss <= result.forest_loss
    np.testing.assert_array_equal(result.network.soft.parameters, network.soft.parameters)


@every_mode
def test_history_has_a_row_for_every_epoch_and_a_column_for_every_subnetwork(mode):
    network, data = case(mode)
    history = train(network, data, Settings(max_epochs=5)).history
    n_subnetworks = 3 if mode[0] == "independent" else 1
    assert history.training_loss.shape == (5, n_subnetworks)
    assert history.validation_loss.shape == (6, n_subnetworks)
    assert history.forest_loss.shape == history.best_epoch.shape == (n_subnetworks,)
    assert history.seconds.shape == (5,)
    assert (history.seconds > 0).all()
    assert np.isfinite(history.training_loss).all()
    assert np.isfinite(history.validation_loss).all()
    assert history.to_frame().shape == (6, 4)


@every_mode
def test_recorded_losses_are_those_of_the_network_at_that_time(mode):
    network, data = case(mode)
    history = train(network, data, Settings(max_epochs=2)).history
    forest = ForestNetwork(network.ensemble)
    for epoch in range(3):
        state = twins.run_epochs(network, data, Settings(max_epochs=epoch))
        then = network.with_parameters(state.parameters, network.hard)
        for subnetwork in range(network.n_subnetworks):
            row, _ = data.validation.of(subnetwork)
            error = ((then.subnetwork_output(subnetwork, data.X[row]) - data.y[row]) ** 2).mean()
            np.testing.assert_allclose(history.validation_loss[epoch, subnetwork], error, rtol=1e-5)
    if mode[0] == "joint":
        row, _ = data.validation.of(0)
        assert history.forest_loss[0] == pytest.approx(((forest.predict(data.X[row]) - data.y[row, 0]) ** 2).mean())


def test_a_subnetwork_without_validation_rows_stays_a_tree_and_the_others_are_trained():
    network, data = case()
    rows = np.arange(60, 80)
    none = np.arange(0)
    validation = SubnetworkRows.own([rows, none, rows], [np.ones(20), np.ones(0), np.ones(20)])
    result = train(network, replace(data, validation=validation), Settings(max_epochs=3))
    assert np.isnan(result.history.training_loss[:, 1]).all()
    assert np.isfinite(result.history.training_loss[:, [0, 2]]).all()
    assert result.network.hard[1]


def test_the_last_epoch_is_kept_on_request():
    network, data = case()
    settings = Settings(max_epochs=3, learning_rate=0.5)
    result = train(network, data, settings, keep_last=True)
    np.testing.assert_array_equal(result.network.soft.parameters, twins.run_epochs(network, data, settings).parameters)
    np.testing.assert_array_equal(result.history.best_epoch, 3)


# --- when it stops ---------------------------------------------------------------------------------------------------


def test_patience_stops_a_subnetwork_and_leaves_the_others_running():
    network, data = case(sizes=(5, 1, 4, 8))
    result = train(network, data, Settings(max_epochs=40, learning_rate=0.05, n_iter_no_change=3))
    history = result.history
    last = (~np.isnan(history.training_loss)).sum(axis=0)
    assert len(set(last)) > 1
    assert history.n_epochs == last.max() < 40
    for subnetwork, stop in enumerate(last):
        best = np.nanargmin(history.validation_loss[:, subnetwork])
        assert stop == best + 3
        assert np.isnan(history.training_loss[stop:, subnetwork]).all()
        assert np.isnan(history.validation_loss[stop + 1 :, subnetwork]).all()
    assert np.isfinite(history.to_frame()["validation_loss"]).all()


def test_patience_does_not_change_what_is_done_before_it_ends():
    network, data = case()
    patient, hasty = (
        train(network, data, Settings(max_epochs=20, learning_rate=0.05, n_iter_no_change=stop)) for stop in (None, 2)
    )
    ran = ~np.isnan(hasty.history.training_loss)
    np.testing.assert_array_equal(
        hasty.history.training_loss[ran], patient.history.training_loss[: hasty.history.n_epochs][ran]
    )


@every_mode
@pytest.mark.parametrize("rate", [0.3, 0.002], ids=["too fast", "slow"])
def test_cycles_continue_while_the_last_two_are_better_in_the_mean_than_all_before(mode, rate):
    network, data = case(mode)
    settings = Settings(max_epochs=50, learning_rate=rate, schedule="cyclic")
    history = train(network, data, settings).history
    assert settings.cycle_ends == (1, 3, 7, 16, 50)
    assert history.n_epochs == 50 or rate > 0.1
    for begin, end in zip(settings.cycle_ends[:-2], settings.cycle_ends[2:], strict=True):
        if history.n_epochs >= end:
            losses = history.validation_loss
            helped = losses[begin + 1 : end + 1].min(axis=0).mean() < losses[: begin + 1].min(axis=0).mean()
            assert (history.n_epochs > end) == (helped and end < 50)
    assert history.n_epochs in settings.cycle_ends


@every_mode
def test_cycles_of_noise_end_soon(mode):
    network, data = case(mode)
    random = np.random.default_rng(0)
    noise = replace(data, y=random.permutation(data.y))
    result = train(network, noise, Settings(max_epochs=100, learning_rate=0.05, schedule="cyclic"))
    assert result.history.n_epochs < 40
    assert result.validation_loss <= result.forest_loss


def cycle(max_epochs, batch_size, rate):
    return Settings(max_epochs=max_epochs, batch_size=batch_size, learning_rate=rate, schedule="one_cycle")


@every_mode
@pytest.mark.parametrize(
    ("settings", "ends_early"),
    [
        (cycle(50, 8, 0.001), False),
        (cycle(100, 2, 0.02), True),
        (cycle(12, 2, 0.02), None),  # some modes do
        (cycle(5, 1, 0.02), None),
    ],
)
def test_one_cycle_ends_when_the_network_overfits(mode, settings, ends_early):
    """For a tenth of all epochs, or two: validation losses far above the best, and training losses below it."""
    result = train(*twins.nothing_but_noise(*mode), settings)
    last, most = result.history.n_epochs, settings.max_epochs
    losses, training = (each.mean(axis=1) for each in (result.history.validation_loss, result.history.training_loss))
    recent = max(2, most // 10)
    overfits = [
        end
        for end in range(math.ceil(0.4 * most), min(last + 1, most))
        if losses[end - recent + 1 : end + 1].min() > 1.3 * losses[: end + 1].min()
        and training[end - recent : end].max() < losses[: end + 1].min()
    ]
    assert overfits == ([last] if last < most else [])
    assert ends_early in (None, last < most)
    assert result.validation_loss <= result.forest_loss


def test_a_subnetwork_without_validation_rows_does_not_keep_others_from_ending():
    network, data = twins.nothing_but_noise()
    whole = train(network, data, cycle(50, 8, 0.02)).history.n_epochs
    rows = [data.validation.of(subnetwork) for subnetwork in range(network.n_subnetworks)]
    rows[1] = tuple(part[:0] for part in rows[1])
    partly = replace(data, validation=SubnetworkRows.own(*zip(*rows, strict=True)))
    assert whole < 50
    assert train(network, partly, cycle(50, 8, 0.02)).history.n_epochs < 50


@pytest.mark.parametrize("rate", [0.05, 0.2])
def test_steps_that_are_too_large_for_a_while_are_not_taken_for_overfitting(rate):
    """Training losses and validation losses rise with the learning rate, and fall with it."""
    network, data = case(n_rows=400)
    y = np.exp(2 * np.clip(np.nan_to_num(data.X[:, :1]), -2, 2)) * np.ones((1, data.y.shape[1]))
    settings = Settings(max_epochs=40, learning_rate=rate, schedule="one_cycle")
    history = train(network, replace(data, y=y / y.std()), settings).history
    assert history.n_epochs == 40


@every_mode
def test_other_schedules_and_targets_with_a_signal_go_on_to_the_end(mode):
    network, data = case(mode)
    noise = replace(data, y=np.random.default_rng(0).permutation(data.y))
    for schedule, rows, rate in (("one_cycle", data, 0.01), ("constant", noise, 0.3), ("cosine", noise, 0.3)):
        settings = Settings(max_epochs=20, learning_rate=rate, schedule=schedule)
        assert train(network, rows, settings).history.n_epochs == 20


def test_a_callback_is_called_after_every_epoch_and_may_stop():
    network, data = case()
    calls = []

    def stop_at_three(epoch, history):
        calls.append((epoch, history.n_epochs, len(history.validation_loss)))
        return epoch == 3

    result = train(network, data, Settings(max_epochs=10), callback=stop_at_three)
    assert calls == [(1, 1, 2), (2, 2, 3), (3, 3, 4)]
    assert result.history.n_epochs == 3
    assert result.interrupted
    assert not train(network, data, Settings(max_epochs=2), callback=lambda *_: None).interrupted


def test_a_callback_that_fails_is_not_hidden():
    network, data = case()

    def fail(epoch, history):
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        train(network, data, Settings(max_epochs=2), callback=fail)


@every_mode
def test_ctrl_c_keeps_the_last_complete_epoch(mode):
    network, data = case(mode)

    def interrupt(epoch, history):
        if epoch == 3:
            raise KeyboardInterrupt

    with pytest.warns(ConvergenceWarning, match="interrupted after epoch 3 of 10; the best state so far is kept"):
        result = train(network, data, Settings(max_epochs=10), callback=interrupt)
    expected = train(network, data, Settings(max_epochs=3))
    assert result.interrupted
    np.testing.assert_array_equal(result.history.validation_loss, expected.history.validation_loss)
    np.testing.assert_array_equal(result.network.soft.parameters, expected.network.soft.parameters)


def test_ctrl_c_in_the_middle_of_an_epoch_drops_that_epoch(monkeypatch):
    network, data = case()
    epochs = []
    whole = loop.trainer

    class Interrupted:
        def __init__(self, *arguments):
            self.manager = whole(*arguments)

        def __enter__(self):
            work = self.manager.__enter__()

            def train_epoch(state):
                losses = type(work).train_epoch(work, state)  # the kernel has run: the parameters have moved on
                epochs.append(state.epoch)
                if len(epochs) == 3:
                    raise KeyboardInterrupt
                return losses

            object.__setattr__(work, "train_epoch", train_epoch)
            return work

        def __exit__(self, *error):
            return self.manager.__exit__(*error)

    monkeypatch.setattr(loop, "trainer", Interrupted)
    with pytest.warns(ConvergenceWarning, match="after epoch 2 of 10"):
        result = train(network, data, Settings(max_epochs=10))
    monkeypatch.undo()
    expected = train(network, data, Settings(max_epochs=2))
    np.testing.assert_array_equal(result.history.validation_loss, expected.history.validation_loss)
    np.testing.assert_array_equal(result.network.soft.parameters, expected.network.soft.parameters)


# --- divergence ------------------------------------------------------------------------------------------------------


def assert_sound(result, data):
    assert result.validation_loss <= result.forest_loss
    assert np.isfinite(result.validation_loss)
    assert np.isfinite(result.network.predict(data.X)).all()


@every_mode
def test_a_learning_rate_that_overflows_ends_in_the_guards_choice_with_a_warning(mode):
    network, data = case(mode)
    n = network.n_subnetworks
    with pytest.warns(ConvergenceWarning, match=f"{n} of {n} networks diverged"):
        result = train(network, data, Settings(max_epochs=4, learning_rate=1e30))
    assert_sound(result, data)
    assert result.history.best_epoch.max() <= 0
    assert result.history.n_epochs == 1  # what has diverged is not trained on


@pytest.mark.parametrize("rate", [1e2, 1e6, 1e12])
@every_mode
def test_a_huge_learning_rate_ends_in_the_guards_choice_with_a_warning(mode, rate):
    network, data = case(mode)
    n = network.n_subnetworks
    with pytest.warns(ConvergenceWarning, match=f"{n} of {n} networks diverged"):
        result = train(network, data, Settings(max_epochs=4, learning_rate=rate))
    assert_sound(result, data)
    assert result.history.best_epoch.max() <= 0


@every_mode
def test_targets_beyond_single_precision_end_in_the_forest_with_a_warning(mode):
    network, _ = case(mode)
    ensemble = replace(network.ensemble, value=network.ensemble.value * 1e30)
    network = ForestNetwork(ensemble).soften((2, 1), training=mode[0], connectivity=mode[1])
    data = twins.random_data(network)
    data = replace(data, y=data.y * 1e30)
    with pytest.warns(ConvergenceWarning, match="networks diverged"):
        result = train(network, data, Settings(max_epochs=3))
    assert_sound(result, data)
    np.testing.assert_array_equal(result.history.best_epoch, -1)
    np.testing.assert_array_equal(result.network.predict(data.X), ForestNetwork(ensemble).predict(data.X))


def test_one_subnetwork_that_diverges_leaves_the_others_running():
    network, data = case()
    parameters = network.soft.parameters.copy()
    subnetwork = twins.Subnetwork(network, 2)
    parameters[subnetwork.own][subnetwork.W_out.ravel()] = 1e25
    network = network.with_parameters(parameters, network.hard)
    with pytest.warns(ConvergenceWarning, match="1 of 3 networks diverged"):
        result = train(network, data, Settings(max_epochs=4))
    assert_sound(result, data)
    assert np.isfinite(result.history.training_loss[:, 0]).all()
    assert np.isnan(result.history.training_loss[1:, 2]).all()


# --- the bound of the theory -----------------------------------------------------------------------------------------


@every_mode
def test_the_bound_holds_after_training(mode):
    network, data = case(mode)
    settings = Settings(max_epochs=3, learning_rate=0.3, weight_bound=0.8)
    free, bounded = (
        twins.run_epochs(network, data, replace(settings, weight_bound=bound)).parameters for bound in (None, 0.8)
    )
    norms = {}
    for name, parameters in (("free", free), ("bounded", bounded)):
        trained = network.with_parameters(parameters, network.hard)
        layers = [trained.layers(subnetwork) for subnetwork in range(network.n_subnetworks)]
        norms[name] = [weight_norm(each.W2, each.b2, each.W_out, each.b_out) / len(each.b2) for each in layers]
    assert max(norms["bounded"]) <= settings.weight_bound * (1 + 1e-5)
    assert max(norms["free"]) > settings.weight_bound


@every_mode
def test_a_bound_that_is_never_reached_changes_nothing(mode):
    network, data = case(mode)
    settings = Settings(max_epochs=3)
    free, bounded = (twins.run_epochs(network, data, replace(settings, weight_bound=bound)) for bound in (None, 1e6))
    np.testing.assert_array_equal(bounded.parameters, free.parameters)


def test_a_bound_gives_the_same_bits_for_any_number_of_threads():
    for mode in MODES:
        network, data = case(mode)
        states = [
            twins.run_epochs(network, data, Settings(max_epochs=2, learning_rate=0.3, weight_bound=0.8), n_jobs=n_jobs)
            for n_jobs in (1, 3)
        ]
        np.testing.assert_array_equal(states[0].parameters, states[1].parameters)


# --- shuffles --------------------------------------------------------------------------------------------------------


def test_every_epoch_has_another_order():
    """With a rate of 0 the weights stay, so only the order of the rows can change what Adam's moments become."""
    network, data = case(n_rows=64)
    moments = [
        twins.run_epochs(network, data, Settings(max_epochs=epochs, learning_rate=0.0, betas=(0.0, 0.9))).first_moment
        for epochs in (1, 2, 3)
    ]
    assert not np.array_equal(moments[0], moments[1])  # the gradient of the last minibatch of each epoch
    assert not np.array_equal(moments[1], moments[2])
