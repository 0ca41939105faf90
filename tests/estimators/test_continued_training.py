"""Continued training: warm_start, partial_fit, callbacks, interrupts and checkpoints."""

import numpy as np
import pytest
from sklearn.metrics import log_loss

import neuralforest as nf
from neuralforest.exceptions import CheckpointError, ConvergenceWarning, ValidationWarning
from small_models import output, problem, regression, small, small_boosted

BOTH = pytest.mark.parametrize("classifier", [False, True], ids=["regressor", "classifier"])
VALIDATION = pytest.mark.parametrize("validation", ["oob", "fraction"])


def loss_of(model, X, y):
    if hasattr(model, "predict_proba"):
        return log_loss(y, model.predict_proba(X), labels=model.classes_)
    return np.mean((model.predict(X) - y) ** 2)


# warm_start


@BOTH
@VALIDATION
@pytest.mark.parametrize("random_state", [0, None])
def test_a_second_fit_continues_the_first(classifier, validation, random_state):
    X, y = problem(classifier)
    model = small(classifier, warm_start=True, validation=validation, random_state=random_state).fit(X, y)
    first, forest, loss = model.history_, model.forest_, model.validation_loss_
    model.set_params(max_epochs=4).fit(X, y)
    assert model.forest_ is forest
    assert model.history_.n_epochs == 3 + 4
    np.testing.assert_array_equal(model.history_.training_loss[:3], first.training_loss)
    np.testing.assert_array_equal(model.history_.validation_loss[:4], first.validation_loss)
    assert model.validation_loss_ <= model.forest_loss_
    best = np.nanmin(model.history_.validation_loss, axis=0)
    assert (best <= np.nanmin(first.validation_loss, axis=0) + 1e-12).all()
    kept = model.history_.best_epoch
    trained = np.flatnonzero(kept >= 0)
    np.testing.assert_allclose(model.history_.validation_loss[kept[trained], trained], best[trained], rtol=1e-5)
    if validation == "fraction":
        assert model.validation_loss_ <= loss + 1e-9 or model.network_.soft.training == "independent"


def test_without_warm_start_a_second_fit_starts_anew():
    X, y = regression()
    model = small().fit(X, y)
    before = model.predict(X).tobytes()
    assert model.fit(X, y).predict(X).tobytes() == before
    assert model.history_.n_epochs == 3


def test_a_second_fit_trains_the_same_network():
    X, y = regression()
    model = small(warm_start=True, training="independent").fit(X, y)
    with pytest.raises(ValueError, match="training and connectivity must stay 'independent' and 'sparse', got 'joint'"):
        model.set_params(training="joint").fit(X, y)


def test_a_second_fit_may_bring_other_rows():
    X, y = regression(200)
    model = small(warm_start=True, validation="auto").fit(X[:100], y[:100])
    with pytest.warns(ValidationWarning, match="warm_start continues with other rows"):
        model.fit(X[100:160], y[100:160])  # 60 rows have no out-of-bag trees: a fraction is held out
    assert model.validation_loss_ <= model.forest_loss_


# partial_fit


@BOTH
@pytest.mark.parametrize("make", [small, small_boosted])
@pytest.mark.parametrize("connectivity", ["sparse", "full"])
def test_partial_fit_lowers_the_loss_on_new_rows(classifier, make, connectivity):
    X, y = problem(classifier, n=300)
    model = make(classifier, connectivity=connectivity).fit(X[:100], y[:100])
    losses, forest = [loss_of(model, X[100:], y[100:])], model.forest_
    for _ in range(4):
        losses.append(loss_of(model.partial_fit(X[100:], y[100:], n_epochs=3), X[100:], y[100:]))
        assert model.history_.n_epochs == 3
    assert losses[-1] < losses[0] * 0.9
    assert model.forest_ is forest


def test_partial_fit_adapts_to_a_target_that_has_changed():
    X, y = regression(600)
    model = small(connectivity="full").fit(X[:200], y[:200])
    turned = -y + 5
    before = np.mean((model.predict(X[400:]) - turned[400:]) ** 2)
    model.partial_fit(X[200:400], turned[200:400], n_epochs=60)
    assert np.mean((model.predict(X[400:]) - turned[400:]) ** 2) < before / 20


def test_partial_fit_from_the_start_is_fit():
    X, y = problem(classifier=True)
    fitted, partial = small(True).fit(X, y), small(True).partial_fit(X, y, classes=[0, 1, 2])
    assert fitted.predict_proba(X).tobytes() == partial.predict_proba(X).tobytes()
    weight = np.linspace(1, 2, len(X))
    fitted, partial = small().fit(X, y, weight), small().partial_fit(X, y, weight)
    assert fitted.predict(X).tobytes() == partial.predict(X).tobytes()


def test_partial_fit_takes_a_batch_without_some_classes_and_a_single_row():
    X, y = problem(classifier=True)
    model = small(classifier=True).fit(X, y)
    model.partial_fit(X[y == 1], y[y == 1], classes=[0, 1, 2]).partial_fit(X[:1], y[:1])
    np.testing.assert_array_equal(model.classes_, [0, 1, 2])
    assert model.predict_proba(X).shape == (len(X), 3)


