"""Validation rows: how they are held out, and that neither forest nor network is trained on them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import BaggingRegressor, ExtraTreesRegressor, RandomForestClassifier
from sklearn.tree import DecisionTreeRegressor

from neuralforest._statistics import center_and_spread
from neuralforest.estimators.rows import FitRows
from neuralforest.estimators.validation import hold_out
from neuralforest.exceptions import ValidationWarning
from small_models import boosted, classification, forest, regression, small


def table(n, weight=None):
    weight = np.ones(n) if weight is None else weight
    return FitRows(np.zeros((n, 1)), np.zeros(n), weight, None, n)


@given(st.lists(st.integers(0, 4), min_size=2, max_size=80), st.floats(0.01, 0.99), st.integers(0, 1000))
@settings(max_examples=200, deadline=None)
def test_every_class_keeps_a_row_and_is_held_out_in_proportion(labels, fraction, seed):
    labels = np.array(labels)
    counts = np.bincount(labels)
    if counts.max() < 2:
        with pytest.raises(ValueError, match="2 rows of the same class"):
            hold_out(table(len(labels)), fraction, labels, seed)
        return
    split = hold_out(table(len(labels)), fraction, labels, seed)
    np.testing.assert_array_equal(np.sort(np.concatenate([split.fit, split.validation])), np.arange(len(labels)))
    assert set(labels[split.fit]) == set(labels)
    possible = len(labels) - np.count_nonzero(counts)
    assert len(split.validation) == min(max(round(fraction * len(labels)), 1), possible)
    held_out = np.bincount(labels[split.validation], minlength=len(counts))
    if len(split.validation) < possible * 0.9:
        proportion = len(split.validation) / len(labels)
        assert (np.abs(held_out - proportion * counts) <= 1.5 + 0.1 * counts).all()


@given(st.integers(2, 60), st.floats(0.01, 0.99), st.integers(0, 1000))
@settings(max_examples=50, deadline=None)
def test_a_regression_holds_out_the_given_fraction(n, fraction, seed):
    split = hold_out(table(n), fraction, None, seed)
    assert len(split.validation) == min(max(round(fraction * n), 1), n - 1)
    assert len(np.intersect1d(split.fit, split.validation)) == 0


def test_rows_of_weight_0_are_not_held_out():
    weight = np.where(np.arange(40) % 4 == 0, 1.0, 0.0)
    for labels in (None, np.arange(40) % 8):
        split = hold_out(table(40, weight), 0.5, labels, 0)
        assert len(split.validation) == 5
        assert (split.validation % 4 == 0).all()


def test_other_seeds_hold_out_other_rows():
    splits = [tuple(hold_out(table(50), 0.2, None, seed).validation) for seed in range(10)]
    assert len(set(splits)) == 10
    assert len(set(np.concatenate(splits))) > 40


class Witness(RandomForestClassifier):
    def fit(self, X, y, sample_weight=None):
        self.rows_ = X.copy(), np.asarray(y).copy()
        return super().fit(X, y, sample_weight)


def test_the_forest_is_fitted_on_all_classes_but_not_on_the_validation_rows():
    X, y = classification(100)
    y[:2] = [7, 8]  # classes of a single row
    model = small(True, Witness(4, max_leaf_nodes=8), validation="fraction", validation_fraction=0.3).fit(X, y)
    fit_X, fit_y = model.forest_.rows_
    assert len(fit_X) == 70
    assert set(fit_y) == set(y) == set(model.classes_)
    model = small(True, Witness(4, max_leaf_nodes=8)).fit(X, y, X_val=X[:10], y_val=y[:10])
    assert len(model.forest_.rows_[0]) == 100


@pytest.mark.parametrize(
    ("source", "training", "way"),
    [
        (forest(), "independent", "oob"),
        (forest(), "joint", "fraction"),
        (forest(bootstrap=False), "independent", "cv"),
        (forest(max_samples=0.3), "independent", "oob"),
        (ExtraTreesRegressor(4), "independent", "cv"),
        (BaggingRegressor(DecisionTreeRegressor(max_leaf_nodes=8), 4), "independent", "oob"),
        (BaggingRegressor(DecisionTreeRegressor(), 4, bootstrap=False), "independent", "cv"),
        (BaggingRegressor(DecisionTreeRegressor(), 4, bootstrap=False, max_samples=0.5), "independent", "oob"),
        (boosted(), "auto", "cv"),
        (boosted(), "joint", "cv"),
        (DecisionTreeRegressor(max_leaf_nodes=8), "independent", "cv"),
    ],
    ids=str,
)
def test_auto_takes_out_of_bag_rows_where_there_are_any_and_folds_where_there_are_none(source, training, way):
    X, y = regression()
    auto = small(source=source, training=training, validation="auto").fit(X, y)
    other = small(source=source, training=training, validation=way).fit(X, y)
    assert auto.predict(X).tobytes() == other.predict(X).tobytes()
    assert auto.validation_loss_ <= auto.forest_loss_


@pytest.mark.filterwarnings("ignore:the forest was fitted before")
def test_auto_holds_rows_out_when_a_forest_was_fitted_on_others():
    X, y = regression()
    grown = forest(random_state=0).fit(X[:60], y[:60])
    auto, fraction = (small(source=grown, validation=way).fit(X, y) for way in ("auto", "fraction"))
    assert auto.predict(X).tobytes() == fraction.predict(X).tobytes()


@given(
    st.lists(st.floats(-1e3, 1e3).map(lambda x: round(x, 3)), min_size=2, max_size=20),
    st.sampled_from([1, 1e200, 1e-200]),
)
@settings(max_examples=100, deadline=None)
def test_units_are_mean_and_standard_deviation_of_numbers_of_any_size(column, factor):
    values = np.array(column)
    center, spread = center_and_spread(values[:, None] * factor)
    assert center[0] / factor == pytest.approx(values.mean(), rel=1e-9, abs=1e-9)
    if np.ptp(values) > 0:
        assert spread[0] / factor == pytest.approx(values.std(), rel=1e-6)
    else:
        assert spread[0] == (abs(values[0]) * factor or 1)


def test_units_leave_missing_values_and_rows_of_weight_0_out():
    X = np.array([[1.0, np.nan, 2.0], [3.0, np.nan, np.nan], [99.0, 99.0, 99.0]])
    center, spread = center_and_spread(X, np.array([1.0, 2.0, 0.0]))
    np.testing.assert_array_equal(center, [2, 0, 2])
    np.testing.assert_array_equal(spread, [1, 1, 2])


@pytest.mark.parametrize("options", [{"training": "joint"}, {"validation": "fraction"}])
def test_a_fitted_forest_that_rows_of_its_own_may_validate_gets_a_warning(options):
    X, y = regression()
    grown = forest(random_state=0).fit(X, y)
    with pytest.warns(ValidationWarning, match="may have been fitted on the rows that are held out.*pass X_val"):
        small(source=grown, **options).fit(X, y)
    small(source=grown, **options).fit(X[:90], y[:90], X_val=X[90:], y_val=y[90:])
    small(source=grown).fit(X, y)  # out-of-bag
