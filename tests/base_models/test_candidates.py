"""What may stand beside a network, on rows that are hard to fit."""

import warnings

import numpy as np
import pytest

import neuralforest as nf
from neuralforest.estimators import candidates
from neuralforest.network.stacking import Linear
from neuralforest.selection.guard import OutOfSamplePredictions
from neuralforest.selection.stacking import best_weight


def line(n=120, d=6, seed=0):
    """Return rows on which a linear function is the best of all."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, X @ np.arange(1, d + 1) + 2 * rng.normal(size=n)


def fitted(X, y, classifier=False, **parameters):
    kind = nf.NeuralForestClassifier if classifier else nf.NeuralForestRegressor
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return kind(max_epochs=2, random_state=0, **parameters).fit(X, y)


@pytest.mark.parametrize("classifier", [False, True])
@pytest.mark.parametrize("known", [0, 1])
def test_columns_with_no_number_or_one(classifier, known):
    X, y = line()
    X[known:, 2] = np.nan
    model = fitted(X, (y > 0).astype(int) if classifier else y, classifier)
    assert np.isfinite(model.predict(X)).all()


@pytest.mark.parametrize("unit", [2.0**126, 2.0**300])  # powers of two, so that trees stay the same
def test_large_and_small_targets_have_the_same_companions(unit):
    X, y = line()
    models = [fitted(X, factor * y) for factor in (1.0, unit)]
    shares = [{str(each): each.share for each in model.network_.base_models} for model in models]
    assert "a linear function" in shares[0]
    assert shares[0].keys() == shares[1].keys()
    np.testing.assert_allclose(list(shares[0].values()), list(shares[1].values()), rtol=1e-5)
    np.testing.assert_allclose(models[1].predict(X) / unit, models[0].predict(X), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("n", [10, 40])
def test_few_rows(n):
    X, y = line(n)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*max_samples")  # of bagging, below 13 rows
        model = nf.NeuralForestRegressor(max_epochs=2, random_state=0).fit(X, y)
    assert np.isfinite(model.predict(X)).all()
    assert model.validation_loss_ <= model.forest_loss_


def test_a_single_row_gives_nobody_a_share():
    one = np.zeros(1, np.int64)
    own, other = (
        OutOfSamplePredictions(one, np.array([[value]]), np.ones(1), np.zeros((1, 1))) for value in (0.0, 1.0)
    )
    assert best_weight(own, other, np.ones((1, 1))) == 0.0


def test_wide_tables_have_no_line(monkeypatch):
    monkeypatch.setattr(candidates, "_MOST_PRODUCTS", 100)
    assert not any(isinstance(each.source, Linear) for each in fitted(*line()).network_.base_models)


def test_held_out_rows_count_by_their_weights():
    X, y = line(300)
    model = nf.NeuralForestRegressor(max_epochs=2, random_state=0)
    weight = np.r_[np.ones(50), np.zeros(50)]  # rows that say nothing
    wrong = np.r_[y[200:250], 1e3 * np.ones(50)]
    shares = []
    for rows, target, counts in ((X[200:], wrong, weight), (X[200:250], y[200:250], np.ones(50))):
        model.fit(X[:200], y[:200], X_val=rows, y_val=target, sample_weight_val=counts)
        shares.append([each.share for each in model.network_.base_models])
    assert shares[0]
    np.testing.assert_allclose(shares[0], shares[1])


def test_going_on_with_other_rows_does_not_mix_what_was_said_of_the_first():
    (X, y), (X2, y2) = line(300), line(300, seed=1)
    model = nf.NeuralForestRegressor(max_epochs=2, random_state=0, warm_start=True, validation="fraction").fit(X, y)
    assert model.network_.base_models
    model.fit(X2, y2)
    alone = nf.NeuralForestRegressor(
        max_epochs=2, random_state=0, warm_start=True, validation="fraction", companion=None
    )
    assert model.validation_loss_ == pytest.approx(alone.fit(X, y).fit(X2, y2).validation_loss_)
