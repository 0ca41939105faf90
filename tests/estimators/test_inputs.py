"""Rows, weights, labels and forests of the estimators, and the predictions that result."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
import scipy.special
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

import neuralforest as nf
from neuralforest.estimators import forests
from neuralforest.estimators.parameters import enough_epochs
from neuralforest.selection import guard
from small_models import (
    at_most_boosting_rounds,
    boosted,
    classification,
    forest,
    output,
    problem,
    regression,
    small,
    small_boosted,
    steps,
)

BOTH = pytest.mark.parametrize("classifier", [False, True], ids=["regressor", "classifier"])
VALIDATION = pytest.mark.parametrize("validation", ["oob", "fraction"])


# Weights.


@BOTH
@VALIDATION
def test_rows_of_weight_0_leave_no_trace(classifier, validation):
    X, y = problem(classifier)
    weight = np.where(np.arange(len(X)) % 3, 1.0, 0.0)
    other_X, other_y = (np.where((weight > 0)[:, None], X, 77.0), np.where(weight > 0, y, y[1]))
    fitted = [small(classifier, validation=validation).fit(*rows, weight) for rows in ((X, y), (other_X, other_y))]
    assert output(fitted[0], X).tobytes() == output(fitted[1], X).tobytes()


@BOTH
def test_weights_count_once_whether_the_forest_was_given_them_or_not(classifier):
    X, y = problem(classifier)
    weight = np.where(np.arange(len(X)) % 3, 1.0, 0.0)
    other = np.where(weight > 0, y, y[1])
    grown = forest(classifier, random_state=0).fit(X, y)  # without weights, so that all rows are in some bag
    fitted = [small(classifier, grown, validation="oob").fit(X, target, weight) for target in (y, other)]
    assert output(fitted[0], X).tobytes() == output(fitted[1], X).tobytes()
    grown = forest(classifier, random_state=0).fit(X, y, weight)  # draws by the weights already
    model = small(classifier, grown, validation="oob").fit(X, y, 8 * weight)
    same = small(classifier, forest(classifier, random_state=0), validation="oob").fit(X, y, weight)
    assert output(model, X).tobytes() == output(same, X).tobytes()


def test_weights_of_validation_rows_have_units_of_their_own():
    X, y = regression()
    fitted = [
        small().fit(X[:90], y[:90], np.full(90, 1e-200), X_val=X[90:], y_val=y[90:], sample_weight_val=np.full(30, w))
        for w in (1.0, 1e200)
    ]
    assert output(fitted[0], X).tobytes() == output(fitted[1], X).tobytes()


@BOTH
@VALIDATION
@pytest.mark.parametrize("factor", [2.0**-1000, 2.0**900])
def test_only_the_ratios_of_weights_matter(classifier, validation, factor):
    X, y = problem(classifier)
    weight = np.random.default_rng(0).uniform(0.5, 2, len(X))
    fitted = [small(classifier, validation=validation).fit(X, y, w) for w in (weight, factor * weight)]
    assert output(fitted[0], X).tobytes() == output(fitted[1], X).tobytes()


@VALIDATION
def test_heavy_rows_are_predicted_better(validation):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    heavy = np.arange(200) % 2 == 0
    y = np.where(heavy, X[:, 0], -X[:, 0])  # the same rows, opposite answers
    model = small(validation=validation).fit(X, y, sample_weight=np.where(heavy, 20.0, 1.0))
    error = (model.predict(X) - y) ** 2
    assert error[heavy].mean() < error[~heavy].mean() / 5


@VALIDATION
def test_without_a_signal_heavy_rows_decide_the_mean(validation):
    """In a forest that draws rows by their weight as in one that is given weights."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(600, 2)), rng.normal(size=600)
    weight = np.where(y > 0, 10.0, 0.1)
    model = nf.NeuralForestRegressor(max_epochs=10, validation=validation, random_state=0).fit(X, y, weight)
    assert model.predict(X).mean() == pytest.approx(np.average(y, weights=weight), abs=0.05)


def test_class_weights_are_weights_of_rows():
    X, y = classification()
    y = np.minimum(y, 1)
    factors = {0: 3.0, 1: 0.25}
    by_class = small(classifier=True, class_weight=factors).fit(X, y)
    by_row = small(classifier=True).fit(X, y, sample_weight=np.where(y == 0, 3.0, 0.25))
    assert by_class.predict_proba(X).tobytes() == by_row.predict_proba(X).tobytes()
    balanced = small(classifier=True, class_weight="balanced").fit(X, y)
    counts = np.bincount(y)
    by_row = small(classifier=True).fit(X, y, sample_weight=len(y) / (2 * counts[y]))
    assert balanced.predict_proba(X).tobytes() == by_row.predict_proba(X).tobytes()


