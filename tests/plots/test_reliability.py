import numpy as np
import pytest

from neuralforest.exceptions import InvalidParameterError
from neuralforest.plots import ReliabilityDisplay
from plots import models


def test_bins_hold_equally_many_rows_and_their_means():
    rng = np.random.default_rng(0)
    p = rng.uniform(size=1000)
    happened = rng.uniform(size=1000) < p**2
    display = ReliabilityDisplay.from_predictions(happened, p, n_bins=5)
    order = np.argsort(p).reshape(5, 200)
    np.testing.assert_allclose(display.predicted, p[order].mean(axis=1))
    np.testing.assert_allclose(display.observed, happened[order].mean(axis=1))
    assert (display.observed[:4] < display.predicted[:4]).all()  # over-confident
    low, high = display.interval
    assert ((low <= display.observed) & (display.observed <= high)).all()
    assert len(display.line_[0].get_xdata()) == 5


def test_equal_probabilities_stay_in_one_bin():
    display = ReliabilityDisplay.from_predictions(
        [True, False, True, True], [0.5, 0.5, 0.5, 1.0], n_bins=10, draw=False
    )
    assert display.predicted.tolist() == [0.5, 1.0]
    assert display.count.tolist() == [3, 1]


def test_of_several_classes_the_predicted_one_counts():
    (X, y), model = models.rows(True), models.fitted(classifier=True)
    display = ReliabilityDisplay.from_estimator(model, X, y, n_bins=1, draw=False)
    assert display.observed[0] == pytest.approx(model.score(X, y))
    assert display.predicted[0] == pytest.approx(model.predict_proba(X).max(axis=1).mean())
    second = ReliabilityDisplay.from_estimator(model, X, y, target=1, n_bins=1, draw=False)
    assert second.observed[0] == pytest.approx(np.mean(y == 1))


def test_errors_are_sentences():
    with pytest.raises(InvalidParameterError, match=r"between 0 and 1, got 0\.5 to 2"):
        ReliabilityDisplay.from_predictions([True, False], [0.5, 2.0])
    with pytest.raises(InvalidParameterError, match=r"one value per row, got shapes \(1,\) and \(2,\)"):
        ReliabilityDisplay.from_predictions([True], [0.5, 0.2])
    with pytest.raises(InvalidParameterError, match="n_bins must be at least 1"):
        ReliabilityDisplay.from_predictions([True], [0.5], n_bins=0)
    X, y = models.rows()
    with pytest.raises(InvalidParameterError, match="needs a fitted classifier, got NeuralForestRegressor"):
        ReliabilityDisplay.from_estimator(models.fitted(), X, y)
    with pytest.raises(InvalidParameterError, match=r"target must be one of the classes \[0, 1, 2\], got 9"):
        ReliabilityDisplay.from_estimator(models.fitted(classifier=True), *models.rows(True), target=9)
