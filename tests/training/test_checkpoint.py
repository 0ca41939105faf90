"""Checkpoints: a fit that is stopped and resumed, and damaged files."""

import os
from dataclasses import replace

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import given, settings
from hypothesis import strategies as st

import training_twins as twins
from neuralforest.exceptions import CheckpointError, ConvergenceWarning, InvalidParameterError
from neuralforest.training import Checkpoint, Settings
from training_twins import MODES, train

SETTINGS = Settings(max_epochs=6, learning_rate=0.05, schedule="cosine", weight_decay=1.0, n_iter_no_change=4)


def case(mode=MODES[0], seed=0):
    network = twins.soft_network(*mode, sizes=(5, 1, 4), seed=seed)
    return network, twins.random_data(network, weighted=True)


def stop_after(epoch):
    return lambda number, history: number == epoch


def assert_same(one, two):
    for name in ("training_loss", "validation_loss", "forest_loss", "best_epoch"):
        np.testing.assert_array_equal(getattr(one.history, name), getattr(two.history, name))
    np.testing.assert_array_equal(one.network.soft.parameters, two.network.soft.parameters)
    np.testing.assert_array_equal(one.network.hard, two.network.hard)
    assert one.validation_loss == two.validation_loss


@pytest.mark.parametrize("mode", MODES, ids="-".join)
def test_a_fit_resumed_from_any_epoch_equals_the_uninterrupted_one(mode, tmp_path):
    network, data = case(mode)
    whole = train(network, data, SETTINGS)
    for epoch in range(1, 6):
        path = tmp_path / f"{epoch}.safetensors"
        first = train(network, data, SETTINGS, checkpoint=Checkpoint(path, every=1), callback=stop_after(epoch))
        assert first.history.n_epochs == epoch
        assert_same(train(network, data, SETTINGS, checkpoint=Checkpoint(path, every=1), n_jobs=2), whole)


def test_a_fit_may_be_stopped_many_times(tmp_path):
    network, data = case()
    for epoch in range(1, 7):
        last = train(
            network, data, SETTINGS, checkpoint=Checkpoint(tmp_path / "c", every=1), callback=stop_after(epoch)
        )
    assert_same(last, train(network, data, SETTINGS))


def test_a_finished_fit_is_read_and_not_repeated(tmp_path):
    network, data = case()
    whole = train(network, data, SETTINGS, checkpoint=Checkpoint(tmp_path / "c", every=100))
    calls = []
    again = train(network, data, SETTINGS, checkpoint=Checkpoint(tmp_path / "c"), callback=lambda *a: calls.append(a))
    assert_same(again, whole)
    np.testing.assert_array_equal(again.history.seconds, whole.history.seconds)
    assert not calls


def test_a_cycle_that_ended_early_is_not_continued(tmp_path):
    case = twins.nothing_but_noise()
    settings = Settings(max_epochs=50, batch_size=8, learning_rate=0.02, schedule="one_cycle")
    whole = train(*case, settings)
    assert whole.history.n_epochs < 50
    for epoch in (5, whole.history.n_epochs):
        path = tmp_path / f"{epoch}.safetensors"
        train(*case, settings, checkpoint=Checkpoint(path, every=1), callback=stop_after(epoch))
        assert_same(train(*case, settings, checkpoint=Checkpoint(path, every=1)), whole)


def test_a_file_is_written_every_few_epochs_and_at_the_end(tmp_path, monkeypatch):
    network, data = case()
    written = []
    save = safetensors.numpy.save

    def record(arrays, metadata):
        written.append(int(metadata["epoch"]))
        return save(arrays, metadata)

    monkeypatch.setattr(safetensors.numpy, "save", record)
    train(
        network, data, replace(SETTINGS, max_epochs=7, n_iter_no_change=None), checkpoint=Checkpoint(tmp_path / "c", 3)
    )
    assert written == [3, 6, 7]


def test_an_epoch_is_lost_when_a_fit_is_stopped_between_two_files(tmp_path):
    network, data = case()
    settings = replace(SETTINGS, n_iter_no_change=None)
    train(network, data, settings, checkpoint=Checkpoint(tmp_path / "c", every=2), callback=stop_after(5))
    epochs = []
    resumed = train(
        network, data, settings, checkpoint=Checkpoint(tmp_path / "c", every=2), callback=lambda e, _: epochs.append(e)
    )
    assert epochs == [5, 6]
    assert_same(resumed, train(network, data, settings))


def test_a_divergence_on_file_is_remembered(tmp_path):
    network, data = case()
    settings = replace(SETTINGS, learning_rate=1e30)
    results = []
    for _ in range(2):
        with pytest.warns(ConvergenceWarning, match="diverged"):
            results.append(train(network, data, settings, checkpoint=Checkpoint(tmp_path / "c")))
    assert_same(*results)