def test_class_weights_are_measured_on_the_training_rows():
    X, y = classification()
    y = np.minimum(y, 1)
    counts = np.bincount(y)
    balanced = small(classifier=True, class_weight="balanced").fit(X, y, X_val=X[:9], y_val=y[:9])
    weight = len(y) / (2 * counts)
    by_row = small(classifier=True).fit(X, y, weight[y], X_val=X[:9], y_val=y[:9], sample_weight_val=weight[y[:9]])
    assert balanced.validation_loss_ == by_row.validation_loss_


def test_a_heavy_class_is_predicted_more_often():
    X, y = classification()
    frequencies = [(small(True, class_weight={2: w}).fit(X, y).predict(X) == 2).mean() for w in (0.01, 1, 100)]
    assert frequencies[0] < frequencies[1] < frequencies[2]


@BOTH
def test_weights_that_are_all_equal_are_no_weights(classifier):
    X, y = steps(classifier)
    kind = nf.NeuralForestClassifier if classifier else nf.NeuralForestRegressor
    with at_most_boosting_rounds(100):
        fits = [kind(max_epochs=3, random_state=0).fit(X, y, w) for w in (None, np.ones(len(y)), np.full(len(y), 7))]
    for model in fits[1:]:
        assert output(model, X).tobytes() == output(fits[0], X).tobytes()
        assert model.stacking_weights_ == fits[0].stacking_weights_
        assert model.validation_loss_ == fits[0].validation_loss_
    assert len(fits[0].stacking_weights_) > 1


@BOTH
def test_weighted_rows_and_several_targets_are_stacked_as_others(classifier):
    X, y = steps(classifier)
    weight = np.random.default_rng(0).uniform(0.5, 2, len(y))
    kind = nf.NeuralForestClassifier if classifier else nf.NeuralForestRegressor
    with at_most_boosting_rounds(100):
        fits = [kind(max_epochs=3, random_state=0).fit(X, y, weight)]
        if not classifier:
            fits.append(kind(max_epochs=3, random_state=0).fit(X, np.column_stack([y, 1e3 * y[::-1] + 5e6, y])))
    for model in fits:
        assert model.stacking_weights_["network"] < 1
        assert model.validation_loss_ < model.forest_loss_


@BOTH
def test_integer_weights_agree_with_repeated_rows(classifier):
    """In their errors on new rows, over seeds, because no two fits are the same.

    With validation rows of their own: the copies of a row would be in the bag of a tree and out of it.
    """
    X, y = steps(classifier, 400)
    new, truth = steps(classifier, 2000, seed=1)
    weight = np.where(X[:, 2] < 0.5, 1, 3)  # rows of one half count three times
    kind = nf.NeuralForestClassifier if classifier else nf.NeuralForestRegressor
    errors = []
    with at_most_boosting_rounds(100):
        for seed in range(3):
            fits = (X, y, weight), (X.repeat(weight, axis=0), y.repeat(weight), None)
            model = kind(max_epochs=20, stacking=None, random_state=seed)
            given = {"X_val": new[:400], "y_val": truth[:400]}
            errors.append([_errors(model.fit(*rows, **given), new[400:], truth[400:]) for rows in fits])
    ratio = np.mean(errors, axis=0)[0] / np.mean(errors, axis=0)[1]
    assert 0.75 < ratio < 1.33


def _errors(model, X, y):
    """Return the mean squared error of predictions, or of the probability of the second class."""
    predicted = output(model, X)
    return np.mean(((predicted[:, 1] if predicted.ndim == 2 else predicted) - y) ** 2)


# Targets.


@pytest.mark.parametrize("training", ["independent", "joint"])
def test_several_targets_of_any_units_are_predicted_at_once(training):
    X, y = regression(200)
    targets = np.column_stack([y, 1e6 * X[:, 2] + 1e9, 1e-3 * X[:, 3]])
    source = forest(n_estimators=10, max_leaf_nodes=32)
    model = small(source=source, training=training, connectivity="full", max_epochs=20).fit(X, targets)
    prediction = model.predict(X)
    assert prediction.shape == targets.shape
    assert np.corrcoef(prediction[:, 1], targets[:, 1])[0, 1] > 0.9
    assert model.predict_quantiles(X[:5], (0.1, 0.5, 0.9)).shape == (5, 3, 3)