def test_partial_fit_weighs_its_rows():
    X, y = regression(200)
    model, other = small().fit(X, y), small().fit(X, y)
    weight = np.where(X[:, 2] > 0, 1.0, 0.0)
    model.partial_fit(X, y, weight, n_epochs=2)
    other.partial_fit(X[weight > 0], y[weight > 0], n_epochs=2)
    np.testing.assert_allclose(model.predict(X), other.predict(X), rtol=1e-4)


# callbacks


@pytest.mark.parametrize("contrast", [(3, 1), ((1, 1), (3, 1), (10, 1))])
def test_a_callback_is_called_after_every_epoch(contrast):
    X, y = regression()
    calls = []
    small(contrast=contrast, callback=lambda *call: calls.append(call)).fit(X, y)
    assert [epoch for epoch, _ in calls] == [1, 2, 3] * (len(calls) // 3)
    assert len(calls) == 3 * (1 if contrast == (3, 1) else 3)
    assert all(history.n_epochs == epoch for epoch, history in calls)
    assert np.isfinite(calls[-1][1].training_loss).all()


@BOTH
@pytest.mark.parametrize("contrast", [(3, 1), ((1, 1), (3, 1))])
def test_a_callback_ends_the_fit_by_returning_true(classifier, contrast):
    X, y = problem(classifier)
    calls = []

    def stop(epoch, history):
        calls.append(epoch)
        return epoch == 2

    model = small(classifier, contrast=contrast, max_epochs=50, callback=stop).fit(X, y)
    assert calls == [1, 2]
    assert model.history_.n_epochs == 2
    assert model.validation_loss_ <= model.forest_loss_


@BOTH
@pytest.mark.parametrize("make", [small, small_boosted])
def test_ctrl_c_leaves_a_usable_estimator_and_a_warning(classifier, make):
    X, y = problem(classifier)

    def interrupt(epoch, history):
        if epoch == 2:
            raise KeyboardInterrupt

    model = make(classifier, contrast=((1, 1), (3, 1)), max_epochs=50, callback=interrupt)
    with pytest.warns(ConvergenceWarning, match="interrupted after epoch 2 of 50"):
        model.fit(X, y)
    assert model.history_.n_epochs == 2
    assert model.validation_loss_ <= model.forest_loss_
    assert np.isfinite(output(model, X)).all()
    with pytest.warns(ConvergenceWarning, match="interrupted after epoch 2 of 5"):
        model.partial_fit(X, y, n_epochs=5)
    assert np.isfinite(output(model, X)).all()


@BOTH
def test_ctrl_c_while_the_forest_grows_leaves_the_estimator_as_it_was(classifier, monkeypatch):
    X, y = problem(classifier)
    model = small(classifier).fit(X, y)
    before = output(model, X).tobytes()

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(type(model.forest), "fit", interrupt)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X[:, :2], y)
    assert output(model, X).tobytes() == before
    fresh = small(classifier)
    with pytest.raises(KeyboardInterrupt):
        fresh.fit(X, y)
    assert not hasattr(fresh, "network_")


def test_an_error_in_a_callback_is_the_callers_to_see():
    X, y = regression()

    def fail(epoch, history):
        raise RuntimeError("mine")

    model = small(callback=fail)
    with pytest.raises(RuntimeError, match="mine"):
        model.fit(X, y)
    assert not hasattr(model, "network_")


# checkpoints


@BOTH
@pytest.mark.parametrize("contrast", [(3, 1), ((1, 1), (3, 1))])
def test_a_fit_that_was_killed_ends_as_if_it_had_not_been(tmp_path, classifier, contrast):
    X, y = problem(classifier)
    whole = small(classifier, contrast=contrast, max_epochs=6).fit(X, y)
    checkpoint = nf.Checkpoint(tmp_path / "fit", every=2)
    calls = []

    def die(epoch, history):
        calls.append(epoch)
        if len(calls) == 9 if isinstance(contrast[0], tuple) else epoch == 5:
            raise SystemExit

    parameters = {"contrast": contrast, "max_epochs": 6, "checkpoint": checkpoint}
    with pytest.raises(SystemExit):
        small(classifier, callback=die, **parameters).fit(X, y)
    epochs = []
    resumed = small(classifier, callback=lambda epoch, _: epochs.append(epoch), **parameters).fit(X, y)
    assert epochs == ([3, 4, 5, 6] if isinstance(contrast[0], tuple) else [5, 6])
    assert output(resumed, X).tobytes() == output(whole, X).tobytes()
    np.testing.assert_array_equal(resumed.history_.validation_loss, whole.history_.validation_loss)


def test_a_checkpoint_of_other_rows_is_refused(tmp_path):
    X, y = regression()
    checkpoint = nf.Checkpoint(tmp_path / "fit")
    small(checkpoint=checkpoint).fit(X, y)
    with pytest.raises(CheckpointError, match="belongs to another fit"):
        small(checkpoint=checkpoint).fit(X + 1, y)


def test_a_second_fit_has_a_checkpoint_of_its_own(tmp_path):
    X, y = regression()
    model = small(warm_start=True, checkpoint=nf.Checkpoint(tmp_path / "fit")).fit(X, y).fit(X, y)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["fit", "fit.3"]
    assert model.history_.n_epochs == 6
