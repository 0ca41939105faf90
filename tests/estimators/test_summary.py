"""What a fit says: nothing, a summary in plain words, a line an epoch, or a bar."""

import io
import re
import sys

import numpy as np
import pytest
from sklearn.base import clone

import neuralforest as nf
from small_models import classification, output, regression, small, small_boosted


def test_nothing_is_said_unless_asked_for(capfd):
    X, y = regression()
    small().fit(X, y).partial_fit(X, y).predict(X)
    assert capfd.readouterr() == ("", "")


def test_a_summary_says_in_plain_words_what_happened(capsys):
    X, y = regression(200)
    model = small(connectivity="full", max_epochs=10, verbose=1).fit(X, y)
    said = capsys.readouterr().out
    scale = model.network_.soft.output_scale[0]
    forest, network = scale * model.forest_loss_**0.5, scale * model.validation_loss_**0.5
    change = 100 * (network / forest - 1)
    kept = int((model.history_.best_epoch < 0).sum())
    assert re.search(r"4 trees.*contrast \(3\.0, 1\.0\): \d+\.\d s", said)
    assert f"validation RMSE: forest {forest:.4g}, network {network:.4g} ({change:+.1f}%)" in said
    assert re.search(rf"{4 - kept} of 4 trees gave way.*best at epochs? .* of 10.*; {kept} stayed as they were", said)


def test_the_rmse_of_the_summary_is_that_of_the_predictions(capsys):
    X, y = regression(200)
    model = small(verbose=1).fit(X[:150], 100 * y[:150], X_val=X[150:], y_val=100 * y[150:])
    rmse = np.sqrt(np.mean((model.predict(X[150:]) - 100 * y[150:]) ** 2))
    assert f"network {rmse:.4g} " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"loss": "huber"}, "validation huber loss: forest"),
        ({"training": "joint"}, "the best epoch was [1-3] of 3"),
        ({"learning_rate": 0.0, "contrast": (1e-3, 1e-3)}, "no network was better than the forest"),
        ({"contrast": ((1, 1), (3, 1)), "max_epochs": 2}, r"contrast \((1|3)\.0, 1\.0\)"),
    ],
)
def test_the_summary_suits_the_fit(capsys, parameters, words):
    X, y = regression(200)
    small(verbose=1, **parameters).fit(X, y)
    assert re.search(words, capsys.readouterr().out)


def test_the_summary_of_a_classifier_tells_the_log_loss(capsys):
    X, y = classification()
    model = small_boosted(classifier=True, verbose=1).fit(X, y)
    expected = f"validation log loss: forest {model.forest_loss_:.4g}, network {model.validation_loss_:.4g}"
    assert expected in capsys.readouterr().out


def test_the_summary_of_several_targets_tells_the_units(capsys):
    X, y = regression()
    small(verbose=1).fit(X, np.column_stack([y, y]))
    assert "RMSE (in units of each target's spread)" in capsys.readouterr().out


def test_the_summary_of_a_constant_target_divides_nothing_by_0(capsys):
    X, _ = regression()
    small(verbose=1).fit(X, np.zeros(len(X)))
    assert "validation RMSE: forest 0, network 0\n" in capsys.readouterr().out


def test_a_line_an_epoch_is_said_when_asked_for(capsys):
    X, y = regression()
    epochs = []
    model = small(verbose=2, callback=lambda epoch, _: epochs.append(epoch)).fit(X, y)
    said = capsys.readouterr().out
    losses = model.history_.to_frame()
    for epoch in (1, 2, 3):
        row = losses.loc[epoch]
        line = f"epoch {epoch}: training loss {row.training_loss:.5f}, validation loss {row.validation_loss:.5f}"
        assert f"{line} (forest {row.forest_loss:.5f})\n" in said
    assert said.count("\n") == 3 + 3
    assert epochs == [1, 2, 3]


def test_trees_without_out_of_bag_rows_do_not_spoil_the_lines(capsys):
    X, y = regression(6)
    model = small(verbose=2, validation="oob").fit(X, y)
    assert "nan" not in capsys.readouterr().out
    assert np.isfinite(model.history_.to_frame().iloc[1:]).all(axis=None)


# The progress bar.


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_the_progress_bar_is_written_in_place_on_a_terminal(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    X, y = regression()
    model = small(callback=nf.ProgressBar(), contrast=((1, 1), (3, 1))).fit(X, y)
    said = sys.stderr.getvalue()
    assert said.count("\r") == 6
    assert said.count("\n") == 1
    assert said.endswith("\n")
    assert "[#####-------------------------] epoch 1 of 6, validation loss" in said
    assert re.search(r"\[#{30}\] epoch 6 of 6, validation loss \d\.\d+ \(forest \d\.\d+\), 0:00 left *\n", said)
    lengths = [len(line) for line in said.strip("\n").split("\r")[1:]]
    assert lengths == sorted(lengths)  # what was there before is overwritten
    assert output(model, X).tobytes() == output(small(contrast=((1, 1), (3, 1))).fit(X, y), X).tobytes()


def test_the_progress_bar_writes_its_last_line_only_into_a_file(monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    X, y = regression()
    small(callback=nf.ProgressBar()).fit(X, y)
    assert sys.stderr.getvalue().count("\n") == 1
    assert "epoch 3 of 3" in sys.stderr.getvalue()


def test_the_progress_bar_ends_where_training_stops(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    X, y = regression()
    small(callback=nf.ProgressBar(), max_epochs=300, n_iter_no_change=1, learning_rate=0.1).fit(X, y)
    said = sys.stderr.getvalue()
    assert re.search(r"epoch \d+ of 300, validation loss \d\.\d+ \(forest \d\.\d+\), ended early *\n$", said)
    assert "epoch 300" not in said
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    small(callback=nf.ProgressBar(), max_epochs=300, n_iter_no_change=1, learning_rate=0.1).fit(X, y)
    assert sys.stderr.getvalue().endswith(", ended early\n")


def test_the_progress_bar_serves_clones_and_more_fits(monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    X, y = regression()
    model = small(callback=nf.ProgressBar()).fit(X, y).fit(X, y)
    clone(model).fit(X, y).partial_fit(X, y, n_epochs=2)
    assert re.findall(r"epoch (\d) of (\d)", sys.stderr.getvalue()) == [("3", "3")] * 3 + [("2", "2")]


def test_the_time_left_is_told_in_hours_minutes_and_seconds():
    duration = nf.training.progress._duration
    assert [duration(seconds) for seconds in (0.4, 59.6, 3599, 3600, 90061)] == [
        "0:00",
        "1:00",
        "59:59",
        "1:00:00",
        "25:01:01",
    ]
