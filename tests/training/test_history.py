"""The record of a training."""

import numpy as np
import pytest

from neuralforest.training import History

NAN = np.nan


@pytest.fixture
def history():
    """Two subnetworks and three epochs; the second subnetwork stopped after the first."""
    return History(
        training_loss=np.array([[4.0, 2.0], [3.0, NAN], [2.0, NAN]]),
        validation_loss=np.array([[5.0, 3.0], [4.0, 4.0], [3.0, NAN], [3.5, NAN]]),
        forest_loss=np.array([4.5, 2.5]),
        best_epoch=np.array([2, -1]),
        seconds=np.array([0.5, 0.25, 0.25]),
    )


def test_a_frame_has_a_row_for_the_start_and_for_every_epoch(history):
    frame = history.to_frame()
    assert frame.columns.tolist() == ["epoch", "training_loss", "validation_loss", "forest_loss"]
    assert frame["epoch"].tolist() == [0, 1, 2, 3]
    # A stopped subnetwork keeps its last loss.
    np.testing.assert_array_equal(frame["training_loss"], [NAN, 3.0, 2.5, 2.0])
    np.testing.assert_array_equal(frame["validation_loss"], [4.0, 4.0, 3.5, 3.75])
    assert set(frame["forest_loss"]) == {3.5}


def test_a_subnetwork_without_validation_rows_does_not_count(history):
    partly_validated = History(
        training_loss=np.array([[4.0, NAN]]),
        validation_loss=np.array([[5.0, NAN], [4.0, NAN]]),
        forest_loss=np.array([4.5, np.inf]),
        best_epoch=np.array([1, -1]),
        seconds=np.array([1.0]),
    )
    training, validation, forest = partly_validated.means()
    np.testing.assert_array_equal(training, [NAN, 4.0])
    np.testing.assert_array_equal(validation, [5.0, 4.0])
    assert forest == 4.5


def test_one_history_follows_another(history):
    whole = history.followed_by(history)
    assert whole.n_epochs == 6
    assert whole.validation_loss.shape == (7, 2)
    assert whole.best_epoch.tolist() == [5, -1]
    assert whole.seconds.sum() == 2.0


def test_its_text_is_short(history):
    assert repr(history) == "History(3 epochs, 2 subnetworks, 1.0 s)"