# --- what is refused -------------------------------------------------------------------------------------------------


@pytest.fixture
def half(tmp_path):
    """A fit that was stopped after three epochs, and its file."""
    network, data = case()
    path = tmp_path / "fit.safetensors"
    train(network, data, SETTINGS, checkpoint=Checkpoint(path, every=1), callback=stop_after(3))
    return network, data, path


def assert_refused(network, data, path, text, settings=SETTINGS, **options):
    with pytest.raises(CheckpointError, match=text) as caught:
        train(network, data, settings, checkpoint=Checkpoint(path), **options)
    assert str(path) in str(caught.value)


def test_the_file_of_another_fit_is_refused(half):
    network, data, path = half
    text = "belongs to another fit"
    assert_refused(network, data, path, text, settings=replace(SETTINGS, max_epochs=7))
    assert_refused(network, data, path, text, settings=replace(SETTINGS, seed=1))
    assert_refused(network, data, path, text, loss="huber")
    assert_refused(network, data, path, text, loss="quantile", loss_parameter=0.5)
    assert_refused(network, replace(data, y=data.y + 1e-3), path, text)
    assert_refused(network, replace(data, X=data.X[::-1].copy()), path, text)
    assert_refused(network, replace(data, validation=data.fit), path, text)
    weight = replace(data.fit, weight=2 * data.fit.weight)
    assert_refused(network, replace(data, fit=weight), path, text)
    assert_refused(twins.disturbed(network), data, path, text)
    assert_refused(*case(seed=1), path, text)
    assert_refused(*case(MODES[2]), path, text)
    other = network.ensemble
    assert_refused(type(network)(other).soften((3.0, 1.0)), data, path, text)


def test_a_truncated_file_is_refused(half):
    network, data, path = half
    content = path.read_bytes()
    for length in (0, 1, 7, 8, 100, len(content) // 2, len(content) - 1):
        path.write_bytes(content[:length])
        assert_refused(network, data, path, "is not a checkpoint or is damaged .*; delete it to start anew")


def test_every_flipped_bit_is_detected(half):
    network, data, path = half
    content = path.read_bytes()
    header = 8 + int.from_bytes(content[:8], "little")

    @settings(max_examples=150, deadline=None, derandomize=True)
    @given(st.one_of(st.integers(0, header - 1), st.integers(header, len(content) - 1)), st.integers(0, 7))
    def check(position, bit):
        changed = bytearray(content)
        changed[position] ^= 1 << bit
        path.write_bytes(changed)
        checkpoint = Checkpoint(path)
        checkpoint.open(network, data, SETTINGS, twins.resolve_loss("auto", None, network.ensemble))
        state = twins.State(network, SETTINGS)
        try:
            checkpoint.load(state)
        except CheckpointError:
            return
        # a space of the header, or an unused name: the state must be what was written
        path.write_bytes(content)
        expected = twins.State(network, SETTINGS)
        checkpoint.load(expected)
        assert state.epoch == expected.epoch == 3
        for name, value in vars(expected).items():
            np.testing.assert_array_equal(getattr(state, name), value)

    check()


def test_a_file_of_another_version_is_refused(half):
    network, data, path = half
    checkpoint = Checkpoint(path)
    checkpoint.open(network, data, SETTINGS, twins.resolve_loss("auto", None, network.ensemble))
    state = twins.State(network, SETTINGS)
    state.of_a_later_version = np.zeros(3)
    with pytest.raises(CheckpointError, match="another version"):
        checkpoint.load(state)


def test_a_changed_epoch_number_is_detected(half):
    network, data, path = half
    content = path.read_bytes()
    assert content.count(b'"epoch":"3"') == 1
    path.write_bytes(content.replace(b'"epoch":"3"', b'"epoch":"2"'))
    assert_refused(network, data, path, "its checksum does not fit")


def test_a_write_that_fails_leaves_the_last_file(half, monkeypatch):
    network, data, path = half
    before = path.read_bytes()

    def fail(file):
        raise OSError("disk full")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.warns(ConvergenceWarning, match="cannot be written .disk full.: the fit goes on without it") as caught:
        trained = train(network, data, SETTINGS, checkpoint=Checkpoint(path, every=1))
    assert len(caught) == 1  # and not one for every epoch
    assert_same(trained, train(network, data, SETTINGS))
    assert path.read_bytes() == before
    monkeypatch.undo()
    assert_same(train(network, data, SETTINGS, checkpoint=Checkpoint(path)), train(network, data, SETTINGS))
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_every_is_at_least_one():
    with pytest.raises(InvalidParameterError, match="every must be at least 1 epoch, got 0"):
        Checkpoint("somewhere", every=0)