def test_the_network_improves_all_targets_of_like_units():
    X, y = regression(300)
    targets = np.column_stack([y, X[:, 2]])
    model = small(connectivity="full", max_epochs=30).fit(X[:200], targets[:200])
    ours, theirs = (((m.predict(X[200:]) - targets[200:]) ** 2).mean(axis=0) for m in (model, model.forest_))
    assert (ours < theirs).all()


def test_a_column_of_targets_is_a_vector():
    X, y = regression()
    with pytest.warns(match="column-vector y was passed"):
        model = small().fit(X, y[:, None])
    assert model.predict(X).tobytes() == small().fit(X, y).predict(X).tobytes()


LABELS = {
    "strings": np.array(["ant", "bee", "cat"]),
    "objects": np.array(["a", "bb", "ccc"], dtype=object),
    "numbers": np.array([-7, 0, 12]),
    "floats": np.array([-1.0, 2.0, 5.0]),
}


@pytest.mark.parametrize("make", [small, small_boosted])
@pytest.mark.parametrize("kind", LABELS)
def test_labels_of_any_kind_come_back(make, kind):
    X, y = classification()
    labels = LABELS[kind]
    model, plain = make(classifier=True).fit(X, labels[y]), make(classifier=True).fit(X, y)
    np.testing.assert_array_equal(model.classes_, labels)
    assert model.predict_proba(X).tobytes() == plain.predict_proba(X).tobytes()
    np.testing.assert_array_equal(model.predict(X), labels[plain.predict(X)])
    assert model.score(X, labels[y]) > 0.6


@pytest.mark.parametrize("make", [small, small_boosted])
def test_labels_may_be_true_and_false(make):
    X, y = classification()
    model = make(classifier=True).fit(X, y > 0)
    assert model.predict(X).dtype == bool
    assert model.score(X, y > 0) > 0.8


@pytest.mark.parametrize("training", ["independent", "joint"])
@pytest.mark.parametrize("source", [forest, boosted, lambda _: HistGradientBoostingClassifier(max_iter=4)])
@pytest.mark.parametrize("classes", [2, 3])
def test_probabilities_sum_to_1(training, source, classes):
    X, y = classification(classes=classes)
    model = small(True, source(True), training=training if source is forest else "joint").fit(X, y)
    probability = model.predict_proba(X + np.random.default_rng(0).normal(size=X.shape))
    assert probability.shape == (len(X), classes)
    assert (probability >= 0).all()
    np.testing.assert_allclose(probability.sum(axis=1), 1, rtol=1e-14)
    np.testing.assert_array_equal(model.predict(X), model.predict_proba(X).argmax(axis=1))
    with np.errstate(divide="ignore"):
        np.testing.assert_array_equal(model.predict_log_proba(X), np.log(model.predict_proba(X)))


def test_only_boosted_classifiers_have_a_decision_function():
    X, y = classification()
    for model in (small(classifier=True), small(classifier=True).fit(X, y), small_boosted().fit(X, y)):
        assert not hasattr(model, "decision_function")
    model = small_boosted(classifier=True)
    assert hasattr(model, "decision_function")
    scores = model.fit(X, y).decision_function(X)
    np.testing.assert_allclose(scipy.special.softmax(scores, axis=1), model.predict_proba(X))
    model.fit(X, y > 0)
    np.testing.assert_allclose(scipy.special.expit(model.decision_function(X)), model.predict_proba(X)[:, 1])
    assert model.decision_function(X).shape == (len(X),)


# Features.


@BOTH
@pytest.mark.parametrize("kind", [scipy.sparse.csr_array, scipy.sparse.csr_matrix, scipy.sparse.csc_array])
def test_sparse_and_dense_rows_give_the_same_model(classifier, kind):
    X, y = problem(classifier)
    X = np.where(X > 0.3, X, 0).astype(np.float32).astype(float)
    dense = small(classifier).fit(X[:90], y[:90], X_val=X[90:], y_val=y[90:])
    sparse = small(classifier).fit(kind(X[:90]), y[:90], X_val=kind(X[90:]), y_val=y[90:])
    assert output(sparse, kind(X)).tobytes() == output(sparse, X).tobytes()
    np.testing.assert_allclose(output(sparse, X), output(dense, X), rtol=1e-6)  # trees differ in their last digits
    mixed = small(classifier).fit(kind(X[:90]), y[:90], X_val=X[90:], y_val=y[90:])
    assert output(mixed, X).tobytes() == output(sparse, X).tobytes()
    sparse.partial_fit(kind(X), y), mixed.partial_fit(X, y)
    assert output(sparse, X).tobytes() == output(mixed, X).tobytes()


