"""The cost of training is estimated before it begins."""

import warnings

import pytest

from neuralforest.estimators import cost
from neuralforest.exceptions import CostWarning
from small_models import regression, small


def test_the_estimate_is_printed_or_a_silent_fit_warns(capsys, monkeypatch):
    X, y = regression(80)
    model = small(verbose=1).fit(X, y)
    assert capsys.readouterr().out.startswith(f"training {model.network_.n_parameters} weights, about")
    monkeypatch.setattr(cost, "_SILENT", 0.0)
    with pytest.warns(CostWarning, match=r"weights, about .* s at most: pass callback=neuralforest.ProgressBar"):
        small().fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        small(callback=lambda epoch, history: None).fit(X, y)


def test_the_estimate_grows_with_epochs_and_trees():
    X, y = regression(80)
    found = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cost, "warn_of_silence", lambda network, seconds: found.append(seconds))
        for epochs in (2, 4):
            small(max_epochs=epochs).fit(X, y)
    assert found[1] == pytest.approx(2 * found[0])
