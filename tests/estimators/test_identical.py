"""Predictions and fits have the same bits for any number of threads, any batches and any repetition."""

import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

import neuralforest as nf
from neuralforest.network import evaluation
from small_models import output, problem, run_in_a_new_process, small, small_boosted, steps

MAKERS = [
    lambda classifier, **more: small(classifier, training="independent", connectivity="sparse", **more),
    lambda classifier, **more: small(classifier, training="independent", connectivity="full", **more),
    lambda classifier, **more: small(classifier, training="joint", connectivity="full", **more),
    lambda classifier, **more: small_boosted(classifier, connectivity="sparse", **more),
]
COLD_THREADS = """
import pickle, sys
from concurrent.futures import ThreadPoolExecutor
with open(sys.argv[1], "rb") as file:
    models, X, expected = pickle.load(file)
def predict(task):
    model, part = task
    return (model.predict_proba if hasattr(model, "predict_proba") else model.predict)(X[part]).tobytes()
parts = [slice(start, start + length) for length in (1, 7, 32, 45, 160) for start in range(0, 160, length)]
for model, bits in zip(models, expected):
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(predict, [(model, slice(None))] * 8 + [(model, part) for part in parts]))
    assert answers[:8] == [bits] * 8
    size = len(bits) // len(X)
    assert answers[8:] == [bits[part.start * size : part.stop * size] for part in parts]
"""


@pytest.fixture(params=[False, True], ids=["regressor", "classifier"])
def classifier(request):
    return request.param


@pytest.mark.parametrize("make", MAKERS)
def test_predictions_do_not_depend_on_threads_or_batches(classifier, make, monkeypatch):
    monkeypatch.setattr(evaluation, "_WORTH_A_THREAD", 50)  # so that few rows are worth threads
    X, y = problem(classifier, n=160)
    model = make(classifier).fit(X, y)
    expected = output(model, X)
    for n_jobs in (1, 2, 3, 8, -1):
        assert output(model.set_params(n_jobs=n_jobs), X).tobytes() == expected.tobytes()
    for size in (1, 7, 32, 45):
        pieces = [output(model, X[start : start + size]) for start in range(0, len(X), size)]
        assert np.concatenate(pieces).tobytes() == expected.tobytes()
    order = np.random.default_rng(0).permutation(len(X))
    assert output(model, X[order]).tobytes() == expected[order].tobytes()
    assert output(model, np.asfortranarray(X)).tobytes() == expected.tobytes()


@pytest.mark.parametrize("make", MAKERS)
def test_predictions_from_8_threads_at_once_are_those_of_one(classifier, make):
    X, y = problem(classifier, n=160)
    model = make(classifier).fit(X, y)
    expected = output(model, X).tobytes()
    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(lambda _: output(model, X).tobytes(), range(64))) == {expected}


def test_8_threads_may_be_the_first_to_predict_in_a_process(tmp_path):
    models, expected = [], []
    for classifier in (False, True):
        X, y = problem(classifier, n=160)
        models += [make(classifier).fit(X, y) for make in MAKERS]
    expected = [output(model, X).tobytes() for model in models]
    (tmp_path / "models.pickle").write_bytes(pickle.dumps((models, X, expected)))
    run_in_a_new_process(COLD_THREADS, tmp_path / "models.pickle")


@pytest.mark.parametrize("make", MAKERS)
def test_fits_do_not_depend_on_the_number_of_threads(classifier, make):
    X, y = problem(classifier)
    fitted = [make(classifier, n_jobs=n_jobs).fit(X, y) for n_jobs in (1, 2, 3)]
    for model in fitted[1:]:
        assert model.network_.soft.parameters.tobytes() == fitted[0].network_.soft.parameters.tobytes()
        assert model.history_.validation_loss.tobytes() == fitted[0].history_.validation_loss.tobytes()
        assert output(model, X).tobytes() == output(fitted[0], X).tobytes()
        assert model.validation_loss_ == fitted[0].validation_loss_


def everything_of(model, X):
    """Return the bits of a fitted estimator: predictions, losses, weights, parameters, and base models."""
    network = model.network_
    arrays = [output(model, X), model.feature_importances_, network.soft.parameters, network.soft.hard]
    arrays += [model.history_.training_loss, model.history_.validation_loss]
    arrays += [np.array([model.forest_loss_, model.validation_loss_, *model.stacking_weights_.values()])]
    arrays += [each.model.prediction(X.astype(np.float32)) for each in network.base_models]
    if not hasattr(model, "predict_proba"):
        arrays.append(model.predict_quantiles(X, (0.05, 0.5, 0.95)))
    return list(model.stacking_weights_), [array.tobytes() for array in arrays]


@pytest.mark.parametrize("rows", [problem, steps])
def test_default_fits_do_not_depend_on_threads_and_can_be_repeated(classifier, rows, monkeypatch):
    monkeypatch.setattr(evaluation, "_WORTH_A_THREAD", 50)
    X, y = rows(classifier, n=160)
    kind = nf.NeuralForestClassifier if classifier else nf.NeuralForestRegressor
    first = kind(random_state=0, n_jobs=1).fit(X, y)
    assert len(first.stacking_weights_) > 1 if rows is steps else not first.network_.hard.all()
    expected = everything_of(first, X)
    with threadpool_limits(2):  # the estimator is fitted again, with other threads
        assert everything_of(first.set_params(n_jobs=2).fit(X, y), X) == expected


def test_fits_are_decided_by_the_random_state(classifier):
    X, y = problem(classifier)
    first, second, other = (output(small(classifier, random_state=s).fit(X, y), X) for s in (5, 5, 6))
    assert first.tobytes() == second.tobytes() != other.tobytes()
    state = np.random.RandomState(5)
    assert output(small(classifier, random_state=state).fit(X, y), X).tobytes() == first.tobytes()
    assert output(small(classifier, random_state=state).fit(X, y), X).tobytes() != first.tobytes()


def test_a_fit_changes_neither_the_forest_given_nor_the_random_numbers_of_others(classifier):
    X, y = problem(classifier)
    model = small(classifier)
    before, numbers = pickle.dumps(model.forest), np.random.mtrand._rand.get_state()[1].copy()
    X.flags.writeable = y.flags.writeable = False
    model.fit(X, y)
    assert pickle.dumps(model.forest) == before
    np.testing.assert_array_equal(np.random.mtrand._rand.get_state()[1], numbers)