@BOTH
@pytest.mark.parametrize("training", ["independent", "joint"])
@pytest.mark.parametrize("connectivity", ["sparse", "full"])
def test_a_missing_value_is_information(classifier, training, connectivity):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    missing = rng.random(300) < 0.3
    X[missing, 0] = np.nan
    y = missing.astype(int) if classifier else 5.0 * missing + 0.1 * rng.normal(size=300)
    model = small(classifier, training=training, connectivity=connectivity, max_epochs=5).fit(X[:200], y[:200])
    assert model.score(X[200:], y[200:]) > 0.95
    assert np.isfinite(output(model, np.full((1, 3), np.nan))).all()


def test_missing_values_are_refused_by_a_forest_that_takes_none():
    X, y = regression()
    X[0, 0] = np.nan
    with pytest.raises(ValueError, match="Input X contains NaN"):
        small_boosted().fit(X, y)
    assert small(source=HistGradientBoostingRegressor(max_iter=3), training="joint").fit(X, y).score(X, y) > 0


@BOTH
@pytest.mark.parametrize("frame", [pd.DataFrame, lambda columns: pl.DataFrame(dict(columns))], ids=["pandas", "polars"])
def test_frames_are_taken_as_they_are_and_their_names_remembered(classifier, frame):
    X, y = problem(classifier)
    table = frame({name: X[:, i] for i, name in enumerate("abcd")})
    target = pd.Series(y) if frame is pd.DataFrame else pl.Series(y)
    model = small(classifier).fit(table, target)
    assert model.feature_names_in_.tolist() == list("abcd")
    assert model.network_.ensemble.feature_names == tuple("abcd")
    assert output(model, table).tobytes() == output(small(classifier).fit(X, y), X).tobytes()
    assert isinstance(model.predict(table), np.ndarray)
    assert len(model.forest_.predict(table)) == len(X)  # without a warning: the forest has the names
    with pytest.warns(match="X does not have valid feature names"):
        model.predict(X)


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.uint8, bool])
def test_numbers_of_any_type_are_features(dtype):
    X, y = regression()
    X = (10 * X).round().clip(0).astype(dtype)
    model = small().fit(X, y)
    assert model.predict(X).tobytes() == small().fit(X.astype(float), y).predict(X.astype(float)).tobytes()


# Forests.


@BOTH
def test_a_fitted_forest_is_used_as_it_is(classifier):
    X, y = problem(classifier)
    grown = forest(classifier, random_state=3).fit(X, y)
    model = small(classifier, source=grown).fit(X, y)
    assert model.forest_ is grown
    assert model.network_.ensemble.n_leaves == sum(tree.get_n_leaves() for tree in grown.estimators_)
    assert model.validation_loss_ <= model.forest_loss_


def test_contrasts_without_end_and_no_epochs_give_the_forest_back():
    X, y = regression()
    model = small(max_epochs=0, contrast=(1e6, 1e6)).fit(X, y)
    np.testing.assert_allclose(model.predict(X), model.forest_.predict(X), rtol=1e-5)


def test_the_default_forest_is_bagged_trees():
    X, y = regression()
    model = small().set_params(forest=None, max_epochs=1).fit(X, y)
    assert type(model.forest_).__name__ == "BaggingRegressor"
    assert model.score(X, y) > 0.8


