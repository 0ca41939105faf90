"""What a fit prints: nothing, a summary, a line per epoch, or a progress bar."""

import io
import re
import sys

import numpy as np
import pytest
from sklearn.base import clone

import neuralforest as nf
from neuralforest.estimators.scores import validation_standard_error
from small_models import classification, output, regression, small, small_boosted


def test_nothing_is_printed_by_default(capfd):
    X, y = regression()
    small().fit(X, y).partial_fit(X, y).predict(X)
    assert capfd.readouterr() == ("", "")


def test_the_summary_holds_scores_improved_trees_and_stacking_weights(capsys):
    X, y = regression(200)
    model = small(connectivity="full", max_epochs=10, verbose=1).fit(X, y)
    printed = capsys.readouterr().out
    scale = model.network_.soft.output_scale[0]
    forest, stacked = scale * model.forest_loss_**0.5, scale * model.validation_loss_**0.5
    change = 100 * (stacked / forest - 1)
    n_improved = int((model.history_.best_epoch >= 0).sum())
    assert re.search(r"4 trees.*contrast \(3\.0, 1\.0\): \d+\.\d s", printed)
    scores = rf"forest {forest:.4g}, model {stacked:.4g} ± [\d.]+ \({change:+.1f}%\)".replace("(+", "(\\+")
    assert re.search(rf"validation RMSE \(used for model selection\): {scores}", printed)
    assert re.search(rf"{n_improved} of 4 trees improved, best at epochs? .* of 10 \(median \d+\)$", printed.strip())
    assert "stacking" not in printed


def test_the_standard_error_is_that_of_the_validation_rows():
    X, y = regression(400)
    model = small().fit(X[:100], y[:100], X_val=X[100:], y_val=y[100:])
    squares = (model.predict(X[100:]) - y[100:]) ** 2
    expected = squares.std() / np.sqrt(300) / (2 * np.sqrt(squares.mean()))
    assert 0.6 * expected < validation_standard_error(model) < 1.6 * expected


def test_the_summary_holds_the_stacking_weights(capsys, few_boosting_rounds):
    X, y = regression(200)
    model = nf.NeuralForestRegressor(max_epochs=2, verbose=1, random_state=0).fit(X, y)
    assert len(model.stacking_weights_) > 1
    weights = ", ".join(f"{name.replace('_', ' ')} {each:.2f}" for name, each in model.stacking_weights_.items())
    assert capsys.readouterr().out.endswith(f"; stacking weights: {weights}\n")


def test_the_rmse_of_the_summary_is_that_of_the_predictions(capsys):
    X, y = regression(200)
    model = small(verbose=1).fit(X[:150], 100 * y[:150], X_val=X[150:], y_val=100 * y[150:])
    rmse = np.sqrt(np.mean((model.predict(X[150:]) - 100 * y[150:]) ** 2))
    assert f"model {rmse:.4g} " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"loss": "huber"}, r"validation huber loss \(used for model selection\): forest"),
        ({"training": "joint"}, "best epoch: [1-3] of 3"),
        ({"learning_rate": 1e-30, "contrast": (1e-3, 1e-3)}, "the model falls back to the forest"),
        ({"contrast": ((1, 1), (3, 1)), "max_epochs": 2}, r"contrast \((1|3)\.0, 1\.0\)"),
    ],
)
def test_the_summary_suits_the_fit(capsys, parameters, words):
    X, y = regression(200)
    small(verbose=1, **parameters).fit(X, y)
    assert re.search(words, capsys.readouterr().out)


def test_the_summary_of_a_classifier_holds_the_log_loss(capsys):
    X, y = classification()
    model = small_boosted(classifier=True, verbose=1).fit(X, y)
    expected = f"forest {model.forest_loss_:.4g}, model {model.validation_loss_:.4g}"
    assert f"validation log loss (used for model selection): {expected}" in capsys.readouterr().out


def test_the_summary_of_several_targets_names_the_units(capsys):
    X, y = regression()
    small(verbose=1).fit(X, np.column_stack([y, y]))
    assert "RMSE (in units of each target's spread)" in capsys.readouterr().out


def test_the_summary_of_a_constant_target_divides_nothing_by_0(capsys):
    X, _ = regression()
    small(verbose=1).fit(X, np.zeros(len(X)))
    assert "validation RMSE (used for model selection): forest 0, model 0\n" in capsys.readouterr().out


def test_a_line_per_epoch_is_printed_with_verbose_2(capsys):
    X, y = regression()
    epochs = []
    model = small(verbose=2, callback=lambda epoch, _: epochs.append(epoch)).fit(X, y)
    printed = capsys.readouterr().out
    losses = model.history_.to_frame()
    for epoch in (1, 2, 3):
        row = losses.loc[epoch]
        line = f"epoch {epoch}: training loss {row.training_loss:.5f}, validation loss {row.validation_loss:.5f}"
        assert f"{line} (forest {row.forest_loss:.5f})\n" in printed
    assert printed.count("\n") == 1 + 3 + 3  # the estimated cost, epochs, the summary
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
    printed = sys.stderr.getvalue()
    assert printed.count("\r") == 6
    assert printed.count("\n") == 1
    assert printed.endswith("\n")
    assert "[#####-------------------------] epoch 1 of 6, validation loss" in printed
    assert re.search(r"\[#{30}\] epoch 6 of 6, validation loss \d\.\d+ \(forest \d\.\d+\), 0:00 left *\n", printed)
    lengths = [len(line) for line in printed.strip("\n").split("\r")[1:]]
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
    printed = sys.stderr.getvalue()
    assert re.search(r"epoch \d+ of 300, validation loss \d\.\d+ \(forest \d\.\d+\), ended early *\n$", printed)
    assert "epoch 300" not in printed
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    small(callback=nf.ProgressBar(), max_epochs=300, n_iter_no_change=1, learning_rate=0.1).fit(X, y)
    assert sys.stderr.getvalue().endswith(", ended early\n")


def test_the_progress_bar_serves_clones_and_more_fits(monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    X, y = regression()
    model = small(callback=nf.ProgressBar()).fit(X, y).fit(X, y)
    clone(model).fit(X, y).partial_fit(X, y, n_epochs=2)
    assert re.findall(r"epoch (\d) of (\d)", sys.stderr.getvalue()) == [("3", "3")] * 3 + [("2", "2")]


def test_the_time_left_is_printed_in_hours_minutes_and_seconds():
    duration = nf.training.progress._duration
    assert [duration(seconds) for seconds in (0.4, 59.6, 3599, 3600, 90061)] == [
        "0:00",
        "1:00",
        "59:59",
        "1:00:00",
        "25:01:01",
    ]