@pytest.mark.parametrize(
    ("rows", "trees", "leaves"),
    [(20, 60, 16), (400, 25, 60), (600, 16, 64), (1_000, 10, 64), (3_200, 8, 64), (8_000, 8, 80), (10_000, 8, 96)],
)
def test_more_rows_get_fewer_and_larger_trees(rows, trees, leaves):
    grown = forests.default_forest(False, rows, 6)
    assert (grown.n_estimators, grown.estimator.max_leaf_nodes) == (trees, leaves)
    assert (grown.max_samples, grown.bootstrap) == (0.8 if rows <= 500 else 0.9, False)
    assert grown.estimator.max_features == 1 / 3
    assert forests.default_forest(False, rows, 5).estimator.max_features == 1.0
    assert forests.default_forest(True, rows, 6).n_estimators == min(60, max(20, 50_000 // rows))


def test_many_features_get_more_and_larger_trees():
    grown = forests.default_forest(False, 1_500, 101)
    assert (grown.n_estimators, grown.estimator.max_leaf_nodes) == (20, 96)
    assert forests.default_forest(False, 1_500, 18).n_estimators == 12
    assert [forests.default_forest(False, rows, 60).n_estimators for rows in (2_000, 5_000, 20_000)] == [20, 16, 8]
    grown = forests.default_forest(True, 1_500, 25)
    assert (grown.n_estimators, grown.estimator.max_leaf_nodes) == (33, 64)


@pytest.mark.parametrize(
    ("rows", "features", "two", "three"),
    [(1_000, 5, 50, 50), (3_000, 20, 20, 20), (4_000, 40, 20, 30), (5_000, 5, 16, 20), (20_000, 40, 12, 30)],
)
def test_two_classes_of_many_rows_need_fewer_trees(rows, features, two, three):
    counts = [forests.default_forest(True, rows, features, n_classes=n).n_estimators for n in (2, 3)]
    assert counts == [two, three]


@pytest.mark.parametrize(("n_classes", "trees"), [(2, 16), (3, 20)])
def test_a_fit_counts_the_classes(n_classes, trees):
    X = np.random.default_rng(0).normal(size=(5_000, 5))
    model = small(True).set_params(forest=None, max_epochs=1).fit(X, np.arange(len(X)) % n_classes)
    assert model.forest_.n_estimators == trees


@BOTH
def test_weights_and_several_targets_get_the_default_forest(classifier):
    X, y = problem(classifier)
    weight = np.random.default_rng(0).uniform(0.5, 2, len(y))
    plain = small(classifier).set_params(forest=None, max_epochs=1).fit(X, y).forest_
    fits = [small(classifier).set_params(forest=None, max_epochs=1).fit(X, y, weight)]
    if not classifier:
        fits.append(small().set_params(forest=None, max_epochs=1).fit(X, np.column_stack([y, -y])))
    for model in fits:
        grown = model.forest_
        shape = plain.n_estimators, plain.max_samples, plain.estimator.max_leaf_nodes, plain.estimator.max_features
        assert (grown.n_estimators, grown.max_samples, grown.max_leaf_nodes, grown.max_features) == shape
        assert len(np.unique(grown.estimators_samples_[0])) == len(plain.estimators_samples_[0])
        assert grown.predict(X[:3]).shape == model.predict(X[:3]).shape


@pytest.mark.parametrize(
    ("rows", "batch", "epochs", "of_classes"),
    [
        (3_200, 32, 38, 38),
        (3_200, 64, 76, 76),
        (2_000, 32, 61, 80),
        (800, 32, 190, 240),
        (500, 32, 384, 384),
        (100, 32, 400, 400),
        (64_000, 32, 5, 5),
    ],
)
def test_automatic_epochs_make_more_steps_where_rows_are_few(rows, batch, epochs, of_classes):
    assert [enough_epochs(rows, batch, classifier) for classifier in (False, True)] == [epochs, of_classes]


@BOTH
@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("connectivity", ["sparse", "full"])
def test_rows_far_outside_are_predicted_as_those_at_the_border(classifier, connectivity, standardize, monkeypatch):
    """Trees do not extrapolate: one wrong digit in a feature moves their prediction no further than to the border."""
    monkeypatch.setattr(guard, "compare", lambda *_: (np.inf, True))  # keep the trained network
    X, y = problem(classifier)
    model = small(classifier, connectivity=connectivity, standardize=standardize).fit(X, y)
    assert not model.network_.hard.all()
    outside = 50 * X[::5]
    at_the_border = np.clip(outside, X.min(axis=0), X.max(axis=0))
    np.testing.assert_array_equal(output(model, outside), output(model, at_the_border))
    assert output(model, outside).tobytes() != output(model, X[::5]).tobytes()


@BOTH
@pytest.mark.parametrize("parameters", [{"max_leaf_nodes": None, "max_depth": 4}, {"max_leaf_nodes": 12}])
def test_apply_counts_the_leaves_of_the_forest_from_left_to_right(classifier, parameters):
    X, y = problem(classifier)
    model = small(classifier, source=forest(classifier, **parameters)).fit(X, y)
    leaves = model.forest_.apply(X)
    for number, tree in enumerate(model.forest_.estimators_):
        order = leaves_from_left_to_right(tree.tree_)
        np.testing.assert_array_equal(model.apply(X)[:, number], [order.index(leaf) for leaf in leaves[:, number]])
        if parameters["max_leaf_nodes"] is None:  # grown depth-first, so nodes are numbered from left to right too
            assert order == sorted(order)


def leaves_from_left_to_right(tree, node=0):
    if tree.children_left[node] < 0:
        return [node]
    left, right = tree.children_left[node], tree.children_right[node]
    return leaves_from_left_to_right(tree, left) + leaves_from_left_to_right(tree, right)
